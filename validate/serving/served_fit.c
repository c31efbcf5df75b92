#include "validate/serving/served_fit.h"

#include <math.h>
#include <stddef.h>

#include "base/deadline.h"
#include "base/error.h"
#include "validate/coordinate_descent.h"
#include "validate/serving/served.h"
#include "validate/serving/served_translate.h"

#define MOVES      40
#define LATE       1e9  /* loss of a row that was not computed in time */
#define CHI2_HALF  1.92 /* of one degree of freedom, 95 % */
#define HALVINGS   20
#define ROWS_LEAST 4

/* Rows that determine a constant: all, those with several tensor ranks, those with times to the
 * first token; or, where the server has it, all. */
typedef enum { TOLD_BY_ALL, TOLD_BY_RANKS, TOLD_BY_TTFT, TOLD_IF_ANY } Told;

static const struct {
    const char *key;
    size_t offset; /* offset of an RhFact */
    double low, high, begin;
    bool fraction;
    Told told;
} kinds[] = {{"step", offsetof(RhServer, step_s), 1e-6, 0.05, 1e-4, false, TOLD_BY_ALL},
             {"rank_step", offsetof(RhServer, rank_step_s), 1e-6, 0.02, 1e-4, false, TOLD_BY_RANKS},
             {"sequence", offsetof(RhServer, sequence_s), 1e-7, 1e-3, 1e-5, false, TOLD_BY_ALL},
             {"prompt_rate", offsetof(RhServer, prompt_frac), 0.2, 1.5, 1, true, TOLD_BY_ALL},
             {"first", offsetof(RhServer, first_s), 1e-4, 0.5, 1e-2, false, TOLD_BY_TTFT},
             {"admit", offsetof(RhServer, admit_s), 1e-4, 0.2, 1e-3, false, TOLD_BY_TTFT},
             {"launch", offsetof(RhServer, launch_s), 1e-6, 5e-3, 1e-4, false, TOLD_IF_ANY}};

/* Figures that a row may have. */
typedef enum { FIGURE_TPOT, FIGURE_TTFT, FIGURE_RATE, FIGURES } Figure;

/* A row that is simulated repeatedly; its service keeps the times of kernels. */
typedef struct {
    RhServedCase c;
    RhService *service;
    RhRequests *requests;
    double measured[FIGURES]; /* s, s, tokens/s; 0: not given */
    double predicted[FIGURES];
    bool held_out;
} Row;

typedef struct {
    RhServer server; /* with changing constants */
    GArray *rows;    /* Row */
    RhServedFit *fit;
    RhDescentKnob knobs[G_N_ELEMENTS(kinds)];
    size_t kind_of[G_N_ELEMENTS(kinds)];
    int32_t knobs_count;
    const RhServedFitOptions *options;
    RhDeadline deadline;
    GHashTable *originals;
} Fit;

static void row_clear(gpointer data)
{
    Row *row = data;
    rh_service_free(row->service);
    rh_requests_free(row->requests);
    rh_served_case_clear(&row->c);
}

static Row *row_at(const Fit *f, guint i)
{
    return &g_array_index(f->rows, Row, i);
}

static RhFact *fact_of(Fit *f, size_t kind)
{
    return (RhFact *)(void *)((char *)&f->server + kinds[kind].offset);
}

/* --- serving --- */

static bool simulate_row(Row *row)
{
    g_autoptr(RhServiceResult) result =
        rh_service_run(row->service, row->requests, &row->c.client, NULL);
    if (!result)
        return false;
    rh_served_means(result, &row->predicted[FIGURE_TTFT], &row->predicted[FIGURE_TPOT]);
    row->predicted[FIGURE_RATE] = rh_served_tokens_per_s(result);
    return true;
}

static double off(const Row *row, Figure f)
{
    double predicted = row->predicted[f], measured = row->measured[f];
    return measured > 0 && predicted > 0 ? fabs(log(predicted / measured)) : 0;
}

/* Returns the loss of a row. Of time per token and tokens per second, which are equivalent, only
 * the former counts. */
static double row_loss(const Row *row)
{
    return off(row, row->measured[FIGURE_TPOT] > 0 ? FIGURE_TPOT : FIGURE_RATE) +
           off(row, FIGURE_TTFT) / 2;
}

static void set_constants(Fit *f, const RhDescentKnob *knobs)
{
    for (int32_t k = 0; k < f->knobs_count; k++)
        fact_of(f, f->kind_of[k])->value = knobs[k].value;
}

