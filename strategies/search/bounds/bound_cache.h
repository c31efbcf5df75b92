#pragma once
/* Tables behind the bounds of one case. Everything that repeats over layouts is computed once, and
 * all of it from what the builder builds with: layers, stage programs, shapes.
 *   Shard   block costs and the tasks of their layers
 *   Split   layers of every chunk
 *   Shape   what a schedule says for p stages, v chunks, m micro-batches
 *   Net     groups and roles, messages between stages, where blocks lie
 *   Spans   shard x split x placement: seconds of every chunk's passes
 *   Flows   what a stage's stage program communicates, with its seconds
 * A table's key is the layout without the knobs that keep it as it is, by their own rows
 * (RhKnob.keeps): a new knob is in every key until its row says otherwise.
 * Private to this folder. */
#include <math.h>

#include "base/arena.h"
#include "sim/collective/uncontended_times.h"
#include "sim/engine/fold_cache.h"
#include "strategies/search/plan.h"
#include "strategies/train/algorithm_choice.h"
#include "strategies/train/build.h"
#include "strategies/train/memory.h"
#include "strategies/train/schedule_path.h"
#include "strategies/train/stage_program.h"

/* As fmax and fmin for numbers, and a few times quicker: millions of bounds are made of them. */
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

/* How a pass meets one of these lanes: when the lane is free again after the pass began (0: never
 * used); and where the lane is still busy with what came before, until c: the least that is left
 * from c on until the lane, the compute lane and the output are free (-infinity: it does not
 * wait). */
typedef struct {
    double free_s;
    double lane_after_s, busy_after_s, out_after_s;
} RhLayerLaneTime;
#define RH_LAYER_LANE_NONE                                                                         \
    {                                                                                              \
        0, (double)-INFINITY, (double)-INFINITY, (double)-INFINITY                                 \
    }

/* How much of the first seconds of a path is no kernel: wait_s[i] of the first (i + 1) / RH_LAYER_WINDOWS of its
 * length_s, at the most. */
#define RH_LAYER_WINDOWS 16
typedef struct {
    double length_s; /* 0: nothing is known */
    double wait_s[RH_LAYER_WINDOWS];
} RhLayerWaits;

/* One pass of a layer, or of several in a row, alone: until the compute lane is free again, until
 * its output may leave, and the kernels on the path to either (what SM sharing can stretch). They
 * differ where a collective outlasts the kernels that it hides behind. */
typedef struct {
    double busy_s, out_s, kernels_s, out_kernels_s;
    double held_s; /* what the output waits for behind the last kernel holds SMs so long, at least,
                      and without a gap; -infinity: not known */
    double tail_s; /* kernels between the last collective of lane TP and the output, which waits for
                      these, and for it where there are none; -infinity: not known */
    int16_t lanes_end; /* of the lanes below, one behind the last that is used */
    int16_t beside;    /* of these so many at most hold SMs beside one of its kernels */
    RhLayerLaneTime lane[RH_LAYER_LANES];
    RhLayerWaits waits; /* of the first layer, on either path */
} RhLayerTime;
#define RH_LAYER_TIME_NONE                                                                         \
    {                                                                                              \
        .lane = {RH_LAYER_LANE_NONE, RH_LAYER_LANE_NONE, RH_LAYER_LANE_NONE},                      \
        .tail_s = (double)-INFINITY,                                                               \
    }

typedef struct {
    int32_t id;
    RhModelCost *model_cost; /* with kernels once there are layers */
    RhLayerOps *items_;      /* rh_bound_layer_ops; NULL: not asked for yet */
    RhLayout layout;         /* one with this shard: block costs and layers refer to it */
    /* Made with the first spans: most shards have none. */
    GHashTable *times;       /* placement -> RhLayerTimes*, owned */
    GHashTable *chunk_times; /* (content, placement) -> RhChunkTimes*, the bound cache's */
    GHashTable *spans;       /* (split, placement) -> RhChunkTimeTable*, the bound cache's */
    GHashTable *messages;    /* flows of all stages -> rh_bound_messages, borrowed */
    GHashTable *sent;        /* placement -> RhLayerEgress of all layers and passes, owned */
    GHashTable *shares;      /* flows of all stages -> RhP2pInterference[]; owned */
    GHashTable *sums; /* likewise -> RhGradientInterference: gradient_interference.c; owned */
    /* Of every shard. */
    RhStates layer_states;   /* rh_bound_layer_states */
    GPtrArray *chunk_memory; /* content -> RhChunkMemory*, owned; NULL: not asked for yet */
    GHashTable *rooms;       /* RhSplit* -> RhMemoryTables*, the bound cache's */
} RhShardCost;

