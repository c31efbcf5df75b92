#pragma once
/* Records of the requests that a service received. Metrics are defined in
 * docs/theory/serving.md. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/results/service_history.h"
#include "strategies/serve/results/vector_searches.h"

typedef enum {
    RH_SERVED_UNFINISHED,
    RH_SERVED_DONE,
    RH_SERVED_REFUSED,   /* longer than the model or its cache can hold */
    RH_SERVED_TIMED_OUT, /* the client gave up */
    RH_SERVED_LOST,      /* its servers failed more often than it is resent */
} RhRequestOutcome;

/* Record of a request; t_arrive_s to t_end_s are seconds since the beginning of the simulation. */
typedef struct {
    double t_arrive_s;   /* sent by the client */
    double t_admit_s;    /* first scheduled; NaN: never */
    double t_first_s;    /* first token at the client; NaN: never */
    double t_end_s;      /* last token at the client; NaN: never */
    double t_stall_s;    /* part of TTFT: iterations of others' prompts, once admitted */
    double t_transfer_s; /* part of TTFT: transfer of keys and values to the decode pool */
    double t_slot_s;     /* part of TTFT: in the queue of the decode pool */
    double t_lost_s;     /* part of TTFT: until it was resent for the last time after failures */
    double t_out_s;      /* after the first token: from a preemption until the next token */
    double tbt_max_s;    /* longest gap between two of its tokens */
    int32_t input_tokens, output_tokens, preempted_count, replica;
    int32_t found_tokens; /* cached tokens of the prompt when it was first scheduled */
    int32_t resent_count;
    int32_t lost_tokens; /* output wasted: by failed servers, or before the client gave up */
    int64_t read_tokens; /* prompt tokens processed since it was last sent, again ones included */
    int64_t lost_prompt_tokens; /* processed prompt tokens wasted, as above */
    RhRequestOutcome outcome;
} RhRequestRecord;

/* An iteration of a replica, or a run of similar ones. */
typedef struct {
    double t_begin_s, t_end_s;
    double late_s; /* part of it: delay by other traffic on the links of its exchanges */
    int32_t replica, iterations;
    int32_t prompts, prompt_tokens; /* processed in whole or in part */
    int32_t prompts_ended;          /* number of prompts completed, each of which yields a token */
    int32_t continued;              /* number of decoded sequences */
    int32_t waiting;                /* number of waiting sequences after it */
    int32_t blocks;                 /* cache blocks in use after it */
} RhServiceWork;

/* A transfer of keys and values from one pool to the other. */
typedef struct {
    int32_t request, from, to;  /* from, to: replicas */
    double t_left_s, t_there_s; /* end of the iteration; end of the transfer */
    double bytes;               /* from each GPU */
} RhKvMove;

/* Histogram of gaps between tokens, in bins of equal ratio. */
#define RH_GAP_BINS    2048
#define RH_GAP_LEAST_S 1e-5
#define RH_GAP_RATIO   1.01

/* Window of a run to which rates, prices, energy and utilisation refer: from the time at which the
 * number of requests in the service is steady until the last arrival; the whole run if it has no
 * steady window. */
typedef struct {
    bool steady;
    double t_begin_s, duration_s;
    double answer_s;         /* 99th percentile of the time of an answer; HUGE_VAL: none */
    double gpu_s, replica_s; /* GPU-seconds and replica-seconds in service */
    double busy_frac;        /* fraction of gpu_s in servers with a running batch */
    double energy_j;         /* of these GPUs with their share of the nodes; 0: unknown */
    double cost_usd;         /* of gpu_s; NaN: the platform has no price */
} RhSteadyWindow;

/* Result of a run of a service. */
typedef struct {
    GArray *served;            /* RhRequestRecord, in the order of the requests */
    GArray *works;             /* RhServiceWork, in the order of their ends; NULL: not recorded */
    GArray *moves;             /* RhKvMove, in the order of their ends; NULL: not recorded */
    RhServiceHistory *history; /* NULL: not recorded */
    bool once;                 /* the model makes no tokens: one pass is the answer */
    bool open;                 /* open loop, and no client gave up */
    double duration_s; /* from the first arrival to the last event of a request or a server */
    RhSteadyWindow window;
    int64_t iterations_stepped, iterations_skipped; /* skipped: by a closed form of runs */
    int64_t tokens_in, tokens_out;                  /* prompt tokens processed, output tokens */
    int64_t tokens_found;                           /* prompt tokens found in a cache */
    int64_t tokens_loaded[RH_CACHE_TIER_LAST];      /* part of tokens_found: from slower tiers */
    double load_s;       /* seconds that these loads kept links busy, all replicas */
    bool tiers;          /* there are slower tiers */
    bool remembers;      /* prefix caching, and prompts with common prefixes */
    double kv_peak_frac; /* peak fraction of blocks in use, fullest replica */
    int64_t blocks_left; /* blocks still held or promised at the end: must be 0 */
    int32_t gpus;        /* maximum number in service */
    double gpu_s;        /* GPU-seconds in service */
    bool scales;         /* autoscaling is on, with the following results */
    int32_t replicas_most, starts;
    double start_s; /* start-up of a replica, slowest pool */
    bool fails;     /* servers may fail, with the following results */
    int32_t failures_count;
    double down_s;              /* sum of all servers' down times */
    int64_t tokens_lost;        /* part of tokens_out: wasted */
    int64_t prompt_tokens_lost; /* part of tokens_in: wasted */
    RhVectorSearches searches;  /* parts of TTFT: of requests looked up before they are served */
    int64_t gaps[RH_GAP_BINS];
} RhServiceResult;

void rh_service_result_free(RhServiceResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServiceResult, rh_service_result_free)

/* Returns the number of output tokens that the client received in the window; at most
 * `output_tokens`. */
double rh_served_made_within(const RhRequestRecord *served, const RhSteadyWindow *window);
/* Is t_s in the window? */
bool rh_served_window_has(const RhSteadyWindow *window, double t_s);
/* Returns the requests (RhRequestRecord) that arrived in the window, in their order. The caller
 * unrefs. */
GArray *rh_served_came_within(const RhServiceResult *result);

/* Counts the prompt tokens processed so far as lost. */
void rh_served_read_in_vain(RhRequestRecord *served);

/* Returns the fraction of prompt tokens that were found in a cache; NaN: no prefix caching. */
double rh_found_frac(const RhServiceResult *result);

/* Returns the number of preemptions. */
int64_t rh_preempted_count(const RhServiceResult *result);

/* Return the bin of a gap, and the gap in the middle of a bin, in seconds. */
int32_t rh_gap_bin(double gap_s);
double rh_gap_s(int32_t bin);
