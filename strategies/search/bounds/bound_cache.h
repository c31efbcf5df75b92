#pragma once
/* Caches the tables behind the lower bounds of one problem. Everything that repeats over layouts is
 * computed once, from the same parts that the builder uses: layers, stage programs, profiles.
 *   RhShardCost        block costs and the tasks of their layers
 *   RhSplit            layers of every chunk
 *   RhPipelineProfile  what a schedule implies for p stages, v chunks, m micro-batches
 *   RhGroupNetwork     groups and roles, messages between stages, placement of blocks
 *   RhChunkTimeTable   shard x split x placement: seconds of every chunk's passes
 *   RhCommStepSet      communication steps of the stage programs, with their seconds
 * A table's key is the layout without the knobs that do not change it, as their own rows say
 * (RhKnob.keeps): a new knob is in every key until its row says otherwise.
 * For strategies/search, and for validate/plan_regret_search.c, which looks for layouts that beat a plan. */
#include "strategies/search/bounds/bound_tables.h"

/* Key of a table: values of all knobs in the order of their rows, then one extra value of the
 * table's own; padded with 0 to an even number. */
enum {
#define RH_KNOB(type, field, ...) RH_BOUND_KEY_##field,
#include "strategies/knob_rows.h"
#undef RH_KNOB
    RH_BOUND_KEY_GIVEN
};
#define RH_BOUND_KEY_INTS ((RH_BOUND_KEY_GIVEN + 2) / 2 * 2)
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
typedef struct {
    int32_t v[RH_BOUND_KEY_INTS];
} RhBoundKey;
#pragma GCC diagnostic pop

typedef struct {
    GHashTable *table; /* owned, as its values */
    RhBoundKey mask;   /* 0 for knobs that are not in the key, else ~0 */
    struct {
        const RhBoundKey *key;
        void *value;
    } last[2]; /* most recent look-ups, newest first */
} RhBoundMemo;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* Key of a collective that all blocks of a stage call at once. */
typedef struct {
    int32_t net;   /* id of the network; negative: with `stage` the hash of a placement */
    int32_t stage; /* ~G_MAXINT32: `net` is the id of a set of groups (stage_comm_groups.h) */
    int32_t group, op;
    double bytes;
    RhRouting routing; /* of an all-to-all that sends a token only once to a destination */
} RhCollectiveKey;
#pragma GCC diagnostic pop

/* Unfinished fold of merged ranks, started for its messages. Owns all members except the hops. */
typedef struct {
    const RhLinkCost *hops;
    RhProgram *program;
    RhTraffic *traffic;
    RhFold *fold;
} RhOpenFold;

typedef struct RhBackgroundFold RhBackgroundFold; /* background_message_fold.c */

