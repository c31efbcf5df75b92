#include "validate/serving/server_timeline.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "base/text/line_reader.h"
#include "strategies/serve/service/service.h"
#include "validate/coordinate_descent.h"
#include "validate/serving/published_prompt_prefixes.h"

/* Times of a request, in seconds from the first one. */
typedef struct {
    double sent_s, first_s, last_s;
    int32_t input, output;
    int32_t place; /* in the file, from 0 */
} Line;

typedef struct {
    char *path;
    GArray *lines; /* Line, by sent_s */
    RhRequests *requests;
    RhModel *model;
    RhPlatform *platform; /* as described; its bandwidth is varied */
    double bandwidth;     /* of the data sheet */
    RhServer server;      /* a copy, whose constants are varied */
    RhServing serving;
    RhDeployment deployment;
    int64_t cache_tokens; /* as printed; 0: not given */
    const char *asked; /* SHA-256 of the file of requests that were sent; "": not given; interned */
    const RhCasesOptions *options;
    double most; /* limit of an error */
    int32_t tried;
} Timeline;

static void timeline_clear(Timeline *t)
{
    g_free(t->path);
    g_clear_pointer(&t->lines, g_array_unref);
    g_clear_pointer(&t->requests, rh_requests_free);
    g_clear_pointer(&t->model, rh_model_free);
    g_clear_pointer(&t->platform, rh_platform_free);
}

/* --- reading --- */

static gint by_time(gconstpointer a, gconstpointer b)
{
    const Line *x = a, *y = b;
    return x->sent_s < y->sent_s ? -1 : x->sent_s > y->sent_s;
}

static bool read_line(const char *name, const char *text, GArray *lines, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse(name, text, strlen(text), error);
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc);
    Line line = {.sent_s = rh_json_number(doc, root, "queued_ts", 0, 1e12),
                 .first_s = rh_json_number(doc, root, "first_token_ts", 0, 1e12),
                 .last_s = rh_json_number(doc, root, "last_token_ts", 0, 1e12),
                 .input = (int32_t)rh_json_int(doc, root, "input_toks", 1, 1 << 30),
                 .output = (int32_t)rh_json_int(doc, root, "output_toks", 1, 1 << 30),
                 .place = (int32_t)lines->len};
    rh_json_consume_all(doc, root);
    if (!(line.sent_s <= line.first_s && line.first_s <= line.last_s))
        rh_json_problem(doc, root, NULL, "a request is queued, has its first token, has its last");
    g_array_append_val(lines, line);
    return rh_json_finish(doc, error);
}

/* Requests in the form of our own traces. */
static RhRequests *requests_of(GArray *lines, GError **error)
{
    g_autoptr(GString) text = g_string_new("arrival_s,input_tokens,output_tokens\n");
    double begin = g_array_index(lines, Line, 0).sent_s;
    for (guint i = 0; i < lines->len; i++) {
        Line *l = &g_array_index(lines, Line, i);
        l->sent_s -= begin;
        l->first_s -= begin;
        l->last_s -= begin;
        g_string_append_printf(text, "%.9f,%d,%d\n", l->sent_s, l->input, l->output);
    }
    return rh_requests_parse("timeline", text->str, text->len, false, error);
}

/* Names prompts with common prefixes, which are found in the cache, if these are known. */
static bool name_prompts(Timeline *t, GError **error)
{
    g_autofree int32_t *places = g_new(int32_t, t->lines->len);
    for (guint i = 0; i < t->lines->len; i++)
        places[i] = g_array_index(t->lines, Line, i).place;
    return rh_alike_name(t->requests, places, t->asked, error);
}

