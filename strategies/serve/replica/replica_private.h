#pragma once
/* Members of a replica. Private to replica*.c. */
#include "strategies/serve/cache/free_block_queue.h"
#include "strategies/serve/cache/prefix_cache.h"
#include "strategies/serve/replica/replica.h"

/* A sequence. All decoded sequences get equally many tokens from an iteration, so that an iteration
 * updates none of them: `steps` of the replica counts these tokens, and a decoded sequence has base
 * + steps tokens. */
typedef struct {
    int32_t request;
    int32_t input, output; /* tokens of the request */
    int32_t prompt, read;  /* tokens to process, output before a preemption included; processed */
    int32_t made;          /* output tokens */
    int32_t blocks;        /* while its prompt is processed, or always if they are reserved */
    GPtrArray *units;      /* units of its prompt in `prefixes`; NULL: none yet */
    int32_t shared;        /* number of these that it holds; 0 while it waits */
    int32_t idle;          /* while it waits: number of these without a holder */
    int32_t loads[RH_CACHE_TIER_LAST]; /* while it waits: further units to load from tiers */
    int64_t looked_up;                 /* 1 + version of `prefixes` at the look-up; 0: none */
    bool was_out;                      /* it was preempted and may find surviving blocks */
    bool fetched;                      /* another replica processed its prompt */
    bool continued;                    /* it is being decoded */
    int64_t base, joined; /* while it is decoded: see above; `steps` when decoding began */
    int32_t group;        /* of attention, where prompts are balanced */
    double t_taken_s;
    int64_t admission;        /* number of its latest admission; 0: not admitted */
    double t_joined_s, own_s; /* time of its first token; seconds of iterations of its prompt */
    double tbt_max_s;
} RhSequence;

/* Step that makes the last token of a sequence. */
typedef struct {
    int64_t last;
    int32_t sequence;
} RhEnding;

typedef struct {
    int32_t sequence, tokens;
} RhPlanned;

/* Number of decoded sequences whose latest token was made at t_s. */
typedef struct {
    double t_s;
    int32_t count;
} RhLatest;

typedef struct {
    int64_t admission;
    int32_t sequence;
} RhAdmitted;

/* A sequence that ended with the last iteration after the next one was planned, so that its blocks
 * are not free yet. */
typedef struct {
    int64_t admission;
    int32_t blocks;
} RhEndedSequence;

/* Longest gap between tokens since a step; gaps that ended later are shorter. */
typedef struct {
    int64_t step;
    double gap_s, t_s; /* gap, and its end */
} RhLongestGap;

struct RhReplica {
    RhReplicaSpec spec;
    bool reserves;
    RhPrefixCache *prefixes;          /* NULL: no prefix caching */
    RhCacheTiers *tiers;              /* NULL: none */
    RhFreeQueue *freed;               /* NULL: preempted sequences find no surviving blocks */
    double load_s;                    /* seconds of loads from tiers for the next iteration */
    int32_t unit_tokens, unit_blocks; /* of a unit of prefixes */
    GArray *sequences;                /* RhSequence, all that ever came */
    GQueue waiting;                   /* GINT_TO_POINTER(sequence) */
    GArray *reading;                  /* int32_t: prompts in progress, in the order of admission */
    GArray *endings;                  /* RhEnding: a heap, earliest end first */
    GArray *admitted;                 /* RhAdmitted; stale entries are removed lazily */
    GArray *planned;                  /* RhPlanned: chunks of the iteration */
    GArray *chunks;                   /* RhChunk: the same chunks, for its time */
    GArray *waves;                    /* RhLatest */
    GArray *longest;                  /* RhLongestGap */
    GArray *late;                     /* RhEndedSequence */
    GArray *leaving;   /* int32_t: requests that leave at the end of the current iteration */
    int32_t *crossing; /* by position in a block: number of decoded sequences that begin a block
                            when `steps` reaches it */
    double given;      /* mean number of tokens per sequence of an iteration */
    int64_t rounds;    /* number of iterations that decoded sequences */
    int64_t steps, admissions, stored; /* stored: cached tokens of all decoded sequences */
    int32_t coming, running, used_blocks, peak_blocks, late_blocks;
    int64_t promised; /* blocks */
    int64_t lasts;    /* sum of RhEnding.last */
    /* The current run. */
    bool busy, continues, put_out;
    double t_begin_s;
    RhDecodeRun run;
    double late_s;    /* delay of its last iteration by other traffic on its links */
    double t_seen_s;  /* requests that came by then are known to the planned iteration */
    double t_ended_s; /* end of the last iteration */
    double t_ahead_s; /* time at which the next iteration was planned, if ahead */
    bool held;        /* waiting prompts are held back from this iteration */
    int32_t held_iterations;
    int32_t unlooked; /* iterations since the server last looked for new requests */
    RhReplicaCounts counts;
};

