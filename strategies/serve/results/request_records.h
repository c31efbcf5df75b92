#pragma once
/* What became of each request that a service was sent. Metrics are defined in docs/theory/serving.md. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/results/service_history.h"

typedef enum {
    RH_SERVED_UNFINISHED,
    RH_SERVED_DONE,
    RH_SERVED_REFUSED,   /* longer than what the model or its cache can hold */
    RH_SERVED_TIMED_OUT, /* the client gave up */
    RH_SERVED_LOST,      /* servers that had it failed, more often than it is sent again */
} RhRequestOutcome;

/* Seconds from the beginning of the simulation. */
typedef struct {
    double t_arrive_s;   /* sent by the client */
    double t_admit_s;    /* first scheduled; NaN: never */
    double t_first_s;    /* first token at the client; NaN: never */
    double t_end_s;      /* last token at the client; NaN: never */
    double t_stall_s;    /* of the time to the first token: behind others' prompts, once admitted */
    double t_transfer_s; /* of it: keys and values on their way to where tokens are decoded */
    double t_slot_s;     /* of it: in the queue of the pool where tokens are decoded */
    double t_lost_s;     /* of it: until it was sent for the last time, as servers failed */
    double t_out_s;      /* behind the first token: put out of a full cache, until it had another */
    double tbt_max_s;    /* the longest gap between two of its tokens */
    int32_t input_tokens, output_tokens, preempted_count, replica;
    int32_t found_tokens; /* of the prompt, in the cache when it was first scheduled */
    int32_t resent_count;
    /* made of its answer in vain: by servers that failed, or before it was given up */
    int32_t lost_tokens;
    /* Read for it since it was last sent, what had been put out again included; and in vain, as above. */
    int64_t read_tokens, lost_prompt_tokens;
    RhRequestOutcome outcome;
} RhRequestRecord;

/* What a replica did at a stretch: an iteration, or a run of like ones. */
typedef struct {
    double t_begin_s, t_end_s;
    double late_s; /* of it: others were on the links of its exchanges */
    int32_t replica, iterations;
    int32_t prompts, prompt_tokens; /* that were read, in all or in part */
    int32_t prompts_ended;          /* of these, read to their ends: each gives a token */
    int32_t continued;              /* sequences that were given tokens */
    int32_t waiting;                /* sequences, behind it */
    int32_t blocks;                 /* of the cache in use, behind it */
} RhServiceWork;

/* Keys and values that went from one pool to the other. */
typedef struct {
    int32_t request, from, to;  /* replicas */
    double t_left_s, t_there_s; /* the iteration's end; all of it is there */
    double bytes;               /* from each GPU */
} RhKvMove;

/* Gaps between tokens, as counts in bins of equal ratio. */
#define RH_GAP_BINS    2048
#define RH_GAP_LEAST_S 1e-5
#define RH_GAP_RATIO   1.01

/* The stretch of a run that rates, prices, energy and the busy share are of: the steady one, from when the service
 * holds as many requests as it will until the last one comes; of a run that has none, all of it. */
typedef struct {
    bool steady;
    double t_begin_s, duration_s;
    double answer_s;         /* 99 % of the answers take no longer; HUGE_VAL: there is none */
    double gpu_s, replica_s; /* that GPUs, and replicas, were there */
    double busy_frac;        /* of gpu_s: in servers with a batch under way */
    double energy_j;         /* of these GPUs and what belongs to them; 0: unknown */
    double cost_usd;         /* of these GPUs for so long; NaN: the platform has no price */
} RhSteadyWindow;

typedef struct {
    GArray *served;            /* RhRequestRecord, in the order of the requests */
    GArray *works;             /* RhServiceWork, as they ended; NULL: they were not asked for */
    GArray *moves;             /* RhKvMove, as they ended; the same */
    RhServiceHistory *history; /* NULL: it was not asked for */
    bool once;                 /* the model makes no tokens: a pass answers */
    bool open;                 /* clients waited for no answer, and none gave up */
    double duration_s; /* from the first arrival until nothing happens to a request or a server */
    RhSteadyWindow window;
    int64_t iterations_stepped, iterations_skipped; /* skipped: told by a closed form of a run */
    int64_t tokens_in, tokens_out;                  /* read from prompts, made */
    int64_t tokens_found;                           /* of prompts, in a cache and not read again */
    int64_t tokens_loaded[RH_CACHE_TIER_LAST];      /* of these, from slower memory */
    double load_s;       /* links from there were busy, of all replicas */
    bool tiers;          /* there is such memory */
    bool remembers;      /* there are prompts that begin alike, and caches that know */
    double kv_peak_frac; /* of blocks, of the fullest replica */
    int64_t blocks_left; /* that ended requests would still hold or be promised: none */
    int32_t gpus;        /* at most */
    double gpu_s;        /* that GPUs were there */
    bool scales;         /* replicas came and went: */
    int32_t replicas_most, starts;
    double start_s; /* of a replica, the slowest pool's */
    bool fails;     /* servers may fail: */
    int32_t failures_count;
    double down_s;              /* that servers were away for, all together */
    int64_t tokens_lost;        /* of tokens_out: made in vain */
    int64_t prompt_tokens_lost; /* of tokens_in: read in vain */
    int64_t gaps[RH_GAP_BINS];
} RhServiceResult;

void rh_service_result_free(RhServiceResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServiceResult, rh_service_result_free)

/* Of its answer, the tokens that a client had in the window; no more than `output_tokens`. */
double rh_served_made_within(const RhRequestRecord *served, const RhSteadyWindow *window);
bool rh_served_window_has(const RhSteadyWindow *window, double t_s);
/* Requests (RhRequestRecord) that came in the window, in their order. Caller unrefs. */
GArray *rh_served_came_within(const RhServiceResult *result);

/* What was read for it so far is of no use any more. */
void rh_served_read_in_vain(RhRequestRecord *served);

/* Of the tokens of prompts, those that a cache had; NaN: none remembers any. */
double rh_found_frac(const RhServiceResult *result);

/* How often a request was put out of a full cache, to begin again. */
int64_t rh_preempted_count(const RhServiceResult *result);

/* The bin of a gap; and the gap in the middle of a bin. */
int32_t rh_gap_bin(double gap_s);
double rh_gap_s(int32_t bin);