static bool read_lines(Timeline *t, GError **error)
{
    g_autoptr(RhLines) lines = rh_lines_open(t->path, error);
    GError *local = NULL;
    size_t length;
    t->lines = g_array_new(FALSE, FALSE, sizeof(Line));
    for (char *line; lines && (line = rh_lines_next(lines, &length, &local));) {
        g_autofree char *name =
            g_strdup_printf("%s:%" G_GINT64_FORMAT, t->path, rh_lines_number(lines));
        if (*g_strstrip(line) && !read_line(name, line, t->lines, error))
            return false;
    }
    if (!lines || local) {
        if (local)
            g_propagate_error(error, local);
        return false;
    }
    if (t->lines->len <= RH_TIMELINE_FITTED)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: %u requests: constants are fitted to the first %d, and there are none "
                       "behind them to be judged",
                       t->path, t->lines->len, RH_TIMELINE_FITTED);
    g_array_sort(t->lines, by_time);
    t->requests = requests_of(t->lines, error);
    return t->requests && name_prompts(t, error);
}

/* Model of a name: "Qwen/Qwen3-30B-A3B-Instruct-2507" is a qwen3-30b-a3b, the longest name of the
 * catalogue that it begins with. */
static RhModel *model_of(const char *name, GError **error)
{
    const char *bare = strrchr(name, '/');
    g_autofree char *lower = g_ascii_strdown(bare ? bare + 1 : name, -1);
    const char *best = NULL;
    for (const char *const *known = rh_model_names(); *known; known++)
        if (g_str_has_prefix(lower, *known) && (!best || strlen(*known) > strlen(best)))
            best = *known;
    return rh_model_load(best ? best : lower, error);
}

/* Reads the arguments with which vLLM was started that have an effect here. */
static bool read_meta(Timeline *t, RhJson *doc, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc), *args = rh_json_object(doc, root, "engine_kwargs"),
                     *cache = rh_json_object_or_null(doc, root, "kv_cache");
    int64_t tp = rh_json_int_or(doc, args, "tensor_parallel_size", 1, 1024, 1),
            dp = rh_json_int_or(doc, args, "data_parallel_size", 1, 1024, 1),
            batch = rh_json_int_or(doc, args, "max_num_seqs", 0, 1 << 20, 0),
            chunk = rh_json_int_or(doc, args, "max_num_batched_tokens", 0, 1 << 20, 0);
    bool spread = rh_json_bool_or(doc, args, "enable_expert_parallel", false);
    const char *model = rh_json_string(doc, args, "model");
    t->asked = rh_json_string_or(doc, root, "dataset_hash", "");
    rh_json_consume_all(doc, root);
    t->cache_tokens = cache ? rh_json_int_or(doc, cache, "num_kv_tokens", 0, 1LL << 40, 0) : 0;
    if (!rh_json_finish(doc, error))
        return false;
    g_autofree char *text =
        g_strdup_printf("server=vllm,tp%d,dp%d,ep%d,batch=%d,chunk=%d", (int)tp, (int)dp,
                        spread ? (int)(tp * dp) : 1, (int)batch, (int)chunk);
    t->deployment = rh_deployment_default();
    t->model = model_of(model, error);
    return t->model && rh_deployment_parse(text, &t->deployment, error);
}

static bool open_timeline(Timeline *t, const char *path, const char *platform, GError **error)
{
    if (!platform)
        return rh_fail(error, RH_ERROR_USAGE,
                       "whose device served these requests?\nhelp: -p rtx-4090:1x1");
    t->path = g_strdup(path);
    g_autofree char *folder = g_path_get_dirname(path),
                    *meta = g_build_filename(folder, "meta.json", NULL);
    g_autoptr(RhJson) doc = rh_json_load(meta, error);
    if (!doc || !read_meta(t, doc, error) || !read_lines(t, error))
        return false;
    t->platform = rh_platform_load(platform, error);
    if (!t->platform)
        return false;
    t->bandwidth = t->platform->device->hbm_bytes_per_s.value;
    const RhServer *vllm = rh_server_by_name("vllm", error);
    if (!vllm)
        return false;
    t->server = *vllm;
    t->serving = (RhServing){t->model, &rh_recipe_bf16, t->platform, &t->server, NULL};
    return true;
}

