#pragma once
/* Formats the answers of `explain` and `compare` as JSON. Inputs are borrowed; texts are the
 * caller's to free. */
#include "report/report.h"
#include "strategies/search/explain/sensitivity.h"
#include "strategies/search/explain/stage_memory.h"

/* Answer of `explain`: `r` is the explained plan; members of other questions are NULL or 0. */
typedef struct {
    int64_t rank;
    const RhRehearsal *r;
    double recorded_s;            /* its step time in the result's file */
    const RhCost *term;           /* --term: a node of r->costs */
    const RhMemoryAnswer *memory; /* --term memory; NULL: not asked for */
    /* --vs, --why-not, --what-if: the comparison */
    const RhRehearsal *other;   /* NULL with `illegal` */
    int64_t versus;             /* the other's rank */
    const char *strategy;       /* the other as typed */
    const char *const *changes; /* NULL-ended */
    const char *illegal;        /* why the other is not legal */
    const char *refused;        /* why the stack's framework cannot run it; NULL: it can */
    /* best plan of the changed question; NULL: not requested, or it is `other` */
    const RhRehearsal *winner;
    const GArray *effects; /* RhSensitivity; NULL: not asked for */
    RhObjective objective; /* objective of `effects` */
    const GArray *rivals;  /* RhAlternative, with `effects` */
    bool replanned;        /* `other` is the winner of a search */
} RhAnswer;

/* Formats "rehearse.explain/1": the fields of `simulate` for the plan, then "term" and "versus". */
char *rh_report_explain_json(const RhQuestion *q, const RhAnswer *answer);

/* One side of a comparison, from its file. */
typedef struct {
    const char *spec; /* as typed */
    int64_t rank;
    const char *workload, *workload_hash, *platform, *platform_hash, *stack, *dtype;
    int64_t global_batch, sequence, gpus, seed;
    const char *const *sets; /* NULL-ended */
    const RhRehearsal *r;    /* costs may be missing */
} RhComparedSide;

/* Returns whether both train equally many tokens per step on equally many GPUs; otherwise only
 * times per token are comparable. */
bool rh_compared_alike(const RhComparedSide *a, const RhComparedSide *b);
double rh_compared_step_tokens(const RhComparedSide *side);
/* Return tokens per dollar and per kWh; 0: price or power is unknown. */
double rh_compared_tokens_per_usd(const RhComparedSide *side);
double rh_compared_tokens_per_kwh(const RhComparedSide *side);

/* Describes differences per token: "12.3 % fewer GPU-seconds a token than B, 5.0 % less money, 3.1
 * % more energy", with `than` after "a token"; NULL where all are below 0.05 %. Caller frees. */
char *rh_report_token_shares(const RhComparedSide *a, const RhComparedSide *b, const char *than);

/* Formats "rehearse.compare/1": "a", "b", the differences of their inputs, and their terms side by
 * side. */
char *rh_report_compare_json(const char *version, const char *const *argv, const RhComparedSide *a,
                             const RhComparedSide *b);
