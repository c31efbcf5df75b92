#include "validate/cases/cases_cross_validation.h"

#include <math.h>

#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "calibrate/stacks/steps_leave_out_fit.h"

#define FITTED_STACK "megatron" /* whose constants published-steps.csv tells */
#define SAME_PARAMS  0.01

/* A row's group, and the properties by which it belongs to it. */
typedef struct {
    const RhCaseRow *row;
    const char *group;          /* interned; NULL: it cannot be said */
    const char *device;         /* interned */
    const char *steps, *fitted; /* as in RhTranslated */
    const RhMeasuredStep *step; /* the row of the fit that it is; NULL */
    double params;
} Known;

typedef struct {
    const char *name;       /* interned */
    GPtrArray *rows;        /* const RhCaseRow*, borrowed */
    RhStepModel *constants; /* owned; NULL: no row of the fit is in the group */
    bool untold;            /* the other rows of the fit cannot tell them */
} Group;

struct RhCasesCross {
    RhTranslator *t;
    const RhFittedSteps *fitted;
    RhCrossValidationGroups by;
    GHashTable *known; /* const RhCaseRow* -> Known*, owned */
    GPtrArray *groups; /* Group*, owned */
    const Group *now;  /* that the translator is set to; NULL: to none */
    int32_t refitted_count, untold_count, unrepeated_count;
};

static void group_free(void *data)
{
    Group *group = data;
    g_ptr_array_unref(group->rows);
    rh_step_model_free(group->constants);
    g_free(group);
}

static Group *group_named(const RhCasesCross *x, const char *name)
{
    for (guint i = 0; i < x->groups->len; i++)
        if (((Group *)x->groups->pdata[i])->name == name)
            return x->groups->pdata[i];
    return NULL;
}

static const Known *known_of(const RhCasesCross *x, const RhCaseRow *row)
{
    return g_hash_table_lookup(x->known, row);
}

/* --- naming groups --- */

static const char *name_group(const RhCasesCross *x, const RhTranslated *t)
{
    RhCrossRun of = {.model = t->c.model->name,
                     .device = t->c.platform->device->name,
                     .software = t->c.stack->name,
                     .source = t->table};
    return rh_cross_group_name(x->by, &of);
}

static void know_row(RhCasesCross *x, const RhCaseRow *row)
{
    RhTranslated t;
    Known *known = g_new0(Known, 1);
    g_autofree char *why = rh_translate(x->t, row, &t);
    known->row = row;
    g_hash_table_insert(x->known, (void *)row, known);
    if (!why) {
        known->group = name_group(x, &t);
        known->device = rh_intern(t.c.platform->device->name);
        known->params = (double)rh_model_params(t.c.model);
        known->steps = t.steps;
        known->fitted = t.fitted;
        known->step = rh_fitted_step(x->fitted, &t);
        Group *group = group_named(x, known->group);
        if (!group) {
            group = g_new0(Group, 1);
            *group = (Group){.name = known->group, .rows = g_ptr_array_new()};
            g_ptr_array_add(x->groups, group);
        }
        g_ptr_array_add(group->rows, (void *)row);
    }
    rh_translated_clear(&t);
}

/* --- constants of a group --- */

typedef struct {
    const RhCasesCross *x;
    const Group *group;
} Outside;

/* Does a row of the fit belong to the group, by one of its rows? */
static bool belongs(const RhMeasuredStep *step, const Known *row, RhCrossValidationGroups by)
{
    bool device = g_strcmp0(step->platform->device->name, row->device) == 0;
    bool source = g_strcmp0(step->source, row->steps) == 0;
    double params = (double)rh_model_params(step->model);
    switch (by) {
    case RH_CROSS_DEVICE:
        return device;
    case RH_CROSS_SOURCE:
        return source;
    case RH_CROSS_MODEL_GPU:
        return device && fabs(params / row->params - 1) < SAME_PARAMS;
    case RH_CROSS_ENGINE_VERSION:
    case RH_CROSS_NONE:
    case RH_CROSS_LAST:
        break;
    }
    return step == row->step;
}

static bool is_outside(const RhMeasuredStep *step, const void *which)
{
    const Outside *o = which;
    for (guint i = 0; i < o->group->rows->len; i++)
        if (belongs(step, known_of(o->x, o->group->rows->pdata[i]), o->x->by))
            return false;
    return true;
}

