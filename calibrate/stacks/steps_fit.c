#include "calibrate/stacks/steps_fit.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "calibrate/stacks/steps_linear_fit.h"

#define ROWS_PER_CONSTANT 4 /* distinct rows */
#define GROUPS_BEYOND     2 /* number of groups beyond that of constants */
#define REHEARSE_ROUNDS   2

static const RhMeasuredStep *step_at(const RhMeasuredSteps *steps, guint i)
{
    return &g_array_index(steps->rows, RhMeasuredStep, i);
}

/* --- number of rows --- */

static char *identity(const RhMeasuredStep *s)
{
    g_autofree char *layout = rh_layout_format(&s->layout);
    return g_strdup_printf("%p %p %s %d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %d %d",
                           (const void *)s->model, (const void *)s->platform, layout, s->job.gpus,
                           s->job.global_batch, s->job.sequence, s->flash_attention,
                           s->fused_norms);
}

static void count_rows(RhStepsFit *fit, guint *distinct)
{
    g_autoptr(GHashTable) rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) groups = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) sources = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < fit->steps->rows->len; i++) {
        const RhMeasuredStep *s = step_at(fit->steps, i);
        if (!rh_step_takes_part(s))
            continue;
        fit->rows_count++;
        g_hash_table_add(rows, identity(s));
        g_hash_table_add(groups, GUINT_TO_POINTER(s->group));
        g_hash_table_add(sources, (void *)(uintptr_t)s->source);
    }
    *distinct = g_hash_table_size(rows);
    fit->groups_count = (int32_t)g_hash_table_size(groups);
    fit->sources_count = (int32_t)g_hash_table_size(sources);
}

static bool enough(const RhStepsFit *fit, guint distinct, guint constants, GError **error)
{
    if (constants == 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s: no row depends on any constant of the stack %s",
                       fit->steps->name, fit->stack);
    if (distinct < ROWS_PER_CONSTANT * constants)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: %u different steps cannot determine %u constants\nnote: %d of each are "
                       "wanted; rows that are apart or ran out of memory do not count\nhelp: add "
                       "rows of other models, sizes and layouts",
                       fit->steps->name, distinct, constants, ROWS_PER_CONSTANT);
    if (fit->groups_count < (int32_t)constants + GROUPS_BEYOND)
        return rh_fail(
            error, RH_ERROR_INPUT,
            "%s: rows of %d groups (one source, model, sequence, kernels and "
            "recomputation) cannot tell %u constants and their intervals\nhelp: %u groups "
            "or more; rows of one group err together",
            fit->steps->name, fit->groups_count, constants, constants + GROUPS_BEYOND);
    return true;
}

/* --- predictions --- */

static GArray *ones(guint count)
{
    GArray *scales = g_array_sized_new(FALSE, FALSE, sizeof(double), count);
    for (guint i = 0; i < count; i++) {
        double one = 1;
        g_array_append_val(scales, one);
    }
    return scales;
}

G_GNUC_PRINTF(2, 3)
static bool fail_late(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *done = g_strdup_vprintf(format, args);
    va_end(args);
    return rh_fail(error, RH_ERROR_NO_ANSWER,
                   "out of time: %s\nhelp: a table of 500 rows takes some minutes", done);
}

/* Computes what rehearsals add to the segment graph at the model's present constants. */
static bool rehearse_rows(RhStepsFit *fit, const RhStepModel *model, GArray *scales,
                          const RhStepsFitOptions *options, GError **error)
{
    guint count = fit->steps->rows->len;
    for (guint i = 0; i < count; i++) {
        const RhMeasuredStep *step = step_at(fit->steps, i);
        g_autoptr(GError) local = NULL;
        double rehearsed_s = 0;
        if (options->progress)
            options->progress("rehearsing", i, count, 0, NULL);
        if (step->out_of_memory)
            continue;
        bool rehearsed = rh_step_model_rehearse(model, step, &rehearsed_s, &local);
        double segment_s = rh_step_model_segment_s(model, step);
        if (rh_deadline_passed(model->deadline))
            return fail_late(error, "%u of %u rows simulated", i, count);
        if (rehearsed) {
            g_array_index(scales, double, i) = rehearsed_s / segment_s;
            fit->rehearsed_count++;
        } else {
            g_autofree char *row = rh_step_describe(step);
            g_ptr_array_add(fit->notes, g_strdup_printf("not simulated, its bound stands: %s: %s",
                                                        row, local->message));
        }
    }
    return true;
}

