#include "cli/serve/serve_requests.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal_parse.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "report/format.h"

/* How many are drawn where that is not said: at least so many, and so many seconds of a rate that is given (a steady
 * window takes time), as rates that are looked for are held (serve_rate_check.c). */
#define COUNT_DRAWN  1000
#define COUNT_LOOKED 40000 /* where a rate is looked for */
#define COUNT_MOST   1000000
#define SPAN_DRAWN_S 120.0
#define LENGTH_MAX   (1 << 26)
#define RATE_MAX     1e6
#define SPAN_MAX_S   1e9 /* of all arrivals: later, a double tells no microseconds */
#define AT_ONCE_MAX  (1 << 20)
#define TURNS_MAX    10000

const RhOption rh_options_requests[] = {
    RH_OPTION(requests, "requests", 0, RH_OPTION_TEXT, "FILE",
              "a trace of requests: Azure, Mooncake, BurstGPT and others, or columns "
              "arrival_s,input_tokens,output_tokens; CSV or JSON lines, also gzipped; ShareGPT, "
              "OpenAI's batches, and what AIPerf, GuideLLM, vllm bench serve or SGLang's "
              "bench_serving wrote of each request",
              .required = true, .unless = "lengths|tokens"),
    RH_OPTION(lengths, "lengths", 0, RH_OPTION_TEXT, "in=A,out=B",
              "draw requests of A input and B output tokens instead of a trace (no out= for "
              "models without output tokens: in=128, for images in=1); spread=0.8: lengths "
              "from 80 to 100 % of these; turns=4: conversations, whose prompts grow",
              .unless = "requests"),
    RH_OPTION(rate, "rate", 0, RH_OPTION_TEXT, "5/s",
              "request rate per second, minute (90/min) or hour; the times of a trace are "
              "stretched to it",
              .unless = "concurrency"),
    RH_OPTION(concurrency, "concurrency", 0, RH_OPTION_INTEGER, "C",
              "number of clients, each of which sends its next request when its last one is "
              "answered (closed loop), instead of a rate; a client goes through a session to "
              "its end",
              .low = 1, .high = AT_ONCE_MAX),
    RH_OPTION(turnaround_s, "turnaround", 0, RH_OPTION_QUANTITY, "1ms",
              "time between an answer and the client's next request, with --concurrency and "
              "in sessions",
              .otherwise = "1ms", .quantity = RH_QUANTITY_S),
    RH_OPTION(arrivals, "arrivals", 0, RH_OPTION_TEXT, "KIND",
              "how requests arrive: poisson, even, burst (all at once), gamma:K (burstier "
              "than Poisson for K below 1), ramp:20/s (from --rate to this rate) (poisson; a "
              "trace's own times)",
              .unless = "concurrency"),
    RH_OPTION(count, "count", 0, RH_OPTION_INTEGER, "N",
              "number of requests (all of a trace; else two minutes of --rate and at least "
              "1,000, or 40,000 with --find-rate)",
              .low = 1, .high = RH_REQUESTS_MAX),
    RH_OPTION(chars_per_token, "chars-per-token", 0, RH_OPTION_QUANTITY, "N",
              "characters of a token, where --requests holds texts", .otherwise = "4",
              .quantity = RH_QUANTITY_COUNT, .positive = true),
    RH_OPTION(skip_bad, "skip-bad", 0, RH_OPTION_FLAG, NULL,
              "skip malformed lines of the trace, and say how many"),
    RH_OPTION(ttft, "ttft", 0, RH_OPTION_TEXT, "p99<5s",
              "service level of TTFT, the time to the first token; several with commas: "
              "p50<1s,mean<2s"),
    RH_OPTION(tpot, "tpot", 0, RH_OPTION_TEXT, "p99<25ms",
              "service level of TPOT, the mean time per further token of a request"),
    RH_OPTION(tbt, "tbt", 0, RH_OPTION_TEXT, "p99<50ms",
              "service level of ITL, the gaps between tokens"),
    RH_OPTION(e2e, "e2e", 0, RH_OPTION_TEXT, "p90<30s",
              "service level of the time to the last token"),
    {0}};

/* --- lengths --- */

static bool fail_lengths(const char *text, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "--lengths \"%s\": %s\nhelp: in=1024,out=256, or in=1024,out=256,spread=0.8 for "
                   "820 to 1,024 and 205 to 256",
                   text, what);
}

static bool read_length(const char *text, int32_t *out)
{
    double length = 0;
    bool fine = rh_quantity_parse(text, RH_QUANTITY_TOKENS, &length, NULL) && length >= 1 &&
                length <= LENGTH_MAX && length == floor(length);
    *out = fine ? (int32_t)length : 0;
    return fine;
}

