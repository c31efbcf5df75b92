#include "calibrate/fit/fit_forest.h"

#include <gsl/gsl_sort_float.h>
#include <math.h>
#include <string.h>

#define LEFT_LEAST   0.01 /* below, a residual counts as its square */
#define SHARE        0.3  /* fraction of a tree that is added */
#define RIDGE        0.02 /* in points */
#define POINTS_LEAST 3    /* per leaf */
#define BINS_MAX     64
#define DEPTH_MAX    12 /* splits on the way to a leaf */

/* A leaf: its points, and its best split. */
typedef struct {
    guint from, count; /* range in Fit.order */
    double gain;       /* 0: no split helps */
    int feature, cut;
    double value;
    int below, above; /* leaves after the split; `above` of unsplit ones is 0 */
    int depth;        /* splits on the way to it */
} Leaf;

typedef struct {
    const RhForestPoints *points;
    int cuts_count[RH_FOREST_FEATURES_MAX];
    float cuts[RH_FOREST_FEATURES_MAX][BINS_MAX];
    uint8_t *bins[RH_FOREST_FEATURES_MAX]; /* number of cuts at or below the point's value */
    double *left, *weight;                 /* by point */
    guint *order, *aside;                  /* points by leaf */
    Leaf *leaves;
    int leaves_count;
} Fit;

/* --- cuts --- */

/* Cut between two neighbouring values, in as few digits as separate them. */
static float cut_between(float low, float high)
{
    double middle = low > 0 ? sqrt((double)low * (double)high) : 0.5 * ((double)low + (double)high);
    for (int digits = 3; digits < 9; digits++) {
        float cut = (float)rh_forest_rounded(middle, digits);
        if (low < cut && cut <= high)
            return cut;
    }
    return high;
}

/* Finds the cuts of a feature; with many values, cuts with about equally many points between them.
 */
static void find_cuts(Fit *f, int feature)
{
    const RhForestPoints *p = f->points;
    g_autofree float *sorted = g_new(float, p->count);
    size_t distinct = 0;
    for (size_t i = 0; i < p->count; i++)
        sorted[i] = p->x[i * (size_t)p->features + (size_t)feature];
    gsl_sort_float(sorted, 1, p->count);
    for (size_t i = 1; i < p->count; i++)
        distinct += sorted[i] > sorted[i - 1];
    int *count = &f->cuts_count[feature];
    for (size_t i = 1; i < p->count && *count < BINS_MAX - 1; i++) {
        bool due = distinct < BINS_MAX || i * BINS_MAX >= p->count * (size_t)(*count + 1);
        if (sorted[i] > sorted[i - 1] && due)
            f->cuts[feature][(*count)++] = cut_between(sorted[i - 1], sorted[i]);
    }
}

static void find_bins(Fit *f, int feature)
{
    const RhForestPoints *p = f->points;
    f->bins[feature] = g_new(uint8_t, p->count);
    for (size_t i = 0; i < p->count; i++) {
        int bin = 0;
        float x = p->x[i * (size_t)p->features + (size_t)feature];
        while (bin < f->cuts_count[feature] && x >= f->cuts[feature][bin])
            bin++;
        f->bins[feature][i] = (uint8_t)bin;
    }
}

/* --- one tree --- */

typedef struct {
    double left, weight; /* sums */
    guint count;
} Sum;

static double gain_of(const Sum *s)
{
    return s->left * s->left / (s->weight + RIDGE);
}

static void add_to_sums(Sum *sum, const Fit *f, guint point)
{
    sum->left += f->weight[point] * f->left[point];
    sum->weight += f->weight[point];
    sum->count++;
}

static void try_feature(const Fit *f, Leaf *leaf, const Sum *all, int feature)
{
    Sum bins[BINS_MAX] = {{0}}, below = {0};
    for (guint i = leaf->from; i < leaf->from + leaf->count; i++)
        add_to_sums(&bins[f->bins[feature][f->order[i]]], f, f->order[i]);
    for (int cut = 0; cut < f->cuts_count[feature]; cut++) {
        below.left += bins[cut].left;
        below.weight += bins[cut].weight;
        below.count += bins[cut].count;
        if (below.count < POINTS_LEAST || all->count - below.count < POINTS_LEAST)
            continue;
        Sum above = {all->left - below.left, all->weight - below.weight, 0};
        double gain = gain_of(&below) + gain_of(&above) - gain_of(all);
        if (gain > leaf->gain) {
            leaf->gain = gain;
            leaf->feature = feature;
            leaf->cut = cut;
        }
    }
}