static void predict(RhStepsFit *fit, const RhStepModel *model, const GArray *scales, size_t offset,
                    RhStepKeepFunc keep, const void *which)
{
    for (guint i = 0, at = 0; i < fit->steps->rows->len; i++) {
        const RhMeasuredStep *step = step_at(fit->steps, i);
        if (step->out_of_memory)
            continue;
        RhStepPrediction *p = &g_array_index(fit->predictions, RhStepPrediction, at++);
        if (keep && (!rh_step_takes_part(step) || keep(step, which)))
            continue;
        *(double *)(void *)((char *)p + offset) = rh_step_task_predict_s(model, scales, i);
    }
}

/* --- held-out rows --- */

/* Divides groups into folds, the largest first, each to the fold with the fewest rows. */
static GHashTable *folds_of(const RhMeasuredSteps *steps)
{
    GHashTable *sizes = g_hash_table_new(NULL, NULL), *folds = g_hash_table_new(NULL, NULL);
    guint rows[RH_STEPS_FOLDS] = {0};
    for (guint i = 0; i < steps->rows->len; i++)
        if (rh_step_takes_part(step_at(steps, i))) {
            void *group = GUINT_TO_POINTER(step_at(steps, i)->group);
            guint size = GPOINTER_TO_UINT(g_hash_table_lookup(sizes, group));
            g_hash_table_insert(sizes, group, GUINT_TO_POINTER(size + 1));
        }
    while (g_hash_table_size(folds) < g_hash_table_size(sizes)) {
        void *largest = NULL;
        guint most = 0, fold = 0;
        for (guint i = 0; i < steps->rows->len; i++) { /* of equals, the first in the table */
            void *group = GUINT_TO_POINTER(step_at(steps, i)->group);
            guint size = GPOINTER_TO_UINT(g_hash_table_lookup(sizes, group));
            if (size > most && !g_hash_table_contains(folds, group)) {
                most = size;
                largest = group;
            }
        }
        for (guint f = 1; f < RH_STEPS_FOLDS; f++)
            fold = rows[f] < rows[fold] ? f : fold;
        rows[fold] += most;
        g_hash_table_insert(folds, largest, GUINT_TO_POINTER(fold));
    }
    g_hash_table_destroy(sizes);
    return folds;
}

typedef struct {
    GHashTable *folds;
    guint fold;
} Fold;

static bool outside_fold(const RhMeasuredStep *step, const void *which)
{
    const Fold *f = which;
    return GPOINTER_TO_UINT(g_hash_table_lookup(f->folds, GUINT_TO_POINTER(step->group))) !=
           f->fold;
}

static bool outside_source(const RhMeasuredStep *step, const void *which)
{
    return step->source != (const char *)which;
}

/* The fact of `model` in the place of `fact` in `other`. */
static const RhFact *counterpart(const RhStepModel *model, const RhStepModel *other,
                                 const RhFact *fact)
{
    return (const RhFact *)(const void *)((const char *)model +
                                          ((const char *)fact - (const char *)other));
}

/* Fits to the rows that `keep` selects and predicts the others. Kept values are free here, as they
 * were found from these rows; counted constants depend on no row. */
static void hold_out(RhStepsFit *fit, const RhStepModel *found, const GArray *scales,
                     RhStepKeepFunc keep, const void *which, size_t offset)
{
    g_autoptr(RhStepModel) model = rh_step_model_copy(found);
    RhStepTask t = rh_step_task_new(model, scales, keep, which);
    for (guint i = 0; i < fit->constants->len; i++) {
        const RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
        if (c->counted)
            rh_step_task_hold(&t, counterpart(model, found, c->at));
    }
    if (t.params->len > 0 && t.rows->len > t.params->len && rh_step_task_solve(&t, 1, true)) {
        rh_step_task_fill_untold(&t);
        predict(fit, model, scales, offset, keep, which);
    } else {
        g_ptr_array_add(fit->notes,
                        g_strdup_printf("%u rows are too few to hold others out", t.rows->len));
    }
    rh_step_task_clear(&t);
}