static bool read_lengths(const char *text, RhRequestsPlan *plan, GError **error)
{
    int32_t in = 0, out = 0;
    double spread = 1;
    int64_t turns = 0;
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    for (char **item = items; *item; item++) {
        const char *equals = strchr(*item, '='), *value = equals ? equals + 1 : "";
        g_autofree char *key = g_strndup(*item, equals ? (gsize)(equals - *item) : strlen(*item));
        g_strstrip(key);
        if (strcmp(key, "in") == 0    ? in || !read_length(value, &in)
            : strcmp(key, "out") == 0 ? out || !read_length(value, &out)
            : strcmp(key, "turns") == 0
                ? turns || !rh_integer_parse(value, 1, TURNS_MAX, &turns, NULL)
                : strcmp(key, "spread") != 0 || !rh_share_parse(value, &spread, NULL) ||
                      !(spread > 0 && spread <= 1)) {
            g_autofree char *what = g_strdup_printf("\"%s\" is not one of in and out from 1 to %d, "
                                                    "turns to %d and spread to 1, each once",
                                                    *item, LENGTH_MAX, TURNS_MAX);
            return fail_lengths(text, what, error);
        }
    }
    if (!in)
        return fail_lengths(text, "no in", error);
    if (!out && turns > 0)
        return fail_lengths(text, "turns need an out", error);
    if (((int64_t)in + out) * turns > RH_REQUEST_TOKENS_MAX)
        return fail_lengths(text, "the last turn of a talk is longer than any prompt can be",
                            error);
    plan->turns = (int32_t)turns;
    plan->input = (RhLengthRange){(int32_t)ceil(spread * in), in};
    plan->output = (RhLengthRange){(int32_t)ceil(spread * out), out};
    plan->once = !out;
    return true;
}

/* --- rates and arrivals --- */

/* "5/s", "90/min", "1000/h". */
/* A bare number is a second's. */
static bool read_rate(const char *option, const char *text, double *per_s, GError **error)
{
    static const struct {
        const char *unit;
        double s;
    } units[] = {{"", 1}, {"/s", 1}, {"/min", 60}, {"/h", 3600}};
    const char *unit = text + strcspn(text, "/");
    g_autofree char *number = g_strndup(text, (gsize)(unit - text));
    double x = 0;
    for (size_t i = 0; rh_number_parse(number, &x) && i < G_N_ELEMENTS(units); i++)
        if (strcmp(unit, units[i].unit) == 0 && x > 0 && x / units[i].s <= RATE_MAX) {
            *per_s = x / units[i].s;
            return true;
        }
    return rh_fail(error, RH_ERROR_USAGE,
                   "--%s: \"%s\" is not a rate of requests, above 0 and up to %.0f/s\n"
                   "help: write 5/s, 90/min or 1000/h",
                   option, text, RATE_MAX);
}

static bool fail_arrivals(const char *text, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "--arrivals: \"%s\" is not one of poisson, even, burst, gamma:K, ramp:R\n"
                   "help: gamma:0.25 is twice as bursty as poisson; ramp:20/s goes from --rate to "
                   "20/s",
                   text);
}

static bool read_arrivals(const char *text, RhRequestsPlan *plan, GError **error)
{
    static const char *const names[] = {[RH_ARRIVAL_BURST] = "burst",
                                        [RH_ARRIVAL_EVEN] = "even",
                                        [RH_ARRIVAL_POISSON] = "poisson",
                                        [RH_ARRIVAL_GAMMA] = "gamma",
                                        [RH_ARRIVAL_RAMP] = "ramp"};
    const char *colon = strchr(text, ':'), *value = colon ? colon + 1 : NULL;
    g_autofree char *word = g_strndup(text, colon ? (gsize)(colon - text) : strlen(text));
    guint kind = 0;
    while (kind < G_N_ELEMENTS(names) && strcmp(names[kind], word) != 0)
        kind++;
    bool wants = kind == RH_ARRIVAL_GAMMA || kind == RH_ARRIVAL_RAMP;
    if (kind == G_N_ELEMENTS(names) || wants != (value != NULL))
        return fail_arrivals(text, error);
    plan->arrival = (RhArrival)kind;
    if (kind == RH_ARRIVAL_RAMP)
        return read_rate("arrivals", value, &plan->rate_end_per_s, error);
    char *end = NULL;
    if (kind == RH_ARRIVAL_GAMMA) {
        plan->burstiness =
            g_ascii_isdigit(*value) || *value == '.' ? g_ascii_strtod(value, &end) : 0;
        if (!end || *end || !(plan->burstiness >= 1e-3 && plan->burstiness <= 1e3))
            return fail_arrivals(text, error);
    }
    return true;
}