struct RhBoundCache {
    const RhProblem *c;          /* problem that is bounded: `asked`, or `evened` */
    const RhProblem *asked;      /* borrowed */
    RhProblem evened;            /* all links at full rate; owns its platform, if it has one */
    RhProblem made_for;          /* copy of `asked`, which may be gone before the cache is */
    RhDeadline deadline;         /* none by default; after it collectives take 0 s: still a bound */
    int32_t sms_least, sms_most; /* minimum and maximum over the platform's devices */
    double held_frac;            /* least fraction of a device's SMs that one communication holds */
    RhBoundMemo shards, splits, shapes, nets, flows;
    RhBoundMemo layer_comm; /* rh_bound_layer_comm */
    RhBoundMemo works;      /* RhCachedWork by shard and placement: rh_bound_known_work */
    int32_t shards_made;    /* number of shards created so far, dropped ones included; next id */
    struct {
        RhShardCost *shard;
        int32_t key[2]; /* key in its `spans` */
        RhChunkTimeTable *value;
    } spans_last; /* most recent look-up */
    struct {
        RhBoundKey key;
        double most_bytes; /* 0: no query yet */
        bool within;
        RhTrainMemory memory;
    } memory_last;            /* most recent result of rh_bound_memory_within */
    GPtrArray *placements;    /* RhPlacement*, owned */
    GHashTable *placement_of; /* signature and rank -> RhPlacement*; keys owned */
    GPtrArray *lists;         /* GArray* of int16_t: explicit lists of chunks' layers; owned */
    GHashTable *content_of;   /* GBytes: kinds of a chunk's layers -> 1 + its content */
    GArray *contents;         /* RhChunkLayers: an example chunk of each content */
    RhArena *tables;          /* chunk times and profile costs, cleared with the shards */
    RhArena *rooms;           /* memory tables of all shards */
    double rooms_bytes;       /* size of all memory tables in `rooms` */
    int64_t flows_steps;      /* number of instructions of all cached stage programs */
    /* RhCollectiveKey -> seconds, or for keys at ~stage RhScheduleTime per byte; owned. */
    GHashTable *collectives;
    GHashTable *tallies; /* RhCollectiveKey -> RhPatternTally*, owned */
    GHashTable
        *group_sets; /* description of groups -> RhStageGroups*, owned (stage_comm_groups.h) */
    GHashTable *algorithms;    /* RhCollectiveKey -> 1 + RhAlgo */
    GByteArray *learned;       /* new times of placements, for rh_bound_learn; NULL: not recorded */
    int32_t learned_alone;     /* number of uncontended times known before recording began */
    RhAlgorithmSites *sites;   /* choice of algorithms on the platform of `asked` */
    GHashTable *loads;         /* RhCollectiveKey -> GArray of RhLinkLoad, owned */
    GHashTable *sent;          /* RhCollectiveKey -> double: nic_egress_bound.c, owned */
    bool *ample;               /* per link: p2p_interference.c; NULL: not computed yet; owned */
    RhUncontendedTimes *alone; /* owned; rehearsals use it too if c is `asked` */
    RhFoldedTable *folded;     /* owned; rehearsals use it too if c is `asked` */
    RhOpenFold open;           /* most recent unfinished fold; all NULL: none */
    RhBackgroundFold *ahead;   /* fold that a thread computes during the search; NULL: none */
    GHashTable *messages;    /* GBytes that describe who communicates how -> RhLinkCost[]; owned */
    GHashTable *pair_orders; /* GBytes: tasks of pairs -> RhPairOrders, owned */
};

/* Returns the largest fraction of any device's SMs that kernels keep while `lanes` lanes hold
 * SMs. */
static inline double rh_bound_sms_left_frac(const RhBoundCache *s, int32_t lanes)
{
    double held = s->c->platform->collective_sms.value;
    return rh_max_d(rh_sms_left_frac(s->sms_least, held, lanes),
                    rh_sms_left_frac(s->sms_most, held, lanes));
}

/* Returns the least fraction of the SMs that each of `counted` lanes takes from kernels while these
 * and at most `others` further lanes hold SMs. One SM is always left to kernels. */
static inline double rh_bound_taken_frac(const RhBoundCache *s, int32_t counted, int32_t others)
{
    double held = s->c->platform->collective_sms.value;
    double left = (s->sms_least - 1 - others * held) / s->sms_least;
    bool room = counted * s->held_frac <= left;
    return room ? s->held_frac : rh_max_d(0, left / counted);
}

/* Hash and equality functions for keys of two int32_t. */
guint rh_pair_hash(const void *key);
gboolean rh_pair_equal(const void *a, const void *b);

/* All tables of a layout that a bound reads, except the communication steps. */
typedef struct {
    RhShardCost *shard;
    const RhPipelineProfile *profile;
    const RhGroupNetwork *net;
    RhChunkTimeTable *spans;
    RhProfileCosts *prices;
} RhTables;
RhTables rh_bound_tables(RhBoundCache *cache, const RhLayout *layout);
/* Returns the closed form without critical paths and busiest link, the most expensive terms to
 * compute, in seconds; at most rh_closed_form_s. */
double rh_bound_gradient_interference_s(RhBoundCache *cache, const RhLayout *layout);
/* Returns the seconds of a layout's slots and of the messages of one micro-batch, without
 * building its stage programs, which would take most of the time; at most
 * rh_bound_gradient_interference_s. */
