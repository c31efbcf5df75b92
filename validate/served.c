#include "validate/served.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/deadline.h"
#include "strategies/search/likeness.h"

#define PASSES 3 /* forward, and twice as much backward: what a training FLOP count has */

typedef struct {
    double ttft_s, tpot_s, tokens_per_s;
    double capacity_bytes, peak_bytes;
    bool starved;
} Prediction;

typedef struct {
    const char *metric;
    size_t measured; /* of RhCaseRow */
    size_t predicted;
} Metric;

static const Metric metrics[] = {
    {"ttft", offsetof(RhCaseRow, ttft_s), offsetof(Prediction, ttft_s)},
    {"tpot", offsetof(RhCaseRow, tpot_s), offsetof(Prediction, tpot_s)},
    {"throughput", offsetof(RhCaseRow, tokens_per_s), offsetof(Prediction, tokens_per_s)},
};

static double at_offset(const void *base, size_t offset)
{
    return *(const double *)(const void *)((const char *)base + offset);
}

/* --- one row --- */

void rh_served_means(const RhServiceResult *result, double *ttft_mean_s, double *tpot_mean_s)
{
    double ttft_s = 0, tpot_s = 0;
    int32_t done = 0, longer = 0;
    for (guint i = 0; i < result->served->len; i++) {
        const RhServed *s = &g_array_index(result->served, RhServed, i);
        if (s->outcome != RH_SERVED_DONE)
            continue;
        ttft_s += s->t_first_s - s->t_arrive_s;
        done++;
        if (s->output_tokens < 2)
            continue;
        tpot_s += (s->t_end_s - s->t_first_s) / (s->output_tokens - 1);
        longer++;
    }
    *ttft_mean_s = done ? ttft_s / done : 0;
    *tpot_mean_s = longer ? tpot_s / longer : 0;
}

double rh_served_tokens_per_s(const RhServiceResult *result)
{
    return result->duration_s > 0 ? (double)result->tokens_out / result->duration_s : 0;
}

static bool predict(const RhServedCase *c, Prediction *p, GError **error)
{
    g_autoptr(RhService) service = rh_service_new(&c->serving, &c->deployment, error);
    if (!service)
        return false;
    g_autoptr(RhRequests) requests = rh_requests_draw(&c->plan);
    g_autoptr(RhServiceResult) result = rh_service_run(service, requests, &c->client, error);
    if (!result)
        return false;
    RhServiceRoom room = rh_service_room(service, 0);
    rh_served_means(result, &p->ttft_s, &p->tpot_s);
    p->tokens_per_s = rh_served_tokens_per_s(result);
    p->starved = rh_put_out_count(result) > 0;
    p->capacity_bytes = room.capacity_bytes;
    p->peak_bytes = room.weight_bytes + room.activation_bytes + room.reserve_bytes +
                    room.state_bytes + result->kv_peak_frac * room.cache_bytes;
    return true;
}

/* --- the table --- */

#define FIGURES_S 1e-5 /* some copies are rounded to hundredths of a millisecond */

/* Figures of a row, to as many digits as copies have; NULL: it has not both. */
static char *figures_of(const RhCaseRow *row)
{
    return row->ttft_s > 0 && row->tpot_s > 0
               ? g_strdup_printf("%s|%lld|%lld", row->text[RH_CASE_SOURCE],
                                 llround(row->ttft_s / FIGURES_S), llround(row->tpot_s / FIGURES_S))
               : NULL;
}

static int64_t size_of(const RhCaseRow *row)
{
    return MAX(row->whole[RH_CASE_TP], 1) * MAX(row->whole[RH_CASE_DP], 1);
}

/* Of rows with the same figures: the one on the fewest GPUs, then the first. */
GHashTable *rh_served_originals(const RhCaseTable *table)
{
    GHashTable *first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        g_autofree char *key = figures_of(row);
        const RhCaseRow *known = key ? g_hash_table_lookup(first, key) : NULL;
        if (key && (!known || size_of(row) < size_of(known)))
            g_hash_table_insert(first, g_steal_pointer(&key), (void *)row);
    }
    return first;
}

char *rh_served_repeats(GHashTable *first, const RhCaseRow *row)
{
    g_autofree char *key = figures_of(row);
    const RhCaseRow *original = key ? g_hash_table_lookup(first, key) : row;
    return original == row ? NULL
                           : g_strdup_printf("its figures are those of line %d", original->line);
}

static double mean_of(RhLengthRange range)
{
    return 0.5 * ((double)range.low + (double)range.high);
}

/* Requests end at the rate of those under way over the time of one (Little 1961), and each parameter that a token
 * meets is multiplied once for it, the head's for tokens that are made; caches of prompts aside, which drawn
 * prompts do not hit. */
char *rh_served_outruns(const RhServedCase *c, const RhCaseRow *row)
{
    const RhServing *s = &c->serving;
    double peak = s->platform->device->peak_flops_per_s[s->recipe->linear].value *
                  rh_deployment_gpus(&c->deployment);
    if (row->ttft_s <= 0 || row->tpot_s <= 0 || c->client.at_once <= 0 || peak <= 0)
        return NULL;
    double input = mean_of(c->plan.input), output = mean_of(c->plan.output);
    double request_s = row->ttft_s + (output - 1) * row->tpot_s;
    double head = 2 * (double)s->model->hidden * (double)s->model->vocab;
    double forward = rh_model_flops_per_token(s->model, 1) / PASSES;
    double flops = (input + output) * forward - input * head;
    double rate = MIN(c->client.at_once, c->plan.count) / request_s * flops;
    if (rate <= peak)
        return NULL;
    return g_strdup_printf(
        "its times at so many at once are %.2g times what %d GPUs multiply at most", rate / peak,
        rh_deployment_gpus(&c->deployment));
}

