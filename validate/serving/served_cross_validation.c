#include "validate/serving/served_cross_validation.h"

#include <math.h>
#include <string.h>

#include "validate/serving/served_constants.h"
#include "validate/serving/served_refit.h"

struct RhServedCross {
    RhServedTranslator *t; /* borrowed, as all but shipped, groups, and refits */
    RhCaseFacts *facts;
    const RhServedSetups *setups;
    const RhCasesOptions *options;
    RhDeadline deadline;
    GArray *runs;
    GArray *shipped;   /* RhServedRun: the runs by all rules */
    GPtrArray *groups; /* const char*, interned, in order of appearance */
    RhServedRefits *refits;
    int32_t withheld_count, kept_count;
};

static RhServedRun *run_at(const GArray *runs, guint i)
{
    return &g_array_index(runs, RhServedRun, i);
}

/* --- groups --- */

static const char *group_of(const RhServedCross *x, const RhServedRun *run)
{
    if (run->why)
        return NULL;
    RhCrossRun of = {.model = run->c.serving.model->name,
                     .device = run->c.serving.platform->device->name,
                     .software = run->c.serving.server->name,
                     .source = run->row->text[RH_CASE_SOURCE]};
    return rh_cross_group_name(x->options->cross, &of);
}

/* Names groups by what is known without rules that were chosen on rows, which hide some. */
static void name_groups(RhServedCross *x)
{
    for (guint k = 0; k < rh_case_facts_count(x->facts); k++)
        rh_case_facts_set_withheld(x->facts, k, rh_case_facts_chosen(x->facts, k));
    for (guint i = 0; i < x->runs->len; i++) {
        RhServedRun *run = run_at(x->runs, i);
        rh_served_run_translate(x->t, x->setups, run);
        run->cross_group = run_at(x->shipped, i)->cross_group = group_of(x, run);
        if (run->cross_group && !g_ptr_array_find(x->groups, run->cross_group, NULL))
            g_ptr_array_add(x->groups, (void *)run->cross_group);
    }
    rh_case_facts_withhold(x->facts, NULL);
}

/* Rows of a group (const RhCaseRow*). */
static GPtrArray *rows_of(const RhServedCross *x, const char *group)
{
    GPtrArray *rows = g_ptr_array_new();
    for (guint i = 0; i < x->runs->len; i++)
        if (run_at(x->runs, i)->cross_group == group)
            g_ptr_array_add(rows, (void *)run_at(x->runs, i)->row);
    return rows;
}

/* --- which rules to keep --- */

static double loss_of(const RhServedRun *run)
{
    const double measured[RH_SERVED_METRICS] = {[RH_SERVED_TPOT] = run->row->tpot_s,
                                                [RH_SERVED_TTFT] = run->row->ttft_s,
                                                [RH_SERVED_RATE] = run->row->tokens_per_s},
                 predicted[RH_SERVED_METRICS] = {[RH_SERVED_TPOT] = run->p.tpot_s,
                                                 [RH_SERVED_TTFT] = run->p.ttft_s,
                                                 [RH_SERVED_RATE] = run->p.tokens_per_s};
    return rh_served_row_loss(measured, predicted);
}

/* A chosen rule beside the lack of it: the runs that it applies to. */
typedef struct {
    GArray *with, *without; /* RhServedRun; of equal length and order */
    bool predicted;         /* with the constants of the servers' files */
} Trial;

static void trial_clear(void *data)
{
    Trial *trial = data;
    g_array_unref(trial->with);
    g_array_unref(trial->without);
}

static GArray *new_runs(void)
{
    GArray *runs = g_array_new(FALSE, TRUE, sizeof(RhServedRun));
    g_array_set_clear_func(runs, rh_served_run_clear);
    return runs;
}

