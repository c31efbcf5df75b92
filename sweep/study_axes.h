#pragma once
/* Axes of a study, and the combinations of their values. Private to sweep/. */
#include "base/json/json.h"

/* Values that go together: an object of "axes". */
typedef struct {
    GPtrArray *names;  /* const char*, interned */
    GPtrArray *nodes;  /* const RhJsonNode*: where each axis stands */
    GPtrArray *values; /* GPtrArray of char*, for each name; NULL: the option is left out */
    int32_t count;     /* values of each */
} RhStudyBundle;

/* Reads "axes" of the document; problems are collected. Caller frees: RhStudyBundle*. */
GPtrArray *rh_study_axes_read(RhJson *doc, const RhJsonNode *root);
/* Returns the number of combinations; more than `most` is a problem of the document. */
int64_t rh_study_axes_count(RhJson *doc, const RhJsonNode *root, const GPtrArray *bundles,
                            int64_t most);
/* Returns the value of every axis in combination `index`, borrowed, NULL where it is left out; the
 * array ends where the axes do. Caller frees the array. */
const char **rh_study_axes_at(const GPtrArray *bundles, int64_t index);
/* Returns the value of a scalar as text: a number without needless digits, "true", NULL for null and
 * false. Other kinds are problems. Caller frees. */
char *rh_study_scalar(RhJson *doc, const RhJsonNode *node);
