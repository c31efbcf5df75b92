#include "validate/serving/served_row_predict.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/engine/workers/process_pool.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/search/services/serve_extrapolated_share.h"
#include "validate/serving/served_row_conflicts.h"
#include "validate/serving/ttft_tpot_throughput.h"

void rh_served_run_clear(void *data)
{
    RhServedRun *run = data;
    rh_served_case_clear(&run->c);
    g_clear_pointer(&run->why, g_free);
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

void rh_served_run_translate(RhServedTranslator *t, const RhServedSetups *setups, RhServedRun *run)
{
    rh_served_run_clear(run);
    run->why = rh_served_translate(t, run->row, &run->c);
    if (!run->why)
        run->why = rh_served_repeats(setups, run->row);
    if (!run->why)
        run->why = rh_served_outruns(&run->c, run->row);
    if (!run->why)
        run->why = rh_served_contradicts(setups, &run->c, run->row);
    if (!run->why)
        run->why = is_unknown(&run->c);
}

/* --- one run --- */

#define RATE_SPAN  4.0 /* the highest rate is looked for from 1/4 to 4 of the row's */
#define RATE_STEPS 8   /* halvings of the interval: to 1.1 % */
#define P99        2   /* its place among RH_CASE_PERCENTILES */

static bool keeps_limits(const RhServedCase *c, RhService *service, RhRequests *requests,
                         double rate_per_s)
{
    double ttft_s[RH_CASE_PERCENTILES], tpot_s[RH_CASE_PERCENTILES];
    rh_requests_at_rate(requests, rate_per_s);
    g_autoptr(RhServiceResult) result = rh_service_run(service, requests, &c->client, NULL);
    if (!result)
        return false;
    rh_served_percentiles(result, ttft_s, tpot_s);
    return ttft_s[P99] > 0 && ttft_s[P99] <= c->ttft_limit_s && tpot_s[P99] <= c->tpot_limit_s;
}

/* Returns the highest rate at which the 99th percentiles keep their limits, by bisection. */
static double rate_in_limits(const RhServedCase *c, RhService *service, RhRequests *requests)
{
    double low = c->plan.rate_per_s / RATE_SPAN, high = c->plan.rate_per_s * RATE_SPAN;
    for (int i = 0; i < RATE_STEPS; i++) {
        double middle = sqrt(low * high);
        *(keeps_limits(c, service, requests, middle) ? &low : &high) = middle;
    }
    return low;
}

static bool predict_with(const RhServedCase *c, const RhDeployment *deployment,
                         RhServedPrediction *p, GError **error)
{
    g_autoptr(RhService) service = rh_service_new(&c->serving, deployment, error);
    if (!service)
        return false;
    g_autoptr(RhRequests) requests = rh_served_requests(c);
    g_autoptr(RhServiceResult) result = rh_service_run(service, requests, &c->client, error);
    if (!result)
        return false;
    RhKvBudget room = rh_service_kv_budget(service, 0);
    rh_served_means(result, &p->ttft_s, &p->tpot_s);
    rh_served_percentiles(result, p->ttft_percentiles_s, p->tpot_percentiles_s);
    p->tokens_per_s = rh_served_tokens_per_s(result);
    if (c->ttft_limit_s > 0)
        p->rate_in_limits_per_s = rate_in_limits(c, service, requests);
    p->untabled_frac =
        rh_served_untabled_frac(rh_service_iterations(service, deployment->pools_count - 1));
    p->starved = rh_preempted_count(result) > 0;
    p->capacity_bytes = room.capacity_bytes;
    p->peak_bytes = room.weight_bytes + room.activation_bytes + room.reserve_bytes +
                    room.state_bytes + result->kv_peak_frac * room.cache_bytes;
    return true;
}

/* Returns the value from which two are as many times away. */
static double between(double a, double b)
{
    return sqrt(a * b);
}

/* Predicts a run. Where it is unknown whether tokens are guessed, its figures are between those of
 * both. */
static bool predict(const RhServedCase *c, RhServedPrediction *p, GError **error)
{
    RhServedPrediction other = {0};
    if (!predict_with(c, &c->deployment, p, error))
        return false;
    if (!c->both)
        return true;
    if (!predict_with(c, &c->guessing, &other, error))
        return false;
    p->ttft_s = between(p->ttft_s, other.ttft_s);
    p->tpot_s = between(p->tpot_s, other.tpot_s);
    p->tokens_per_s = between(p->tokens_per_s, other.tokens_per_s);
    return true;
}

/* --- rows in child processes, neighbours together, as kernel tables that one has read serve the
 * next --- */

#define ROWS_OF_ITEM 16

typedef struct {
    const RhCasesOptions *options;
    RhDeadline deadline;
    GArray *runs;  /* RhServedRun */
    GArray *asked; /* guint: those to predict */
    int32_t done;  /* number of predicted ones */
} Batch;

static RhServedRun *asked_at(const Batch *b, guint i)
{
    return &g_array_index(b->runs, RhServedRun, g_array_index(b->asked, guint, i));
}

/* Index after the last run of an item. */
static guint end_of(const Batch *b, int32_t item)
{
    return MIN((guint)(item + 1) * ROWS_OF_ITEM, b->asked->len);
}

/* Predicts an item. Its answer has for each run a prediction, and the reason why there is none as
 * text with its NUL, which is otherwise empty. */
static GByteArray *predict_item(int32_t item, void *user, GError **error)
{
    (void)error;
    const Batch *b = user;
    GByteArray *bytes = g_byte_array_new();
    for (guint i = (guint)item * ROWS_OF_ITEM; i < end_of(b, item); i++) {
        RhServedPrediction p = {0};
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

/* Reads a run's part at *at of the bytes; false: they end early. */
static bool read_run(const GByteArray *bytes, gsize *at, RhServedRun *run)
{
    if (bytes->len - *at <= sizeof run->p)
        return false;
    memcpy(&run->p, bytes->data + *at, sizeof run->p);
    const char *why = (const char *)bytes->data + *at + sizeof run->p;
    const char *end = memchr(why, 0, bytes->len - *at - sizeof run->p);
    if (!end)
        return false;
    run->why = *why ? g_strdup(why) : NULL;
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
        RhServedRun *run = asked_at(b, i);
        if (!bytes || !read_run(bytes, &at, run))
            run->why = g_strdup(is_late(b, error) ? RH_EVALUATION_LATE
                                : error           ? error->message
                                                  : "its answer broke off");
        b->done++;
    }
    report_progress(b);
}

void rh_served_runs_predict(GArray *runs, const RhCasesOptions *options, RhDeadline deadline)
{
    Batch batch = {options, deadline, runs, g_array_new(FALSE, FALSE, sizeof(guint)), 0},
          *b = &batch;
    for (guint i = 0; i < runs->len; i++)
        if (!g_array_index(runs, RhServedRun, i).why)
            g_array_append_val(b->asked, i);
    bool timed = b->options->timeout_s > 0;
    rh_process_pool_run(
        &(RhProcessPool){.count = (int32_t)((b->asked->len + ROWS_OF_ITEM - 1) / ROWS_OF_ITEM),
                         .jobs = MAX(b->options->jobs, 1),
                         .timeout_s = timed ? fmax(rh_deadline_left_s(b->deadline), 1e-3) : 0,
                         .perform = predict_item,
                         .answer = take_answer,
                         .waiting = report_progress,
                         .user = b});
    g_array_unref(b->asked);
}