/* Runs of one model, one server and one device, by what was measured. */
static const char *table_of(const RhCaseRow *row, const RhServedCase *c, const Metric *metric)
{
    const char *model = strrchr(row->text[RH_CASE_MODEL], '/');
    g_autofree char *text =
        g_strjoin(" ", metric->metric, c->deployment.pools_count > 1 ? "disaggregated" : "mixed",
                  c->table ? c->table
                  : model  ? model + 1
                           : row->text[RH_CASE_MODEL],
                  c->serving.server ? c->serving.server->name : "?", row->text[RH_CASE_GPU],
                  row->text[RH_CASE_PRECISION], NULL);
    return g_intern_string(text);
}

/* What bars are set for: dense models by their size, others by their kind, two pools apart, on a generation of devices. */
static const char *group_of(const RhLikeness *like, const Metric *metric)
{
    g_autofree char *size = strcmp(like->kind, "dense") == 0
                                ? g_strdup_printf(" %.0fB", like->params / 1e9)
                                : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "%s %s%s %s", metric->metric, like->apart ? "two pools" : like->kind,
        like->apart ? "" : size, like->generation ? like->generation : like->device);
    return g_intern_string(text);
}

static RhJudgedRow judged_row(const RhCaseRow *row, const RhServedCase *c, const Metric *metric)
{
    return (RhJudgedRow){.id = g_strdup_printf("%s:%d", row->file, row->line),
                         .line = row->line,
                         .metric = metric->metric,
                         .source = g_intern_string(row->text[RH_CASE_SOURCE]),
                         .table = table_of(row, c, metric),
                         .model = g_intern_string(row->text[RH_CASE_MODEL]),
                         .device = g_intern_string(row->text[RH_CASE_GPU]),
                         .standing = c->standing,
                         .fitted = c->fitted != NULL,
                         .measured_s = at_offset(row, metric->measured)};
}

static void add_rows(RhJudged *judged, const RhCaseRow *row, const RhServedCase *c,
                     const Prediction *p, const char *why)
{
    int32_t added = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++) {
        RhJudgedRow r;
        if (at_offset(row, metrics[i].measured) <= 0 &&
            !(added == 0 && i + 1 == G_N_ELEMENTS(metrics)))
            continue;
        r = judged_row(row, c, &metrics[i]);
        added++;
        r.skipped = g_strdup(why ? why : r.measured_s <= 0 ? "nothing was measured" : NULL);
        if (!r.skipped) {
            r.family = c->serving.model->family;
            r.strategy = c->strategy;
            r.stack = c->serving.server->name;
            r.platform = c->serving.platform->name;
            r.stands_in = g_strdup(c->stands_in);
            r.like = rh_likeness_of_service(&c->serving, &c->deployment, NULL);
            r.like.starved = p->starved;
            r.group = group_of(&r.like, &metrics[i]);
            r.predicted_s = at_offset(p, metrics[i].predicted);
            r.peak_bytes = p->peak_bytes;
            r.capacity_bytes = p->capacity_bytes;
        }
        g_array_append_val(judged->rows, r);
    }
}

/* Neither kernels were measured on the row's device, nor constants fitted to rows of its kind: what would be said of it
 * is known to be wrong by a multiple. Models that make no tokens have kernels of their own. */
static char *is_unknown(const RhServedCase *c)
{
    g_autofree char *why = c->fitted || !rh_model_makes_tokens(c->serving.model)
                               ? NULL
                               : rh_likeness_untabled(&c->serving);
    return why ? g_strdup_printf("%s, and no constants were fitted to it", why) : NULL;
}

static void judge_row(RhServedTranslator *t, GHashTable *first, const RhCaseRow *row,
                      RhDeadline deadline, RhJudged *judged)
{
    RhServedCase c;
    Prediction p = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *why = rh_served_translate(t, row, &c);
    if (!why)
        why = rh_served_repeats(first, row);
    if (!why)
        why = rh_served_outruns(&c, row);
    if (!why)
        why = is_unknown(&c);
    if (!why && rh_deadline_passed(deadline))
        why = g_strdup(RH_JUDGED_LATE);
    if (!why && !predict(&c, &p, &error)) {
        g_auto(GStrv) lines = g_strsplit(error->message, "\n", 2);
        why = g_strdup(lines[0]);
    }
    add_rows(judged, row, &c, &p, why);
    rh_served_case_clear(&c);
}

RhJudged *rh_served_judge(const RhCaseTable *table, const RhCasesOptions *options, GError **error)
{
    g_autoptr(RhServedTranslator) translator = rh_served_translator_new(error);
    if (!translator)
        return NULL;
    RhJudged *judged = rh_judged_new(table->name);
    g_autoptr(GHashTable) first = rh_served_originals(table);
    RhDeadline deadline = rh_deadline_in(options->timeout_s);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        if (rh_case_wanted(row, options->only))
            judge_row(translator, first, row, deadline, judged);
        if (options->progress)
            options->progress("serving published runs", (int32_t)i + 1, (int32_t)table->rows->len,
                              options->user);
    }
    return judged;
}
