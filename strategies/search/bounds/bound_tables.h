#pragma once
/* The tables that lower bounds are made of: times of layers, chunks and collectives, memory of stages, what
 * communicates where. bound_cache.h finds them by the knobs that each depends on.
 * For strategies/search. */
#include <math.h>

#include "base/arena.h"
#include "sim/collective/uncontended_times.h"
#include "sim/engine/symmetry_fold_cache.h"
#include "strategies/search/plan.h"
#include "strategies/train/collective_algorithm_choice.h"
#include "strategies/train/memory/memory.h"
#include "strategies/train/program/program_build.h"
#include "strategies/train/program/stage_program.h"
#include "strategies/train/schedule_critical_path.h"

/* Return the larger and the smaller of two numbers (not NaN), several times faster than fmax and
 * fmin. */
static inline double rh_max_d(double a, double b)
{
    return a > b ? a : b;
}
static inline double rh_min_d(double a, double b)
{
    return a < b ? a : b;
}

/* Lanes of collectives inside layers: from RH_LANE_TP to the one before RH_LANE_DP. */
#define RH_LAYER_LANES (RH_LANE_DP - RH_LANE_TP)

/* Use of one of these lanes by a pass. free_s: time from the start of the pass until the lane is
 * free again; 0: not used. If the lane is still busy until time c with earlier work, the other
 * members are the minimum time from c until the lane, the compute lane and the output become free;
 * -infinity: they do not wait for it. */
typedef struct {
    double free_s;
    double lane_after_s, busy_after_s, out_after_s;
} RhLayerLaneTime;
#define RH_LAYER_LANE_NONE                                                                         \
    {                                                                                              \
        0, (double)-INFINITY, (double)-INFINITY, (double)-INFINITY                                 \
    }

/* Time without a kernel at the beginning of a path: at most wait_s[i] seconds of the first
 * (i + 1) / RH_LAYER_WINDOWS of its length_s. */
#define RH_LAYER_WINDOWS 16
typedef struct {
    double length_s; /* 0: unknown */
    double wait_s[RH_LAYER_WINDOWS];
} RhLayerWaits;

/* Times of one pass of a layer, or of several layers in a row, on an idle stage: until the compute
 * lane is free again, until the output may be sent, and the kernels on the path to either (the part
 * that SM sharing can slow down). The two times differ if a collective outlasts the kernels that
 * hide it. */
typedef struct {
    double busy_s, out_s, kernels_s, out_kernels_s;
    double held_s;     /* minimum time for which the collectives between the last kernel and the
                          output hold SMs without a gap; -infinity: unknown */
    double tail_s;     /* kernels between the last collective of lane TP and the output, which waits
                          for them, or for that collective if there are none; -infinity: unknown */
    int16_t lanes_end; /* index after the last used one of the lanes below */
    int16_t beside;    /* maximum number of lanes that hold SMs while one kernel runs */
    RhLayerLaneTime lane[RH_LAYER_LANES];
    RhLayerWaits waits; /* the first layer's, maximum over both paths */
} RhLayerTime;
#define RH_LAYER_TIME_NONE                                                                         \
    {                                                                                              \
        .lane = {RH_LAYER_LANE_NONE, RH_LAYER_LANE_NONE, RH_LAYER_LANE_NONE},                      \
        .tail_s = (double)-INFINITY,                                                               \
    }

/* In which order pairs run, by set of recomputed modules (recompute_keeps_pair_order.c). */
typedef struct RhPairOrders RhPairOrders;

/* Block costs, layer operations and times of all layouts that shard the layers in the same way. */
typedef struct {
    int32_t id;
    RhModelCost *model_cost; /* has kernels once the layer operations exist */
    RhLayerOps *items_;      /* rh_bound_layer_ops; NULL: not computed yet */
    RhLayout layout;         /* a layout with this shard, to which block costs and layers refer */
    /* Tables created with the first chunk times, which most shards never need. */
    GHashTable *times;       /* placement -> RhLayerTimes*, owned */
    GHashTable *chunk_times; /* (content, placement) -> RhChunkTimes*, owned by the bound cache */
    GHashTable *spans;       /* (split, placement) -> RhChunkTimeTable*, the bound cache's */
    GHashTable *messages;    /* RhCommStepSet -> result of rh_bound_messages, borrowed */
    GHashTable *sent;        /* placement -> RhLayerEgress of all layers and passes, owned */
    GHashTable *shares;      /* RhCommStepSet -> RhP2pInterference[], owned */
    GHashTable *sums;        /* RhCommStepSet -> RhGradientInterference, owned */
    int lanes;               /* of collectives, if known: chunk_times.c */
    bool lanes_known;
    RhPairOrders
        *pair_orders; /* of the modules last asked for, the bound cache's; NULL: not asked */
    /* Memory, which every shard has. */
    RhStates layer_states;   /* rh_bound_layer_states */
    GPtrArray *chunk_memory; /* content -> RhChunkMemory*, owned; NULL: not computed yet */
    GHashTable *rooms;       /* RhSplit* -> RhMemoryTables*, owned by the bound cache */
} RhShardCost;

