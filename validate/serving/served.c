#include "validate/serving/served.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/intern.h"
#include "sim/engine/workers/process_pool.h"
#include "strategies/search/evidence_key.h"

typedef struct {
    double ttft_s, tpot_s, tokens_per_s;
    double capacity_bytes, peak_bytes;
    bool starved;
} Prediction;

typedef struct {
    const char *metric;
    size_t measured; /* offset in RhCaseRow */
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
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
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
    RhKvBudget room = rh_service_kv_budget(service, 0);
    rh_served_means(result, &p->ttft_s, &p->tpot_s);
    p->tokens_per_s = rh_served_tokens_per_s(result);
    p->starved = rh_preempted_count(result) > 0;
    p->capacity_bytes = room.capacity_bytes;
    p->peak_bytes = room.weight_bytes + room.activation_bytes + room.reserve_bytes +
                    room.state_bytes + result->kv_peak_frac * room.cache_bytes;
    return true;
}

/* --- the table --- */

#define FIGURES_S 1e-5 /* some copies are rounded to hundredths of a millisecond */

/* Figures of a row, to as many digits as copies have; NULL: one is missing. */
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

/* Keeps the row on the fewest GPUs among rows with equal figures, else the first. */
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

/* Is a published row faster than the peak allows? Requests end at the rate of the number under way
 * over the time of one (Little 1961), and each parameter that a token uses is multiplied once for
 * it, the head's for output tokens; without prefix caches, which drawn prompts do not hit. */
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
    double forward = rh_model_forward_flops_per_token(s->model, 1);
    double flops = (input + output) * forward - input * head;
    double rate = MIN(c->client.at_once, c->plan.count) / request_s * flops;
    if (rate <= peak)
        return NULL;
    return g_strdup_printf(
        "its times at so many at once are %.2g times what %d GPUs multiply at most", rate / peak,
        rh_deployment_gpus(&c->deployment));
}

/* Table of a row: runs of one model, one server and one device, by metric. */
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
    return rh_intern(text);
}

/* Returns the group of an acceptance threshold: dense models by size, others by kind, two pools
 * separately, per device generation. */
static const char *group_of(const RhEvidenceKey *like, const Metric *metric)
{
    g_autofree char *size = strcmp(like->kind, "dense") == 0
                                ? g_strdup_printf(" %.0fB", like->params / 1e9)
                                : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "%s %s%s %s", metric->metric, like->apart ? "two pools" : like->kind,
        like->apart ? "" : size, like->generation ? like->generation : like->device);
    return rh_intern(text);
}

static RhEvaluatedRun judged_row(const RhCaseRow *row, const RhServedCase *c, const Metric *metric)
{
    return (RhEvaluatedRun){.id = g_strdup_printf("%s:%d", row->file, row->line),
                            .line = row->line,
                            .metric = metric->metric,
                            .source = rh_intern(row->text[RH_CASE_SOURCE]),
                            .table = table_of(row, c, metric),
                            .model = rh_intern(row->text[RH_CASE_MODEL]),
                            .device = rh_intern(row->text[RH_CASE_GPU]),
                            .standing = c->standing,
                            .fitted = c->fitted != NULL,
                            .measured_s = at_offset(row, metric->measured)};
}

static void add_rows(RhEvaluation *evaluation, const RhCaseRow *row, const RhServedCase *c,
                     const Prediction *p, const char *why)
{
    int32_t added = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++) {
        RhEvaluatedRun r;
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
            r.like = rh_evidence_key_of_service(&c->serving, &c->deployment, NULL);
            r.like.starved = p->starved;
            r.group = group_of(&r.like, &metrics[i]);
            r.predicted_s = at_offset(p, metrics[i].predicted);
            r.peak_bytes = p->peak_bytes;
            r.capacity_bytes = p->capacity_bytes;
        }
        g_array_append_val(evaluation->rows, r);
    }
}

/* Are neither kernels measured on the row's device, nor constants fitted to rows of its kind?
 * Predictions are then known to be wrong by a multiple. Models that make no tokens have kernels of
 * their own. */
static char *is_unknown(const RhServedCase *c)
{
    g_autofree char *why = c->fitted || !rh_model_makes_tokens(c->serving.model)
                               ? NULL
                               : rh_evidence_key_untabled(&c->serving);
    return why ? g_strdup_printf("%s, and no constants were fitted to it", why) : NULL;
}

/* Reason why the row is not predicted, NULL: it is; caller frees. Fills *c in either case. */
static char *why_not(RhServedTranslator *t, GHashTable *first, const RhCaseRow *row,
                     RhServedCase *c)
{
    char *why = rh_served_translate(t, row, c);
    if (!why)
        why = rh_served_repeats(first, row);
    if (!why)
        why = rh_served_outruns(c, row);
    if (!why)
        why = is_unknown(c);
    return why;
}

/* --- rows in child processes, neighbours together, as kernel tables that one has read serve the
 * next --- */

#define ROWS_OF_ITEM 16

typedef struct {
    const RhCaseRow *row;
    RhServedCase c;
    Prediction p;
    char *why; /* owned: why it is not predicted; NULL */
} Case;

