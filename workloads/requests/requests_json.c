#include "workloads/requests/requests_json.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/units.h"

#define HEAD_BYTES 65536 /* of a file tell its kind */

typedef struct Reader Reader;

/* How a file is divided into documents. */
typedef enum { WHOLE, LINES, ELEMENTS } Division;

/* A kind of file: what its beginning holds, and how a document of it is read. */
typedef struct {
    const char *name;
    Division division;
    const char *marks[3]; /* all are in the beginning; NULL-ended */
    /* False with `why`, which is the caller's: no request, or none that a server takes. */
    bool (*read)(Reader *r, RhJson *doc, const RhJsonNode *root, char **why);
} Kind;

struct Reader {
    const char *name, *text;
    size_t length;
    double chars_per_token;
    bool skip_bad;
    const Kind *kind;
    RhRequests *out;
    double begin; /* of the first request, in the file's unit; NAN: none yet */
};

/* --- requests --- */

static bool refuse(char **why, const char *what)
{
    *why = g_strdup(what);
    return false;
}

static bool add(Reader *r, double input, double output, double t_s, char **why)
{
    if (!(input >= 1 && output >= 1 && input <= RH_REQUEST_TOKENS_MAX &&
          output <= RH_REQUEST_TOKENS_MAX))
        return refuse(why, "no server takes a request without a token of prompt or of answer");
    if (!isnan(t_s)) {
        r->begin = isnan(r->begin) ? t_s : r->begin;
        r->out->timed = true;
        t_s -= r->begin;
    }
    RhRequest q = {.session = -1,
                   .t_s = isnan(t_s) ? 0 : fmax(t_s, 0),
                   .input_tokens = (int32_t)ceil(input),
                   .output_tokens = (int32_t)ceil(output)};
    g_array_append_val(r->out->list, q);
    return true;
}

/* The tokens that a text is estimated to be. */
static double tokens_of(Reader *r, const char *text)
{
    r->out->chars_per_token = r->chars_per_token;
    return ceil((double)g_utf8_strlen(text, -1) / r->chars_per_token);
}

static const RhJsonNode *object_in(const RhJsonNode *node, const char *key)
{
    const RhJsonNode *member =
        node && rh_json_kind(node) == RH_JSON_OBJECT ? rh_json_member(node, key) : NULL;
    return member && rh_json_kind(member) == RH_JSON_OBJECT ? member : NULL;
}

static const RhJsonNode *list_in(const RhJsonNode *node, const char *key)
{
    const RhJsonNode *member =
        node && rh_json_kind(node) == RH_JSON_OBJECT ? rh_json_member(node, key) : NULL;
    return member && rh_json_kind(member) == RH_JSON_ARRAY ? member : NULL;
}

/* The number of the first of these keys that has one; NAN: none. */
static double number_in(RhJson *doc, const RhJsonNode *node, const char *const *keys)
{
    for (int i = 0; node && rh_json_kind(node) == RH_JSON_OBJECT && keys[i]; i++) {
        const RhJsonNode *member = rh_json_member(node, keys[i]);
        if (member && rh_json_kind(member) == RH_JSON_NUMBER)
            return rh_json_node_number(doc, member, -1e300, 1e300);
    }
    return (double)NAN;
}