/* Data in flight at a stage's memory peak. */
typedef struct {
    RhInFlight in_flight;
    bool known; /* in_flight is computed */
} RhStagePeak;

/* Memory peaks of all stages for one pipeline profile and one way to shard gradients. A list of
 * them is short: one per schedule and, if the stack frees gradients, per ZeRO degree and number of
 * replicas. */
typedef struct RhStagePeaks {
    const RhPipelineProfile *profile;
    RhGradientBytes gradients;
    struct RhStagePeaks *next;
    RhStagePeak of_stage[];
} RhStagePeaks;

/* Memory of a shard on a split. */
typedef struct {
    const RhChunkMemory **chunks; /* per model chunk; owned by the shard */
    RhStageHeld *held;            /* per stage */
    bool *as_before;              /* per stage: it holds the same as the stage before */
    double *fixed_bytes;          /* per stage: held from step to step by the last layout queried */
    RhStagePeaks *peaks;          /* newest first */
} RhMemoryTables;

/* Data that a pass sends out of the node, over the NIC of the rank that sends least. */
typedef struct {
    double seconds;
    uint32_t lanes;    /* lanes that send: bits of RhLane */
    uint32_t anchored; /* lanes whose last collective waits for a kernel of the pass */
    uint32_t awaited;  /* lanes with a collective that a kernel of the pass waits for */
} RhLayerEgress;

/* Times of all layers of a shard on one placement. */
typedef struct {
    /* Elements of `own`, or a constant without times for passes that have no tasks. */
    const RhLayerTime *of[RH_LAYER_OP_KINDS][RH_SLOT_PASSES];
    GArray *own; /* RhLayerTime */
    /* Tables for schedules that run two slots as a pair; otherwise NULL. */
    GHashTable *task_s; /* GArray* of a layer's or a pair's tasks -> double[]: each alone; owned */
    GHashTable *pair_s; /* contents of two chunks -> double: rh_bound_pair_s; owned */
    GPtrArray
        *trails; /* walks of pairs, which others begin like (overlapped_pair_times.c); owned */
} RhLayerTimes;

/* Times of a chunk's passes. `least` is the part that the closed form may count until the lane is
 * free and the output ready: in schedules with pairs only the kernels, since a pair may hide all
 * else. */
typedef struct {
    RhLayerTime of[RH_SLOT_PASSES];
    struct {
        double busy_s, out_s, kernels_s;
    } least[RH_SLOT_PASSES];
} RhChunkTimes;

/* Times of every chunk and stage of a shard on a split and a placement. */
typedef struct {
    const RhChunkTimes **chunk; /* per model chunk; owned by the bound cache */
    /* Per model chunk g: forwards, and backwards that send gradients on, of chunks 0 .. g-1. */
    double *fill_s, *drain_s;
    double *work_s, *kernels_s; /* per stage: lane time, kernels of one micro-batch, all chunks */
    bool pairs;                 /* the schedule has pairs */
    double *pair_s;             /* indexed as RhPipelineProfile.pairs, owned; NULL: not computed */
    double forward_all_s;       /* one forward of every chunk */
    int beside;                 /* RhLayerTime.beside, maximum of all */
    int lanes; /* number of lanes of collectives that layers have, recomputed or not */
    struct RhProfileCosts *prices; /* newest first; owned */
    double numbers[];              /* storage of the arrays above, followed by that of `chunk` */
} RhChunkTimeTable;

/* Longest path of a schedule with the communication of the stage programs at its ends. */
typedef struct {
    const struct RhCommStepSet *flows;
    double seconds;
} RhLongest;

/* Costs of a pipeline profile under a table of chunk times, without messages. A table has few of
 * them: one per schedule. */
typedef struct RhProfileCosts {
    const RhPipelineProfile *profile;
    struct RhProfileCosts *next;
    double *before_last_s, *behind_back_s; /* per stage */
    double *work_s;                        /* per stage: lane time of all its slots */
    bool work_known;                       /* work_s is computed */
    /* Per stage: work_s where recomputation is open, of any modules and of `open_modules`; NULL: not
     * computed. Of pairs alone; owned by the bound cache. */
    double *open_s, *open_modules_s;
    uint32_t open_modules;
    GPtrArray *paths; /* RhSchedulePath*, owned: rh_bound_path; NULL: none */
    GArray *longest;  /* RhLongest, one per RhCommStepSet; there are few */
    double numbers[]; /* storage of the arrays above */
} RhProfileCosts;

/* Layers of every model chunk. */
typedef struct {
    int32_t id;
    int32_t chunks;
    int32_t *layers;                      /* per model chunk */
    int32_t (*kinds)[RH_LAYER_OP_LAYERS]; /* layers of each kind, per model chunk */
    int32_t *content; /* per model chunk: equal for chunks that consist of the same layers */
} RhSplit;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* Alpha-beta cost of a message. */
typedef struct {
    double latency_s, s_per_byte;
} RhLinkCost;
#pragma GCC diagnostic pop

