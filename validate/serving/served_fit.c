#include "validate/serving/served_fit.h"

#include <math.h>
#include <stddef.h>

#include "base/deadline.h"
#include "base/error.h"
#include "validate/coordinate_descent.h"
#include "validate/serving/served_row_conflicts.h"
#include "validate/serving/served_translate.h"
#include "validate/serving/served_vs_predicted.h"

#define MOVES      40
#define LATE       1e9  /* loss of a row that was not computed in time */
#define CHI2_HALF  1.92 /* of one degree of freedom, 95 % */
#define HALVINGS   20
#define ROWS_LEAST 4

typedef struct {
    RhServer server; /* as its file has it */
    GPtrArray *rows; /* RhServedRow */
    RhServedFit *fit;
    RhDescentKnob knobs[RH_SERVED_CONSTANTS_MAX];
    size_t kind_of[RH_SERVED_CONSTANTS_MAX];
    int32_t knobs_count;
    const RhServedFitOptions *options;
    RhDeadline deadline;
    RhServedSetups *setups;
} Fit;

static RhServedRow *row_at(const Fit *f, guint i)
{
    return g_ptr_array_index(f->rows, i);
}

/* --- serving --- */

static double loss(const RhDescentKnob *knobs, void *user)
{
    Fit *f = user;
    if (rh_deadline_passed(f->deadline))
        return LATE;
    rh_served_set_constants(f->rows, knobs, f->kind_of, f->knobs_count);
    double mean = rh_served_loss(f->rows);
    f->fit->runs_count += f->fit->fitted_count;
    if (f->options->progress)
        f->options->progress("fitting constants", f->fit->runs_count, 0, f->options->user);
    return fmin(mean, LATE);
}

/* --- rows --- */

/* Is a row held out: every second of two, or every fifth of five, spread evenly? */
static bool is_held_out(double frac, guint i)
{
    return floor((i + 1) * frac + 1e-9) > floor(i * frac + 1e-9);
}

static bool is_repeat(const Fit *f, const RhCaseRow *row)
{
    g_autofree char *why = rh_served_repeats(f->setups, row);
    return why != NULL;
}

/* Adds a row; false: it has another server than earlier ones, and none was named. */
static bool add_row(Fit *f, RhServedTranslator *t, const RhCaseRow *row, GError **error)
{
    RhServedCase c;
    g_autofree char *why = rh_served_translate(t, row, &c);
    if (!why)
        why = rh_served_outruns(&c, row);
    if (!why)
        why = rh_served_contradicts(f->setups, &c, row);
    const char *name = why ? NULL : c.serving.server->name, *wanted = f->options->server;
    bool times = row->tpot_s > 0 && row->ttft_s > 0;
    bool skipped = why || !(times || row->tokens_per_s > 0) || c.standing != RH_STANDING_MEASURED ||
                   (wanted && !g_str_equal(wanted, name)) || is_repeat(f, row);
    if (!skipped && f->rows->len > 0 && !g_str_equal(f->server.name, name))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "rows of %s and of %s: constants are of one server\nhelp: name it, or a word "
            "of its rows",
            f->server.name, name);
    if (!skipped && f->rows->len == 0)
        f->server = *c.serving.server;
    RhServedRow *r = skipped ? NULL : rh_served_row_new(&c, row);
    if (skipped)
        rh_served_case_clear(&c);
    if (!r) {
        f->fit->skipped_count++;
        return true;
    }
    r->held_out = is_held_out(f->options->holdout_frac, f->rows->len);
    f->fit->held_out_count += r->held_out;
    f->fit->fitted_count += !r->held_out;
    g_ptr_array_add(f->rows, r);
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

static void list_knobs(Fit *f)
{
    f->knobs_count = rh_served_knobs(f->rows, &f->server, f->knobs, f->kind_of);
    for (size_t k = 0; k < rh_served_constant_kinds_count(); k++) {
        double value = rh_served_constant(&f->server, k)->value;
        f->fit->constants[f->fit->constants_count++] =
            (RhServedConstant){.key = rh_served_constant_kinds[k].key,
                               .fraction = rh_served_constant_kinds[k].fraction,
                               .before = value,
                               .value = value};
    }
    for (int32_t k = 0; k < f->knobs_count; k++)
        f->fit->constants[f->kind_of[k]].determined = true;
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

static RhErrorStatistics figures_of(const Fit *f, RhServedMetric figure, bool held_out)
{
    g_autofree double *measured = g_new(double, f->rows->len),
                      *predicted = g_new(double, f->rows->len);
    size_t count = 0;
    for (guint i = 0; i < f->rows->len; i++) {
        const RhServedRow *row = row_at(f, i);
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
        if (!rh_served_row_simulate(row_at(f, i)))
            row_at(f, i)->predicted[RH_SERVED_TPOT] = row_at(f, i)->predicted[RH_SERVED_TTFT] =
                row_at(f, i)->predicted[RH_SERVED_RATE] = 0;
    for (RhServedMetric figure = 0; figure < RH_SERVED_METRICS; figure++)
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
    rh_served_set_constants(f->rows, f->knobs, f->kind_of, f->knobs_count);
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
    Fit f = {.rows = g_ptr_array_new_with_free_func((GDestroyNotify)rh_served_row_free),
             .fit = fit,
             .options = options,
             .deadline = rh_deadline_in(options->timeout_s),
             .setups = rh_served_setups_new(table)};
    bool fine = read_rows(&f, t, table, error) && fit_all(&f, error);
    fit->server = f.server.name;
    g_ptr_array_unref(f.rows);
    rh_served_setups_free(f.setups);
    return fine ? g_steal_pointer(&fit) : NULL;
}

void rh_served_fit_free(RhServedFit *fit)
{
    g_free(fit);
}