static char *arrivals_text(const RhArguments *a, const RhServeRequests *asked)
{
    static const char *const words[] = {"all at once", "even arrivals", "Poisson arrivals",
                                        "gamma arrivals", "ramp"};
    g_autofree char *rate = rh_text_number(asked->plan.rate_per_s, 3);
    if (a->concurrency > 0)
        return g_strdup_printf("%d concurrent", asked->client.at_once);
    if (!asked->drawn && !a->rate)
        return g_strdup(asked->list->timed ? "arrivals of the trace" : "all at once");
    if (!asked->drawn)
        return g_strdup_printf("arrivals of the trace, scaled to %s/s", rate);
    if (asked->plan.arrival == RH_ARRIVAL_BURST)
        return g_strdup(words[0]);
    if (asked->plan.arrival == RH_ARRIVAL_RAMP) {
        g_autofree char *end = rh_text_number(asked->plan.rate_end_per_s, 3);
        return g_strdup_printf("arrivals from %s/s rising to %s/s", rate, end);
    }
    if (asked->plan.arrival == RH_ARRIVAL_GAMMA) {
        g_autofree char *shape = rh_text_number(asked->plan.burstiness, 3);
        return g_strdup_printf("gamma arrivals of shape %s, %s/s", shape, rate);
    }
    return g_strdup_printf("%s, %s/s", words[asked->plan.arrival], rate);
}

/* --- the whole --- */

static bool read_levels(const RhArguments *a, RhSlos *slos, GError **error)
{
    const char *texts[RH_METRIC_LAST] = {a->ttft, a->tpot, a->tbt, a->e2e};
    for (int m = 0; m < RH_METRIC_LAST; m++)
        if (texts[m] && !rh_slos_parse(slos, (RhMetric)m, texts[m], error)) {
            g_prefix_error(error, "--%s ", rh_metric_name((RhMetric)m));
            return false;
        }
    return true;
}

static bool load(const RhArguments *a, RhServeRequests *asked, GError **error)
{
    asked->list = rh_requests_load_any(a->requests, a->skip_bad, a->chars_per_token, error);
    if (!asked->list) {
        if (!a->skip_bad && error && *error && strstr((*error)->message, "leave the line out"))
            rh_error_help(error, "--skip-bad skips malformed lines and counts them");
        return false;
    }
    g_autofree char *fewer =
        a->count > asked->list->list->len
            ? g_strdup_printf(", which has %u requests instead of %" G_GINT64_FORMAT,
                              asked->list->list->len, a->count)
            : NULL;
    if (fewer) {
        g_autofree char *line = g_strdup_printf("note: --count asks for %" G_GINT64_FORMAT
                                                " requests, the trace has %u",
                                                a->count, asked->list->list->len);
        rh_terminal_hint(line);
    }
    if (a->count > 0)
        rh_requests_head(asked->list, a->count);
    if (asked->list->skipped_count > 0) {
        g_autofree char *line =
            g_strdup_printf("warning: %" G_GINT64_FORMAT " malformed line%s skipped, the first: %s",
                            asked->list->skipped_count, asked->list->skipped_count == 1 ? "" : "s",
                            asked->list->skipped_first);
        rh_terminal_hint(line);
    }
    g_autofree char *name = g_path_get_basename(a->requests);
    g_autofree char *estimated = asked->list->chars_per_token > 0
                                     ? g_strdup_printf(", tokens estimated at %.4g characters each",
                                                       asked->list->chars_per_token)
                                     : g_strdup("");
    asked->spec =
        g_strdup_printf("%s (%s)%s%s", name, asked->list->format, estimated, fewer ? fewer : "");
    if (asked->list->passed_over) {
        g_autofree char *line =
            g_strdup_printf("warning: column %s is passed over: what pictures add "
                            "to a prompt and take to encode is not counted",
                            asked->list->passed_over);
        rh_terminal_hint(line);
    }
    return true;
}

static bool draw(RhServeRequests *asked, GError **error)
{
    const RhRequestsPlan *plan = &asked->plan;
    asked->list = rh_requests_draw(plan);
    if (!asked->list)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "--timeout ended before %d requests were generated", plan->count);
    g_autofree char *lengths =
        plan->input.low < plan->input.high || plan->output.low < plan->output.high
            ? g_strdup_printf("%d-%d input tokens, %d-%d output tokens", plan->input.low,
                              plan->input.high, plan->output.low, plan->output.high)
            : g_strdup_printf("%d input tokens, %d output tokens", plan->input.high,
                              plan->output.high);
    g_autofree char *sizes =
        plan->input.low < plan->input.high
            ? g_strdup_printf("%d-%d tokens each", plan->input.low, plan->input.high)
            : g_strdup_printf("%d token%s each", plan->input.high,
                              plan->input.high == 1 ? "" : "s");
    asked->spec = plan->once ? g_steal_pointer(&sizes)
                  : plan->turns > 0
                      ? g_strdup_printf("conversations of %d turns, each %s", plan->turns, lengths)
                      : g_steal_pointer(&lengths);
    return true;
}