/* Delay that a point-to-point message imposes on the next collective of its block, from the start
 * of the message: its bytes on the shared link less `fixed_s`, and at most `most_s`. */
typedef struct {
    double s_per_byte, most_s, fixed_s;
} RhP2pInterference;

/* Load of a link: seconds that its bytes take, and maximum number of simultaneous flows. */
typedef struct {
    RhLink link;
    double busy_s;
    int32_t flows;
} RhLinkLoad;

/* Position of the ranks of one block of a stage, as far as it affects the block's collectives. */
typedef struct {
    int32_t id;
    uint64_t hash;      /* identifies the placement; equal in every process */
    RhProgram *program; /* one role: the block's ranks on their GPUs */
    int32_t groups[RH_GROUP_LAST];
    /* Per group: identifies where all its instances in the block lie, whatever other groups there
     * are; equal in every process. */
    uint64_t group_hash[RH_GROUP_LAST];
    int32_t rank;    /* rank whose time the bound follows if blocks are placed differently; the same
                        in all stages, since a message goes from a place to the same place */
    double *crossed; /* per rank: weight that grows with how often its groups cross nodes */
} RhPlacement;

/* Groups and placements of all stages, with the messages between them. */
typedef struct RhGroupNetwork {
    int32_t id;
    RhProgram *skeleton; /* groups and roles without tasks */
    int32_t groups[RH_GROUP_LAST];
    /* Per stage: message to s+1 (the last stage wraps to 0) and to s-1; of the fastest rank or, if
     * blocks are placed differently, of the rank that the bound follows. */
    RhLinkCost *next, *back;
    RhLinkCost least_next, least_back; /* minimum over all stages, without the wraps */
    const RhPlacement **placement; /* per stage: of the block that the bounds follow; borrowed */
    int32_t placement_key;         /* equal if the placements of all stages are equal */
    int32_t *alike; /* per stage: the first stage whose collectives take equally long */
    RhGrid grid;
    int32_t block;    /* ranks of a block (grid.h) */
    int32_t followed; /* index of the block in each stage that the bounds follow */
    bool uniform;     /* all blocks of a stage are placed alike, so they act simultaneously */
    /* Networks that follow other blocks, for small jobs that are not uniform. Owned; they share all
     * members with this one except placement, placement_key, messages and `followed`. */
    struct RhGroupNetwork *others;
    int32_t others_count;
} RhGroupNetwork;

/* Communication time of a list of steps. */
typedef struct {
    double lane_s[RH_LANE_LAST];
    /* Time without latency of gathers and scatters of the common parameters. They cross the same
     * links one byte after another, while latencies may hide behind other bytes. */
    double moving_s;
} RhLaneCommTime;

/* Communication time of an optimizer step, or the part of it that each micro-batch adds. */
typedef struct {
    double gathers_s, gradients_s, moving_s; /* lanes of parameters and gradients; RhLaneCommTime */
    double copies_s;                         /* to host memory; the way back takes as long */
    double weights_s;                        /* from host memory or drives */
} RhStepCommTime;

/* Communication time of one stage, as the closed form reads it. */
typedef struct {
    RhStepCommTime step,
        step_each;       /* independent of the number of micro-batches; per micro-batch */
    double optimizer_s;  /* of the slowest stage, if all stages synchronise before it */
    double end_s;        /* between the last gradients and the optimizer: kernels, communication */
    double last_s;       /* gradient lane in the slots of the last micro-batch */
    bool each;           /* every micro-batch has gradients in that lane */
    int32_t alike_count; /* number of stages from this one on for which all of the above is equal */
    double first_wait_s; /* time at which the parameters of the first layer are ready */
} RhStageCommTime;

/* Communication of one stage program: seconds of every instruction, and sums by slot. */
typedef struct RhCommSteps {
    RhStageCommTime sums;
    RhStageProgram *stage_program;
    double *step_s, *moving_s; /* per instruction: seconds; the part in which bytes move */
    RhLaneCommTime begin;
    RhLaneCommTime every, first, last,
        one;       /* slots of all chunks: inner ones, first, last, m = 1 */
    GArray *calls; /* its distinct collectives (lockstep_messages.c); NULL: not computed yet */
    bool one_microbatch;
    const RhLayout *layout;   /* referred to by the stage program; owned, one for all stages */
    struct RhCommSteps *like; /* first equal stage, which owns stage program, seconds and calls */
} RhCommSteps;

/* Communication steps of all stages. The set outlives `of_stage`, because other tables use its
 * address as their key. */
typedef struct RhCommStepSet {
    RhCommSteps **of_stage; /* NULL-terminated; NULL: dropped from the cache */
    RhStageCommTime *sums;  /* of the first of each row of alike stages, in their order; owned */
    int32_t steps;          /* number of instructions of their stage programs */
} RhCommStepSet;
