#pragma once
/* The JSON of what `explain` and `compare` answer. Everything given is borrowed; texts are the
 * caller's to free. */
#include "report/report.h"
#include "strategies/search/memory_savers.h"
#include "strategies/search/plan.h"

/* What a tenth more or less of a constant does to a step, by the objective of its plan. */
typedef struct {
    const char *key; /* of --set */
    RhFact fact;
    RhQuantity kind;
    double less_frac,
        more_frac; /* of what the objective has least of; NAN: the constant may not be so */
    int64_t less_rank, more_rank; /* the plan that is then the best */
    bool less_wins, more_wins;    /* it is another one than before */
    /* Beyond these values another plan wins, if one does within a factor of ten. */
    bool wins_below, wins_above;
    double below_value, above_value;
    int64_t below_rank, above_rank;
} RhSensitivity;

/* A layout that no plan of the file is, and that could win. */
typedef struct {
    int64_t rank; /* behind those of the file */
    RhLayout layout;
    double step_time_s;
    RhEnergy energy;
    double peak_bytes;
} RhRival;

/* A rank of a stage when it is fullest. */
typedef struct {
    char *when; /* owned: what runs then; NULL: nothing does */
    double peak_bytes, capacity_bytes;
    double bytes[RH_MEMORY_LAST]; /* by use */
} RhStageFull;

/* What --term memory answers. */
typedef struct {
    RhStageFull *stages; /* owned */
    int32_t stages_count;
    GArray *reliefs; /* RhMemorySaver, owned */
} RhMemoryAnswer;
void rh_memory_answer_free(RhMemoryAnswer *answer);

/* `r` is the plan explained; the rest answers the question asked of it, and is NULL or 0 for the
 * others. */
typedef struct {
    int64_t rank;
    const RhRehearsal *r;
    double recorded_s;            /* its step in the result's file */
    const RhCost *term;           /* --term: a node of r->costs */
    const RhMemoryAnswer *memory; /* --term memory; NULL: not asked for */
    /* --vs, --why-not, --what-if: against what */
    const RhRehearsal *other;   /* NULL with `illegal` */
    int64_t versus;             /* the other's rank */
    const char *strategy;       /* the other as typed */
    const char *const *changes; /* NULL-ended */
    const char *illegal;        /* why the other is not legal */
    const char *refused;        /* why the stack's framework does not run it; NULL: it does */
    const RhRehearsal *winner;  /* of a changed question; NULL: not asked, or it is `other` */
    const GArray *effects;      /* RhSensitivity; NULL: not asked for */
    RhObjective objective;      /* by which `effects` are judged */
    const GArray *rivals;       /* RhRival, with `effects` */
    bool replanned;             /* `other` is the winner of a search */
} RhAnswer;

/* "rehearse.explain/1": the fields of `simulate` for the plan, then "term" and "versus". */
char *rh_report_explain_json(const RhQuestion *q, const RhAnswer *answer);

/* One side of a comparison, from what its file holds. */
typedef struct {
    const char *spec; /* as typed */
    int64_t rank;
    const char *workload, *workload_hash, *platform, *platform_hash, *stack, *dtype;
    int64_t global_batch, sequence, gpus, seed;
    const char *const *sets; /* NULL-ended */
    const RhRehearsal *r;    /* costs may be missing */
} RhComparedSide;

/* Do both train as many tokens a step on as many GPUs? Else steps do not compare, tokens do. */
bool rh_compared_alike(const RhComparedSide *a, const RhComparedSide *b);
double rh_compared_step_tokens(const RhComparedSide *side);
/* 0: its price is not known, or its power. */
double rh_compared_tokens_per_usd(const RhComparedSide *side);
double rh_compared_tokens_per_kwh(const RhComparedSide *side);

/* "12.3 % fewer GPU-seconds a token than B, 5.0 % less money, 3.1 % more energy", `than` after "a
 * token"; NULL where nothing differs by 0.05 %. Caller frees. */
char *rh_report_token_shares(const RhComparedSide *a, const RhComparedSide *b, const char *than);

/* "rehearse.compare/1": "a", "b", what differs in their inputs, and their terms side by side. */
char *rh_report_compare_json(const char *version, const char *const *argv, const RhComparedSide *a,
                             const RhComparedSide *b);