static const char *text_in(RhJson *doc, const RhJsonNode *node, const char *key)
{
    const RhJsonNode *member =
        node && rh_json_kind(node) == RH_JSON_OBJECT ? rh_json_member(node, key) : NULL;
    return member && rh_json_kind(member) == RH_JSON_TEXT ? rh_json_node_text(doc, member) : NULL;
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- ShareGPT: the first turn and its answer, as benchmarks take them --- */

static bool read_talk(Reader *r, RhJson *doc, const RhJsonNode *root, char **why)
{
    const RhJsonNode *turns = list_in(root, "conversations");
    const RhJsonNode *first = turns ? rh_json_first(turns) : NULL;
    const RhJsonNode *second = first ? rh_json_next(first) : NULL;
    const char *asked = text_in(doc, first, "value"), *said = text_in(doc, second, "value");
    if (!asked || !said)
        return refuse(why, "a conversation without a question and its answer");
    return add(r, tokens_of(r, asked), tokens_of(r, said), (double)NAN, why);
}

/* --- OpenAI's batches --- */

static double message_tokens(Reader *r, RhJson *doc, const RhJsonNode *message)
{
    const char *content = text_in(doc, message, "content");
    const RhJsonNode *parts = list_in(message, "content");
    double tokens = content ? tokens_of(r, content) : 0;
    for (const RhJsonNode *n = parts ? rh_json_first(parts) : NULL; n; n = rh_json_next(n)) {
        const char *text = text_in(doc, n, "text");
        tokens += text ? tokens_of(r, text) : 0;
    }
    return tokens;
}

static bool read_batch(Reader *r, RhJson *doc, const RhJsonNode *root, char **why)
{
    const RhJsonNode *body = object_in(root, "body"), *messages = list_in(body, "messages");
    const char *prompt = text_in(doc, body, "prompt");
    double most =
        number_in(doc, body, KEYS("max_completion_tokens", "max_tokens", "max_output_tokens"));
    double tokens = prompt ? tokens_of(r, prompt) : 0;
    for (const RhJsonNode *n = messages ? rh_json_first(messages) : NULL; n; n = rh_json_next(n))
        tokens += message_tokens(r, doc, n);
    if (isnan(most))
        return refuse(why,
                      "the request does not say max_tokens, so the length of its answer is not "
                      "known\nhelp: write \"max_tokens\" into its body");
    return add(r, tokens, most, (double)NAN, why);
}

/* --- AIPerf's records --- */

static double metric(RhJson *doc, const RhJsonNode *metrics, const char *name)
{
    return number_in(doc, object_in(metrics, name), KEYS("value"));
}

static bool read_record(Reader *r, RhJson *doc, const RhJsonNode *root, char **why)
{
    const RhJsonNode *metrics = object_in(root, "metrics"), *about = object_in(root, "metadata");
    const char *phase = text_in(doc, about, "benchmark_phase");
    if (g_strcmp0(phase, "warmup") == 0)
        return true;
    if (object_in(root, "error"))
        return refuse(why, "the request failed");
    double input = metric(doc, metrics, "input_sequence_length");
    double output = metric(doc, metrics, "output_sequence_length");
    if (isnan(input) || isnan(output))
        return refuse(why, "no input_sequence_length and output_sequence_length");
    return add(r, input, output, number_in(doc, about, KEYS("request_start_ns")) / 1e9, why);
}

/* --- results of vllm bench serve and of SGLang's bench_serving --- */

static double element(RhJson *doc, const RhJsonNode *node)
{
    return node && rh_json_kind(node) == RH_JSON_NUMBER
               ? rh_json_node_number(doc, node, -1e300, 1e300)
               : (double)NAN;
}

static bool refuse_means(RhJson *doc, const RhJsonNode *root, char **why)
{
    double count = number_in(doc, root, KEYS("completed", "num_prompts"));
    double input = number_in(doc, root, KEYS("total_input_tokens")) / count;
    double output = number_in(doc, root, KEYS("total_output_tokens")) / count;
    *why = input >= 1 && output >= 1
               ? g_strdup_printf(
                     "a benchmark's means, without its single requests\nhelp: drawn lengths "
                     "in=%.0f,out=%.0f have the same means; save-detailed of vllm bench "
                     "serve and output-details of SGLang's write single ones",
                     input, output)
               : g_strdup("a benchmark's means, without its single requests");
    return false;
}

static bool read_bench(Reader *r, RhJson *doc, const RhJsonNode *root, char **why)
{
    const RhJsonNode *inputs = list_in(root, "input_lens"), *outputs = list_in(root, "output_lens");
    const RhJsonNode *times = list_in(root, "start_times");
    if (!inputs || !outputs)
        return refuse_means(doc, root, why);
    const RhJsonNode *in = rh_json_first(inputs), *out = rh_json_first(outputs);
    const RhJsonNode *t = times ? rh_json_first(times) : NULL;
    for (; in && out; in = rh_json_next(in), out = rh_json_next(out)) {
        double tokens = element(doc, out);
        g_autofree char *failed = NULL;
        if (!add(r, element(doc, in), tokens, element(doc, t), &failed) &&
            r->out->skipped_count++ == 0)
            r->out->skipped_first = g_strdup_printf("%s: a request that failed", r->name);
        t = t ? rh_json_next(t) : NULL;
    }
    return true;
}

/* --- GuideLLM --- */

static bool read_guided(Reader *r, RhJson *doc, const RhJsonNode *request, char **why)
{
    const RhJsonNode *in = object_in(request, "input_metrics");
    const RhJsonNode *out = object_in(request, "output_metrics");
    double input = number_in(doc, request, KEYS("prompt_tokens"));
    double output = number_in(doc, request, KEYS("output_tokens"));
    input = isnan(input) ? number_in(doc, in, KEYS("total_tokens", "text_tokens")) : input;
    output = isnan(output) ? number_in(doc, out, KEYS("total_tokens", "text_tokens")) : output;
    if (isnan(input) || isnan(output))
        return refuse(why, "no prompt_tokens and output_tokens");
    return add(r, input, output, number_in(doc, request, KEYS("request_start_time", "start_time")),
               why);
}

static bool read_guide(Reader *r, RhJson *doc, const RhJsonNode *root, char **why)
{
    const RhJsonNode *all = list_in(root, "benchmarks");
    const RhJsonNode *first = all ? rh_json_first(all) : NULL;
    const RhJsonNode *done = list_in(object_in(first, "requests"), "successful");
    done = done ? done : list_in(first, "requests");
    if (!done)
        return refuse(why, "GuideLLM's file without its single requests (benchmarks[0].requests)");
    for (const RhJsonNode *n = rh_json_first(done); n; n = rh_json_next(n))
        if (!read_guided(r, doc, n, why))
            return false;
    return true;
}

/* --- summaries of AIPerf and GenAI-Perf --- */

static bool read_summary(Reader *r, RhJson *doc, const RhJsonNode *root, char **why)
{
    (void)r;
    const RhJsonNode *in = object_in(root, "input_sequence_length");
    const RhJsonNode *out = object_in(root, "output_sequence_length");
    double input = number_in(doc, in, KEYS("avg")), output = number_in(doc, out, KEYS("avg"));
    *why = input >= 1 && output >= 1
               ? g_strdup_printf("a summary, without its single requests\nhelp: drawn lengths "
                                 "in=%.0f,out=%.0f have the same means; profile_export.jsonl "
                                 "has single ones",
                                 input, output)
               : g_strdup("a summary, without its single requests");
    return false;
}

static const Kind kinds[] = {
    {"sharegpt", ELEMENTS, {"\"conversations\"", NULL}, read_talk},
    {"sharegpt", LINES, {"\"conversations\"", NULL}, read_talk},
    {"openai-batch", LINES, {"\"custom_id\"", "\"body\"", NULL}, read_batch},
    {"aiperf", LINES, {"\"input_sequence_length\"", "\"metadata\"", NULL}, read_record},
    {"aiperf", WHOLE, {"\"input_sequence_length\"", "\"avg\"", NULL}, read_summary},
    {"guidellm", WHOLE, {"\"benchmarks\"", NULL}, read_guide},
    {"bench-serving", WHOLE, {"\"total_input_tokens\"", NULL}, read_bench},
};

static const Kind *kind_of(const char *head)
{
    const char *at = head + strspn(head, " \t\r\n");
    for (size_t i = 0; (*at == '{' || *at == '[') && i < G_N_ELEMENTS(kinds); i++) {
        bool all = *at == '[' || kinds[i].division != ELEMENTS;
        for (int k = 0; kinds[i].marks[k]; k++)
            all &= strstr(at, kinds[i].marks[k]) != NULL;
        if (all)
            return &kinds[i];
    }
    return NULL;
}

bool rh_requests_json_is(const char *head)
{
    return kind_of(head) != NULL;
}

/* --- documents --- */

/* The place of an element, as FILE:LINE:COL. Caller frees. */
static char *place_of(const Reader *r, size_t offset)
{
    size_t line = 1, from = 0;
    for (size_t i = 0; i < offset; i++)
        if (r->text[i] == '\n') {
            line++;
            from = i + 1;
        }
    return g_strdup_printf("%s:%zu:%zu", r->name, line, offset - from + 1);
}

/* Reads a document; one that is no request ends the reading, or is counted. */
static bool read_document(Reader *r, size_t from, size_t length, GError **error)
{
    g_autoptr(GError) broken = NULL;
    g_autofree char *why = NULL;
    g_autoptr(RhJson) doc = rh_json_parse(r->name, r->text + from, length, &broken);
    guint before = r->out->list->len;
    if (doc && r->kind->read(r, doc, rh_json_root(doc), &why))
        return true;
    g_array_set_size(r->out->list, before);
    bool first = r->out->skipped_count == 0; /* to find a place takes a walk over the file */
    bool talk = r->kind->read == read_talk;  /* data sets hold many without an answer */
    bool ends = r->kind->division == WHOLE || (!r->skip_bad && (!talk || !why));
    g_autofree char *place = first || ends ? place_of(r, from) : NULL;
    const char *what = why ? why : broken->message;
    if (!r->skip_bad && talk && why) {
        if (r->out->skipped_count++ == 0)
            r->out->skipped_first = g_strdup_printf("%s: %s", place, why);
        return true;
    }
    if (ends)
        return rh_fail(error, RH_ERROR_INPUT, "%s: %s%s", place, what,
                       why && r->kind->division == LINES && !strstr(why, "\nhelp")
                           ? "\nhelp: leave the line out"
                           : "");
    if (r->out->skipped_count++ == 0)
        r->out->skipped_first = g_strdup_printf("%s: %.*s", place, (int)strcspn(what, "\n"), what);
    return true;
}

static bool read_lines(Reader *r, GError **error)
{
    for (size_t from = 0; from < r->length;) {
        const char *end = memchr(r->text + from, '\n', r->length - from);
        size_t length = end ? (size_t)(end - r->text) - from : r->length - from;
        const char *at = r->text + from;
        size_t blank = 0;
        while (blank < length && g_ascii_isspace(at[blank]))
            blank++;
        if (blank < length && !read_document(r, from, length, error))
            return false;
        from += length + 1;
    }
    return true;
}

/* Finds the end of the value that begins at `from`: behind its last bracket. */
static size_t end_of_value(const Reader *r, size_t from)
{
    int64_t depth = 0;
    bool quoted = false;
    for (size_t i = from; i < r->length; i++) {
        char c = r->text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth <= 0 && (c == '}' || c == ']'))
            return i + (depth == 0);
    }
    return r->length;
}

