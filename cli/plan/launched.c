#include "cli/plan/launched.h"

#include <stdio.h>

#include "base/error.h"
#include "cli/inputs/launch_input.h"
#include "cli/output/terminal.h"
#include "report/format.h"
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"

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

static void print_changes(const RhLaunchFile *f, const RhProblem *c, const RhLayout *from,
                          const RhLayout *to)
{
    g_autoptr(GPtrArray) changes = changes_between(f, c, from, to);
    for (guint i = 0; i < changes->len; i++)
        printf("  %s\n", (const char *)g_ptr_array_index(changes, i));
}

void rh_launched_print(const RhArguments *a, const RhInputs *in, const RhPlan *plan)
{
    if (!a->launch_file || !a->strategy || a->json)
        return;
    g_autoptr(GError) why = NULL;
    RhLayout layout;
    RhEngineOptions options = {.seed = (uint64_t)a->seed};
    bool legal = rh_inputs_layout(in, a->strategy, &layout, &why);
    g_autoptr(RhRehearsal) theirs =
        legal ? rh_rehearse(&in->c, &layout, &options, NULL, NULL, &why) : NULL;
    if (!theirs) {
        g_autofree char *hint =
            g_strdup_printf("warning: the layout of %s: %s", a->launch, why->message);
        rh_terminal_hint(hint);
        return;
    }
    putchar('\n');
    print_row("as launched", theirs, 0);
    if (plan->entries->len == 0)
        return;
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    print_row("best (#1)", best, theirs->step_time_s);
    if (!rh_layout_equal(&layout, &best->layout))
        print_changes(a->launch_file, &in->c, &layout, &best->layout);
}