/* In flight when a stage is fullest. */
typedef struct {
    RhInFlight in_flight;
    bool known; /* it was asked for */
} RhStagePeak;

/* Under one shape, with gradients shared out in one way. A stage's chunks are under few: as many as there
 * are schedules, and where the stack frees gradients degrees of ZeRO and numbers of replicas. */
typedef struct RhStagePeaks {
    const RhPipelineProfile *profile;
    RhGradientBytes gradients;
    struct RhStagePeaks *next;
    RhStagePeak of_stage[];
} RhStagePeaks;

/* Memory of a shard on a split. */
typedef struct {
    const RhChunkMemory **chunks; /* per model chunk; the shard's */
    RhStageHeld *held;            /* per stage */
    bool *as_before;              /* per stage: it holds what the one before does */
    double *fixed_bytes;          /* per stage, of the layout asked for last: from step to step */
    RhStagePeaks *peaks;          /* the latest made first */
} RhMemoryTables;

/* What a pass sends out of the node, over the NIC of the rank that sends least. */
typedef struct {
    double seconds;
    uint32_t lanes;    /* by which: bits of RhLane */
    uint32_t anchored; /* of which the last one waits for a kernel of the pass */
    uint32_t awaited;  /* of which one is waited for by a kernel of the pass */
} RhLayerEgress;

typedef struct {
    const RhLayerTime *of[RH_LAYER_OP_KINDS][RH_SLOT_PASSES]; /* in `own`, or nothing's */
    GArray *own;                                              /* RhLayerTime */
    /* With pairs, else NULL. */
    GHashTable *task_s; /* GArray* of a layer's or a pair's tasks -> double[]: each alone; owned */
    GHashTable *pair_s; /* contents of two chunks -> double: rh_bound_pair_s; owned */
} RhLayerTimes;

/* What a chunk's passes take. The least that the closed form may count, until the lane is free and the
 * output there: with pairs kernels alone, since they may hide all the rest. */
typedef struct {
    RhLayerTime of[RH_SLOT_PASSES];
    struct {
        double busy_s, out_s, kernels_s;
    } least[RH_SLOT_PASSES];
} RhChunkTimes;

/* A shard on a split: what every chunk and stage takes. */
typedef struct {
    const RhChunkTimes **chunk; /* per model chunk; the shard's */
    /* Per model chunk g: forwards, and backwards that hand gradients on, of chunks 0 .. g-1. */
    double *fill_s, *drain_s;
    double *work_s, *kernels_s; /* per stage: lane time, kernels of one micro-batch, all chunks */
    double *pair_s;             /* as RhPipelineProfile.pairs, owned; NULL: no pairs */
    double forward_all_s;       /* every chunk once */
    int beside;                 /* RhLayerTime, of all */
    struct RhProfileCosts *prices; /* the latest made first; owned */
    double numbers[];              /* what the pointers above point to, and chunk's behind these */
} RhChunkTimeTable;

/* The longest path, with what the stage programs communicate at its ends. */
typedef struct {
    const struct RhCommStepSet *flows;
    double seconds;
} RhLongest;

/* A shape at a span's costs, messages apart. A span has few: as many as there are schedules. */
typedef struct RhProfileCosts {
    const RhPipelineProfile *profile;
    struct RhProfileCosts *next;
    double *before_last_s, *behind_back_s; /* per stage */
    double *work_s;                        /* per stage: lane time of all its slots */
    GPtrArray *paths;                      /* RhSchedulePath*, owned: rh_bound_path; NULL: none */
    GArray *longest;  /* RhLongest: few stages' stage programs go with one price */
    double numbers[]; /* what the pointers to them point to */
} RhProfileCosts;