/* Translates the runs that rule k applies to, with it and without it. */
static Trial try_rule(RhServedCross *x, guint k)
{
    Trial trial = {new_runs(), new_runs(), false};
    for (guint i = 0; rh_case_facts_chosen(x->facts, k) && i < x->runs->len; i++) {
        RhServedRun with = {.row = run_at(x->runs, i)->row,
                            .cross_group = run_at(x->runs, i)->cross_group},
                    without = with;
        if (!with.cross_group || !rh_case_facts_applies(x->facts, k, with.row))
            continue;
        rh_served_run_translate(x->t, x->setups, &with);
        rh_case_facts_set_withheld(x->facts, k, true);
        rh_served_run_translate(x->t, x->setups, &without);
        rh_case_facts_set_withheld(x->facts, k, false);
        g_array_append_val(trial.with, with);
        g_array_append_val(trial.without, without);
    }
    return trial;
}

/* Asks for the servers of a trial's runs without a group. */
static void need_refits(RhServedCross *x, const GArray *runs, const char *group)
{
    for (guint i = 0; i < runs->len; i++)
        if (!run_at(runs, i)->why && run_at(runs, i)->cross_group != group)
            rh_served_refits_need(x->refits, group, run_at(runs, i)->c.serving.server);
}

/* Were constants of a server of these runs fitted to the group? */
static bool knows_group(const RhServedCross *x, const GArray *runs, const char *group)
{
    for (guint i = 0; i < runs->len; i++)
        if (!run_at(runs, i)->why &&
            rh_served_refits_changes(x->refits, group, run_at(runs, i)->c.serving.server))
            return true;
    return false;
}

/* Returns the runs predicted with servers that do not know the group. Caller unrefs. */
static GArray *predict_without(const RhServedCross *x, const GArray *runs, const char *group)
{
    GArray *own = new_runs();
    for (guint i = 0; i < runs->len; i++) {
        RhServedRun run = *run_at(runs, i);
        run.c.stands_in = NULL;
        run.why = run.why                    ? g_strdup(run.why)
                  : run.cross_group == group ? g_strdup("it is of the group")
                                             : rh_served_refits_place(x->refits, group, &run.c);
        g_array_append_val(own, run);
    }
    rh_served_runs_predict(own, x->options, x->deadline);
    return own;
}

/* Sum over the groups other than this one of the mean loss that the rule saves. */
static double gain_of(const RhServedCross *x, const GArray *with, const GArray *without,
                      const char *group)
{
    double gain = 0;
    for (guint f = 0; f < x->groups->len; f++) {
        const char *other = g_ptr_array_index(x->groups, f);
        double sum = 0;
        int32_t count = 0;
        for (guint i = 0; other != group && i < with->len; i++) {
            const RhServedRun *a = run_at(with, i), *b = run_at(without, i);
            if (a->cross_group != other || a->why || b->why)
                continue;
            sum += loss_of(b) - loss_of(a);
            count++;
        }
        gain += count > 0 ? sum / count : 0;
    }
    return gain;
}

/* Does the rule lessen the mean loss of the groups other than this one? No group: it does not. */
static bool helps_others(const RhServedCross *x, Trial *trial, const char *group)
{
    if (knows_group(x, trial->with, group) || knows_group(x, trial->without, group)) {
        g_autoptr(GArray) with = predict_without(x, trial->with, group);
        g_autoptr(GArray) without = predict_without(x, trial->without, group);
        return gain_of(x, with, without, group) > 0;
    }
    if (!trial->predicted) {
        rh_served_runs_predict(trial->with, x->options, x->deadline);
        rh_served_runs_predict(trial->without, x->options, x->deadline);
        trial->predicted = true;
    }
    return gain_of(x, trial->with, trial->without, group) > 0;
}

static void translate_group(RhServedCross *x, const GArray *trials, const char *group)
{
    g_autoptr(GPtrArray) rows = rows_of(x, group);
    rh_case_facts_withhold(x->facts, rows);
    for (guint k = 0; k < rh_case_facts_count(x->facts); k++) {
        if (!rh_case_facts_withheld(x->facts, k))
            continue;
        bool keep = helps_others(x, &g_array_index(trials, Trial, k), group);
        rh_case_facts_set_withheld(x->facts, k, !keep);
        x->kept_count += keep;
        x->withheld_count += !keep;
    }
    for (guint i = 0; i < x->runs->len; i++)
        if (run_at(x->runs, i)->cross_group == group)
            rh_served_run_translate(x->t, x->setups, run_at(x->runs, i));
    rh_case_facts_withhold(x->facts, NULL);
}