static void cross_validate(RhStepsFit *fit, const RhStepModel *found, const GArray *scales,
                           const RhStepsFitOptions *options)
{
    g_autoptr(GHashTable) folds = folds_of(fit->steps);
    for (guint f = 0; f < RH_STEPS_FOLDS && !rh_deadline_passed(found->deadline); f++) {
        Fold fold = {folds, f};
        if (options->progress)
            options->progress("holding out", f, RH_STEPS_FOLDS, 0, NULL);
        hold_out(fit, found, scales, outside_fold, &fold, offsetof(RhStepPrediction, held_out_s));
    }
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < fit->steps->rows->len && fit->sources_count > 1; i++) {
        const RhMeasuredStep *step = step_at(fit->steps, i);
        if (rh_step_takes_part(step) && g_hash_table_add(seen, (void *)(uintptr_t)step->source))
            hold_out(fit, found, scales, outside_source, step->source,
                     offsetof(RhStepPrediction, source_out_s));
    }
}

/* --- whole fit --- */

/* Adds a constant, of which the names, the kind and the place are set. */
static void add_constant(RhStepsFit *fit, const RhStepModel *start, const RhStepTask *t,
                         RhStepConstant c)
{
    c.before = counterpart(start, t->model, c.at)->value;
    c.fact = *c.at;
    for (guint k = 0; k < t->params->len; k++) {
        const RhFitParam *p = &g_array_index(t->params, RhFitParam, k);
        if (p->fact == c.at) {
            c.determined = true;
            c.on_bound = p->on_bound;
        }
    }
    g_array_append_val(fit->constants, c);
}

static void add_constants(RhStepsFit *fit, const RhStepModel *start, const RhStepTask *t)
{
    const RhStepModel *m = t->model;
    for (const RhStepStackConstant *s = rh_step_stack_constants; s->key; s++)
        add_constant(fit, start, t,
                     (RhStepConstant){.key = s->key,
                                      .kind = s->kind,
                                      .counted = s->counted,
                                      .at = (const RhFact *)(const void *)((const char *)&m->stack +
                                                                           s->offset)});
    for (int32_t i = 0; i < m->clocks_count; i++)
        add_constant(fit, start, t,
                     (RhStepConstant){.key = "sustained_clock",
                                      .of = m->clocks[i].device,
                                      .kind = RH_QUANTITY_FRAC,
                                      .at = &m->clocks[i].clock_frac});
    for (int32_t i = 0; i < m->networks_count; i++)
        add_constant(fit, start, t,
                     (RhStepConstant){.key = RH_STEP_NIC_KEY,
                                      .of = m->networks[i].name,
                                      .kind = RH_QUANTITY_FRAC,
                                      .at = &m->networks[i].nic_frac});
}

static bool stands(const RhStepConstant *c)
{
    return c->determined && (c->counted || (c->before >= c->fact.low && c->before <= c->fact.high));
}

/* Keeps constants whose present value lies within the interval, and fits the others again with
 * these; until no more are kept. */
static bool keep_what_stands(RhStepsFit *fit, RhStepTask *t)
{
    for (bool any = true; any;) {
        any = false;
        for (guint i = 0; i < fit->constants->len; i++) {
            RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
            if (c->kept || !stands(c))
                continue;
            ((RhFact *)(uintptr_t)c->at)->value = c->before;
            rh_step_task_hold(t, c->at);
            c->kept = any = true;
        }
        if (any && t->params->len > 0 && !rh_step_task_solve(t, RH_STEP_LINEARISED, false))
            return false;
        for (guint i = 0; any && i < fit->constants->len; i++) {
            RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
            if (!c->kept)
                c->fact = *c->at;
        }
    }
    return true;
}