typedef struct {
    int32_t id;
    int32_t chunks;
    int32_t *layers;                      /* per model chunk */
    int32_t (*kinds)[RH_LAYER_OP_LAYERS]; /* layers of each kind, per model chunk */
    int32_t *content; /* per model chunk: equal where chunks are made of the same layers */
} RhSplit;

/* A message. */
typedef struct {
    double latency_s, s_per_byte;
} RhLinkCost;

/* What a message of a member of a block does to the block's next collective: it may not start, as
 * it were, before the message's bytes are through its link, `fixed_s` less, `most_s` at most. */
typedef struct {
    double s_per_byte, most_s, fixed_s;
} RhP2pInterference;

/* Seconds of bytes on a link, and flows at one time, at most. */
typedef struct {
    RhLink link;
    double busy_s;
    int32_t flows;
} RhLinkLoad;

/* Where the ranks of one block of a stage lie, as far as its collectives can tell. */
typedef struct {
    int32_t id;
    uint64_t hash;      /* of what tells it apart: the same in every process */
    RhProgram *program; /* one role: the block's ranks on their GPUs */
    int32_t groups[RH_GROUP_LAST];
    int32_t rank; /* the one that a bound follows where blocks do not lie alike: of all stages the
                        same, as a message goes from one place to the same */
    double *crossed; /* per rank: the more, the more often its groups cross nodes */
} RhPlacement;

typedef struct RhGroupNetwork {
    int32_t id;
    RhProgram *skeleton; /* groups and roles without tasks */
    int32_t groups[RH_GROUP_LAST];
    /* Per stage, the message of its luckiest rank, or of the rank that the bound follows where replicas lie otherwise:
     * to s+1 (the last wraps to 0), to s-1. */
    RhLinkCost *next, *back;
    RhLinkCost least_next, least_back; /* of all stages, but for the wraps */
    const RhPlacement **placement; /* per stage, of the block that the bounds follow; borrowed */
    int32_t placement_key;         /* equal where all stages' are */
    int32_t *alike; /* per stage: the first whose collectives take as long, moved over the fabric */
    RhGrid grid;
    int32_t block;    /* ranks of one (grid.h) */
    int32_t followed; /* which block of each stage the bounds follow */
    bool uniform;     /* all blocks of a stage lie alike: what they do, they do at one time */
    /* Where they do not: the same of blocks that lie otherwise, of small jobs; owned, but for what they share
     * with this one: all besides placement, its key, messages and `followed`. */
    struct RhGroupNetwork *others;
    int32_t others_count;
} RhGroupNetwork;

/* What lists of steps communicate. */
typedef struct {
    double lane_s[RH_LANE_LAST];
    /* Of gathers and scatters of the same parameters, which cross the same links a byte at a time;
     * latencies may hide behind other bytes. */
    double moving_s;
} RhLaneSums;

/* Of a step of m micro-batches: what does not depend on m, and what comes with each. */
typedef struct {
    double gathers_s, gradients_s, moving_s; /* lanes of parameters and gradients; RhLaneSums */
    double copies_s;                         /* to the host's memory; as many come back */
} RhStepSums;

/* The communication of one stage's stage program: seconds of every step, and sums by slot. What the closed
 * form reads lies together. */
typedef struct RhCommSteps {
    RhStepSums step, step_each;
    double optimizer_s;  /* of the slowest stage, where all stages meet before it */
    double end_s;        /* between the last gradients and the optimizer: kernels, communication */
    double last_s;       /* of the gradient lane, in the last micro-batch's slots */
    bool each;           /* every micro-batch has gradients in that lane */
    int32_t alike_count; /* stages from this one on of which all the above is the same */
    RhStageProgram *stage_program;
    double *step_s,
        *moving_s;       /* per step: of communication all, and while bytes move; of kernels */
    double first_wait_s; /* when the first layer's parameters are there */
    RhLaneSums begin;
    RhLaneSums every, first, last, one; /* slots of all chunks: inner ones, first, last, m = 1 */
    GArray *calls; /* what it calls, once each (lockstep_messages.c); NULL: not asked for yet */
    bool one_microbatch;
    const RhLayout *layout; /* the stage program refers to it; owned, one for all stages */
    struct RhCommSteps
        *like; /* the first stage that does the same: stage program, seconds and calls are its */
} RhCommSteps;