static void weigh(const Fit *f, Leaf *leaf)
{
    Sum all = {0};
    for (guint i = leaf->from; i < leaf->from + leaf->count; i++)
        add_to_sums(&all, f, f->order[i]);
    double share = SHARE * all.left / (all.weight + RIDGE);
    share = CLAMP(share, -RH_FOREST_LEAF_MOST, RH_FOREST_LEAF_MOST);
    leaf->value = RH_FOREST_LEAF_UNIT * round(share / RH_FOREST_LEAF_UNIT);
    for (int feature = 0; leaf->depth < DEPTH_MAX && feature < f->points->features; feature++)
        try_feature(f, leaf, &all, feature);
}

/* Splits a leaf into two new ones; the split one stays, as an inner node. */
static void split_leaf(Fit *f, Leaf *leaf)
{
    guint below = 0, aside = 0;
    int depth = leaf->depth + 1;
    guint *order = f->order + leaf->from;
    for (guint i = 0; i < leaf->count; i++) {
        guint point = order[i];
        if (f->bins[leaf->feature][point] <= leaf->cut)
            order[below++] = point;
        else
            f->aside[aside++] = point;
    }
    memcpy(order + below, f->aside, aside * sizeof *order);
    leaf->below = f->leaves_count;
    leaf->above = f->leaves_count + 1;
    f->leaves[f->leaves_count++] = (Leaf){.from = leaf->from, .count = below, .depth = depth};
    f->leaves[f->leaves_count++] =
        (Leaf){.from = leaf->from + below, .count = aside, .depth = depth};
    weigh(f, &f->leaves[leaf->below]);
    weigh(f, &f->leaves[leaf->above]);
}

static Leaf *most_gain(Fit *f)
{
    Leaf *best = NULL;
    for (int i = 0; i < f->leaves_count; i++) {
        Leaf *leaf = &f->leaves[i];
        if (leaf->above == 0 && leaf->gain > (best ? best->gain : 0))
            best = leaf;
    }
    return best;
}

static void grow(Fit *f)
{
    f->leaves_count = 1;
    f->leaves[0] = (Leaf){.from = 0, .count = (guint)f->points->count};
    weigh(f, &f->leaves[0]);
    for (int ends = 1; ends < f->points->leaves; ends++) {
        Leaf *best = most_gain(f);
        if (!best)
            return;
        split_leaf(f, best);
    }
}

static void append(const Fit *f, const Leaf *leaf, GArray *nodes)
{
    guint at = nodes->len;
    RhForestNode node = {.at = (float)leaf->value};
    if (leaf->above > 0) {
        node.below = 1;
        node.feature = (uint8_t)leaf->feature;
        node.at = f->cuts[leaf->feature][leaf->cut];
    }
    g_array_append_val(nodes, node);
    if (leaf->above == 0)
        return;
    append(f, &f->leaves[leaf->below], nodes);
    g_array_index(nodes, RhForestNode, at).above = (uint16_t)(nodes->len - at);
    append(f, &f->leaves[leaf->above], nodes);
}

/* --- whole forest --- */

static void take_off(Fit *f)
{
    for (int l = 0; l < f->leaves_count; l++) {
        const Leaf *leaf = &f->leaves[l];
        for (guint i = leaf->from; leaf->above == 0 && i < leaf->from + leaf->count; i++)
            f->left[f->order[i]] -= leaf->value;
    }
}

static void add_tree(Fit *f, RhForest *out)
{
    guint root = out->nodes->len;
    for (size_t i = 0; i < f->points->count; i++) {
        f->weight[i] = LEFT_LEAST / fmax(fabs(f->left[i]), LEFT_LEAST);
        f->order[i] = (guint)i;
    }
    grow(f);
    g_array_append_val(out->roots, root);
    append(f, &f->leaves[0], out->nodes);
    for (int l = 0; l < f->leaves_count; l++)
        out->depth = MAX(out->depth, f->leaves[l].depth);
    take_off(f);
}

RhForest *rh_fit_forest(const RhForestPoints *points)
{
    g_return_val_if_fail(points->features <= RH_FOREST_FEATURES_MAX, NULL);
    g_return_val_if_fail(points->leaves <= RH_FOREST_LEAVES_MAX, NULL);
    RhForest *out = rh_forest_new();
    size_t count = points->count;
    if (count == 0)
        return out;
    Fit *f = g_new0(Fit, 1);
    f->points = points;
    f->left = g_memdup2(points->value, count * sizeof *f->left);
    f->weight = g_new(double, count);
    f->order = g_new(guint, count);
    f->aside = g_new(guint, count);
    f->leaves = g_new(Leaf, 2 * MAX(points->leaves, 1));
    for (int feature = 0; feature < points->features; feature++) {
        find_cuts(f, feature);
        find_bins(f, feature);
    }
    for (int t = 0; t < points->trees && (t == 0 || f->leaves_count > 1); t++)
        add_tree(f, out);
    for (int feature = 0; feature < points->features; feature++)
        g_free(f->bins[feature]);
    g_free(f->left);
    g_free(f->weight);
    g_free(f->order);
    g_free(f->aside);
    g_free(f->leaves);
    g_free(f);
    return out;
}