/* Times as the trace has them are the trace's; else they follow from a rate. */
static bool check_span(const RhArguments *a, const RhServeRequests *asked, GError **error)
{
    const GArray *list = asked->list->list;
    if (list->len == 0 || g_array_index(list, RhRequest, list->len - 1).t_s <= SPAN_MAX_S)
        return true;
    if (!asked->drawn && !a->rate)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: its %u requests span more than 31 years, too long to simulate\n"
                       "help: check the unit of its times, or set --rate 5/s",
                       a->requests, list->len);
    return rh_fail(error, RH_ERROR_USAGE,
                   "--rate: %u requests span more than 31 years, too long to simulate\n"
                   "help: a higher rate, or --concurrency 1, which sends each after the last has "
                   "ended",
                   list->len);
}

/* Whose arrivals, and at what rate. */
static bool settle(const RhArguments *a, RhServeRequests *asked, bool rate_open, GError **error)
{
    bool closed = a->concurrency > 0, burst = asked->plan.arrival == RH_ARRIVAL_BURST;
    asked->drawn = !closed && (a->lengths || a->arrivals || !asked->list->timed);
    if (asked->drawn && !burst && !a->rate && !rate_open)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "the arrival of requests is not given\nhelp: --rate 5/s, --concurrency 64, or "
            "--arrivals burst");
    if (!asked->drawn && a->rate && rh_requests_rate_per_s(asked->list) <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "all requests of %s arrive at once, so that --rate cannot scale them\nhelp: "
                       "--arrivals poisson gives them new arrival times",
                       a->requests);
    if (asked->drawn && !a->lengths)
        rh_requests_arrive(asked->list, &asked->plan);
    if (!asked->drawn && a->rate)
        rh_requests_at_rate(asked->list, asked->plan.rate_per_s);
    asked->arrivals = arrivals_text(a, asked);
    return closed || check_span(a, asked, error);
}

static int32_t count_of(const RhArguments *a, const RhRequestsPlan *plan, bool rate_open)
{
    double least = rate_open ? COUNT_LOOKED : COUNT_DRAWN;
    double span = a->rate ? ceil(SPAN_DRAWN_S * plan->rate_per_s) : 0;
    return (int32_t)(a->count > 0 ? (double)a->count : fmin(fmax(span, least), COUNT_MOST));
}

RhServeRequests *rh_serve_requests_of(const RhArguments *a, bool rate_open, GError **error)
{
    g_autoptr(RhServeRequests) asked = g_new0(RhServeRequests, 1);
    asked->plan = (RhRequestsPlan){.arrival = RH_ARRIVAL_POISSON,
                                   .rate_per_s = 1,
                                   .seed = (uint64_t)a->seed,
                                   .deadline = rh_deadline_in(rh_terminal_left_s(a->timeout_s))};
    asked->client = (RhClient){.at_once = (int32_t)a->concurrency, .turnaround_s = a->turnaround_s};
    if (!read_levels(a, &asked->slos, error) ||
        (a->rate && !read_rate("rate", a->rate, &asked->plan.rate_per_s, error)) ||
        (a->arrivals && !read_arrivals(a->arrivals, &asked->plan, error)) ||
        (a->lengths && !read_lengths(a->lengths, &asked->plan, error)))
        return NULL;
    asked->plan.count = count_of(a, &asked->plan, rate_open);
    if (a->lengths ? !draw(asked, error) : !load(a, asked, error))
        return NULL;
    return settle(a, asked, rate_open, error) ? g_steal_pointer(&asked) : NULL;
}

bool rh_serve_requests_fits(const RhServeRequests *asked, const RhModel *model, const char *lengths,
                            GError **error)
{
    g_autoptr(GError) local = NULL;
    for (int32_t k = 0; !rh_model_makes_tokens(model) && k < asked->slos.count; k++)
        if (asked->slos.list[k].metric != RH_METRIC_E2E)
            return rh_fail(error, RH_ERROR_USAGE,
                           "--%s: %s generates no tokens\nhelp: --e2e is the latency of its answer",
                           rh_metric_name(asked->slos.list[k].metric), model->name);
    if (!lengths || rh_service_takes(model, asked->list, &local))
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "--lengths \"%s\": %s", lengths, local->message);
}

void rh_serve_requests_free(RhServeRequests *asked)
{
    if (!asked)
        return;
    rh_requests_free(asked->list);
    g_free(asked->spec);
    g_free(asked->arrivals);
    g_free(asked);
}