static double loss(const RhDescentKnob *knobs, void *user)
{
    Fit *f = user;
    double sum = 0;
    if (rh_deadline_passed(f->deadline))
        return LATE;
    set_constants(f, knobs);
    for (guint i = 0; i < f->rows->len; i++) {
        Row *row = row_at(f, i);
        if (row->held_out)
            continue;
        if (!simulate_row(row))
            return LATE;
        sum += row_loss(row);
    }
    f->fit->runs_count += f->fit->fitted_count;
    if (f->options->progress)
        f->options->progress("fitting constants", f->fit->runs_count, 0, f->options->user);
    return sum / f->fit->fitted_count;
}

/* --- rows --- */

/* Is a row held out: every second of two, or every fifth of five, spread evenly? */
static bool is_held_out(double frac, guint i)
{
    return floor((i + 1) * frac + 1e-9) > floor(i * frac + 1e-9);
}

static bool is_repeat(const Fit *f, const RhCaseRow *row)
{
    g_autofree char *why = rh_served_repeats(f->originals, row);
    return why != NULL;
}

/* Adds a row; false: it has another server than earlier ones, and none was named. */
static bool add_row(Fit *f, RhServedTranslator *t, const RhCaseRow *row, GError **error)
{
    Row r = {.measured = {row->tpot_s, row->ttft_s, row->tokens_per_s}};
    g_autofree char *why = rh_served_translate(t, row, &r.c);
    if (!why)
        why = rh_served_outruns(&r.c, row);
    const char *name = why ? NULL : r.c.serving.server->name, *wanted = f->options->server;
    bool times = row->tpot_s > 0 && row->ttft_s > 0;
    bool skipped = why || !(times || row->tokens_per_s > 0) ||
                   r.c.standing != RH_STANDING_MEASURED || (wanted && !g_str_equal(wanted, name)) ||
                   is_repeat(f, row);
    if (!skipped && f->rows->len > 0 && !g_str_equal(f->server.name, name))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "rows of %s and of %s: constants are of one server\nhelp: name it, or a word "
            "of its rows",
            f->server.name, name);
    if (!skipped && f->rows->len == 0)
        f->server = *r.c.serving.server;
    if (!skipped) {
        r.c.serving.server = &f->server;
        r.service = rh_service_new(&r.c.serving, &r.c.deployment, NULL);
    }
    if (skipped || !r.service) {
        f->fit->skipped_count++;
        rh_served_case_clear(&r.c);
        return true;
    }
    r.requests = rh_requests_draw(&r.c.plan);
    r.held_out = is_held_out(f->options->holdout_frac, f->rows->len);
    f->fit->held_out_count += r.held_out;
    f->fit->fitted_count += !r.held_out;
    g_array_append_val(f->rows, r);
    return true;
}

static bool read_rows(Fit *f, RhServedTranslator *t, const RhCaseTable *table, GError **error)
{
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        if (rh_case_wanted(row, f->options->only) && !add_row(f, t, row, error))
            return false;
    }
    if (f->fit->fitted_count >= ROWS_LEAST)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "%d rows of %s to fit to: constants take %d",
                   f->fit->fitted_count, f->options->server ? f->options->server : "one server",
                   ROWS_LEAST);
}

/* --- constants --- */

static bool is_told(const Fit *f, size_t kind, double value)
{
    bool ranks = false, ttft = false;
    for (guint i = 0; i < f->rows->len; i++) {
        ranks |= row_at(f, i)->c.deployment.pools[0].tp > 1;
        ttft |= row_at(f, i)->measured[FIGURE_TTFT] > 0;
    }
    switch (kinds[kind].told) {
    case TOLD_BY_RANKS:
        return ranks;
    case TOLD_BY_TTFT:
        return ttft;
    case TOLD_IF_ANY:
        return value > 0;
    case TOLD_BY_ALL:
        break;
    }
    return true;
}

static void list_knobs(Fit *f)
{
    for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
        double value = fact_of(f, k)->value;
        RhServedConstant *c = &f->fit->constants[f->fit->constants_count++];
        *c = (RhServedConstant){
            .key = kinds[k].key, .fraction = kinds[k].fraction, .before = value, .value = value};
        c->determined = is_told(f, k, value);
        if (!c->determined)
            continue;
        f->kind_of[f->knobs_count] = k;
        f->knobs[f->knobs_count++] = (RhDescentKnob){
            kinds[k].key, CLAMP(value > 0 ? value : kinds[k].begin, kinds[k].low, kinds[k].high),
            kinds[k].low, kinds[k].high};
    }
}