/* Of all stages. Kept for long while `of_stage` may be forgotten: who knows something of these flows
 * knows them by this. */
typedef struct RhCommStepSet {
    RhCommSteps **of_stage; /* NULL-ended; NULL: forgotten */
    int32_t steps;          /* of their stage programs */
} RhCommStepSet;

/* Values of all knobs in the order of their rows, then what a table is made for besides; the rest
 * is 0, up to an even number. */
enum {
#define RH_KNOB(type, field, ...) RH_SCREEN_KEY_##field,
#include "strategies/knob_rows.h"
#undef RH_KNOB
    RH_SCREEN_KEY_GIVEN
};
#define RH_SCREEN_KEY_INTS ((RH_SCREEN_KEY_GIVEN + 2) / 2 * 2)
typedef struct {
    int32_t v[RH_SCREEN_KEY_INTS];
} RhBoundKey;

typedef struct {
    GHashTable *table; /* owned, as its values */
    RhBoundKey mask;   /* 0 for knobs that are not in the key, else ~0 */
    struct {
        const RhBoundKey *key;
        void *value;
    } last[2]; /* asked for, the latest first */
} RhBoundMemo;

/* A collective of all blocks of a stage at once. */
typedef struct {
    int32_t net;   /* its id; or below 0, with `stage`, of a placement its hash */
    int32_t stage; /* ~G_MAXINT32: `net` is the id of a set of groups (stage_groups.h) */
    int32_t group, op;
    double bytes;
    RhRouting routing; /* of tokens that are sent once */
} RhCollectiveKey;

/* A fold of merged ranks that was begun for its messages: owned, but for the hops. */
typedef struct {
    const RhLinkCost *hops;
    RhProgram *program;
    RhTraffic *traffic;
    RhFold *fold;
} RhOpenFold;

typedef struct RhBackgroundFold RhBackgroundFold; /* background_fold.c */

struct RhBoundCache {
    const RhProblem *c;     /* as bounds take it: `asked`, or on a fabric whose links are even */
    const RhProblem *asked; /* borrowed */
    RhProblem evened;       /* owns its platform, where there is one */
    RhDeadline deadline; /* never, unless set; then collectives count as nothing: still a bound */
    int32_t sms_least, sms_most; /* of the platform's devices */
    double held_frac; /* of any one's SMs at least, by one communication (rh_sms_left_frac) */
    RhBoundMemo shards, splits, shapes, nets, flows;
    RhBoundMemo works;   /* of a shard's layers on a placement: rh_bound_known_work */
    int32_t shards_made; /* so far, forgotten ones too: their ids */
    struct {
        RhShardCost *shard;
        int32_t key[2]; /* of its spans */
        RhChunkTimeTable *value;
    } spans_last; /* asked for */
    struct {
        RhBoundKey key;
        double most_bytes; /* 0: nothing was asked yet */
        bool within;
        RhTrainMemory memory;
    } memory_last;            /* rh_bound_memory_within */
    GPtrArray *placements;    /* RhPlacement*, owned */
    GHashTable *placement_of; /* signature and rank -> RhPlacement*; keys owned */
    GPtrArray *lists;         /* GArray* of int16_t: layers of chunks that were named; owned */
    GHashTable *content_of;   /* GBytes: kinds of a chunk's layers -> 1 + its content */
    GArray *contents;         /* RhChunkLayers: a chunk of each */
    RhArena *tables;     /* spans, their prices and chunk times: there for as long as this is */
    RhArena *rooms;      /* of all shards */
    double rooms_bytes;  /* of all rooms that are kept */
    int64_t flows_steps; /* of all stage programs that are kept */
    GHashTable
        *collectives;       /* RhCollectiveKey -> seconds; at ~stage RhScheduleTime a byte; owned */
    GHashTable *tallies;    /* RhCollectiveKey -> RhWaveTally*, owned */
    GHashTable *group_sets; /* what tells them apart -> RhStageGroups*, owned (stage_groups.h) */
    GHashTable *algorithms; /* RhCollectiveKey -> 1 + RhAlgo */
    GByteArray *learned;    /* what is found of placements, for rh_bound_learn; NULL: nobody asks */
    int32_t learned_alone;  /* times alone that were known before */
    RhAlgorithmSites *sites;   /* by which they are chosen, of `asked` */
    GHashTable *loads;         /* RhCollectiveKey -> GArray of what links carry, owned */
    GHashTable *sent;          /* RhCollectiveKey -> double: egress.c, owned */
    bool *ample;               /* per link: p2p_interference.c; NULL: not asked for yet; owned */
    RhUncontendedTimes *alone; /* owned; for rehearsals too, where c is as it was asked */
    RhFoldedTable *folded;     /* likewise */
    RhOpenFold open;           /* the last; all NULL: none */
    RhBackgroundFold *ahead;   /* being folded beside the search; NULL: none */
    GHashTable *messages;      /* GBytes: who communicates by which steps -> RhLinkCost[]; owned */
};