typedef struct {
    const RhCasesOptions *options;
    RhDeadline deadline;
    GArray *cases; /* Case, of every selected row */
    GArray *asked; /* guint: cases to predict */
    int32_t done;  /* number of predicted ones */
} Batch;

static Case *asked_at(const Batch *b, guint i)
{
    return &g_array_index(b->cases, Case, g_array_index(b->asked, guint, i));
}

/* Index after the last case of an item. */
static guint end_of(const Batch *b, int32_t item)
{
    return MIN((guint)(item + 1) * ROWS_OF_ITEM, b->asked->len);
}

/* Predicts an item. Its answer has for each case a Prediction, and the reason why there is none as
 * text with its NUL, which is otherwise empty. */
static GByteArray *predict_item(int32_t item, void *user, GError **error)
{
    (void)error;
    const Batch *b = user;
    GByteArray *bytes = g_byte_array_new();
    for (guint i = (guint)item * ROWS_OF_ITEM; i < end_of(b, item); i++) {
        Prediction p = {0};
        g_autoptr(GError) local = NULL;
        g_autofree char *why = NULL;
        if (rh_deadline_passed(b->deadline))
            why = g_strdup(RH_EVALUATION_LATE);
        else if (!predict(&asked_at(b, i)->c, &p, &local))
            why = g_strndup(local->message, strcspn(local->message, "\n"));
        g_byte_array_append(bytes, (const guint8 *)&p, sizeof p);
        g_byte_array_append(bytes, (const guint8 *)(why ? why : ""),
                            (guint)strlen(why ? why : "") + 1);
    }
    return bytes;
}

static void report_progress(void *user)
{
    const Batch *b = user;
    if (b->options->progress)
        b->options->progress("serving published runs", b->done, (int32_t)b->asked->len,
                             b->options->user);
}

/* Reads a case's part at *at of the bytes; false: they end early. */
static bool read_case(const GByteArray *bytes, gsize *at, Case *c)
{
    if (bytes->len - *at <= sizeof c->p)
        return false;
    memcpy(&c->p, bytes->data + *at, sizeof c->p);
    const char *why = (const char *)bytes->data + *at + sizeof c->p;
    const char *end = memchr(why, 0, bytes->len - *at - sizeof c->p);
    if (!end)
        return false;
    c->why = *why ? g_strdup(why) : NULL;
    *at = (gsize)(end + 1 - (const char *)bytes->data);
    return true;
}

static bool is_late(const Batch *b, const GError *error)
{
    return g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER) && rh_deadline_passed(b->deadline);
}

static void take_answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Batch *b = user;
    gsize at = 0;
    for (guint i = (guint)item * ROWS_OF_ITEM; i < end_of(b, item); i++) {
        Case *c = asked_at(b, i);
        if (!bytes || !read_case(bytes, &at, c))
            c->why = g_strdup(is_late(b, error) ? RH_EVALUATION_LATE
                              : error           ? error->message
                                                : "its answer broke off");
        b->done++;
    }
    report_progress(b);
}

static void predict_all(Batch *b)
{
    bool timed = b->options->timeout_s > 0;
    rh_process_pool_run(
        &(RhProcessPool){.count = (int32_t)((b->asked->len + ROWS_OF_ITEM - 1) / ROWS_OF_ITEM),
                         .jobs = MAX(b->options->jobs, 1),
                         .timeout_s = timed ? fmax(rh_deadline_left_s(b->deadline), 1e-3) : 0,
                         .perform = predict_item,
                         .answer = take_answer,
                         .waiting = report_progress,
                         .user = b});
}

static void case_clear(void *data)
{
    Case *c = data;
    rh_served_case_clear(&c->c);
    g_free(c->why);
}

static void translate_all(const RhCaseTable *table, RhServedTranslator *translator, Batch *b)
{
    g_autoptr(GHashTable) first = rh_served_originals(table);
    for (guint i = 0; i < table->rows->len; i++) {
        Case c = {.row = &g_array_index(table->rows, RhCaseRow, i)};
        if (!rh_case_wanted(c.row, b->options->only))
            continue;
        c.why = why_not(translator, first, c.row, &c.c);
        g_array_append_val(b->cases, c);
        if (!c.why)
            g_array_append_vals(b->asked, &(guint){b->cases->len - 1}, 1);
    }
}

RhEvaluation *rh_served_judge(const RhCaseTable *table, const RhCasesOptions *options,
                              GError **error)
{
    g_autoptr(RhServedTranslator) translator = rh_served_translator_new(error);
    if (!translator)
        return NULL;
    RhEvaluation *evaluation = rh_evaluation_new(table->name);
    Batch b = {.options = options,
               .deadline = rh_deadline_in(options->timeout_s),
               .cases = g_array_new(FALSE, TRUE, sizeof(Case)),
               .asked = g_array_new(FALSE, FALSE, sizeof(guint))};
    g_array_set_clear_func(b.cases, case_clear);
    translate_all(table, translator, &b);
    predict_all(&b);
    for (guint i = 0; i < b.cases->len; i++) {
        const Case *c = &g_array_index(b.cases, Case, i);
        add_rows(evaluation, c->row, &c->c, &c->p, c->why);
    }
    g_array_unref(b.cases);
    g_array_unref(b.asked);
    return evaluation;
}