/* Distance that the constant may move from its value to `bound` before the loss exceeds `most`. */
static double profile_distance(Fit *f, int32_t knob, double bound, double most, bool *open)
{
    double value = f->knobs[knob].value, inside = value, outside = bound;
    f->knobs[knob].value = bound;
    *open = loss(f->knobs, f) <= most;
    for (int32_t i = 0; !*open && i < HALVINGS && fabs(log(outside / inside)) > 0.01; i++) {
        double middle = sqrt(inside * outside);
        f->knobs[knob].value = middle;
        *(loss(f->knobs, f) <= most ? &inside : &outside) = middle;
    }
    f->knobs[knob].value = value;
    return *open ? bound : inside;
}

static void find_intervals(Fit *f, double least)
{
    double most = least * exp(CHI2_HALF / f->fit->fitted_count);
    for (int32_t k = 0; k < f->knobs_count; k++) {
        RhServedConstant *c = &f->fit->constants[f->kind_of[k]];
        c->value = f->knobs[k].value;
        c->low = profile_distance(f, k, f->knobs[k].low, most, &c->low_open);
        c->high = profile_distance(f, k, f->knobs[k].high, most, &c->high_open);
    }
}

/* --- errors --- */

static RhErrorStatistics figures_of(const Fit *f, Figure figure, bool held_out)
{
    g_autofree double *measured = g_new(double, f->rows->len),
                      *predicted = g_new(double, f->rows->len);
    size_t count = 0;
    for (guint i = 0; i < f->rows->len; i++) {
        const Row *row = row_at(f, i);
        if (row->held_out != held_out || row->measured[figure] <= 0 || row->predicted[figure] <= 0)
            continue;
        measured[count] = row->measured[figure];
        predicted[count++] = row->predicted[figure];
    }
    return count > 0 ? rh_error_statistics(measured, predicted, count) : (RhErrorStatistics){0};
}

static void judge(Fit *f, bool fitted)
{
    RhServedErrors *errors[] = {f->fit->tpot, f->fit->ttft, f->fit->throughput};
    for (guint i = 0; i < f->rows->len; i++)
        if (!simulate_row(row_at(f, i)))
            row_at(f, i)->predicted[FIGURE_TPOT] = row_at(f, i)->predicted[FIGURE_TTFT] =
                row_at(f, i)->predicted[FIGURE_RATE] = 0;
    for (Figure figure = 0; figure < FIGURES; figure++)
        for (int held_out = 0; held_out < 2; held_out++) {
            RhServedErrors *e = &errors[figure][held_out];
            *(fitted ? &e->fitted : &e->before) = figures_of(f, figure, held_out);
        }
}

static bool fit_all(Fit *f, GError **error)
{
    list_knobs(f);
    judge(f, false);
    double least = rh_descend(f->knobs, f->knobs_count, MOVES, loss, f);
    if (!rh_deadline_passed(f->deadline))
        find_intervals(f, least);
    if (rh_deadline_passed(f->deadline))
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "the constants of %s were not found in the time that was allowed",
                       f->server.name);
    set_constants(f, f->knobs);
    judge(f, true);
    return true;
}

RhServedFit *rh_served_fit(const RhCaseTable *table, const RhServedFitOptions *options,
                           GError **error)
{
    g_autoptr(RhServedTranslator) t = rh_served_translator_new(error);
    if (!t)
        return NULL;
    g_autoptr(RhServedFit) fit = g_new0(RhServedFit, 1);
    Fit f = {.rows = g_array_new(FALSE, FALSE, sizeof(Row)),
             .fit = fit,
             .options = options,
             .deadline = rh_deadline_in(options->timeout_s),
             .originals = rh_served_originals(table)};
    g_array_set_clear_func(f.rows, row_clear);
    bool fine = read_rows(&f, t, table, error) && fit_all(&f, error);
    fit->server = f.server.name;
    g_array_unref(f.rows);
    g_hash_table_unref(f.originals);
    return fine ? g_steal_pointer(&fit) : NULL;
}

void rh_served_fit_free(RhServedFit *fit)
{
    g_free(fit);
}