/* What kernels keep of any device, at most, beside so many lanes that hold SMs. */
static inline double rh_bound_sms_left_frac(const RhBoundCache *s, int32_t lanes)
{
    double held = s->c->platform->collective_sms.value;
    return rh_max_d(rh_sms_left_frac(s->sms_least, held, lanes),
                    rh_sms_left_frac(s->sms_most, held, lanes));
}

/* What each of `counted` lanes takes from kernels at least while they, and no more than `others` that are known
 * to, hold SMs: an SM is left, however many they are. */
static inline double rh_bound_taken_frac(const RhBoundCache *s, int32_t counted, int32_t others)
{
    double held = s->c->platform->collective_sms.value;
    double left = (s->sms_least - 1 - others * held) / s->sms_least;
    bool room = counted * s->held_frac <= left;
    return room ? s->held_frac : rh_max_d(0, left / counted);
}

/* Of keys of two int32_t. */
guint rh_pair_hash(const void *key);
gboolean rh_pair_equal(const void *a, const void *b);

/* All that a bound reads of a layout, but what stage programs communicate, looked up at once. */
typedef struct {
    RhShardCost *shard;
    const RhPipelineProfile *profile;
    const RhGroupNetwork *net;
    RhChunkTimeTable *spans;
    RhProfileCosts *prices;
} RhTables;
RhTables rh_bound_tables(RhBoundCache *cache, const RhLayout *layout);
/* The closed form without critical paths and the busiest link, which take the most time where nobody
 * asked for them before: rh_closed_form_s is never below. */
double rh_bound_gradient_interference_s(RhBoundCache *cache, const RhLayout *layout);
/* What a layout's slots take with the messages of one micro-batch, all else for nothing: stage programs, which
 * take the most time to make, are not asked for. rh_bound_gradient_interference_s is never below. */
double rh_bound_work_s(RhBoundCache *cache, const RhLayout *layout);
/* All knobs of a layout, without what a table is made for besides. */
RhBoundKey rh_bound_key(RhBoundCache *cache, const RhLayout *layout);
/* Equal where the shard is the same. */
RhBoundKey rh_bound_shard_key(RhBoundCache *cache, const RhLayout *layout);
/* rh_train_memory with the tables at hand; of the fullest stage. False where a stage needs more than
 * `most_bytes`, or a finite number is asked about and a host has too few: then *out is left alone, and of stages behind that nothing was asked. */
bool rh_bound_memory_within(RhBoundCache *cache, const RhLayout *layout, double most_bytes,
                            RhTrainMemory *out);