/* --- fit --- */

enum { STEP, SEQUENCE, PROMPTS, BANDWIDTH, FIRST, LINKS, KNOBS };

static void set_knobs(Timeline *t, const RhDescentKnob *k)
{
    t->server.step_s.value = k[STEP].value;
    t->server.sequence_s.value = k[SEQUENCE].value;
    t->server.prompt_frac.value = k[PROMPTS].value;
    t->server.first_s.value = k[FIRST].value;
    t->platform->device->hbm_bytes_per_s.value = t->bandwidth * k[BANDWIDTH].value;
    t->platform->nvlink_efficiency_frac.value = k[LINKS].value;
    rh_device_refresh(t->platform->device);
}

/* Sets the cache to the size that the server printed. */
static bool settle_cache(Timeline *t, GError **error)
{
    g_autoptr(RhService) service = rh_service_new(&t->serving, &t->deployment, error);
    if (!service)
        return false;
    RhKvBudget room = rh_service_kv_budget(service, 0);
    if (t->cache_tokens > 0)
        t->server.reserve_bytes.value +=
            (double)(room.tokens - t->cache_tokens) * (room.cache_bytes / (double)room.tokens);
    return true;
}

static RhServiceResult *simulate_requests(Timeline *t, GError **error)
{
    RhClient client = {0};
    g_autoptr(RhService) service = rh_service_new(&t->serving, &t->deployment, error);
    return service ? rh_service_run(service, t->requests, &client, error) : NULL;
}

static double ttft_error(const Line *l, const RhRequestRecord *s)
{
    return (s->t_first_s - s->t_arrive_s) / (l->first_s - l->sent_s) - 1;
}

static double tpot_error(const Line *l, const RhRequestRecord *s)
{
    return (s->t_end_s - s->t_first_s) / (l->last_s - l->first_s) - 1;
}

/* Mean errors of the first requests, as logarithms, each limited to `most`. */
static double loss(const RhDescentKnob *knobs, void *user)
{
    Timeline *t = user;
    double sum = 0;
    set_knobs(t, knobs);
    g_autoptr(RhServiceResult) result = simulate_requests(t, NULL);
    for (guint i = 0; i < RH_TIMELINE_FITTED; i++) {
        const Line *l = &g_array_index(t->lines, Line, i);
        const RhRequestRecord *s =
            result ? &g_array_index(result->served, RhRequestRecord, i) : NULL;
        bool done = s && s->outcome == RH_SERVED_DONE;
        sum += (done ? fmin(fabs(log1p(ttft_error(l, s))), t->most) : t->most) / 2;
        if (l->output > 1)
            sum += done ? fmin(fabs(log1p(tpot_error(l, s))), t->most) : t->most;
    }
    t->tried++;
    if (t->options->progress)
        t->options->progress("fitting constants", t->tried, 0, t->options->user);
    return sum / RH_TIMELINE_FITTED;
}

/* --- evaluation --- */

static void judge_request(RhEvaluation *evaluation, const Timeline *t, guint i,
                          const RhRequestRecord *s)
{
    const Line *l = &g_array_index(t->lines, Line, i);
    const struct {
        const char *metric;
        double measured_s, predicted_s;
        bool there;
    } cases[] = {{"ttft", l->first_s - l->sent_s, s->t_first_s - s->t_arrive_s, true},
                 {"tpot", (l->last_s - l->first_s) / MAX(l->output - 1, 1),
                  (s->t_end_s - s->t_first_s) / MAX(l->output - 1, 1), l->output > 1}};
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        if (!cases[c].there)
            continue;
        RhEvaluatedRun r = {.id = g_strdup_printf("%s:%u", t->path, i + 1),
                            .line = (int32_t)i + 1,
                            .metric = cases[c].metric,
                            .source = "timeline",
                            .table = cases[c].metric,
                            .model = t->model->name,
                            .device = t->platform->device->name,
                            .family = t->model->family,
                            .stack = t->server.name,
                            .fitted = i < RH_TIMELINE_FITTED,
                            .measured_s = cases[c].measured_s,
                            .predicted_s = cases[c].predicted_s};
        g_autofree char *strategy = rh_deployment_format(&t->deployment);
        r.strategy = rh_intern(strategy);
        if (s->outcome != RH_SERVED_DONE)
            r.skipped = g_strdup("it is not served here");
        g_array_append_val(evaluation->rows, r);
    }
}

