/* The closed forms of the literature (docs/model-collectives.md): n members on a flat network,
 * alpha a step, beta a byte. The trees' is ours. */
#include <math.h>

#include "sim/collective_private.h"

static double log2_ceil(int32_t n)
{
    double steps = 0;
    for (int32_t reach = 1; reach < n; reach *= 2)
        steps++;
    return steps;
}

static double ring_s(RhOp op, double n, double bytes, double alpha, double beta)
{
    double chunks = rh_chain_chunks(bytes);
    if (op == RH_OP_BROADCAST)
        return (n - 2 + chunks) * (alpha + bytes / chunks * beta);
    if (op == RH_OP_SHIFT)
        return alpha + bytes * beta;
    return (op == RH_OP_ALL_REDUCE ? 2 : 1) * (n - 1) * (alpha + bytes / n * beta);
}

/* Place v of an in-order tree over n: its depth and its children, by descent. */
typedef struct {
    int32_t depth, children;
} Place;

static Place place_of(int32_t n, int32_t v)
{
    int32_t low = 0, high = n;
    for (int32_t depth = 0;; depth++) {
        int32_t half = (high - low) / 2, middle = low + (half ? (half - 1) | 1 : 0);
        if (v == middle)
            return (Place){depth, (low < middle) + (middle + 1 < high)};
        if (v < middle)
            high = middle;
        else
            low = middle + 1;
    }
}

/* 1 when the edge above a member of depth d moves a chunk up (down) in this step. */
static int32_t ups(int32_t step, int32_t D, int32_t C, int32_t d)
{
    return d > 0 && step >= D - d && step < D - d + C;
}

static int32_t downs(int32_t step, int32_t D, int32_t C, int32_t d)
{
    return d > 0 && step >= D + d - 1 && step < D + d - 1 + C;
}

/* Chunks that the busiest member sends or takes in a step. */
static int32_t tree_load(const Place *places, int32_t n, int32_t step, int32_t D, int32_t C)
{
    int32_t most = 0;
    for (int32_t v = 0; v < n; v++) {
        int32_t out = 0, in = 0;
        for (int32_t tree = 0; tree < 2; tree++) {
            Place at = places[(v - tree + n) % n];
            out += ups(step, D, C, at.depth) + at.children * downs(step, D, C, at.depth + 1);
            in += at.children * ups(step, D, C, at.depth + 1) + downs(step, D, C, at.depth);
        }
        most = MAX(most, MAX(out, in));
    }
    return most;
}

/* 2D + C - 1 steps; the busiest member moves four chunks in a full one, fewer while the pipeline
 * fills and drains. */
static double tree_s(RhOp op, int32_t n, double bytes, double alpha, double beta)
{
    if (op == RH_OP_BROADCAST)
        return log2_ceil(n) * (alpha + bytes * beta);
    int32_t D = rh_tree_depth(n), C = rh_tree_chunks(n, bytes), full = 2 * D - 1;
    g_autofree Place *places = g_new(Place, n);
    for (int32_t v = 0; v < n; v++)
        places[v] = place_of(n, v);
    double chunks = 0;
    for (int32_t step = 0, alike; step < full + C; step += alike) {
        alike = step == full && C > full ? C - full : 1;
        chunks += alike * (double)tree_load(places, n, step, D, C);
    }
    return (full + C) * alpha + chunks * bytes / (2 * C) * beta;
}

/* Blocks of one chunk a worker, two where a pair stands behind it; the largest are the first. */
static double gather_doubling_s(int32_t n, int32_t extra, double bytes, double alpha, double beta)
{
    double chunks = extra ? n : 0, steps = extra ? 2 : 0; /* 1 handed in, n-1 given back */
    for (int32_t distance = 1; 2 * distance <= n; distance *= 2, steps++)
        chunks += distance + MIN(distance, extra);
    return steps * alpha + chunks / n * bytes * beta;
}

static double doubling_s(RhOp op, int32_t n, double bytes, double alpha, double beta)
{
    int32_t extra = n;
    double steps = -1;
    for (int32_t power = 1; power <= n; power *= 2, steps++)
        extra = n - power;
    if (op == RH_OP_BARRIER)
        return log2_ceil(n) * alpha;
    if (op == RH_OP_ALL_GATHER)
        return gather_doubling_s(n, extra, bytes, alpha, beta);
    return (steps + (extra ? 2 : 0)) * (alpha + bytes * beta);
}

static double rabenseifner_s(int32_t n, double bytes, double alpha, double beta)
{
    double power = 1, steps = 0;
    for (; 2 * power <= n; power *= 2)
        steps++;
    double fold = n > power ? 2 * (alpha + bytes * beta) : 0;
    return 2 * steps * alpha + 2 * (power - 1) / power * bytes * beta + fold;
}

double rh_collective_closed_form_s(RhOp op, RhAlgo algo, int32_t n, double bytes, double alpha_s,
                                   double bytes_per_s)
{
    double beta = 1 / bytes_per_s;
    g_return_val_if_fail(rh_collective_supports(op, algo), 0);
    if (n <= 1)
        return 0;
    switch (algo) {
    case RH_ALGO_TREE:
        return tree_s(op, n, bytes, alpha_s, beta);
    case RH_ALGO_RECURSIVE_DOUBLING:
        return doubling_s(op, n, bytes, alpha_s, beta);
    case RH_ALGO_RABENSEIFNER:
        return rabenseifner_s(n, bytes, alpha_s, beta);
    case RH_ALGO_DIRECT:
        return (n - 1) * (alpha_s + (op == RH_OP_BROADCAST ? bytes : bytes / n) * beta);
    case RH_ALGO_RING:
    case RH_ALGO_HIERARCHICAL: /* on one node: a ring */
        return ring_s(op, n, bytes, alpha_s, beta);
    case RH_ALGO_NONE:
    case RH_ALGO_LAST:
        break;
    }
    return 0;
}
