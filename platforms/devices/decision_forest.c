#include "platforms/devices/decision_forest.h"

#include "base/garray_access.h"

RhForest *rh_forest_new(void)
{
    RhForest *forest = g_new0(RhForest, 1);
    forest->nodes = g_array_new(FALSE, FALSE, sizeof(RhForestNode));
    forest->roots = g_array_new(FALSE, FALSE, sizeof(guint));
    return forest;
}

void rh_forest_free(RhForest *forest)
{
    if (!forest)
        return;
    g_array_unref(forest->nodes);
    g_array_unref(forest->roots);
    g_free(forest);
}

/* Trees walked side by side, as each step waits for the one before. */
#define AT_ONCE 8

/* Sums the leaves of some trees; a walk that reaches a leaf stays there. The code avoids branches
 * on the tree's shape, which would be mispredicted every other time. */
static double sum_of_trees(const RhForest *forest, guint first, const float *x)
{
    const RhForestNode *nodes = RH_ELEMENTS(forest->nodes, RhForestNode);
    const guint *roots = RH_ELEMENTS(forest->roots, guint);
    const RhForestNode *at[AT_ONCE];
    guint count = MIN(forest->roots->len - first, AT_ONCE);
    double sum = 0;
    for (guint t = 0; t < AT_ONCE; t++)
        at[t] = nodes + roots[first + MIN(t, count - 1)];
    for (int d = 0; d < forest->depth; d++)
        for (guint t = 0; t < AT_ONCE; t++) {
            uint32_t is_below = -(uint32_t)(x[at[t]->feature] < at[t]->at);
            at[t] += at[t]->above ^ ((at[t]->above ^ at[t]->below) & is_below);
        }
    for (guint t = 0; t < count; t++)
        sum += (double)at[t]->at;
    return sum;
}

double rh_forest_at(const RhForest *forest, const float *x)
{
    double sum = 0;
    for (guint first = 0; first < forest->roots->len; first += AT_ONCE)
        sum += sum_of_trees(forest, first, x);
    return sum;
}