/* Reads the elements of a list one by one, as data sets are larger than a document may be. */
static bool read_elements(Reader *r, GError **error)
{
    size_t at = 0;
    while (at < r->length && r->text[at] != '[')
        at++;
    for (at++; at < r->length;) {
        char c = r->text[at];
        if (c == ']')
            return true;
        if (c == '{' || c == '[') {
            size_t end = end_of_value(r, at);
            if (!read_document(r, at, end - at, error))
                return false;
            at = end;
        } else if (g_ascii_isspace(c) || c == ',') {
            at++;
        } else {
            break;
        }
    }
    g_autofree char *place = place_of(r, MIN(at, r->length));
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s: a conversation or the end of the list is expected "
                   "here",
                   place);
}

static bool read_all(Reader *r, GError **error)
{
    switch (r->kind->division) {
    case WHOLE: /* SGLang appends a document for each run: the first is read */
        return read_document(r, 0, end_of_value(r, 0), error);
    case LINES:
        return read_lines(r, error);
    case ELEMENTS:
        break;
    }
    return read_elements(r, error);
}

RhRequests *rh_requests_json_parse(const char *name, const char *text, size_t length,
                                   double chars_per_token, bool skip_bad, GError **error)
{
    g_autofree char *head = g_strndup(text, MIN(length, HEAD_BYTES));
    const Kind *kind = kind_of(head);
    g_return_val_if_fail(kind != NULL, NULL);
    g_autoptr(RhRequests) out = rh_requests_new(kind->name);
    Reader r = {name, text, length, chars_per_token, skip_bad, kind, out, (double)NAN};
    if (!read_all(&r, error))
        return NULL;
    if (out->list->len == 0) {
        rh_fail(error, RH_ERROR_INPUT, "%s: there is no request in it%s%s", name,
                out->skipped_first ? "\nnote: the first that was left out: " : "",
                out->skipped_first ? out->skipped_first : "");
        return NULL;
    }
    rh_requests_settle(out);
    return g_steal_pointer(&out);
}
