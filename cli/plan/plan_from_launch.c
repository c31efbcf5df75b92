#include "cli/plan/plan_from_launch.h"

#include <stdio.h>

#include "base/error.h"
#include "cli/inputs/launch_input.h"
#include "cli/output/terminal.h"
#include "report/format.h"
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"

#define GAIN_LEAST 0.01 /* of the step: less is no reason to change a launch */

static void print_row(const char *name, const RhRehearsal *r, double than_s)
{
    g_autofree char *title = rh_layout_title(&r->layout);
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *change =
        than_s > 0 ? g_strdup_printf(" (%+.1f %%)", 100 * (r->step_time_s / than_s - 1))
                   : g_strdup("");
    g_autofree char *line =
        g_strdup_printf("%s: %s/step%s, %.1f of %.1f GiB%s: %s", name, step, change,
                        rh_text_gib(r->memory.peak_bytes), rh_text_gib(r->memory_capacity_bytes),
                        r->fits ? "" : ", does not fit", title);
    g_autoptr(GString) out = g_string_new(NULL);
    rh_text_wrap(out, line, 2, 79);
    fputs(out->str, stdout);
}

/* Knobs that differ, as "tp 4 -> 2", where no launch is written for the framework. */
static GPtrArray *changed_knobs(const RhLayout *from, const RhLayout *to)
{
    GPtrArray *changes = g_ptr_array_new_with_free_func(g_free);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *old = rh_knob_text(knob, from);
        g_autofree char *new = rh_knob_text(knob, to);
        if (g_strcmp0(old, new) != 0)
            g_ptr_array_add(changes, g_strdup_printf("%s %s -> %s", knob->key, old ? old : "-",
                                                     new ? new : "-"));
    }
    return changes;
}

static GPtrArray *changes_between(const RhLaunchFile *f, const RhProblem *c, const RhLayout *from,
                                  const RhLayout *to)
{
    const char *const *known = rh_launch_frameworks();
    bool written = g_strv_contains(known, f->framework);
    g_autoptr(RhLaunch) a = written ? rh_launch_new(f->framework, c, from, NULL) : NULL;
    g_autoptr(RhLaunch) b = written ? rh_launch_new(f->framework, c, to, NULL) : NULL;
    return a && b ? rh_launch_changes(a, b) : changed_knobs(from, to);
}

static void print_changes(const GPtrArray *changes)
{
    for (guint i = 0; changes && i < changes->len; i++)
        printf("  %s\n", (const char *)g_ptr_array_index(changes, i));
}

/* Rehearses a layout with one knob of another one; NULL: they agree in it, or no run is like this. */
static RhRehearsal *with_knob_of(const RhKnob *knob, const RhProblem *c, const RhLayout *from,
                                 const RhLayout *to, const RhEngineOptions *options)
{
    g_autofree char *old = rh_knob_text(knob, from), *new = rh_knob_text(knob, to);
    if (!new || g_strcmp0(old, new) == 0 || knob == RH_KNOB_OF(dp))
        return NULL;
    g_autofree char *word = g_strdup_printf("%s=%s", knob->key, new);
    RhLayout l = *from;
    if (!rh_train_change(c, &l, word, NULL))
        return NULL;
    rh_train_complete(c, &l);
    l = rh_train_canonical(c, &l);
    /* a layout that cannot be performed is no change to propose */
    return rh_train_legal(c, &l, NULL) ? rh_rehearse(c, &l, options, NULL, NULL, NULL) : NULL;
}

/* The quickest layout that fits with one knob of the best; NULL: the best differs in one alone, or
 * none is quicker by GAIN_LEAST. */
static RhRehearsal *single_change(const RhProblem *c, const RhRehearsal *theirs,
                                  const RhRehearsal *best, const RhEngineOptions *options)
{
    g_autoptr(RhRehearsal) found = NULL;
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autoptr(RhRehearsal) r = with_knob_of(knob, c, &theirs->layout, &best->layout, options);
        bool gains = r && r->fits &&
                     (!theirs->fits || r->step_time_s < (1 - GAIN_LEAST) * theirs->step_time_s);
        if (gains && (!found || r->step_time_s < found->step_time_s)) {
            rh_rehearsal_free(found);
            found = g_steal_pointer(&r);
        }
    }
    return found && !rh_layout_equal(&found->layout, &best->layout) ? g_steal_pointer(&found)
                                                                    : NULL;
}

RhLaunchedBeside *rh_launched_beside_new(const RhArguments *a, const RhInputs *in,
                                         const RhPlan *plan)
{
    if (!a->launch_file || !a->strategy)
        return NULL;
    g_autoptr(GError) why = NULL;
    RhLayout layout;
    RhEngineOptions options = {.seed = (uint64_t)a->seed};
    bool legal = rh_inputs_layout(in, a->strategy, &layout, &why);
    RhRehearsal *theirs = legal ? rh_rehearse(&in->c, &layout, &options, NULL, NULL, &why) : NULL;
    if (!theirs) {
        g_autofree char *hint =
            g_strdup_printf("warning: the layout of %s: %s", a->launch, why->message);
        rh_terminal_hint(hint);
        return NULL;
    }
    RhLaunchedBeside *b = g_new0(RhLaunchedBeside, 1);
    b->theirs = theirs;
    if (plan->entries->len == 0)
        return b;
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    b->one = single_change(&in->c, theirs, best, &options);
    if (b->one)
        b->one_changes = changes_between(a->launch_file, &in->c, &layout, &b->one->layout);
    if (!rh_layout_equal(&layout, &best->layout))
        b->best_changes = changes_between(a->launch_file, &in->c, &layout, &best->layout);
    return b;
}

void rh_launched_print(const RhLaunchedBeside *b, const RhPlan *plan)
{
    if (!b)
        return;
    putchar('\n');
    print_row("as launched", b->theirs, 0);
    if (plan->entries->len == 0)
        return;
    if (b->one) {
        print_row("one change", b->one, b->theirs->step_time_s);
        print_changes(b->one_changes);
    }
    print_row("best (#1)", g_ptr_array_index(plan->entries, 0), b->theirs->step_time_s);
    print_changes(b->best_changes);
}