double rh_bound_work_s(RhBoundCache *cache, const RhLayout *layout);
/* Returns the key of all knobs of a layout, without a table's extra value. */
RhBoundKey rh_bound_key(RhBoundCache *cache, const RhLayout *layout);
/* Returns a key that is equal for layouts with the same shard. */
RhBoundKey rh_bound_shard_key(RhBoundCache *cache, const RhLayout *layout);
/* Computes rh_train_memory of the fullest stage from the cached tables. Returns false if a stage
 * needs more than `most_bytes` or, for a finite limit, a host has too little memory; *out is then
 * unchanged, and later stages are not evaluated. */
bool rh_bound_memory_within(RhBoundCache *cache, const RhLayout *layout, double most_bytes,
                            RhTrainMemory *out);
RhTrainMemory rh_bound_memory(RhBoundCache *cache, const RhLayout *layout);
/* Returns the memory of the fullest of the first two stages and the last one: a quick lower bound
 * of rh_bound_memory. */
RhTrainMemory rh_bound_ends_memory(RhBoundCache *cache, const RhLayout *layout);
/* Returns the states of all layers of the model on a rank, as if there were one stage. */
RhStates rh_bound_layer_states(const RhModelCost *model_cost, const RhLayout *layout);
/* Computes rh_train_tasks, the number of tasks, from the cached tables. */
double rh_bound_tasks(RhBoundCache *cache, const RhLayout *layout);
/* Return the bounds of a layout whose stages are of unequal widths, in seconds: as rh_closed_form_s and
 * rh_segment_graph_s, which ask them (stage_widths_bound.c). */
double rh_unequal_closed_s(RhBoundCache *cache, const RhLayout *layout);
double rh_unequal_graph_s(RhBoundCache *cache, const RhLayout *layout);
RhShardCost *rh_bound_shard(RhBoundCache *cache, const RhLayout *layout);
/* Returns the tasks of the shard's layers, computed on first use, since most layouts do not fit. */
const RhLayerOps *rh_bound_layer_ops(RhShardCost *shard);
/* Returns the tasks of the shard's layers, with pairs only if rh_bound_layer_ops made them
 * before. */
const RhLayerOps *rh_bound_passes(RhShardCost *shard);
const RhSplit *rh_bound_split(RhBoundCache *cache, const RhLayout *layout);
const RhPipelineProfile *rh_bound_pipeline_profile(RhBoundCache *cache, const RhLayout *layout);
const RhGroupNetwork *rh_bound_network(RhBoundCache *cache, const RhLayout *layout);
/* Creates the shard's tables of times, which most shards never need. */
void rh_shard_add_tables(RhShardCost *shard);
RhChunkTimeTable *rh_bound_chunk_times(RhBoundCache *cache, RhShardCost *shard,
                                       const RhSplit *split, const RhGroupNetwork *net);
/* Return RhChunkTimeTable.pair_s and RhProfileCosts.work_s, computed on first use. */
const double *rh_bound_pairs(RhBoundCache *cache, const RhLayout *layout, const RhTables *tables);
const double *rh_bound_slot_work(RhBoundCache *cache, const RhLayout *layout,
                                 const RhTables *tables);
/* Returns RhChunkTimeTable.pair_s where any of these modules may be recomputed, in any layers of a
 * layout without recomputation; NULL: any modules, in less time. The caller frees it. */
double *rh_bound_open_pairs_new(RhBoundCache *cache, const RhLayout *plain, const RhTables *tables,
                                const uint32_t *modules);
RhProfileCosts *rh_bound_profile_costs(RhBoundCache *cache, RhChunkTimeTable *spans,
                                       const RhPipelineProfile *profile);
/* Returns the longest path at these costs, owned by them, for messages of `message_s` seconds.
 * Slots that end the last micro-batch of a chunk count longer by `last_frac`, since its gradients
 * take SMs from them. `all`: list all slots of the path, else only those at ends. NULL: unknown. */
const RhSchedulePath *rh_bound_path(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                                    RhProfileCosts *prices, double message_s, double last_frac,
                                    bool all);
/* Finds the path of rh_bound_path without caching it, with RhSchedulePathCosts.behind_s; the caller
 * frees it. */
RhSchedulePath *rh_bound_path_find(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                                   double message_s, double last_frac, bool all,
                                   const double *behind_s);
