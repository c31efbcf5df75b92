#pragma once
/* Table of measured runs beside their predictions, with statistics over them.
 *
 * Plain data, filled by validate/cases/case_predictions.h. A run has a time, or ran out of memory. Runs that
 * could not be expressed keep the reason in `skipped` and count only in skipped_count. Runs that
 * are not measurements (`standing` other than MEASURED) and runs that a constant was fitted to are
 * reported separately. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "accuracy/error_statistics.h"

/* Value of `skipped` for rows that were not reached before the timeout. */
#define RH_EVALUATION_LATE "stopped by --timeout before it was predicted"

typedef enum {
    RH_STANDING_MEASURED,
    RH_STANDING_RECALLED, /* recalled from memory by the author of the table */
    RH_STANDING_COMPUTED, /* another predictor's output */
    RH_STANDING_LAST,
} RhProvenance;

/* Properties of a job that determine its error bar and its odds of running out of memory. */
typedef struct {
    const char *stack;      /* interned, as all strings here; NULL: unknown */
    const char *holds_as;   /* the stack with the same memory use; NULL: itself */
    const char *generation; /* generation of the device, "hopper" */
    const char *kind;       /* kind of model: dense, mixture, hybrid */
    const char *device;     /* device of that generation */
    const char *dtype;      /* format of the linear layers, to which the peak of an MFU refers */
    /* kernels that determine which activations are kept: "flash attention, fused norms" */
    const char *kernels;
    int32_t gpus;
    int64_t tokens; /* tokens per sample */
    double params;  /* parameters of the model */
    bool adapters;  /* LoRA: frozen weights have no gradients */
    /* no run on this device was evaluated: the kernels of its generation are assumed */
    bool assumed;
    /* services (whose stack is the scheduler): separate pools for prompts and tokens */
    bool apart;
    bool starved; /* services: the KV cache was full, and requests were preempted */
    /* services: more than RH_UNTABLED_FRAC of the kernels' time is of experts without a table */
    bool experts_untabled;
    /* measured services: launch flags, the engine's version or speculation are not known */
    bool flags_defaulted, version_unknown, speculation_unknown;
} RhEvidenceKey;
#define RH_UNTABLED_FRAC 0.2

/* Returns the stack whose runs determine the odds of memory. */
static inline const char *rh_evidence_key_holder(const RhEvidenceKey *like)
{
    return like->holds_as ? like->holds_as : like->stack;
}

typedef struct {
    char *id;                            /* owned: "FILE:LINE" */
    int32_t line;                        /* line of the file */
    const char *source, *model, *device; /* interned, as in the file */
    const char *table;                   /* interned: the source, for all its versions */
    const char *family;                  /* interned: family of the model; NULL when skipped */
    const char *strategy;                /* interned: the layout */
    const char *stack;                   /* interned, or a server; NULL when skipped */
    const char *platform;                /* interned; NULL when skipped or without a platform */
    /* interned: id shared by rows of one job in different layouts; NULL: none */
    const char *rivals;
    const char *
        /* interned: metric, model and device generation of a service, "tpot mixture hopper"; NULL:
         * none */
        group;
    /* interned: predicted without what was chosen or fitted on runs of this group; NULL: with all */
    const char *cross_group;
    const char *metric; /* static: measured metric, "ttft"; NULL: step time */
    RhProvenance standing;
    bool fitted; /* a constant was fitted to this row */
    bool failed; /* ran out of memory; then measured_s is 0 */
    /* step time or metric (throughput: tokens per second); predicted 0: none */
    double measured_s, predicted_s;
    double measured_mfu_frac;          /* steps: model FLOPs over the peak; 0: none */
    double peak_bytes, capacity_bytes; /* predicted peak, and capacity of the device; 0: none */
    double measured_peak_bytes;        /* 0: none */
    /* predicted part of the peak that the measurement covers; 0: all of it */
    double counted_peak_bytes;
    RhEvidenceKey like;
    double bar_frac; /* leave-one-table-out error bar; 0: none */
    double took_s;   /* processor time of the prediction; not reproducible, so in no report */
    /* owned: properties of the run replaced by the nearest supported ones; NULL: none */
    char *stands_in;
    char *skipped; /* owned: reason why it was not predicted, or NULL */
} RhEvaluatedRun;