RhTrainMemory rh_bound_memory(RhBoundCache *cache, const RhLayout *layout);
/* The memory of the fullest of the first two stages and the last: no more than the whole layout's, and soon told. */
RhTrainMemory rh_bound_ends_memory(RhBoundCache *cache, const RhLayout *layout);
/* What a rank holds of all layers of the model where there are no stages. */
RhStates rh_bound_layer_states(const RhModelCost *model_cost, const RhLayout *layout);
/* rh_train_tasks likewise. */
double rh_bound_tasks(RhBoundCache *cache, const RhLayout *layout);
RhShardCost *rh_bound_shard(RhBoundCache *cache, const RhLayout *layout);
/* Tasks of the shard's layers: most layouts do not fit, and nobody asks for theirs. */
const RhLayerOps *rh_bound_layer_ops(RhShardCost *shard);
const RhLayerOps *
rh_bound_passes(RhShardCost *shard); /* the same without pairs, if nobody has asked for them */
const RhSplit *rh_bound_split(RhBoundCache *cache, const RhLayout *layout);
const RhPipelineProfile *rh_bound_pipeline_profile(RhBoundCache *cache, const RhLayout *layout);
const RhGroupNetwork *rh_bound_network(RhBoundCache *cache, const RhLayout *layout);
/* What a shard is asked beyond its memory is kept in tables, which most shards never need. */
void rh_shard_add_tables(RhShardCost *shard);
RhChunkTimeTable *rh_bound_chunk_times(RhBoundCache *cache, RhShardCost *shard,
                                       const RhSplit *split, const RhGroupNetwork *net);
RhProfileCosts *rh_bound_profile_costs(RhBoundCache *cache, RhChunkTimeTable *spans,
                                       const RhPipelineProfile *profile);
/* The longest path at these prices, where messages take `message_s` and slots that send for a chunk's
 * sums lose `last_frac` to them, with all of its slots or those at ends; NULL: none is known. */
const RhSchedulePath *rh_bound_path(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                                    RhProfileCosts *prices, double message_s, double last_frac,
                                    bool all);
/* The same, not kept, with RhSchedulePathCosts.behind_s; the caller frees it. */
RhSchedulePath *rh_bound_path_find(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                                   double message_s, double last_frac, bool all,
                                   const double *behind_s);
/* Do the instances of a kind of group at a block's places go call by call? (collective_times.c) */
bool rh_bound_places_keep_step(const RhBoundCache *cache, const RhGroupNetwork *net);
/* No step of a layout with the knobs of this cut (space.h) is shorter. (cut_bound.c) */
double rh_cut_bound_s(RhBoundCache *cache, const RhLayout *cut);
/* A bound of the cut by its kernels alone, which takes a third of the time to find; 0 where devices differ. */
double rh_cut_bound_kernels_s(RhBoundCache *cache, const RhLayout *cut);
/* Could the weights, gradients and optimizer states of a stage's share of the layers lie within so many bytes, however
 * they are shared out over replicas? */
bool rh_bound_states_fit(RhBoundCache *cache, const RhLayout *cut, double most_bytes);
/* What one layer, or all layers, of a stage that runs this layout are busy for in a micro-batch. */
typedef struct {
    double forward_s, back_s, all_s;
    double lane_s[RH_LAYER_LANES]; /* of all passes, each lane of collectives alone */
} RhLayerWork;
RhLayerWork rh_bound_layer_work(RhBoundCache *cache, const RhLayout *layout,
                                const RhGroupNetwork *net, int32_t stage, int kind);
/* Kept when shards are forgotten, of all cuts with these layers and blocks that lie so. */
typedef struct {
    RhLayerWork least; /* of all layers once and of any layer; all_s 0: not known yet */
    struct RhRecomputeCosts *costs; /* recompute_bound.c; owned */
} RhKnownWork;
void rh_known_work_free(void *known);
/* The bound cache's. */
RhKnownWork *rh_bound_known_work(RhBoundCache *cache, const RhLayout *layout, int32_t placement);
/* Makes room where much has been asked: no pointer to tables of a layout may be held. */
void rh_bound_forget_shards(RhBoundCache *cache);
/* rh_bound_work_s where one stage is busy `more_s` longer for each micro-batch. */
double rh_bound_work_beside_s(RhBoundCache *cache, const RhLayout *layout, int32_t stage,
                              double more_s);
/* rh_segment_graph_s with every message alone on its links, for which no ranks need to be told apart:
 * on a hundred thousand of them that takes the most time. rh_segment_graph_s is never below. */