/* Do all instances of a kind of group in a block make their calls in step? (collective_times.c) */
bool rh_bound_places_keep_step(const RhBoundCache *cache, const RhGroupNetwork *net);
/* Returns a lower bound, in seconds, of the step of all layouts of this cut (space.h,
 * partial_layout_bound.c). */
double rh_cut_bound_s(RhBoundCache *cache, const RhLayout *cut);
/* Returns a lower bound of the cut from its kernels alone, in a third of the time; 0 if devices
 * differ. */
double rh_cut_bound_kernels_s(RhBoundCache *cache, const RhLayout *cut);
/* Can the weights, gradients and optimizer states of a stage's share of the layers fit in
 * `most_bytes`, with any sharding over replicas? */
bool rh_bound_states_fit(RhBoundCache *cache, const RhLayout *cut, double most_bytes);
/* Busy seconds per micro-batch of one layer, or of all layers, on a stage. */
typedef struct {
    double forward_s, back_s, all_s;
    double lane_s[RH_LAYER_LANES]; /* sum over all passes of each lane of collectives by itself */
    /* The sum of lane_s over the lanes, and the largest ratio of that sum to all_s in any layer; set
     * for all layers without embedding and head. */
    double lanes_s, lanes_most_frac;
    /* The seconds of a layer, and how many take no less, with their kinds as bits: those whose product is largest. Set for
     * all layers. */
    double whole_s;
    int32_t whole_count;
    uint64_t whole_kinds;
} RhLayerWork;
RhLayerWork rh_bound_layer_work(RhBoundCache *cache, const RhLayout *layout,
                                const RhGroupNetwork *net, int32_t stage, int kind);
/* Work of all cuts with the same layers and placement; survives rh_bound_forget_shards. */
typedef struct {
    /* all_s and lane_s: all layers once; forward_s and back_s: the cheapest layer. all_s 0: not
     * computed yet. */
    RhLayerWork least;
    struct RhRecomputeCosts *costs; /* recompute_bound.c; owned */
    GHashTable *open_pair_s;        /* rh_bound_open_pair_s; NULL: none asked yet; owned */
} RhCachedWork;
void rh_known_work_free(void *known);
/* Returns the work of a cut on a placement, owned by the bound cache. */
RhCachedWork *rh_bound_known_work(RhBoundCache *cache, const RhLayout *layout, int32_t placement);
/* Drops the tables that read the problem, which may end before the cache, or depend on its batch. */
void rh_bound_end_batch(RhBoundCache *cache);
/* Returns a cache for the problem: `kept`, of which that was dropped, if it was for the same objects
 * and the same job but for its batch; else a new one, and `kept` (may be NULL) is freed. */
RhBoundCache *rh_bound_for_batch(RhBoundCache *kept, const RhProblem *c);
/* Drops all shards if there are many. Invalidates every pointer to tables of a layout. */
void rh_bound_forget_shards(RhBoundCache *cache);
/* Returns a lower bound, in seconds, of rh_bound_work_s under any recomputation, for a layout
 * without any; at most rh_bound_work_beside_s. */
double rh_bound_open_work_s(RhBoundCache *cache, const RhLayout *plain);
/* Time that recomputation adds. */
typedef struct {
    uint32_t modules; /* that may be recomputed: bits of RhRecompute */
    int32_t stage;    /* stage that is busy longer */
    double more_s;    /* by so much for each micro-batch */
} RhRecomputeWork;
/* Returns rh_bound_work_s with more work, whichever of the modules it is that are recomputed. */
double rh_bound_work_beside_s(RhBoundCache *cache, const RhLayout *plain,
                              const RhRecomputeWork *more);
/* Returns a lower bound, in seconds, of rh_bound_gradient_interference_s with more work, likewise;
 * at least rh_bound_work_beside_s. */
double rh_bound_open_sums_s(RhBoundCache *cache, const RhLayout *plain,
                            const RhRecomputeWork *more);
/* Returns rh_segment_graph_s with every message alone on its links; at most rh_segment_graph_s. It
 * needs no colouring of ranks, which takes the most time on a hundred thousand of them. */
