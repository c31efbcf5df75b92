#pragma once
/* Formats the answers of `explain` and `compare` as JSON. Inputs are borrowed; texts are the
 * caller's to free. */
#include "report/report.h"
#include "strategies/search/memory_savers.h"
#include "strategies/search/plan.h"

/* Effect of a 10 % change of a constant on a step, by the objective of its plan. */
typedef struct {
    const char *key; /* key of --set */
    RhFact fact;
    RhQuantity kind;
    double less_frac, more_frac;  /* relative change of the objective; NAN: value not allowed */
    int64_t less_rank, more_rank; /* rank of the plan that is then the best */
    bool less_wins, more_wins;    /* the best plan changes */
    /* Thresholds beyond which another plan is the best, if within a factor of ten. */
    bool wins_below, wins_above;
    double below_value, above_value;
    int64_t below_rank, above_rank;
} RhSensitivity;

/* A layout outside the file's plans that could become the best. */
typedef struct {
    int64_t rank; /* follows the ranks of the file */
    RhLayout layout;
    double step_time_s;
    RhEnergy energy;
    double peak_bytes;
} RhRival;

/* Memory of a rank of a stage at its peak. */
typedef struct {
    char *when; /* owned: what runs at the peak; NULL: nothing */
    double peak_bytes, capacity_bytes;
    double bytes[RH_MEMORY_LAST]; /* by use */
} RhStageFull;

/* Answer to --term memory. */
typedef struct {
    RhStageFull *stages; /* owned */
    int32_t stages_count;
    GArray *reliefs; /* RhMemorySaver, owned */
} RhMemoryAnswer;
void rh_memory_answer_free(RhMemoryAnswer *answer);

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
    const GArray *rivals;  /* RhRival, with `effects` */
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
