#pragma once
/* Tables of measured runs, of training or of serving, as people publish them: CSV with a header (base/text/csv.h), a row a
 * run. Columns in any order; those a table lacks are empty. docs/guide/validation.md has the list. */
#include "base/text/csv.h"
#include "calibrate/stacks/published_steps.h"

/* ROW(enum's word, name in the header) */
#define RH_CASE_COLUMNS(ROW)                                                                       \
    ROW(SOURCE, "source")                                                                          \
    ROW(MODEL, "model")                                                                            \
    ROW(PARAMS, "params")                                                                          \
    ROW(LAYERS, "layers")                                                                          \
    ROW(HIDDEN, "hidden")                                                                          \
    ROW(HEADS, "heads")                                                                            \
    ROW(KV_HEADS, "kv_heads")                                                                      \
    ROW(FFN, "ffn")                                                                                \
    ROW(VOCAB, "vocab")                                                                            \
    ROW(SEQ, "seq")                                                                                \
    ROW(GPU, "gpu")                                                                                \
    ROW(GPUS, "gpus")                                                                              \
    ROW(TP, "tp")                                                                                  \
    ROW(PP, "pp")                                                                                  \
    ROW(DP, "dp")                                                                                  \
    ROW(CP, "cp")                                                                                  \
    ROW(EP, "ep")                                                                                  \
    ROW(VPP, "vpp")                                                                                \
    ROW(MICROBATCH, "microbatch")                                                                  \
    ROW(GLOBAL_BATCH, "global_batch")                                                              \
    ROW(RECOMPUTE, "recompute")                                                                    \
    ROW(SEQPAR, "seqpar")                                                                          \
    ROW(ZERO, "zero")                                                                              \
    ROW(PRECISION, "precision")                                                                    \
    ROW(STEP_S, "measured_iteration_s")                                                            \
    ROW(TFLOPS, "measured_tflops_per_gpu")                                                         \
    ROW(MFU, "measured_mfu")                                                                       \
    ROW(ISL, "isl")                                                                                \
    ROW(OSL, "osl")                                                                                \
    ROW(AT_ONCE, "batch_or_concurrency")                                                           \
    ROW(RPS, "rps")                                                                                \
    ROW(THROUGHPUT, "throughput_tok_s")                                                            \
    ROW(TTFT_MS, "ttft_ms")                                                                        \
    ROW(TPOT_MS, "tpot_ms")                                                                        \
    ROW(TTFT_P50_MS, "ttft_p50_ms")                                                                \
    ROW(TTFT_P90_MS, "ttft_p90_ms")                                                                \
    ROW(TTFT_P99_MS, "ttft_p99_ms")                                                                \
    ROW(TTFT_P999_MS, "ttft_p999_ms")                                                              \
    ROW(TPOT_P50_MS, "tpot_p50_ms")                                                                \
    ROW(TPOT_P90_MS, "tpot_p90_ms")                                                                \
    ROW(TPOT_P99_MS, "tpot_p99_ms")                                                                \
    ROW(TPOT_P999_MS, "tpot_p999_ms")                                                              \
    ROW(TTFT_LIMIT_MS, "ttft_limit_ms")                                                            \
    ROW(TPOT_LIMIT_MS, "tpot_limit_ms")                                                            \
    ROW(DEPLOYMENT, "deployment")                                                                  \
    ROW(KV_TOKENS, "kv_tokens")                                                                    \
    ROW(KV_GIB, "kv_gib")                                                                          \
    ROW(LIBRARY, "library")                                                                        \
    ROW(MODE, "mode")                                                                              \
    ROW(OP, "op")                                                                                  \
    ROW(NIC, "nic")                                                                                \
    ROW(TOKENS, "tokens_per_gpu")                                                                  \
    ROW(TOPK, "topk")                                                                              \
    ROW(EXPERTS, "experts")                                                                        \
    ROW(DTYPE, "dtype")                                                                            \
    ROW(SMS, "sms")                                                                                \
    ROW(LATENCY_US, "latency_us")                                                                  \
    ROW(STDEV_US, "stdev_us")                                                                      \
    ROW(BANDWIDTH, "bandwidth_GBps")                                                               \
    ROW(BANDWIDTH_KIND, "bandwidth_kind")                                                          \
    ROW(STACK, "stack")                                                                            \
    ROW(RECIPE, "recipe")                                                                          \
    ROW(PLATFORM, "platform")                                                                      \
    ROW(LAYOUT, "layout")                                                                          \
    ROW(OVERLAP, "overlap")                                                                        \
    ROW(NOTE, "note")                                                                              \
    ROW(WHERE, "where")

