#pragma once
/* A table of measured runs, each beside its prediction, and what may be said of them together.
 *
 * Plain data, filled by validate/cases/cases.h. A run has a time, or ran out of memory. Runs that could
 * not be said keep the reason in `skipped` and count in no figure but skipped_count; runs that are
 * no measurement of their own (`standing` other than MEASURED) and runs that a constant was fitted
 * to are told apart by part. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "accuracy/error_statistics.h"

/* `skipped` of a row that time was up before. */
#define RH_JUDGED_LATE "time was up before it was predicted"

typedef enum {
    RH_STANDING_MEASURED,
    RH_STANDING_RECALLED, /* typed from memory by whoever made the table */
    RH_STANDING_COMPUTED, /* another predictor's output */
    RH_STANDING_LAST,
} RhProvenance;

/* What tells of a job how far off its prediction may be, and how surely its memory suffices. */
typedef struct {
    const char *stack;      /* interned, as all of these; NULL: not known */
    const char *holds_as;   /* the stack that it holds as much as; NULL: itself */
    const char *generation; /* of the device, "hopper" */
    const char *kind;       /* of the model: dense, mixture, hybrid */
    const char *device;     /* of that generation */
    const char *dtype;      /* of the linear layers: what the peak of an MFU is of */
    const char *kernels;    /* that decide what is kept: "flash attention, fused norms" */
    int32_t gpus;
    int64_t tokens; /* of a sample */
    double params;  /* of the model */
    bool adapters;  /* LoRA: frozen weights have no gradients */
    bool assumed;   /* no run on the device was judged: its kernels are its generation's */
    /* of a service (its stack: the scheduler): prompts and tokens on pools of their own */
    bool apart;
    bool starved; /* of a service: its cache was full, and requests were put out */
} RhEvidenceKey;
/* The stack whose runs tell of its memory. */
static inline const char *rh_evidence_key_holder(const RhEvidenceKey *like)
{
    return like->holds_as ? like->holds_as : like->stack;
}

typedef struct {
    char *id;                            /* owned: "FILE:LINE" */
    int32_t line;                        /* of the file */
    const char *source, *model, *device; /* interned, as the file says */
    const char *table;                   /* interned: the source, all its versions together */
    const char *family;                  /* interned: the model's; NULL when skipped */
    const char *strategy;                /* interned: the layout */
    const char *stack;                   /* interned, or a server; NULL when skipped */
    const char *platform;                /* interned; NULL when skipped, or where it is none */
    const char *rivals; /* interned: rows of the same text ran the same job, by other layouts; NULL:
                           there are none */
    const char *
        group; /* interned: what is served on what, "tpot mixture hopper"; NULL: of no such group */
    const char *metric; /* static: what was measured, "ttft"; NULL: the time of a step */
    RhProvenance standing;
    bool fitted;                    /* a constant was fitted to this very row */
    bool failed;                    /* ran out of memory; then measured_s is 0 */
    double measured_s, predicted_s; /* of a step, or of the metric (throughput: tokens a
                                           second); predicted 0: none */
    double measured_mfu_frac;       /* of a step: the model's arithmetic over the peak; 0: none */
    double peak_bytes, capacity_bytes; /* predicted, and of the device; 0: none */
    double measured_peak_bytes;        /* 0: none */
    double counted_peak_bytes; /* predicted of what the measured peak counts; 0: all of it */
    RhEvidenceKey like;
    double bar_frac; /* its error bar, were there no run of its own table; 0: none */
    double took_s;   /* processor time of predicting it; not reproducible, so in no report */
    char *stands_in; /* owned: what of the run is said by the nearest there is; NULL: nothing */
    char *skipped;   /* owned: why it was not predicted; NULL */
} RhEvaluatedRun;

typedef struct {
    char *file;       /* owned */
    bool shipped;     /* the tree's own rows, of more than one file */
    GArray *rows;     /* RhEvaluatedRun, in the order of the file */
    GPtrArray *notes; /* owned texts */
} RhEvaluation;

RhEvaluation *rh_evaluation_new(const char *file);
void rh_evaluation_free(RhEvaluation *judged);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhEvaluation, rh_evaluation_free)

/* Nobody knows whether it can be said. */
static inline bool rh_evaluation_late(const RhEvaluatedRun *row)
{
    return g_strcmp0(row->skipped, RH_JUDGED_LATE) == 0;
}
static inline bool rh_evaluation_fits(const RhEvaluatedRun *row)
{
    return row->peak_bytes <= row->capacity_bytes;
}
/* What was predicted of what a measured peak counts. */
static inline double rh_evaluation_peak_bytes(const RhEvaluatedRun *row)
{
    return row->counted_peak_bytes > 0 ? row->counted_peak_bytes : row->peak_bytes;
}
static inline double rh_evaluation_error_frac(const RhEvaluatedRun *row)
{
    return (row->predicted_s - row->measured_s) / row->measured_s;
}

typedef enum {
    RH_JUDGED_BY_PART, /* measured and not fitted to; fitted to; said exactly or by a stand-in ... */
    RH_JUDGED_BY_METRIC,
    RH_JUDGED_BY_EVIDENCE, /* of a service: the metric, and whether a constant was fitted to rows of its kind */
    RH_JUDGED_BY_GROUP,
    RH_JUDGED_BY_TABLE,
    RH_JUDGED_BY_SOURCE,
    RH_JUDGED_BY_DEVICE,
    RH_JUDGED_BY_FAMILY,
    RH_JUDGED_BY_STACK,
    RH_JUDGED_BY_LAST,
} RhEvaluationGroup;
const char *rh_evaluation_by_name(RhEvaluationGroup by);

typedef struct {
    const char *name;          /* of the group; borrowed */
    RhErrorStatistics figures; /* of rows with a time; worst: index in RhEvaluation.rows, or -1 */
    int32_t skipped_count;
    double kendall_tau, regret_frac, regret_worst_frac; /* means over groups of rivals; NAN: none */
    int32_t rivals_count;                               /* such groups */
    int32_t ran_and_fits, ran_but_refused, failed_and_refused, failed_but_fits;
    RhErrorStatistics peaks;            /* of rows with a measured peak of memory; worst as above */
    int32_t within_count, barred_count; /* steps within their error bar, of those that have one */
    double oom_auc; /* chance that a run that failed has a larger predicted share of its memory than
                       one that ran; NAN without both */
} RhEvaluationFigures;

/* Rows that count as measurements; of a group's rows alone where `by` is given (else LAST, and `name`
 * is ignored). Rivals: at least four rows with a time. */
RhEvaluationFigures rh_evaluation_figures(const RhEvaluation *judged, RhEvaluationGroup by,
                                          const char *name);
/* Names of the groups in order of first appearance, NULL-ended; caller g_frees the array alone. */
const char **rh_evaluation_groups(const RhEvaluation *judged, RhEvaluationGroup by);
