#pragma once
/* What a benchmark of a server measured, read from the file that it wrote: vllm bench serve, SGLang's
 * bench_serving, AIPerf and GenAI-Perf, GuideLLM, InferenceX. Knows nothing of predictions. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    RH_RESULT_TTFT_MEAN,
    RH_RESULT_TTFT_P50,
    RH_RESULT_TTFT_P99,
    RH_RESULT_TPOT_MEAN,
    RH_RESULT_TPOT_P50,
    RH_RESULT_TPOT_P99,
    RH_RESULT_TOKENS_PER_S, /* of output */
    RH_RESULT_REQUESTS_PER_S,
    RH_RESULT_LAST
} RhServiceResultMetric;

typedef struct {
    const char *format;  /* static: "vllm bench serve" */
    char *model;         /* NULL: not said */
    int64_t count;       /* requests that were answered; 0: not said */
    int32_t concurrency; /* 0: not said, or requests came at a rate */
    bool inferred;       /* the concurrency is the rate of answers times their mean time (Little) */
    double rate_per_s;   /* 0: not said; INFINITY: all at once */
    double input_tokens, output_tokens; /* means; 0: not said */
    double measured[RH_RESULT_LAST];    /* seconds, or per second; 0: not said */
} RhServiceResultFile;

/* Does a text begin like such a file? `head` is NUL-ended. */
bool rh_service_figures_are(const char *head);
/* The first run of a file. RH_ERROR_INPUT with the place of what is wrong, or where it holds no time
 * or rate; RH_ERROR_IO. */
RhServiceResultFile *rh_service_figures_load(const char *path,
                                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhServiceResultFile *rh_service_figures_parse(const char *name, const char *text, size_t length,
                                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_service_figures_free(RhServiceResultFile *figures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServiceResultFile, rh_service_figures_free)
const char *rh_service_figure_name(int metric);
