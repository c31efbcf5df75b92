#pragma once
/* A forest: decision trees whose leaves are summed.
 *
 *     value(x) = sum over trees of the leaf that x falls into; a split tests x[feature] < cut
 *
 * It models jumps at the borders of rules, such as a library's choice of a kernel for a shape. It
 * knows nothing of kernels; the fit is in calibrate/fit/fit_forest.h.
 *
 * In JSON, cuts are listed by feature, and each tree in preorder, the branch below a cut first: a
 * letter and a number are a split (index of the feature in "cuts", index of the cut in its list), a
 * number alone is a leaf in ten-thousandths:
 *
 *     {"cuts": {"m": [24, 96], "n k": [1048576]}, "trees": ["a1 b0 -12 40 a0 7 -3", ...]} */
#include <glib.h>

#include "base/json/json.h"

#define RH_FOREST_TREES_MAX    256
#define RH_FOREST_LEAVES_MAX   1024 /* leaves of a tree */
#define RH_FOREST_FEATURES_MAX 16
#define RH_FOREST_CUTS_MAX     255  /* cuts of a feature */
#define RH_FOREST_LEAF_UNIT    1e-4 /* leaves are integer multiples of it */
#define RH_FOREST_LEAF_MOST    5.0  /* largest absolute value of a leaf */

typedef struct {
    uint16_t above; /* offset in nodes to the branch at or above the cut; 0 for a leaf */
    uint8_t below;  /* offset to the branch below the cut: 1; 0 for a leaf */
    uint8_t feature;
    float at; /* the cut, or a leaf's value */
} RhForestNode;

typedef struct {
    GArray *nodes; /* RhForestNode: trees one after another, each in preorder */
    GArray *roots; /* guint: where each tree begins */
    int depth;     /* number of splits on the longest path to a leaf */
} RhForest;

RhForest *rh_forest_new(void);
void rh_forest_free(RhForest *forest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhForest, rh_forest_free)

/* Evaluates the forest; `x` holds all features that its splits use. */
double rh_forest_at(const RhForest *forest, const float *x);

/* Rounds a cut to `digits` significant digits, as in files. */
double rh_forest_rounded(double cut, int digits);
/* Reads a forest; `names` of features end with NULL. Problems are collected in the document, and
 * NULL is returned. */
RhForest *rh_forest_read(RhJson *doc, const RhJsonNode *node, const char *const *names);
void rh_forest_write(RhJsonWriter *w, const char *key, const RhForest *forest,
                     const char *const *names);