double rh_bound_graph_s(RhBoundCache *cache, const RhLayout *layout);
/* Returns the seconds that communication adds to the path: until the first slot has its parameters,
 * in and after the slots that are their chunk's first or last, and after the end. `net`: the
 * layout's network or one of its others. (segment_exposed_comm.c) */
double rh_bound_path_late_s(RhBoundCache *cache, const RhLayout *layout, const RhGroupNetwork *net,
                            const RhSchedulePath *path);
/* Returns RhSchedulePathCosts.behind_s of the network, from the interference of messages with
 * collectives; NULL: unknown. The caller frees it. */
double *rh_bound_path_behind_s(RhBoundCache *cache, const RhLayout *layout,
                               const RhGroupNetwork *net);
/* Returns the communication steps of a layout. Their `of_stage` is valid until the steps of another
 * layout are requested. */
const RhCommStepSet *rh_bound_comm_step_set(RhBoundCache *cache, const RhLayout *layout);
RhCommSteps *const *rh_bound_comm_steps(RhBoundCache *cache, const RhLayout *layout);
/* --- layer_param_grad_comm.c --- */
/* Returns what a layer of each kind adds to its stage's RhStageCommTime, at the least, whatever the
 * split; without ends. Owned by the bound cache. */
const RhStageCommTime *rh_bound_layer_comm(RhBoundCache *cache, const RhLayout *layout);
/* Computes rh_bound_layer_comm; the caller frees it. */
RhStageCommTime *rh_layer_comm_new(RhBoundCache *cache, const RhLayout *layout);
/* Returns the sums of the first of each row of alike stages of the layout's split, of what its
 * layers add alone; the caller frees them. */
RhStageCommTime *rh_layer_comm_sums_new(RhBoundCache *cache, const RhLayout *layout);
/* Returns the times of a stage's layers on an idle network. */
const RhLayerTimes *rh_bound_layer_times(RhBoundCache *cache, RhShardCost *shard,
                                         const RhGroupNetwork *net, int32_t stage);
/* --- overlapped_pair_times.c --- */
/* Returns rh_bound_layer_times, of which the tables for pairs may be all that is filled. */
RhLayerTimes *rh_bound_pair_times(RhBoundCache *cache, RhShardCost *shard,
                                  const RhGroupNetwork *net, int32_t stage);
/* State of a stage that runs two slots as a pair, by lane and by half of the pair. */
typedef struct {
    double *free_s;      /* by lane: time at which it is free */
    double *since_s;     /* by lane: start of its busy time; infinity: unknown. NULL: no lane holds
                            SMs */
    double pending_s[2]; /* by half: time at which its input is ready */
    double last_s[2];    /* by half: end of its last kernel */
} RhBatchOverlap;
/* Layer operations of a shard, and room for the ends of those that run. */
typedef struct {
    const RhLayerOps *items;
    const RhLayerTimes *times;
    double *ends_s; /* rh_batch_overlap_new */
} RhTimedLayerOps;
/* Runs the next layers of both halves, or of one alone. */
void rh_batch_overlap_pair(const RhBoundCache *cache, const RhTimedLayerOps *ops,
                           const RhPairWalk *walk, int32_t forward, int32_t backward,
                           RhBatchOverlap *turns);
/* Allocates an array for the end times of a pair's tasks, which the caller frees. */
double *rh_batch_overlap_new(const RhLayerOps *items);
/* Chunks that run as a pair: their contents, on a stage. */
typedef struct {
    RhShardCost *shard;
    const RhGroupNetwork *net;
    int32_t stage, forward, backward;
} RhChunkPair;
/* Returns the seconds of a pair of chunks on an idle stage until the compute lane is free, without
 * slow-down of kernels. */
double rh_bound_pair_s(RhBoundCache *cache, const RhChunkPair *pair);
/* Returns a lower bound of rh_bound_pair_s whichever of the modules are recomputed in whichever
 * layers; the pair is one without recomputation. */
double rh_bound_open_pair_s(RhBoundCache *cache, const RhChunkPair *pair, uint32_t modules);
/* --- recompute_keeps_pair_order.c --- */
/* Does a pair with more tasks, of the same layers, take at least as long in any state of the stage,
 * since it runs the tasks of the smaller one in their order? */