static inline RhSequence *rh_replica_sequence(const RhReplica *r, int32_t i)
{
    return &g_array_index(r->sequences, RhSequence, i);
}
static inline int32_t rh_replica_number(const RhReplica *r, const RhSequence *s)
{
    return (int32_t)(s - rh_replica_sequence(r, 0));
}
static inline RhRequestRecord *rh_replica_served(const RhReplica *r, int32_t i)
{
    return &g_array_index(r->spec.served, RhRequestRecord, rh_replica_sequence(r, i)->request);
}
static inline double rh_run_s(const RhDecodeRun *run, int32_t steps)
{
    return steps * (run->first_s + 0.5 * (steps - 1) * run->growth_s);
}

/* Return the used fraction of the cache, and record the replica's level from t_s on in the
 * history. */
static inline double rh_replica_cached_frac(const RhReplica *r)
{
    return r->spec.blocks > 0 ? (double)r->used_blocks / r->spec.blocks : 0;
}
static inline void rh_replica_note(const RhReplica *r, double t_s)
{
    RhServiceLevel level = {(int32_t)r->waiting.length, r->running, rh_replica_cached_frac(r)};
    if (r->spec.history)
        rh_service_history_level(r->spec.history, r->spec.number, t_s, &level);
}

/* Decides whether waiting prompts are held back from the iteration that is planned
 * (prefill_delay_policy.c). */
void rh_replica_hold_prompts(RhReplica *r);
/* Returns the number of iterations after which that may change by itself. */
int32_t rh_replica_held_steps(const RhReplica *r);
/* Returns the group of attention with the fewest sequences; 0 where prompts are not balanced. */
int32_t rh_replica_group(const RhReplica *r);

/* Returns the least number of iterations of the current run that last until t_s. */
int32_t rh_replica_steps_until(const RhReplica *r, double t_s);
/* Starts to decode a sequence whose prompt is complete. */
void rh_replica_join(RhReplica *r, int32_t sequence, double t_s);
/* Returns the longest gap between its tokens so far, in seconds. */
double rh_replica_longest_gap_s(const RhReplica *r, const RhSequence *s);
/* Removes a sequence from the decoded ones. */
void rh_replica_part(RhReplica *r, int32_t sequence);
/* Removes a sequence from those with a prompt in progress. */
void rh_replica_stop_reading(RhReplica *r, int32_t sequence);
/* Adds the named units of its first `tokens` cached tokens to the prefix cache. */
void rh_replica_remember(RhReplica *r, int32_t sequence, int32_t tokens);
/* Allocates blocks, evicting units without holders. */
void rh_replica_use(RhReplica *r, int32_t blocks);
/* Removes a sequence from the running ones and frees its blocks. */
void rh_replica_leave(RhReplica *r, int32_t sequence, int32_t blocks);
/* Returns the number of tokens that each decoded sequence gets from the next `iterations`
 * iterations. */
int32_t rh_replica_accepted(const RhReplica *r, int32_t iterations);
/* Returns the number of blocks that decoded sequences begin in the next iteration. */
int32_t rh_replica_next_blocks(const RhReplica *r);
/* Returns the number of blocks of a complete request, draft tokens included; more than the cache
 * has if the request is too long for the model. */
int64_t rh_replica_whole_blocks(const RhReplica *r, int32_t request);
int32_t rh_replica_held_blocks(const RhReplica *r, const RhSequence *s);
/* Create and free the prefix cache, tiers and free queue (replica_prefix_cache.c). */
void rh_replica_begin_memory(RhReplica *r);
void rh_replica_end_memory(RhReplica *r);
/* Look up the cached tokens of a waiting sequence, and hold those found at its admission
 * (replica_prefix_cache.c). */
void rh_replica_look_up(RhReplica *r, RhSequence *s);
void rh_replica_hold_found(RhReplica *r, RhSequence *s);
/* Sorts the waiting sequences by the pool's order at the beginning of an iteration. */
void rh_replica_order_waiting(RhReplica *r);
/* Preempts the sequences admitted last until all others fit with one more token
 * (replica_preempt_abort.c). */
void rh_replica_make_room(RhReplica *r);
/* Removes the requests that were cancelled during the iteration (replica_preempt_abort.c). */
void rh_replica_drop_leaving(RhReplica *r);
/* Frees the blocks of sequences that ended after the last plan (RhEndedSequence). */
void rh_replica_forget_late(RhReplica *r);
/* Frees the blocks of a sequence's `tokens` tokens, last ones first (replica_prefix_cache.c). */
void rh_replica_let_go(RhReplica *r, int32_t sequence, int32_t blocks, int32_t tokens);
/* Returns the sequence that ends first; there must be one. */
RhEnding rh_replica_first_ending(const RhReplica *r);
void rh_replica_drop_ending(RhReplica *r, guint i);
