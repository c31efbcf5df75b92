#include "cli/plan/plan_any_stack.h"

#include <string.h>

#include "base/error.h"
#include "cli/output/terminal.h"
#include "report/pictures/pareto.h"
#include "strategies/launch/launch.h"

typedef struct {
    RhInputs *in;
    RhPlan *plan;
    GArray *seen;
} Answer;

static void answer_clear(Answer *a)
{
    g_clear_pointer(&a->plan, rh_plan_free);
    g_clear_pointer(&a->in, rh_inputs_free);
    g_clear_pointer(&a->seen, g_array_unref);
}

static double cost_of(const RhPlanOther *o, RhObjective objective)
{
    return objective == RH_OBJECTIVE_MEMORY   ? o->peak_bytes
           : objective == RH_OBJECTIVE_ENERGY ? o->energy_j
                                              : o->step_time_s;
}

/* Its first row that the framework starts, or why there is none. */
static RhPlanOther other_of(const Answer *a)
{
    RhPlanOther o = {a->in->c.stack->name, a->in->c.stack->framework, NULL, {0}, 0, 0, 0, 0};
    for (guint i = 0; i < a->plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(a->plan->entries, i);
        g_autoptr(GError) why = NULL;
        g_autoptr(RhLaunch) launch = rh_launch_new(o.framework, &a->in->c, &r->layout, &why);
        if (launch) {
            o.layout = r->layout;
            o.step_time_s = r->step_time_s;
            o.mfu_frac = r->mfu_frac;
            o.peak_bytes = r->memory.peak_bytes;
            o.energy_j = r->energy.total_j;
            g_clear_pointer(&o.refused, g_free);
            return o;
        }
        if (!o.refused)
            o.refused = g_strndup(why->message, strcspn(why->message, "\n"));
    }
    if (!o.refused)
        o.refused = g_strdup(a->plan->timed_out ? "no answer in the time" : "no layout fits");
    return o;
}

static bool ask(const RhArguments *arguments, const RhPlanOptions *options, const char *stack,
                Answer *out, GError **error)
{
    RhArguments a = *arguments;
    RhPlanOptions o = *options;
    a.stack = stack;
    out->seen = g_array_new(FALSE, FALSE, sizeof(RhParetoPoint));
    o.user = out->seen;
    o.outside = false; /* of the best stack's alone, when that is known */
    out->in = rh_inputs_of(&a, error);
    out->plan = out->in ? rh_plan(&out->in->c, &o, error) : NULL;
    return out->plan != NULL;
}

/* Returns the share of the remaining time for each of the remaining stacks. */
static double share_s(const RhArguments *a, int32_t stacks_left)
{
    return rh_terminal_left_s(a->timeout_s) / MAX(stacks_left, 1);
}

/* Returns whether a stack is of a supported framework, or cannot be read, which is reported later.
 */
static bool is_asked(const char *name)
{
    const RhStack *stack = rh_stack_by_name(name, NULL);
    return !stack ||
           (stack->framework && g_strv_contains(rh_launch_frameworks(), stack->framework));
}

/* Keeps the better in *best, and lists what each came to, the best first. */
static void add_answer(Answer *best, Answer *other, GArray *others, RhObjective objective)
{
    RhPlanOther o = other_of(other);
    guint at = 0;
    while (at < others->len) {
        const RhPlanOther *there = &g_array_index(others, RhPlanOther, at);
        if (!o.refused && (there->refused || cost_of(&o, objective) < cost_of(there, objective)))
            break;
        at++;
    }
    g_array_insert_val(others, at, o);
    if (at == 0) {
        answer_clear(best);
        *best = *other;
        *other = (Answer){0};
    }
    answer_clear(other);
}

static void other_clear(void *other)
{
    g_free(((RhPlanOther *)other)->refused);
}

static RhPlanOther refused(const RhStack *stack, const char *name, const GError *why)
{
    return (RhPlanOther){.stack = name,
                         .framework = stack->framework,
                         .refused = g_strndup(why->message, strcspn(why->message, "\n"))};
}

/* Every stack in its share of the time. False: one could not be asked, for another reason than that it runs no
 * such question; *first: why the first of those is none. */
static bool ask_all(const RhArguments *arguments, const RhPlanOptions *options, Answer *best,
                    GArray *others, GError **first, GError **error)
{
    int32_t left = 0;
    for (const char *const *name = rh_stack_names(); *name; name++)
        left += is_asked(*name);
    for (const char *const *name = rh_stack_names(); *name; name++) {
        Answer a = {0};
        g_autoptr(GError) why = NULL;
        const RhStack *stack = rh_stack_by_name(*name, &why);
        if (!is_asked(*name))
            continue;
        RhPlanOptions o = *options;
        o.timeout_s = share_s(arguments, left--);
        if (stack && ask(arguments, &o, *name, &a, &why)) {
            add_answer(best, &a, others, options->objective);
            continue;
        }
        answer_clear(&a);
        if (!g_error_matches(why, RH_ERROR, RH_ERROR_USAGE)) {
            g_propagate_error(error, g_steal_pointer(&why));
            return false;
        }
        RhPlanOther other = refused(stack, *name, why);
        g_array_append_val(others, other);
        if (!*first)
            *first = g_steal_pointer(&why);
    }
    return true;
}

bool rh_plan_any(const RhArguments *arguments, const RhPlanOptions *options, GArray *seen,
                 RhInputs **in, RhPlan **plan, GError **error)
{
    g_autoptr(GArray) others = g_array_new(FALSE, TRUE, sizeof(RhPlanOther));
    g_array_set_clear_func(others, other_clear);
    Answer best = {0};
    g_autoptr(GError) first = NULL;
    if (!ask_all(arguments, options, &best, others, &first, error)) {
        answer_clear(&best);
        return false;
    }
    if (!best.plan) {
        g_propagate_error(error, g_steal_pointer(&first));
        return false;
    }
    best.plan->others = g_steal_pointer(&others);
    g_array_append_vals(seen, best.seen->data, best.seen->len);
    *in = g_steal_pointer(&best.in);
    *plan = g_steal_pointer(&best.plan);
    answer_clear(&best);
    return true;
}