bool rh_pair_keeps_order(const RhLayerPassPair *small, const RhLayerPassPair *large);
/* Returns sets of these modules (RhRecompute, none of them first) such that each set's pairs keep
 * the order of one of them; empty: unknown. Owned by the bound cache. `plain`: without
 * recomputation. */
const GArray *rh_bound_pair_orders(RhBoundCache *cache, RhShardCost *plain, uint32_t modules);
/* Do the pairs of a set of modules keep the order of those of a smaller set? Then the larger takes
 * at least as long. `modules`: all that may be recomputed. */
bool rh_bound_pair_keeps_order(RhBoundCache *cache, RhShardCost *plain, uint32_t modules,
                               RhRecompute small, RhRecompute large);
void rh_pair_orders_free(RhPairOrders *orders);
void rh_pair_times_add(RhBoundCache *cache, const RhGroupNetwork *net, const RhPlacement *at,
                       RhLayerTimes *times, const RhLayerOps *items);
/* --- collective_times.c: seconds of collectives on an idle network --- */
/* Returns the seconds of a collective inside a block. */
double rh_bound_block_s(RhBoundCache *cache, const RhGroupNetwork *net,
                        const RhPlacement *placement, const RhLayerOp *task);
/* Returns the algorithm that the builder chooses for a group of the network
 * (rh_train_algorithm). */
RhAlgo rh_bound_algorithm(RhBoundCache *cache, const RhGroupNetwork *net, int32_t group, RhOp op,
                          double bytes, const RhRouting *routing);
/* Returns the seconds of a collective of a stage's group. */
double rh_bound_collective_s(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                             RhGroupKind group, RhOp op, double bytes);
/* Returns the part of rh_bound_collective_s that does not depend on the bytes, for the algorithm
 * that is chosen for `bytes`. */
double rh_bound_latency_s(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                          RhGroupKind group, RhOp op, double bytes);
/* --- busiest_link.c --- */
/* Returns the seconds of all traffic of a step on its busiest link, plus an optimizer; 0: no
 * bound. */
double rh_bound_links_s(RhBoundCache *cache, const RhLayout *layout);
/* Returns the seconds of the busiest link, without latencies, for one collective of all instances
 * of the group in the key's stage: a bound of the time from the start of the last instance to the
 * end of all. */
double rh_bound_busiest_s(const RhBoundCache *cache, const RhGroupNetwork *net, int32_t group,
                          const RhCollectiveKey *key);
/* --- nic_egress_bound.c --- */
/* Data that ranks send out of their nodes, in seconds, by one run of layers of a stage. */
typedef struct {
    double item_s;   /* sent by its layers */
    double behind_s; /* sent by the instructions of the stage program after it */
    double start_s;  /* start of its kernels on the last rank: rh_egress_run */
    bool anchored;   /* collectives of later runs start after its start */
    bool awaited;    /* all data sent by earlier runs has arrived when its kernels end */
} RhRunEgress;
typedef struct {
    GArray *runs;       /* RhRunEgress */
    double *gathered_s; /* per communication at the stage's beginning: sum up to and with it */
    double called_s;    /* sent by the layers of the runs so far */
    double over_s;      /* part of called_s that kernels have waited for */
    guint next;         /* index of the next run */
} RhStageEgress;
typedef struct RhEgress RhEgress;
/* Returns the egress of a layout, without its stages; NULL: no bound. The caller frees it. */
RhEgress *rh_egress_new(RhBoundCache *cache, const RhLayout *layout, const RhChunkTimeTable *spans);
/* Computes the egress of a stage, owned by `sent`. */
RhStageEgress *rh_egress_stage(RhEgress *sent, int32_t stage, const RhSlot *slots, int64_t total);
/* Records the start of the stage's next run. */
void rh_egress_run(RhStageEgress *stage, double start_s);
/* Returns the time at which all stages have sent their data and run their optimizers. */
double rh_egress_s(const RhEgress *sent);
void rh_egress_free(RhEgress *sent); /* may be NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhEgress, rh_egress_free)
/* Returns the RhLinkLoads of all instances of the key's group in its stage, owned by the bound
 * cache; NULL: none. */