double rh_bound_graph_s(RhBoundCache *cache, const RhLayout *layout);
/* What communication adds to the path: until the first slot has its parameters, in slots that are
 * their chunk's first or last and behind these, behind the end. (segment_graph.c) */
double
rh_bound_path_late_s(RhBoundCache *cache, const RhLayout *layout, const RhGroupNetwork *net,
                     const RhSchedulePath *path); /* net: the layout's, or one of its others */
/* RhSchedulePathCosts.behind_s of the net, as messages beside collectives say; NULL: none is known. The caller frees it. */
double *rh_bound_path_behind_s(RhBoundCache *cache, const RhLayout *layout,
                               const RhGroupNetwork *net);
/* Its flows are there until those of another layout are asked for. */
const RhCommStepSet *rh_bound_comm_step_set(RhBoundCache *cache, const RhLayout *layout);
RhCommSteps *const *rh_bound_comm_steps(RhBoundCache *cache, const RhLayout *layout);
/* Times of a stage's layers on an idle network. */
const RhLayerTimes *rh_bound_layer_times(RhBoundCache *cache, RhShardCost *shard,
                                         const RhGroupNetwork *net, int32_t stage);

/* pair_times.c: two halves of a pair in a stage. When its lanes are free, and since when they have been
 * busy (infinity: not known; NULL: none holds SMs); what each half waits for, and when its last kernel ended. */
typedef struct {
    double *free_s, *since_s; /* by lane */
    double pending_s[2], last_s[2];
} RhBatchOverlap;
/* The next layers of both, or of one alone; `ends_s` is rh_batch_overlap_new's. */
void rh_batch_overlap_pair(const RhBoundCache *cache, const RhLayerTimes *times,
                           const RhLayerOps *items, const RhPairWalk *walk, int32_t forward,
                           int32_t backward, RhBatchOverlap *turns, double *ends_s);
double *rh_batch_overlap_new(const RhLayerOps *items); /* the caller frees */
/* A pair on a stage at rest until the compute lane is free, of chunks of these contents; no kernel slowed
 * down. */
double rh_bound_pair_s(RhBoundCache *cache, RhShardCost *shard, const RhGroupNetwork *net,
                       int32_t stage, int32_t forward, int32_t backward);
void rh_pair_times_add(RhBoundCache *cache, const RhGroupNetwork *net, const RhPlacement *at,
                       RhLayerTimes *times, const RhLayerOps *items);

/* collective_times.c: idle seconds of collectives. Inside a block, and of the group that holds a
 * stage's parameters; the algorithm is the builder's. */
double rh_bound_block_s(RhBoundCache *cache, const RhGroupNetwork *net,
                        const RhPlacement *placement, const RhLayerOp *task);
RhAlgo rh_bound_algorithm(RhBoundCache *cache, const RhGroupNetwork *net, int32_t group, RhOp op,
                          double bytes,
                          const RhRouting *routing); /* of the net's group: rh_train_algorithm */
double rh_bound_collective_s(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                             RhGroupKind group, RhOp op, double bytes);
/* What of it does not depend on the bytes, as long as their algorithm is taken. */
double rh_bound_latency_s(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                          RhGroupKind group, RhOp op, double bytes);
/* busiest_link.c: seconds that the busiest link takes for all that crosses it in a step, and an
 * optimizer behind; 0 where nothing is claimed. */
double rh_bound_links_s(RhBoundCache *cache, const RhLayout *layout);
/* Of one collective of all instances of the net's group in the key's stage, latencies left out: the last
 * of them takes no less from when all have begun. */
double rh_bound_busiest_s(const RhBoundCache *cache, const RhGroupNetwork *net, int32_t group,
                          const RhCollectiveKey *key);
/* egress.c: what ranks send out of their nodes, by the runs of a stage's slots. */
typedef struct {
    double item_s, behind_s; /* what its layers send, and what its stage program calls behind it */
    double start_s;          /* of its kernels in the rank that is last there: rh_egress_run */
    bool anchored;           /* collectives of runs behind it begin behind its start */
    bool awaited;            /* all that runs before it sent is over when its kernels are */
} RhRunEgress;
typedef struct {
    GArray *runs;       /* RhRunEgress */
    double *gathered_s; /* communications of the stage's beginning, each with all before it */
    double called_s;    /* by the layers of the runs so far */
    double over_s;      /* of that what the latest run's kernels waited for */
    guint next;         /* run */
} RhStageEgress;
typedef struct RhEgress RhEgress;
RhEgress *rh_egress_new(RhBoundCache *cache, const RhLayout *layout,
                        const RhChunkTimeTable *spans); /* NULL: nothing is claimed */