static char *constants_text(const RhDescentKnob *k)
{
    return g_strdup_printf("constants fitted to the first %d requests: step %.3g ms, sequence "
                           "%.3g us, prompt_rate %.3g, bandwidth %.3g of the data sheet's, first "
                           "%.3g ms, links %.3g of theirs",
                           RH_TIMELINE_FITTED, 1e3 * k[STEP].value, 1e6 * k[SEQUENCE].value,
                           k[PROMPTS].value, k[BANDWIDTH].value, 1e3 * k[FIRST].value,
                           k[LINKS].value);
}

/* Descends with all errors first; then without requests that are preempted, here or there. */
static double descend(Timeline *t, RhDescentKnob *knobs)
{
    static const double most[] = {20, 0.25};
    bool alone = rh_pool_gpus(&t->deployment.pools[0]) == 1;
    double least = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(most); i++) {
        t->most = most[i];
        least = rh_descend(knobs, alone ? LINKS : KNOBS, 40, loss, t);
    }
    return least;
}

/* Fits from a light host and from a heavy one: there are several valleys, as constants compensate
 * for each other. */
static void fit_constants(Timeline *t, RhDescentKnob *knobs)
{
    static const double sequence_s[] = {1e-5, 6e-5};
    double least = G_MAXDOUBLE;
    RhDescentKnob begin[KNOBS], tried[KNOBS];
    memcpy(begin, knobs, sizeof begin);
    for (size_t i = 0; i < G_N_ELEMENTS(sequence_s); i++) {
        memcpy(tried, begin, sizeof tried);
        tried[SEQUENCE].value = sequence_s[i];
        double reached = descend(t, tried);
        if (reached < least)
            memcpy(knobs, tried, sizeof tried);
        least = fmin(least, reached);
    }
}

static RhEvaluation *judge(Timeline *t, GError **error)
{
    RhDescentKnob knobs[KNOBS] = {
        [STEP] = {"step", 1e-3, 1e-5, 5e-3},      [SEQUENCE] = {"sequence", 1e-5, 1e-7, 1e-3},
        [PROMPTS] = {"prompt_rate", 0.9, 0.1, 2}, [BANDWIDTH] = {"bandwidth", 0.9, 0.3, 1.3},
        [FIRST] = {"first", 5e-3, 1e-4, 0.2},     [LINKS] = {"links", 0.7, 0.05, 1.3}};
    if (!settle_cache(t, error))
        return NULL;
    fit_constants(t, knobs);
    set_knobs(t, knobs);
    g_autoptr(RhServiceResult) result = simulate_requests(t, error);
    if (!result)
        return NULL;
    RhEvaluation *evaluation = rh_evaluation_new(t->path);
    for (guint i = 0; i < t->lines->len; i++)
        judge_request(evaluation, t, i, &g_array_index(result->served, RhRequestRecord, i));
    g_ptr_array_add(evaluation->notes, constants_text(knobs));
    return evaluation;
}

RhEvaluation *rh_timeline_judge(const char *path, const char *platform,
                                const RhCasesOptions *options, GError **error)
{
    Timeline t = {.options = options};
    RhEvaluation *evaluation = open_timeline(&t, path, platform, error) ? judge(&t, error) : NULL;
    timeline_clear(&t);
    return evaluation;
}
