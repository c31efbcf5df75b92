#pragma once
/* What programs print of a run that was made, read into a figure that a prediction can stand
 * beside: logs of training frameworks. Every format is a row of the table in run_log.c.
 *
 *     g_autoptr(RhRunLog) log = rh_run_log_load("slurm-1.out", &error);
 *     double step_s = rh_run_log_step_s(log, &(RhRunJob){128, 4096, 16});
 *
 * A log may hold other text, prefixes of launchers, colours, and lines of several ranks. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "validate/runs/step_time_parts.h"

/* What the time in a log is of. */
typedef enum {
    RH_RUN_NONE,
    RH_RUN_STEP,      /* an optimizer step */
    RH_RUN_SAMPLE,    /* a sample of the global batch */
    RH_RUN_TOKEN,     /* a token of the global batch */
    RH_RUN_GPU_TOKEN, /* a token of the global batch, in time of all GPUs together */
} RhRunMeasure;

/* One figure of a log: the mean over the lines of an iteration. */
typedef struct {
    double seconds;    /* for one of `unit` */
    int64_t iteration; /* -1: not said */
    int32_t line, lines;
} RhRunSample;

/* The time that most iterations took. The median of the last half of the samples is the measure:
 * samples from the beginning on that are 15 % and more away from it are warm-up, later ones that
 * are 25 % and more away are stalls (a checkpoint, an evaluation, collected garbage) or lines of
 * another interval; the typical time is the median of the others. Of fewer than four samples all
 * count. */
typedef struct {
    double seconds;
    double spread_frac; /* half the distance of the 10th and 90th percentiles of those that count */
    int32_t samples, warmup, stalls;
} RhRunTypical;

/* Facts that a log says of its run beside the times. */
typedef enum {
    RH_SAID_BATCH,      /* samples of a step */
    RH_SAID_SEQUENCE,   /* tokens of a sample */
    RH_SAID_GPUS,       /* of the whole job */
    RH_SAID_LAYERS,     /* of the model */
    RH_SAID_HIDDEN,     /* size of the hidden state */
    RH_SAID_PARAMETERS, /* of the whole model; frameworks differ in whether embeddings count */
    RH_SAID_FLOPS,      /* model FLOP/s of a GPU, the median of the lines; frameworks differ in
                         * whether half of causal attention counts */
    RH_SAID_LAST
} RhRunFigureKind;

typedef struct {
    double value; /* 0: not said */
    int32_t line; /* that says it first */
} RhRunFigure;

typedef struct {
    char *name;         /* owned: of the file */
    const char *format; /* "Megatron-LM" */
    RhRunMeasure unit;
    GArray *samples; /* RhRunSample */
    RhRunTypical typical;
    RhRunFigure said[RH_SAID_LAST];
    /* of a profiler's trace */
    RhStepParts *parts;   /* owned: where the time of the median step went; NULL: of no trace */
    int64_t parts_step;   /* its number; -1: the trace has none */
    int32_t rank;         /* whose it is; -1: not said */
    int32_t devices;      /* GPUs in the trace, of which the one that worked longest counts */
    bool whole_trace;     /* no step is marked: the whole is taken as one */
    double memory_bytes;  /* the highest peak of a GPU; 0: not said */
    bool memory_reserved; /* that of the allocator's reserve, not of tensors */
    bool summary;         /* one mean over the whole run, its start and stalls with it */
} RhRunLog;

typedef struct {
    const char *name; /* for messages */
    bool (*recognise)(const char *text);
    bool (*read)(RhRunLog *out, const char *text, GError **error);
} RhRunLogReader;

/* An empty log, as readers fill it; `format` is static. */
RhRunLog *rh_run_log_new(const char *name, const char *format);
/* The reader of a text; NULL: it is of no run. Prefixes must have been removed. */
const RhRunLogReader *rh_run_log_reader(const char *text);
/* Is the text a log of a training run? */
bool rh_run_log_begins(const char *text);
/* RH_ERROR_INPUT with file:line:col and how to mend it; RH_ERROR_IO. */
RhRunLog *rh_run_log_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhRunLog *rh_run_log_parse(const char *name, const char *text,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_run_log_free(RhRunLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRunLog, rh_run_log_free)

/* "global batch", "tokens of a sample". */
const char *rh_run_said_name(RhRunFigureKind kind);
/* "8,030,261,248", "412.3 TFLOP/s". Caller frees. */
char *rh_run_said_text(RhRunFigureKind kind, double value);
/* Computes the typical time of samples. */
RhRunTypical rh_run_typical(const GArray *samples);

typedef struct {
    int64_t global_batch, sequence;
    int32_t gpus;
} RhRunJob;
/* The measured seconds of a step of this job. */
double rh_run_log_step_s(const RhRunLog *log, const RhRunJob *job);
/* "98 of 100 iterations of Megatron-LM's log; left out: 2 of the warm-up". Caller frees. */
char *rh_run_log_describe(const RhRunLog *log);
