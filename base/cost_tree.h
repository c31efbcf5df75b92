#pragma once
/* Cost tree: a result as a tree of named terms. Ranking, text, JSON and `explain` read this one
 * tree, so they cannot disagree. The children of a term sum to it (rh_cost_check), unless it has
 * none. */
#include <glib.h>
#include <stdbool.h>

#include "base/serialize.h"

typedef struct RhCost RhCost;
struct RhCost {
    const char *name; /* interned, e.g. "tensor-parallel, exposed" */
    double value_s;
    const char *source;  /* interned: the formula or where the number comes from; "" when children
                            explain it */
    GPtrArray *children; /* owned RhCost*, never NULL */
};

RhCost *rh_cost_new(const char *name, double value_s, const char *source);
RhCost *rh_cost_add(RhCost *parent, const char *name, double value_s,
                    const char *source); /* returns the borrowed child */
const RhCost *rh_cost_find(const RhCost *root,
                           const char *name); /* depth first by name; NULL when absent */
RhCost *rh_cost_copy(const RhCost *root);
RhCost *rh_cost_scaled(const RhCost *root,
                       double factor); /* a copy, every value times the factor */
/* Serialise a tree for another process, and read it there (owned by the caller; NULL when bytes are
 * missing). */
void rh_cost_pack(GByteArray *out, const RhCost *root);
RhCost *rh_cost_unpack(RhUnpack *in);
/* Returns whether every inner node equals the sum of its children within `tolerance_frac`. */
bool rh_cost_check(const RhCost *root, double tolerance_frac);
void rh_cost_free(RhCost *root);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCost, rh_cost_free)
