#pragma once
/* Inside a replica. Private to replica*.c. */
#include "strategies/serve/cache/free_queue.h"
#include "strategies/serve/cache/prefix_cache.h"
#include "strategies/serve/replica/replica.h"

/* Continued sequences are given as many tokens each by an iteration, so nothing of theirs is
 * written in one: `steps` counts these tokens, and a sequence has base + steps tokens. */
typedef struct {
    int32_t request;
    int32_t input, output; /* of the request */
    int32_t prompt, read;  /* to be read: the input, and what was made before it was put out */
    int32_t made;          /* tokens */
    int32_t blocks;        /* while its prompt is read, or for good where they are reserved */
    GPtrArray *units;      /* of its prompt in `prefixes`; NULL: none yet */
    int32_t shared;        /* of these, those that it holds; 0 while it waits */
    int32_t idle;          /* while it waits: of these, those that nobody holds */
    int32_t loads[RH_CACHE_TIER_LAST]; /* the same: units behind these, to be loaded from tiers */
    int64_t looked_up;                 /* version of `prefixes` then, and 1; 0: never */
    bool was_out;                      /* it was put out, and may find what it had */
    bool fetched;                      /* its prompt was read by another replica */
    bool continued;
    int64_t base, joined; /* once it is continued: see above; steps at that moment */
    double t_taken_s;
    int64_t admission;        /* of its latest admission; 0: it is not in */
    double t_joined_s, own_s; /* last token by a prompt; time of iterations that read its prompt */
    double tbt_max_s;
} RhSequence;

typedef struct {
    int64_t last; /* the step that makes its last token */
    int32_t sequence;
} RhEnding;

typedef struct {
    int32_t sequence, tokens;
} RhPlanned;

/* So many of the continued sequences had their latest token at this time. */
typedef struct {
    double t_s;
    int32_t count;
} RhLatest;

typedef struct {
    int64_t admission;
    int32_t sequence;
} RhAdmitted;

/* Ended with the last iteration, of which the plan of the next one does not know yet: what it held is not free. */
typedef struct {
    int64_t admission;
    int32_t blocks;
} RhLate;

/* The longest gap since a step: later ones are shorter. */
typedef struct {
    int64_t step;
    double gap_s, t_s; /* it ended then */
} RhLongestGap;

struct RhReplica {
    RhReplicaSpec spec;
    bool reserves;
    RhPrefixCache *prefixes;          /* NULL: no memory of prompts */
    RhCacheTiers *tiers;              /* NULL: none */
    RhFreeQueue *freed;               /* NULL: who is put out finds nothing again */
    double load_s;                    /* of the iteration to come */
    int32_t unit_tokens, unit_blocks; /* of a prefix */
    GArray *sequences;                /* RhSequence, all that ever came */
    GQueue waiting;                   /* GINT_TO_POINTER(sequence) */
    GArray *reading;                  /* int32_t, in the order of admission */
    GArray *endings;                  /* RhEnding: a heap, first the one that ends first */
    GArray *admitted;                 /* RhAdmitted: old entries stay until they are met */
    GArray *planned;                  /* RhPlanned: chunks of the iteration */
    GArray *chunks;                   /* RhChunk: the same, for its time */
    GArray *waves;                    /* RhLatest */
    GArray *longest;                  /* RhLongestGap */
    GArray *late;                     /* RhLate */
    GArray *leaving;   /* int32_t: requests that go when the iteration under way has ended */
    int32_t *crossing; /* per place in a block: continued sequences that begin a block when `steps`
                            is there */
    double given;      /* tokens of an iteration, in the mean */
    int64_t rounds;    /* iterations in which sequences were continued */
    int64_t steps, admissions, stored; /* stored: tokens of all continued sequences in the cache */
    int32_t coming, running, used_blocks, peak_blocks, late_blocks;
    int64_t promised; /* blocks */
    int64_t lasts;    /* sum of RhEnding.last */
    /* Under way: */
    bool busy, continues, put_out;
    double t_begin_s;
    RhDecodeRun run;
    double late_s;   /* of its last iteration: as others were on its links */
    double t_seen_s; /* who came until then is known to the iteration that is planned */
    double t_ended_s,
        t_ahead_s;    /* of the last iteration: its end; when the next was planned, if ahead */
    int32_t unlooked; /* iterations since somebody was looked for */
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

/* For the history: what it has from t_s on; and that its cache was filled evenly until then. */
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

/* Of the run under way, the fewest iterations that last until then. */
int32_t rh_replica_steps_until(const RhReplica *r, double t_s);
/* Its prompt is in the cache: it is continued from now on. */
void rh_replica_join(RhReplica *r, int32_t sequence, double t_s);
/* The longest gap between its tokens so far. */
double rh_replica_longest_gap_s(const RhReplica *r, const RhSequence *s);
/* Takes it from those that are continued. */
void rh_replica_part(RhReplica *r, int32_t sequence);
/* Of those whose prompt is being read. */
void rh_replica_stop_reading(RhReplica *r, int32_t sequence);
/* Of what it has in the cache, what has a name is now known to others; `tokens`: so many are there. */
void rh_replica_remember(RhReplica *r, int32_t sequence, int32_t tokens);
/* More blocks in use; what nobody holds makes room for them. */
void rh_replica_use(RhReplica *r, int32_t blocks);
/* Out of the running ones, its blocks free. */
void rh_replica_leave(RhReplica *r, int32_t sequence, int32_t blocks);
/* Tokens that each continued sequence is given by the next iterations. */
int32_t rh_replica_accepted(const RhReplica *r, int32_t iterations);
/* Blocks that continued sequences begin in the next iteration. */
int32_t rh_replica_next_blocks(const RhReplica *r);
/* Of a request, when it is whole, guesses included: more than all there are, where it is longer than the model can read. */
int64_t rh_replica_whole_blocks(const RhReplica *r, int32_t request);
int32_t rh_replica_held_blocks(const RhReplica *r, const RhSequence *s);
/* An empty memory of prompts, and none (replica_memory.c). */
void rh_replica_begin_memory(RhReplica *r);
void rh_replica_end_memory(RhReplica *r);
/* Of a sequence that waits, and of one that comes in (replica_memory.c). */
void rh_replica_look_up(RhReplica *r, RhSequence *s);
void rh_replica_hold_found(RhReplica *r, RhSequence *s);
/* Those that wait, in the pool's order; at the beginning of an iteration. */
void rh_replica_order_waiting(RhReplica *r);
/* Puts out those that came last until all others can have one token more (replica_preempt.c). */
void rh_replica_make_room(RhReplica *r);
/* Those that were given up during the iteration go (replica_preempt.c). */
void rh_replica_drop_leaving(RhReplica *r);
/* What ended with the last iteration is known to the next plan. */
void rh_replica_forget_late(RhReplica *r);
/* Blocks that it held are free, the last of `tokens` first (replica_memory.c). */
void rh_replica_let_go(RhReplica *r, int32_t sequence, int32_t blocks, int32_t tokens);
/* The sequence that ends first; it must be there. */
RhEnding rh_replica_first_ending(const RhReplica *r);
void rh_replica_drop_ending(RhReplica *r, guint i);
