#pragma once
/* Tables behind the bounds of one case. Everything that repeats over layouts is computed once:
 *   Shard  per (tp, sp, micro-batch, recompute): seconds of a layer forward and backward, with its
 * collectives, alone Split  per (pp, vpp): layers of every chunk and stage Net    per (tp, pp, dp,
 * order): messages between stages, gradient and parameter collectives of each stage Private to this
 * folder. */
#include "strategies/search/plan.h"
#include "strategies/train/emit.h"

/* One block or layer alone: until its output may leave, and until the compute lane is free again.
 */
typedef struct {
    double forward_s;      /* to the output */
    double forward_busy_s; /* to the end of the last kernel */
    double backward_s;     /* recomputation included */
    double forward_kernels_s,
        backward_kernels_s; /* kernels on the critical path: what SM sharing can stretch */
} RhSpanCost;

/* A shard on a split: what every chunk and stage takes. */
typedef struct {
    RhSpanCost *chunk;  /* per model chunk */
    double *fill_s;     /* per stage s: forwards of chunks 0 .. s-1 */
    double *drain_s;    /* per stage s: backwards of chunks 0 .. s-1 */
    double *work_s;     /* per stage: lane time of one micro-batch through all its chunks */
    double *backward_s; /* per stage: backwards of all its chunks, one micro-batch */
    double *params;     /* per stage, on one rank */
    double forward_all_s, backward_all_s; /* every chunk once */
} RhSpans;

typedef struct {
    RhPieces *pieces;
    GHashTable *spans; /* RhSplit* -> RhSpans*, owned */
    RhSpanCost layer[RH_LAYER_KINDS_MAX];
    RhSpanCost embedding, head;
} RhShardCost;

typedef struct {
    int32_t chunks;
    int32_t *layers;                      /* per model chunk */
    int32_t *first;                       /* first layer of each chunk */
    int32_t (*kinds)[RH_LAYER_KINDS_MAX]; /* layers of each kind, per model chunk */
} RhSplit;

typedef struct {
    RhProgram *skeleton; /* groups and roles without tasks */
    int32_t tp_group, dp_group;
    double
        *hop_latency_s; /* per stage: stage s -> s+1 (the last wraps to 0); the luckiest rank's */
    double *hop_s_per_byte;
    double *back_latency_s; /* per stage: stage s -> s-1 (0 wraps to the last) */
    double *back_s_per_byte;
    double *edge_latency_s; /* per stage: s -> s+1, or back where that is quicker */
    double *edge_s_per_byte;
    double round_latency_s, round_s_per_byte; /* all edges and the wrap, there and back */
    double wrap_latency_s, wrap_s_per_byte;   /* the wrap alone, there and back */
    double reduce_s_per_byte; /* no algorithm reduce-scatters a buffer faster than this per byte */
} RhNet;

/* Tables by packed key, and the last one asked for: neighbours in the space share most of theirs.
 */
typedef struct {
    GHashTable *table; /* owned, as its values */
    void *key, *value;
} RhMemo;

struct RhScreen {
    const RhCase *c;
    RhMemo shards, splits, nets;
    const RhShardCost *spans_shard; /* whose spans were asked for last */
    const RhSplit *spans_split;
    const RhSpans *spans;
    GHashTable *collectives; /* (net, stage, operation, bytes) -> seconds, owned */
};

const RhShardCost *rh_screen_shard(RhScreen *screen, const RhLayout *layout);
const RhSplit *rh_screen_split(RhScreen *screen, const RhLayout *layout);
const RhNet *rh_screen_net(RhScreen *screen, const RhLayout *layout);
/* Idle seconds of a data-parallel collective of stage `stage`, algorithm as the builder chooses it.
 */
double rh_screen_collective_s(RhScreen *screen, const RhNet *net, int32_t stage, RhOp op,
                              double bytes);

/* Blocks run one after another; the last output alone may still be on its way when the lane is
 * free. */
RhSpanCost rh_span_add(RhSpanCost first, RhSpanCost then, double times);
/* Share of a device's SMs that one collective holds while its bytes move. */
double rh_screen_held_frac(const RhCase *c);
/* Part of a collective's time in which no bytes move: launch and latencies. Known for rings (all
 * but all-reduce). */
double rh_screen_latency_s(RhScreen *screen, const RhNet *net, int32_t stage, RhOp op);
const RhSpans *rh_screen_spans(RhScreen *screen, const RhShardCost *shard, const RhSplit *split,
                               const RhLayout *layout);
/* Seconds of the optimizer over `params` of one rank, at the memory's peak: a lower bound. */
double rh_screen_optimizer_s(const RhCase *c, const RhLayout *layout, double params);
