#pragma once
/* A replica: one server with its waiting and running sequences and its KV cache of blocks.
 *
 * The service owns the clock (service.h): it gives the replica sequences, makes it begin an
 * iteration or a run of similar ones, and reports when that has ended. A sequence waits, is
 * admitted (its prompt is processed chunk by chunk), is decoded token by token, and ends. If the
 * cache runs out, the sequence admitted last is preempted and starts again with its output as
 * part of its prompt. A run of iterations without chunks costs as much as one. */
#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/cache/prompt_prefixes.h"
#include "strategies/serve/iteration/iteration.h"
#include "strategies/serve/results/request_records.h"
#include "workloads/requests/requests.h"

typedef struct RhReplica RhReplica;

/* Parameters of a replica. The lists are borrowed: the replica writes to `served` (RhRequestRecord
 * by request) and counts `gaps`. Requests of higher priority wait in front of the others. */
typedef struct {
    RhIterations *iterations; /* borrowed; replicas of a pool share it */
    const RhServer *server;
    RhPool pool;     /* with batch and chunk set */
    int32_t longest; /* maximum tokens of prompt and answer together */
    int32_t blocks;  /* of the cache */
    int32_t number;  /* written to RhRequestRecord.replica */
    const RhRequests *requests;
    const RhPromptPrefixes *prompts; /* NULL: no prefix caching */
    GArray *served;
    int64_t *gaps;
    GArray *works;                          /* of RhServiceWork; NULL: not recorded */
    RhServiceHistory *history;              /* NULL: not recorded */
    double tier_tokens[RH_CACHE_TIER_LAST]; /* capacity of slower tiers (cache_tiers.h) */
    double tier_s[RH_CACHE_TIER_LAST];      /* seconds to load one token, on the ranks' links */
    bool each_iteration;                    /* no runs of several iterations */
    bool prompts_only;                      /* a sequence leaves with its first token */
    bool finds_again; /* preempted sequences may reuse surviving blocks, if `prompts` is NULL */
} RhReplicaSpec;

RhReplica *rh_replica_new(const RhReplicaSpec *spec);
void rh_replica_free(RhReplica *replica);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhReplica, rh_replica_free)

/* Announces a request, which counts as outstanding until it arrives. */
void rh_replica_expect(RhReplica *replica, int32_t request);
/* Receives an announced request; `read`: another replica has processed its prompt and made its
 * first token, and its cache has been transferred. Returns false if it can never fit in the
 * cache. */
bool rh_replica_take(RhReplica *replica, int32_t request, bool read, double t_s);
/* Withdraws the announcement of a request that will not arrive. */
void rh_replica_forget(RhReplica *replica, int32_t request);
/* Cancels a request, at once or at the end of the current iteration. Returns false if it is not
 * here. */
bool rh_replica_drop(RhReplica *replica, int32_t request);
/* Fails the server: voids the current iteration, appends all its requests to `dropped` (int32_t) in
 * order of arrival, and empties the cache. */
void rh_replica_fail(RhReplica *replica, double t_s, GArray *dropped);
/* Returns the output tokens of the request emitted by time t_s, including those generated on
 * another replica; 0: it is not here. */
int32_t rh_replica_streamed_tokens(const RhReplica *replica, int32_t request, double t_s);
/* Begins an iteration or a run of several; returns its seconds, or 0 if there is nothing to do. */
double rh_replica_begin(RhReplica *replica, double t_s);
/* Shortens the run to end with the iteration that is current at t_s, when a request arrives;
 * returns the run's new duration in seconds. */
double rh_replica_cut(RhReplica *replica, double t_s);
/* Returns the start time of the last iteration of the current run. */
double rh_replica_latest_s(const RhReplica *replica);
/* Gets the number of tokens of that iteration and of sequences that get logits, summed over
 * attention groups. */
void rh_replica_asks(const RhReplica *replica, int32_t *tokens, int32_t *sequences);
/* Prolongs that iteration because its exchanges shared links with other traffic. */
void rh_replica_prolong(RhReplica *replica, double late_s);
/* Ends the current run; requests that ended or left are appended to `ended` (GArray of int32_t). */
void rh_replica_end(RhReplica *replica, double t_s, GArray *ended);

bool rh_replica_busy(const RhReplica *replica);
/* Does the current run process prompts? */
bool rh_replica_reads(const RhReplica *replica);
/* Returns the start time of the current run. */
double rh_replica_begun_s(const RhReplica *replica);
/* Returns the number of requests that were announced or received and have not ended. */
int32_t rh_replica_outstanding(const RhReplica *replica);
/* Returns the number of blocks that its requests hold or will hold once their prompts are
 * processed. */
int64_t rh_replica_promised_blocks(const RhReplica *replica);
/* Returns the number of tokens of a request's prompt in its cache or in slower tiers. */
int32_t rh_replica_found_tokens(const RhReplica *replica, int32_t request);

/* Counters of a replica since its creation. */
typedef struct {
    int64_t iterations_stepped, iterations_skipped, tokens_in, tokens_out, preempted;
    int64_t tokens_found; /* of prompts, in the cache or its tiers; not part of tokens_in */
    int64_t tokens_loaded[RH_CACHE_TIER_LAST]; /* part of tokens_found: from tiers */
    double load_s;                             /* seconds that links were busy with these */
    double kv_peak_frac;
    int64_t blocks_held, blocks_promised; /* now; 0 once all requests have ended */
} RhReplicaCounts;
RhReplicaCounts rh_replica_counts(const RhReplica *replica);

/* --- For schedulers --- */

/* Returns the first waiting sequence, with cached tokens of its prompt counted as processed; -1:
 * none. */
int32_t rh_replica_waiting(RhReplica *replica);
/* Returns the i-th admitted sequence whose prompt is not complete; -1: there are no more. */
int32_t rh_replica_reading(const RhReplica *replica, int32_t i);
/* Should the server wait for more requests: is the batch incomplete, and the first request within
 * the pool's window? */
bool rh_replica_gathers(const RhReplica *replica);
/* Return the number of admitted sequences, and of those among them that are being decoded. */
int32_t rh_replica_running(const RhReplica *replica);
int32_t rh_replica_continued(const RhReplica *replica);
/* Returns the number of tokens that an iteration verifies for the decoded sequences. */
int32_t rh_replica_verified(const RhReplica *replica);
/* Returns the number of tokens of its prompt that are not processed yet. */
int32_t rh_replica_unread(const RhReplica *replica, int32_t sequence);
int32_t rh_replica_free_blocks(const RhReplica *replica);
/* Returns the number of blocks that `tokens` tokens fill. */
int32_t rh_replica_blocks_of(const RhReplica *replica, int32_t tokens);
const RhPool *rh_replica_pool(const RhReplica *replica);
/* Admits the first waiting sequence, with blocks for `tokens` of its tokens. Returns false and
 * changes nothing if the batch or the cache is full. */
bool rh_replica_admit(RhReplica *replica, int32_t tokens);
/* Adds a chunk of `tokens` tokens of the sequence's prompt to the next iteration. Returns false if
 * the cache is full. */
bool rh_replica_chunk(RhReplica *replica, int32_t sequence, int32_t tokens);