typedef enum {
#define RH_CASE_COLUMN_WORD(word, name) RH_CASE_##word,
    RH_CASE_COLUMNS(RH_CASE_COLUMN_WORD)
#undef RH_CASE_COLUMN_WORD
        RH_CASE_COLUMNS_LAST,
} RhCaseColumn;
const char *rh_case_column_name(RhCaseColumn column);
const char *const *rh_case_column_names(void);         /* NULL-ended */
RhCaseColumn rh_case_column_by_name(const char *name); /* LAST: no such column */

#define RH_CASE_PERCENTILES 4 /* 50th, 90th, 99th, 99.9th: columns in this order */

/* A row as read: numbers are checked, 0 where the cell is empty. Texts are the table's. */
typedef struct {
    const char *file; /* borrowed: of the table, or of the file it was read from */
    int32_t line;
    const RhModel *model;                   /* NULL: what its name and sizes say */
    const char *text[RH_CASE_COLUMNS_LAST]; /* "" where the cell is empty */
    int64_t whole[RH_CASE_COLUMNS_LAST];    /* of columns that hold whole numbers */
    double step_s, tflops;
    double rps, tokens_per_s, ttft_s, tpot_s; /* of serving; lengths may be words */
    double ttft_limit_s, tpot_limit_s;        /* that the 99th percentiles kept */
    double rate_in_limits_per_s; /* the rate at which they did, where it is their result */
    double ttft_percentiles_s[RH_CASE_PERCENTILES], tpot_percentiles_s[RH_CASE_PERCENTILES];
    double cache_tokens, cache_bytes;        /* that a server said it has, of one GPU */
    double exchange_s, exchange_bytes_per_s; /* of tokens to experts, or back */
} RhCaseRow;

typedef enum { RH_CASE_TRAINING, RH_CASE_SERVING, RH_CASE_CACHES, RH_CASE_EXCHANGES } RhCaseKind;

typedef struct {
    char *name;             /* owned: what it is called in reports */
    RhCsv *csv;             /* owned */
    RhMeasuredSteps *steps; /* owned; NULL: it has no rows of such a table */
    GArray *rows;           /* RhCaseRow */
    GStringChunk *texts;    /* of rows that no file holds; owned; NULL */
    RhCaseKind kind;        /* what its rows are of: told by columns that such tables alone have */
} RhCaseTable;

/* Detects the kind of a table file by its header; returns false for other files. */
bool rh_case_table_peek(const char *path, RhCaseKind *kind);
/* Loads a file, or a table of this repository by name ("published-caches"). RH_ERROR_INPUT with
 * file:line:col and how to fix it; RH_ERROR_IO. */
RhCaseTable *rh_case_table_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhCaseTable *rh_case_table_parse(const char *name, const char *text,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The tree's own: validate/data/published-runs.csv, and the rows of calibrate/data/published-steps.csv
 * as rows like those (validate/cases/cases_published.c). RH_ERROR_INPUT, RH_ERROR_IO. */
RhCaseTable *rh_case_table_published(GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does its source, model or note hold the word? NULL: of every row. */
bool rh_case_wanted(const RhCaseRow *row, const char *word);
void rh_case_table_free(RhCaseTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCaseTable, rh_case_table_free)