typedef struct {
    char *file;       /* owned */
    bool shipped;     /* the rows of this repository, from several files */
    bool crossed;     /* a cross-validation: rows have groups */
    GArray *rows;     /* RhEvaluatedRun, in the order of the file */
    GPtrArray *notes; /* owned texts */
} RhEvaluation;

RhEvaluation *rh_evaluation_new(const char *file);
void rh_evaluation_free(RhEvaluation *evaluation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhEvaluation, rh_evaluation_free)

/* Returns whether the row was not reached before the timeout. */
static inline bool rh_evaluation_late(const RhEvaluatedRun *row)
{
    return g_strcmp0(row->skipped, RH_EVALUATION_LATE) == 0;
}
static inline bool rh_evaluation_fits(const RhEvaluatedRun *row)
{
    return row->peak_bytes <= row->capacity_bytes;
}
/* Returns the predicted peak of the memory that a measured peak covers. */
static inline double rh_evaluation_peak_bytes(const RhEvaluatedRun *row)
{
    return row->counted_peak_bytes > 0 ? row->counted_peak_bytes : row->peak_bytes;
}
static inline double rh_evaluation_error_frac(const RhEvaluatedRun *row)
{
    return (row->predicted_s - row->measured_s) / row->measured_s;
}

typedef enum {
    RH_EVALUATION_BY_PART, /* measured and not fitted; fitted; exact or with a stand-in ... */
    RH_EVALUATION_BY_METRIC,
    /* services: the metric, and whether a constant was fitted to such rows */
    RH_EVALUATION_BY_EVIDENCE,
    RH_EVALUATION_BY_GROUP,
    RH_EVALUATION_BY_TABLE,
    RH_EVALUATION_BY_SOURCE,
    RH_EVALUATION_BY_DEVICE,
    RH_EVALUATION_BY_FAMILY,
    RH_EVALUATION_BY_STACK,
    RH_EVALUATION_BY_LAST,
} RhEvaluationGroup;
const char *rh_evaluation_by_name(RhEvaluationGroup by);

typedef struct {
    const char *name;          /* name of the group; borrowed */
    RhErrorStatistics figures; /* rows with a time; worst: index in RhEvaluation.rows, or -1 */
    int32_t skipped_count;
    /* means over sets of rival layouts; NAN: none */
    double kendall_tau, regret_frac, regret_worst_frac;
    int32_t rivals_count; /* number of these sets */
    /* pairs of layouts within these sets, and how far off the predicted ratio of their times is at
     * most for RH_RECORD_SHARE of them; NAN: none */
    int32_t pairs_count;
    double pairs_error_frac;
    int32_t ran_and_fits, ran_but_refused, failed_and_refused, failed_but_fits;
    RhErrorStatistics peaks;            /* rows with a measured memory peak; worst as above */
    int32_t within_count, barred_count; /* steps within their error bar, and steps that have one */
    /* probability that a failed run has a larger predicted fraction of its memory than a run that
     * succeeded; NAN without both */
    double oom_auc;
} RhEvaluationFigures;

/* Computes the statistics of rows that count as measurements, of group `name` only, or of all with
 * `by` LAST. A set of rivals needs at least four rows with a time. */
RhEvaluationFigures rh_evaluation_figures(const RhEvaluation *evaluation, RhEvaluationGroup by,
                                          const char *name);
/* Returns the names of the groups in order of first appearance, NULL-terminated; caller g_frees the
 * array alone. */
const char **rh_evaluation_groups(const RhEvaluation *evaluation, RhEvaluationGroup by);