const GArray *rh_bound_loads(const RhBoundCache *cache, const RhGroupNetwork *net,
                             const RhCollectiveKey *key);
/* Would the engine merge ranks even if no two were alike? */
bool rh_bound_may_merge(RhBoundCache *cache, const RhLayout *layout);
/* --- p2p_interference.c --- */
/* Returns the interference of messages, for each RhSlotStand [2 stage + back]: to the next stage
 * (the last wraps to 0) and to the one before; zeros: no bound. NULL: no bound for any. Owned by
 * the bound cache. */
const RhP2pInterference *rh_bound_p2p_interference(RhBoundCache *cache, const RhLayout *layout);
/* Returns the number of elements of a network; those of its others follow in the same array. */
int32_t rh_p2p_interference_count(const RhLayout *layout);
/* Returns the minimum delay, in seconds, between the start of a message and the start of the next
 * collective; negative: no delay. */
double rh_p2p_interference_s(const RhP2pInterference *share, double bytes);
/* --- lockstep_messages.c --- */
/* Returns the costs of messages between ranks in step, [2 stage + back], of the fastest rank of
 * each stage: to the next stage (the last wraps to 0) and to the one before. NULL: no bound. Owned
 * by the bound cache. */
const RhLinkCost *rh_bound_messages(RhBoundCache *cache, const RhLayout *layout);
/* Starts the slow part of rh_bound_messages on a thread, unless the thread is busy. */
void rh_bound_expect_messages(RhBoundCache *cache, const RhLayout *layout);
/* Completes the open fold if it is the layout's, so that its rehearsal can use it. */
void rh_bound_end_fold(RhBoundCache *cache, const RhLayout *layout);
void rh_bound_forget_fold(RhBoundCache *cache);
/* --- group_placement.c --- */
/* Returns the cost of messages between two GPUs on idle links. */
RhLinkCost rh_link_cost(const RhPlatform *platform, int32_t src_gpu, int32_t dst_gpu);
static inline double rh_link_cost_s(const RhLinkCost *hop, double bytes)
{
    return hop->latency_s + hop->s_per_byte * bytes;
}
RhGroupNetwork *rh_group_network_new(RhBoundCache *cache, const RhLayout *layout);
void rh_group_network_free(void *net);
void rh_placement_free(void *placement);
/* --- pipeline_slot_times.c --- */
/* Computes RhProfileCosts.work_s for other seconds of pairs, as RhChunkTimeTable.pair_s has them. */
void rh_bound_pair_work(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                        const double *pair_s, double *work_s);
/* Frees what the costs own, and what those after them in the list own. */
void rh_profile_costs_free(RhProfileCosts *prices);
/* --- stage_comm_times.c --- */
void rh_comm_steps_fill(RhBoundCache *cache, RhCommStepSet *set, const RhLayout *layout);
void rh_comm_steps_forget(RhCommStepSet *set);
void rh_comm_steps_free(void *set);
/* Sums up what the slots of a stage program take, by its `step_s`. */
void rh_comm_steps_sum(RhCommSteps *steps);
/* Counts alike stages, and moves the first of each row of them to the front; returns their
 * number. */
int32_t rh_stage_comm_in_rows(RhStageCommTime *sums, int32_t stages);
/* --- layer_times.c --- */
double rh_task_kernels_s(const RhLayerOp *task);
/* Returns the sum of the seconds of all kernels of a pass. */
double rh_layer_kernels_s(const RhLayerPass *pass);
/* Returns the seconds of a kernel of work_s that starts at t. Every lane of a layer that was busy
 * before t holds SMs until it is free: solves end = t + work + held x (time that each lane stays
 * busy), earliest end of a lane first. free_s and since_s are by lane; *most is raised to the
 * number of busy lanes. */
double rh_bound_beside_s(const RhBoundCache *cache, const double *free_s, const double *since_s,
                         double t, double work_s, int *most);
/* Returns the time of `first` followed by `times` runs of `then`. Layers run one after another;
 * only the last output may still be under way when the lane is free. */
RhLayerTime rh_layer_time_add(RhLayerTime first, RhLayerTime then, double times);
