#include "validate/runs/service_result.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/gzip_file.h"
#include "validate/runs/bench_serve_printout.h"

#define FILE_MAX   ((gsize)64 << 20)
#define HEAD_BYTES 65536

static const char *const names[RH_RESULT_LAST] = {"TTFT mean",       "TTFT p50",  "TTFT p99",
                                                  "TPOT mean",       "TPOT p50",  "TPOT p99",
                                                  "output tokens/s", "requests/s"};

const char *rh_service_figure_name(int metric)
{
    return names[metric];
}

/* --- values --- */

/* The member at a path, as "requests.successful"; NULL: there is none. */
static const RhJsonNode *member_at(const RhJsonNode *node, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    for (char **key = keys; *key && node; key++) {
        if (rh_json_kind(node) == RH_JSON_ARRAY)
            node = rh_json_first(node);
        node = node && rh_json_kind(node) == RH_JSON_OBJECT ? rh_json_member(node, *key) : NULL;
    }
    return node;
}

/* The number at a path; 0: none, or none that is positive. */
static double number_at(RhJson *doc, const RhJsonNode *root, const char *path)
{
    const RhJsonNode *node = path ? member_at(root, path) : NULL;
    double x = node && rh_json_kind(node) == RH_JSON_NUMBER
                   ? rh_json_node_number(doc, node, -1e300, 1e300)
                   : 0;
    return isfinite(x) && x > 0 ? x : 0;
}

/* The number at a path of what is measured or counted, which is a problem where it is negative. */
static double measure_at(RhJson *doc, const RhJsonNode *root, const char *path)
{
    const RhJsonNode *node = path ? member_at(root, path) : NULL;
    if (node && rh_json_kind(node) == RH_JSON_NUMBER &&
        rh_json_node_number(doc, node, -1e300, 1e300) < 0)
        rh_json_problem(doc, node, "run the benchmark again, or delete the key",
                        "%s is negative: nothing measured is", path);
    return number_at(doc, root, path);
}

/* The number of answered requests; that there were none is a problem: no figure is of anything. */
static int64_t count_at(RhJson *doc, const RhJsonNode *root, const char *path)
{
    const RhJsonNode *node = path ? member_at(root, path) : NULL;
    double count = measure_at(doc, root, path);
    if (node && rh_json_kind(node) == RH_JSON_NUMBER && count == 0)
        rh_json_problem(doc, node, "look at what failed, and run the benchmark again",
                        "%s: no request was answered, so nothing was measured", path);
    return (int64_t)fmin(count, 1 << 30);
}

static char *text_at(RhJson *doc, const RhJsonNode *root, const char *path)
{
    const RhJsonNode *node = path ? member_at(root, path) : NULL;
    if (node && rh_json_kind(node) == RH_JSON_ARRAY)
        node = rh_json_first(node);
    return node && rh_json_kind(node) == RH_JSON_TEXT ? g_strdup(rh_json_node_string(doc, node))
                                                      : NULL;
}

/* --- formats: where each figure stands --- */

typedef struct {
    const char *name;
    const char *marks[3]; /* all are in the file's beginning; NULL-ended */
    const char *model, *concurrency, *rate, *count, *latency;
    const char *input, *output; /* tokens: means, or totals */
    bool totals;
    double unit_s; /* of times */
    const char *figures[RH_RESULT_LAST];
} Format;

