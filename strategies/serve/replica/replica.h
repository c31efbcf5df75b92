#pragma once
/* A replica: one server with its waiting and running sequences and its cache, in blocks.
 *
 * Time is the service's (service.h): it gives the replica sequences, asks it to begin an iteration, or a
 * run of like ones, and tells it when that has ended. A sequence waits, is in (its prompt is read chunk
 * by chunk), is continued token by token, and ends; where the cache runs out, the one that came in last
 * is put out and begins again, with what it has made as part of its prompt. A run of iterations without
 * chunks costs as much as one. */
#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/cache/prompt_prefixes.h"
#include "strategies/serve/iteration/iteration.h"
#include "strategies/serve/results/request_records.h"
#include "workloads/requests.h"

typedef struct RhReplica RhReplica;

/* What a replica is made of. The lists are borrowed: `served` (of RhRequestRecord, by request) is filled in,
 * `gaps` are counted. Requests of higher priority wait in front of the others. */
typedef struct {
    RhIterations *iterations; /* borrowed; replicas of a pool share it */
    const RhServer *server;
    RhPool pool;     /* batch and chunk settled */
    int32_t longest; /* tokens of prompt and answer together, at most */
    int32_t blocks;  /* of the cache */
    int32_t number;  /* written to RhRequestRecord.replica */
    const RhRequests *requests;
    const RhPromptPrefixes *prompts; /* which begin alike; NULL: the cache does not remember any */
    GArray *served;
    int64_t *gaps;
    GArray *works;                          /* of RhServiceWork; NULL: not kept */
    RhServiceHistory *history;              /* NULL: not kept */
    double tier_tokens[RH_CACHE_TIER_LAST]; /* that slower memory holds (cache_tiers.h) */
    double tier_s[RH_CACHE_TIER_LAST];      /* to load one from there, on the links of its ranks */
    bool each_iteration;                    /* no runs of several */
    bool prompts_only;                      /* a sequence leaves with its first token */
    bool finds_again; /* who is put out finds what is left of it: without `prompts` */
} RhReplicaSpec;

RhReplica *rh_replica_new(const RhReplicaSpec *spec);
void rh_replica_free(RhReplica *replica);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhReplica, rh_replica_free)

/* A request is on its way: it counts as outstanding. */
void rh_replica_expect(RhReplica *replica, int32_t request);
/* One that was expected comes, to be read from its first token on; or, `read`, with its prompt in the cache of
 * another and its first token made. False: it never fits the cache. */
bool rh_replica_take(RhReplica *replica, int32_t request, bool read, double t_s);
/* One that was expected does not come. */
void rh_replica_forget(RhReplica *replica, int32_t request);
/* One that has come is given up: it goes at once, or with the end of the iteration under way. False: it is not here. */
bool rh_replica_drop(RhReplica *replica, int32_t request);
/* The server fails: the iteration under way is void, all that came is appended to `dropped` (int32_t), in the order in
 * which it came, and the cache is empty. */
void rh_replica_fail(RhReplica *replica, double t_s, GArray *dropped);
/* Of a request's answer, tokens that were made here, or that it came with and are told, until t_s; 0: it is not here. */
int32_t rh_replica_streamed_tokens(const RhReplica *replica, int32_t request, double t_s);
/* Begins work; the time until its end, or 0 when there is nothing to do. */
double rh_replica_begin(RhReplica *replica, double t_s);
/* A request came at t_s: a run ends with the iteration that is under way then. The time from the run's
 * beginning until its end. */
double rh_replica_cut(RhReplica *replica, double t_s);
/* When the latest iteration of the work under way begins. */
double rh_replica_latest_s(const RhReplica *replica);
/* Its tokens, and those that get a logit, of all groups. */
void rh_replica_asks(const RhReplica *replica, int32_t *tokens, int32_t *sequences);
/* It lasts so much longer, as its exchanges had not their links to themselves. */
void rh_replica_prolong(RhReplica *replica, double late_s);
/* Work has ended; requests that ended or left are appended to `ended` (GArray of int32_t). */
void rh_replica_end(RhReplica *replica, double t_s, GArray *ended);

bool rh_replica_busy(const RhReplica *replica);
bool rh_replica_reads(const RhReplica *replica);     /* prompts, in the work under way */
double rh_replica_begun_s(const RhReplica *replica); /* the work under way */
int32_t rh_replica_outstanding(const RhReplica *replica);
/* Blocks that its requests hold, or will hold when their prompts are in. */
int64_t rh_replica_promised_blocks(const RhReplica *replica);
/* Tokens of a request's prompt that its cache has, or would load. */
int32_t rh_replica_found_tokens(const RhReplica *replica, int32_t request);

typedef struct {
    int64_t iterations_stepped, iterations_skipped, tokens_in, tokens_out, preempted;
    int64_t tokens_found; /* of prompts, in the cache or its tiers; not in tokens_in */
    int64_t tokens_loaded[RH_CACHE_TIER_LAST]; /* of these, from tiers */
    double load_s;                             /* links were busy with these */
    double kv_peak_frac;
    int64_t blocks_held, blocks_promised; /* now; none when all requests have ended */
} RhReplicaCounts;
RhReplicaCounts rh_replica_counts(const RhReplica *replica);

/* --- For schedulers --- */

/* The sequence that waits first, what the cache has of its prompt taken for read; -1: none does. */
int32_t rh_replica_waiting(RhReplica *replica);
/* The i-th of those that are in and whose prompt is not read; -1: there are no more. */
int32_t rh_replica_reading(const RhReplica *replica, int32_t i);
/* Fewer wait than a batch has, and the first of them not as long as the pool's window. */
bool rh_replica_gathers(const RhReplica *replica);
int32_t rh_replica_running(const RhReplica *replica);   /* sequences that are in */
int32_t rh_replica_continued(const RhReplica *replica); /* of these, with their prompt read */
/* Tokens of theirs that an iteration goes through. */
int32_t rh_replica_verified(const RhReplica *replica);
/* Tokens of its prompt that are still to be read. */
int32_t rh_replica_unread(const RhReplica *replica, int32_t sequence);
int32_t rh_replica_free_blocks(const RhReplica *replica);
/* Blocks for so many tokens. */
int32_t rh_replica_blocks_of(const RhReplica *replica, int32_t tokens);
const RhPool *rh_replica_pool(const RhReplica *replica);
/* Takes the first waiting sequence in, with blocks for so many of its tokens. False, and nothing
 * changes, when the batch or the cache is full. */
bool rh_replica_admit(RhReplica *replica, int32_t tokens);
/* The next iteration reads so many more tokens of its prompt. False: the cache has no room. */
bool rh_replica_chunk(RhReplica *replica, int32_t sequence, int32_t tokens);