RhStageEgress *rh_egress_stage(RhEgress *sent, int32_t stage, const RhSlot *slots, int64_t total);
void rh_egress_run(RhStageEgress *stage, double start_s); /* the next one */
/* When all is sent, once all is run, and the optimizer behind. */
double rh_egress_s(const RhEgress *sent);
void rh_egress_free(RhEgress *sent); /* may be NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhEgress, rh_egress_free)
/* Of every instance of the key's group in its stage; NULL: none. The bound cache's. */
const GArray *rh_bound_loads(const RhBoundCache *cache, const RhGroupNetwork *net,
                             const RhCollectiveKey *key);
/* Would the engine merge ranks even if no two were alike? */
bool rh_bound_may_merge(RhBoundCache *cache, const RhLayout *layout);
/* p2p_interference.c: [2 stage + back], of messages to the next stage (the last wraps to 0) and to the one
 * before; of all stages for each RhSlotStand. 0 where nothing is claimed, NULL where nothing is claimed of any. */
const RhP2pInterference *rh_bound_p2p_interference(RhBoundCache *cache, const RhLayout *layout);
int32_t rh_p2p_interference_count(
    const RhLayout *layout); /* of the net; those of its others follow, one by one */
/* How long behind a message's beginning the next collective may not begin, as it were; below 0: at once. */
double rh_p2p_interference_s(const RhP2pInterference *share, double bytes);
/* lockstep_messages.c: messages of ranks that are in step, [2 stage + back], the luckiest's of each stage: to
 * the next (the last wraps to 0), to the one before. NULL where nothing is claimed. */
const RhLinkCost *rh_bound_messages(RhBoundCache *cache, const RhLayout *layout);
/* They will be asked for: what takes long of them begins beside the search, one at a time. */
void rh_bound_expect_messages(RhBoundCache *cache, const RhLayout *layout);
/* The layout is about to be rehearsed: ends its fold where it is the one that was left open, for the rehearsal to
 * take over. */
void rh_bound_end_fold(RhBoundCache *cache, const RhLayout *layout);
void rh_bound_forget_fold(RhBoundCache *cache);
/* group_network.c */
RhLinkCost rh_link_cost(const RhPlatform *platform, int32_t src_gpu, int32_t dst_gpu);
static inline double rh_link_cost_s(const RhLinkCost *hop, double bytes)
{
    return hop->latency_s + hop->s_per_byte * bytes;
}
RhGroupNetwork *rh_group_network_new(RhBoundCache *cache, const RhLayout *layout);
void rh_group_network_free(void *net);
void rh_placement_free(void *placement);
/* profile_costs.c */
void rh_profile_costs_free(RhProfileCosts *prices); /* all of a span */
/* comm_steps.c */
void rh_comm_steps_fill(RhBoundCache *cache, RhCommStepSet *set, const RhLayout *layout);
void rh_comm_steps_forget(RhCommStepSet *set);
void rh_comm_steps_free(void *set);
/* layer_times.c */
double rh_task_kernels_s(const RhLayerOp *task);
double rh_layer_kernels_s(const RhLayerPass *pass); /* of all of them, one after another */
/* A kernel's seconds from t on: every lane of a layer that has been busy since before holds SMs until it is free.
 * Solves end = t + work + held x (time that each lane is busy meanwhile), nearest end of a lane first. Both times
 * by lane; *most is raised to the lanes beside it. */
double rh_bound_beside_s(const RhBoundCache *cache, const double *free_s, const double *since_s,
                         double t, double work_s, int *most);
/* Blocks run one after another; the last output alone may still be on its way when the lane is
 * free. */
RhLayerTime rh_layer_time_add(RhLayerTime first, RhLayerTime then, double times);