static bool any_inside(const RhCasesCross *x, const Group *group)
{
    Outside o = {x, group};
    for (guint i = 0; x->fitted->steps && i < x->fitted->steps->rows->len; i++) {
        const RhMeasuredStep *step = &g_array_index(x->fitted->steps->rows, RhMeasuredStep, i);
        if (rh_step_takes_part(step) && !is_outside(step, &o))
            return true;
    }
    return false;
}

static void fit_groups(RhCasesCross *x, const RhCasesOptions *options, RhDeadline deadline)
{
    g_autoptr(RhStepsHeldOut) without = NULL;
    for (guint i = 0; i < x->groups->len; i++) {
        Group *group = x->groups->pdata[i];
        Outside o = {x, group};
        if (options->progress)
            options->progress("fitting constants without a group", (int32_t)i,
                              (int32_t)x->groups->len, options->user);
        if (!any_inside(x, group))
            continue;
        if (!without)
            without = rh_steps_held_out_new(x->fitted->steps, FITTED_STACK, deadline, NULL);
        group->constants = without ? rh_steps_held_out(without, is_outside, &o) : NULL;
        group->untold = !group->constants;
        x->refitted_count += group->constants != NULL;
    }
}

RhCasesCross *rh_cases_cross_new(const RhCaseTable *table, RhTranslator *t,
                                 const RhFittedSteps *fitted, const RhCasesOptions *options,
                                 RhDeadline deadline)
{
    RhCasesCross *x = g_new0(RhCasesCross, 1);
    RhCaseFacts *facts = rh_translator_facts(t);
    x->t = t;
    x->fitted = fitted;
    x->by = options->cross;
    x->known = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    x->groups = g_ptr_array_new_with_free_func(group_free);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        if (rh_case_wanted(row, options->only))
            know_row(x, row);
    }
    rh_case_facts_withhold(facts, NULL);
    fit_groups(x, options, deadline);
    return x;
}

/* --- rows --- */

const char *rh_cases_cross_group(const RhCasesCross *x, const RhCaseRow *row)
{
    return known_of(x, row)->group;
}

/* Sets the translator to what a group allows. */
static void enter(RhCasesCross *x, const Group *group)
{
    if (group == x->now)
        return;
    x->now = group;
    rh_case_facts_withhold(rh_translator_facts(x->t), group ? group->rows : NULL);
    rh_translator_use(x->t, group ? group->constants : NULL, group ? group->name : "");
}

/* Was a constant fitted elsewhere to rows of the group on this device? */
static bool is_fitted_elsewhere(const RhCasesCross *x, const Group *group, const char *device)
{
    for (guint i = 0; i < group->rows->len; i++) {
        const Known *known = known_of(x, group->rows->pdata[i]);
        if (!known->fitted || known->device != device)
            continue;
        RhCaseValues said = rh_case_facts_say(rh_translator_facts(x->t), known->row);
        bool fitted = said.says[RH_CASE_SAYS_FITTED] != NULL; /* its rule may be withheld */
        rh_case_said_clear(&said);
        if (fitted)
            return true;
    }
    return false;
}

char *rh_cases_cross_translate(RhCasesCross *x, const RhCaseRow *row, RhTranslated *out)
{
    Known *known = g_hash_table_lookup(x->known, row);
    const Group *group = known->group ? group_named(x, known->group) : NULL;
    enter(x, group);
    char *why = rh_translate(x->t, row, out);
    bool elsewhere = group && !why && is_fitted_elsewhere(x, group, known->device);
    bool untold = group && !why && !elsewhere && group->untold;
    x->unrepeated_count += elsewhere;
    x->untold_count += untold;
    if (elsewhere || untold)
        known->group = NULL;
    return why;
}

void rh_cases_cross_note(const RhCasesCross *x, RhEvaluation *evaluation)
{
    g_ptr_array_add(evaluation->notes,
                    g_strdup_printf("%u groups by %s; for %d of them the stack's constants and the "
                                    "clocks were fitted without the group; %d runs of groups that "
                                    "another constant was fitted to, and %d that the others do not "
                                    "tell, are predicted as without --cross and do not count",
                                    x->groups->len, rh_cross_by_name(x->by), x->refitted_count,
                                    x->unrepeated_count, x->untold_count));
}

void rh_cases_cross_free(RhCasesCross *x)
{
    if (!x)
        return;
    g_hash_table_destroy(x->known);
    g_ptr_array_unref(x->groups);
    g_free(x);
}