/* Members behind `model` of the two benchmarks that share a heritage. */
#define SERVING_BENCHMARK                                                                          \
    "max_concurrency", "request_rate", "completed", "mean_e2el_ms", "total_input_tokens",          \
        "total_output_tokens", true, 1e-3,                                                         \
    {                                                                                              \
        "mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "median_tpot_ms",         \
            "p99_tpot_ms", "output_throughput", "request_throughput"                               \
    }

static const Format formats[] = {
    {"vllm bench serve",
     {"\"mean_ttft_ms\"", "\"tokenizer_id\"", NULL},
     "model_id",
     SERVING_BENCHMARK},
    {"SGLang bench_serving", {"\"mean_ttft_ms\"", NULL}, "model", SERVING_BENCHMARK},
    {"AIPerf",
     {"\"time_to_first_token\"", "\"avg\"", NULL},
     "input_config.endpoint.model_names",
     "input_config.loadgen.concurrency",
     "input_config.loadgen.request_rate",
     "request_count.avg",
     "request_latency.avg",
     "input_sequence_length.avg",
     "output_sequence_length.avg",
     false,
     1e-3,
     {"time_to_first_token.avg", "time_to_first_token.p50", "time_to_first_token.p99",
      "inter_token_latency.avg", "inter_token_latency.p50", "inter_token_latency.p99",
      "output_token_throughput.avg", "request_throughput.avg"}},
    {"GuideLLM",
     {"\"benchmarks\"", "\"time_to_first_token_ms\"", NULL},
     "benchmarks.worker.backend_model",
     "benchmarks.args.strategy.streams",
     "benchmarks.args.strategy.rate",
     "benchmarks.run_stats.requests_made.successful",
     NULL,
     "benchmarks.metrics.prompt_token_count.successful.mean",
     "benchmarks.metrics.output_token_count.successful.mean",
     false,
     1e-3,
     {"benchmarks.metrics.time_to_first_token_ms.successful.mean",
      "benchmarks.metrics.time_to_first_token_ms.successful.median",
      "benchmarks.metrics.time_to_first_token_ms.successful.percentiles.p99",
      "benchmarks.metrics.inter_token_latency_ms.successful.mean",
      "benchmarks.metrics.inter_token_latency_ms.successful.median",
      "benchmarks.metrics.inter_token_latency_ms.successful.percentiles.p99",
      "benchmarks.metrics.output_tokens_per_second.successful.mean",
      "benchmarks.metrics.requests_per_second.successful.mean"}},
    {"InferenceX",
     {"\"conc\"", "\"mean_ttft\"", NULL},
     "model",
     "conc",
     NULL,
     NULL,
     "mean_e2el",
     "isl",
     "osl",
     false,
     1,
     {"mean_ttft", "median_ttft", "p99_ttft", "mean_tpot", "median_tpot", "p99_tpot", NULL, NULL}},
};

static const Format *format_of(const char *head)
{
    if (rh_service_table_is(head)) /* SGLang's says which backend answered */
        return &formats[strstr(head, "Backend:") ? 1 : 0];
    const char *at = head + strspn(head, " \t\r\n");
    for (size_t i = 0; (*at == '{' || *at == '[') && i < G_N_ELEMENTS(formats); i++) {
        bool all = true;
        for (int k = 0; formats[i].marks[k]; k++)
            all &= strstr(at, formats[i].marks[k]) != NULL;
        if (all)
            return &formats[i];
    }
    return NULL;
}

bool rh_service_figures_are(const char *head)
{
    return format_of(head) != NULL;
}

/* --- reading --- */

/* Where a file does not say how many clients there were, by Little's law. */
static void infer_concurrency(RhJson *doc, const RhJsonNode *root, const Format *f,
                              RhServiceResultFile *out)
{
    double answered = number_at(doc, root, f->figures[RH_RESULT_REQUESTS_PER_S]);
    double clients = answered * f->unit_s * number_at(doc, root, f->latency);
    if (out->concurrency > 0 || out->rate_per_s > 0 || !(clients > 0 && clients < (1 << 20)))
        return;
    out->concurrency = MAX((int32_t)round(clients), 1);
    out->inferred = true;
}

static void read_load(RhJson *doc, const RhJsonNode *root, const Format *f,
                      RhServiceResultFile *out)
{
    g_autofree char *rate = text_at(doc, root, f->rate);
    out->model = text_at(doc, root, f->model);
    out->count = count_at(doc, root, f->count);
    out->concurrency = (int32_t)fmin(number_at(doc, root, f->concurrency), 1 << 20);
    out->rate_per_s =
        g_strcmp0(rate, "inf") == 0 ? (double)INFINITY : number_at(doc, root, f->rate);
    infer_concurrency(doc, root, f, out);
    double each = f->totals ? fmax((double)out->count, 1) : 1;
    out->input_tokens = measure_at(doc, root, f->input) / each;
    out->output_tokens = measure_at(doc, root, f->output) / each;
}

static bool read_figures(RhJson *doc, const Format *f, RhServiceResultFile *out, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    bool any = false;
    if (rh_json_kind(root) == RH_JSON_ARRAY)
        root = rh_json_first(root);
    out->format = f->name;
    if (root)
        read_load(doc, root, f, out);
    for (int m = 0; root && m < RH_RESULT_LAST; m++) {
        double unit = m < RH_RESULT_TOKENS_PER_S ? f->unit_s : 1;
        out->measured[m] = unit * measure_at(doc, root, f->figures[m]);
        any |= out->measured[m] > 0;
    }
    if (rh_json_problems_count(doc) > 0) {
        rh_json_consume_all(doc, rh_json_root(doc));
        rh_json_refuse(doc, error);
        return false;
    }
    return any ? true
               : rh_fail(error, RH_ERROR_INPUT, "%s: no time to a first token and no rate is in it",
                         rh_json_name(doc));
}

/* The first document of a text, as SGLang appends one for each run. */
static size_t first_document(const char *text, size_t length)
{
    const char *end = memchr(text, '\n', length);
    g_autofree char *line = end ? g_strndup(text, (gsize)(end - text)) : NULL;
    g_autoptr(RhJson) doc = line ? rh_json_parse("line", line, strlen(line), NULL) : NULL;
    return doc ? strlen(line) : length;
}

/* The text as JSON: the table that a benchmark prints, or its document, in which SGLang writes a
 * rate without bound as Infinity. Caller frees. */
static char *readable_of(const char *head, const char *text, size_t length)
{
    g_autofree char *whole = g_strndup(text, length);
    if (rh_service_table_is(head))
        return rh_service_table_json(whole);
    g_auto(GStrv) parts = g_strsplit(whole, "\"request_rate\": Infinity", -1);
    return g_strjoinv("\"request_rate\": \"inf\"", parts);
}

RhServiceResultFile *rh_service_figures_parse(const char *name, const char *text, size_t length,
                                              GError **error)
{
    g_autofree char *head = g_strndup(text, MIN(length, HEAD_BYTES));
    const Format *f = format_of(head);
    g_autofree char *readable = f ? readable_of(head, text, length) : NULL;
    if (!f) {
        rh_fail(error, RH_ERROR_INPUT, "%s is no result of a benchmark that is known", name);
        return NULL;
    }
    g_autoptr(RhJson) doc =
        rh_json_parse(name, readable, first_document(readable, strlen(readable)), error);
    g_autoptr(RhServiceResultFile) out = g_new0(RhServiceResultFile, 1);
    return doc && read_figures(doc, f, out, error) ? g_steal_pointer(&out) : NULL;
}

RhServiceResultFile *rh_service_figures_load(const char *path, GError **error)
{
    g_autoptr(GByteArray) bytes = rh_bytes_load(path, FILE_MAX, error);
    g_autofree char *text = bytes ? g_strndup((const char *)bytes->data, bytes->len) : NULL;
    return text ? rh_service_figures_parse(path, text, strlen(text), error) : NULL;
}

void rh_service_figures_free(RhServiceResultFile *f)
{
    if (f)
        g_free(f->model);
    g_free(f);
}