/* Asks for the servers that trials of a group's rules take. */
static void need_for_trials(RhServedCross *x, const GArray *trials, const char *group)
{
    g_autoptr(GPtrArray) rows = rows_of(x, group);
    rh_case_facts_withhold(x->facts, rows);
    for (guint k = 0; k < trials->len; k++) {
        if (!rh_case_facts_withheld(x->facts, k))
            continue;
        need_refits(x, g_array_index(trials, Trial, k).with, group);
        need_refits(x, g_array_index(trials, Trial, k).without, group);
    }
    rh_case_facts_withhold(x->facts, NULL);
}

static void translate_groups(RhServedCross *x)
{
    g_autoptr(GArray) trials = g_array_new(FALSE, FALSE, sizeof(Trial));
    g_array_set_clear_func(trials, trial_clear);
    for (guint k = 0; k < rh_case_facts_count(x->facts); k++) {
        Trial trial = try_rule(x, k);
        g_array_append_val(trials, trial);
    }
    for (guint f = 0; f < x->groups->len; f++)
        need_for_trials(x, trials, g_ptr_array_index(x->groups, f));
    rh_served_refits_perform(x->refits);
    for (guint f = 0; f < x->groups->len; f++)
        translate_group(x, trials, g_ptr_array_index(x->groups, f));
}

/* --- constants --- */

/* Gives each run of a group that constants were fitted to the server without it. */
static void place_refits(RhServedCross *x)
{
    for (guint i = 0; i < x->runs->len; i++)
        if (run_at(x->runs, i)->cross_group && !run_at(x->runs, i)->why)
            rh_served_refits_need(x->refits, run_at(x->runs, i)->cross_group,
                                  run_at(x->runs, i)->c.serving.server);
    rh_served_refits_perform(x->refits);
    for (guint i = 0; i < x->runs->len; i++) {
        RhServedRun *run = run_at(x->runs, i);
        if (run->cross_group && !run->why)
            run->why = rh_served_refits_place(x->refits, run->cross_group, &run->c);
    }
}

/* --- all --- */

RhServedCross *rh_served_cross(GArray *runs, RhServedTranslator *t, const RhServedSetups *setups,
                               const RhCasesOptions *options, RhDeadline deadline)
{
    RhServedCross *x = g_new0(RhServedCross, 1);
    *x = (RhServedCross){.t = t,
                         .facts = rh_served_translator_facts(t),
                         .setups = setups,
                         .options = options,
                         .deadline = deadline,
                         .runs = runs,
                         .shipped = new_runs(),
                         .groups = g_ptr_array_new()};
    for (guint i = 0; i < runs->len; i++) {
        RhServedRun run = {.row = run_at(runs, i)->row};
        rh_served_run_translate(t, setups, &run);
        g_array_append_val(x->shipped, run);
    }
    name_groups(x);
    x->refits = rh_served_refits_new(x->shipped, x->groups, options, deadline);
    translate_groups(x);
    place_refits(x);
    return x;
}

void rh_served_cross_note(const RhServedCross *x, RhEvaluation *evaluation)
{
    int32_t told, untold;
    rh_served_refits_count(x->refits, &told, &untold);
    g_ptr_array_add(
        evaluation->notes,
        g_strdup_printf("%u groups by %s; of rules chosen on a group %d were withheld "
                        "from it, and %d kept because they help other groups; constants "
                        "of %d servers were fitted without the group, %d could not be",
                        x->groups->len, rh_cross_by_name(x->options->cross), x->withheld_count,
                        x->kept_count, told, untold));
}

void rh_served_cross_free(RhServedCross *x)
{
    if (!x)
        return;
    g_array_unref(x->shipped);
    g_ptr_array_unref(x->groups);
    rh_served_refits_free(x->refits);
    g_free(x);
}
