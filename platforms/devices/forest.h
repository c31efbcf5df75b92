#pragma once
/* A forest: decision trees whose leaves are summed.
 *
 *   value(x) = sum over trees of the leaf that x falls into; a split sends x[feature] < cut one way
 *
 * What jumps where a rule has a border is of this form: which of its kernels a library takes for a
 * shape. Knows nothing of kernels; how a forest comes about: calibrate/fit/fit_forest.h.
 *
 * In JSON, cuts by feature, and each tree in preorder, what is below a cut first: a letter and a number
 * are a split (the feature's place in "cuts", the cut's in its list), a number alone is a leaf, in
 * ten-thousandths:
 *
 *   {"cuts": {"m": [24, 96], "n k": [1048576]}, "trees": ["a1 b0 -12 40 a0 7 -3", ...]} */
#include <glib.h>

#include "base/json.h"

#define RH_FOREST_TREES_MAX    256
#define RH_FOREST_LEAVES_MAX   1024 /* of a tree */
#define RH_FOREST_FEATURES_MAX 16
#define RH_FOREST_CUTS_MAX     255  /* of a feature */
#define RH_FOREST_LEAF_UNIT    1e-4 /* leaves are whole multiples of it */
#define RH_FOREST_LEAF_MOST    5.0  /* either way */

typedef struct {
    uint16_t above; /* how many nodes on what is at or above the cut begins; of a leaf 0 */
    uint8_t below;  /* the same of what is below it: 1; of a leaf 0 */
    uint8_t feature;
    float at; /* the cut; of a leaf its value */
} RhForestNode;

typedef struct {
    GArray *nodes; /* RhForestNode: trees one after the other, each in preorder */
    GArray *roots; /* guint: where each tree begins */
    int depth;     /* of the deepest: splits on the way to a leaf */
} RhForest;

RhForest *rh_forest_new(void);
void rh_forest_free(RhForest *forest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhForest, rh_forest_free)

/* `x`: as many as the features that its splits name. */
double rh_forest_at(const RhForest *forest, const float *x);

/* To so many significant digits, as files have cuts. */
double rh_forest_rounded(double cut, int digits);
/* `names`: of features, to NULL. Problems are collected in the document, NULL then. */
RhForest *rh_forest_read(RhJson *doc, const RhJsonNode *node, const char *const *names);
void rh_forest_write(RhJsonWriter *w, const char *key, const RhForest *forest,
                     const char *const *names);