static RhStepsFit *fit_new(const RhMeasuredSteps *steps, const char *stack)
{
    RhStepsFit *fit = g_new0(RhStepsFit, 1);
    fit->steps = steps;
    fit->stack = rh_intern(stack);
    fit->constants = g_array_new(FALSE, FALSE, sizeof(RhStepConstant));
    fit->predictions = g_array_new(FALSE, TRUE, sizeof(RhStepPrediction));
    fit->notes = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < steps->rows->len; i++) {
        RhStepPrediction p = {.step = step_at(steps, i)};
        if (!p.step->out_of_memory)
            g_array_append_val(fit->predictions, p);
    }
    return fit;
}

/* Fits, then simulates with the result and fits again: the last round gives the intervals, and
 * keeps values within them. */
static bool fit_all(RhStepsFit *fit, const RhStepModel *start, RhStepTask *t, GArray *scales,
                    const RhStepsFitOptions *options, GError **error)
{
    bool rehearse = !options->segments_alone;
    int rounds = rehearse ? REHEARSE_ROUNDS : 1;
    if (rehearse && !rehearse_rows(fit, t->model, scales, options, error))
        return false;
    predict(fit, t->model, scales, offsetof(RhStepPrediction, before_s), NULL, NULL);
    for (int round = 1; round <= rounds; round++) {
        bool last = round == rounds, solved = rh_step_task_solve(t, RH_STEP_LINEARISED, !last);
        if (solved && last) {
            add_constants(fit, start, t);
            solved = keep_what_stands(fit, t);
        }
        if (rh_deadline_passed(t->model->deadline))
            return fail_late(error, "in round %d of %d of the fit", round, rounds);
        if (!solved)
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s: the fit does not converge\nhelp: look for rows that contradict "
                           "each other",
                           fit->steps->name);
        if (rehearse && !rehearse_rows(fit, t->model, scales, options, error))
            return false;
    }
    predict(fit, t->model, scales, offsetof(RhStepPrediction, fitted_s), NULL, NULL);
    return true;
}

/* Evaluates with rows held out, and the memory. */
static bool judge_all(RhStepsFit *fit, const RhStepModel *model, const GArray *scales,
                      const RhStepsFitOptions *options, GError **error)
{
    cross_validate(fit, model, scales, options);
    if (!rh_deadline_passed(model->deadline))
        rh_steps_reserve(model, &fit->reserve);
    return !rh_deadline_passed(model->deadline) ||
           fail_late(error, "the constants are found, rows were being held out");
}

static bool fit_and_judge(RhStepsFit *fit, RhStepModel *model, const RhStepModel *start,
                          const RhStepsFitOptions *options, GError **error)
{
    guint distinct = 0;
    g_autoptr(GArray) scales = ones(fit->steps->rows->len);
    count_rows(fit, &distinct);
    RhStepTask t = rh_step_task_new(model, scales, NULL, NULL);
    bool done = rh_deadline_passed(model->deadline)
                    ? fail_late(error, "rows were being read")
                    : enough(fit, distinct, t.params->len, error) &&
                          fit_all(fit, start, &t, scales, options, error) &&
                          judge_all(fit, model, scales, options, error);
    rh_step_task_clear(&t);
    return done;
}

RhStepsFit *rh_steps_fit(const RhMeasuredSteps *steps, const char *stack,
                         const RhStepsFitOptions *options, GError **error)
{
    g_autoptr(RhStepModel) start = rh_step_model_new(steps, stack, error);
    if (!start)
        return NULL;
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, stack, NULL);
    g_autoptr(RhStepsFit) fit = fit_new(steps, stack);
    model->deadline = options->deadline;
    bool fitted = fit_and_judge(fit, model, start, options, error);
    for (guint i = 0; i < fit->constants->len; i++) /* the model is freed */
        g_array_index(fit->constants, RhStepConstant, i).at = NULL;
    return fitted ? g_steal_pointer(&fit) : NULL;
}

void rh_steps_fit_free(RhStepsFit *fit)
{
    if (!fit)
        return;
    g_array_unref(fit->constants);
    g_array_unref(fit->predictions);
    g_ptr_array_unref(fit->notes);
    g_free(fit);
}
