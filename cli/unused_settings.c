#include "cli/unused_settings.h"

#include <string.h>

#include "cli/inputs/inputs_settings.h"
#include "cli/output/terminal.h"

/* NULL: no answer, which differs from any. */
static bool same(const GArray *a, const GArray *b)
{
    if (!a || !b || a->len != b->len)
        return false;
    return a->len == 0 ||
           memcmp(a->data, b->data, a->len * g_array_get_element_size((GArray *)a)) == 0;
}

/* Returns a setting as the user typed it. */
static char *word_of(const RhArguments *a, const char *set)
{
    if (a->profile && g_str_has_prefix(set, "profile="))
        return g_strdup_printf("--profile %s", a->profile);
    for (guint i = 0; i < a->sets->len; i++)
        if (strcmp(g_ptr_array_index(a->sets, i), set) == 0)
            return g_strdup_printf("--set %s", set);
    return g_strdup(set);
}

/* A command may set more than it was told to, as `capacity` does the nodes of a size. */
static bool is_users(const RhArguments *a, const char *set)
{
    return a->scenarios->len > 0 || (a->profile && g_str_has_prefix(set, "profile=")) ||
           g_ptr_array_find_with_equal_func(a->sets, set, g_str_equal, NULL);
}

/* A warning named it when the inputs were loaded. */
static bool was_told(const RhInputs *in, const char *set)
{
    g_autofree char *key = g_strndup(set, strcspn(set, "="));
    return rh_inputs_ignored(in, key) != NULL;
}

/* Figures that were worked out with every setting, of both kinds, are kept. */
typedef struct {
    RhUnusedAnswer answer;
    GArray *with[2];
} Part;

static bool is_same(Part *part, const RhInputs *less, int performed, RhUnusedFigures figures)
{
    const RhUnusedAnswer *answer = &part->answer;
    if (!part->with[performed])
        part->with[performed] = figures(answer->inputs, !performed, answer->user);
    g_autoptr(GArray) without = figures(less, !performed, answer->user);
    return same(part->with[performed], without);
}

/* Is every figure what it is without that setting? What is cheap is asked of all parts first. */
static bool is_idle(Part *parts, guint count, int set, RhUnusedFigures figures)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)rh_inputs_free);
    for (guint i = 0; i < count; i++) {
        RhInputs *less = rh_inputs_without(parts[i].answer.inputs, set, NULL);
        if (!less)
            return false;
        g_ptr_array_add(all, less);
    }
    for (int performed = 0; performed < 2; performed++)
        for (guint i = 0; i < count; i++)
            if (!is_same(&parts[i], g_ptr_array_index(all, i), performed, figures))
                return false;
    return true;
}

static void print_unused(const RhArguments *a, const char *set)
{
    g_autofree char *word = word_of(a, set);
    g_autofree char *line = g_strdup_printf(
        "note: %s has no effect here: time, memory, energy and cost are the same without it", word);
    rh_terminal_hint(line);
}

static bool is_late(const RhArguments *a)
{
    return a->timeout_s > 0 && rh_terminal_left_s(a->timeout_s) <= 1e-3;
}

void rh_unused_settings_tell(const RhArguments *a, const RhUnusedAnswer *answers, guint count,
                             RhUnusedFigures figures)
{
    g_autofree Part *parts = g_new0(Part, count);
    for (guint i = 0; i < count; i++)
        parts[i].answer = answers[i];
    const RhInputs *first = count > 0 ? answers[0].inputs : NULL;
    for (int i = 0; first && first->sets[i] && !is_late(a); i++)
        if (is_users(a, first->sets[i]) && !was_told(first, first->sets[i]) &&
            is_idle(parts, count, i, figures))
            print_unused(a, first->sets[i]);
    for (guint i = 0; i < 2 * count; i++)
        g_clear_pointer(&parts[i / 2].with[i % 2], g_array_unref);
}

void rh_unused_settings_add_step(GArray *out, const RhRehearsal *r)
{
    const double figures[] = {
        r->step_time_s,    r->bound_closed_s,    r->bound_segment_s,       r->memory.peak_bytes,
        r->energy.total_j, r->cost_usd,          r->memory_capacity_bytes, r->mfu_frac,
        r->hfu_frac,       r->memory.host_bytes, r->tokens_per_s_per_gpu};
    g_array_append_vals(out, figures, G_N_ELEMENTS(figures));
}

GArray *rh_unused_settings_steps(const RhInputs *in, bool cheap, const void *user)
{
    const RhUnusedSteps *steps = user;
    RhProblem c = in->c;
    if (steps->global_batch > 0)
        c.job.global_batch = steps->global_batch;
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(double));
    guint count = cheap ? steps->count : steps->options ? MIN(steps->count, 1) : 0;
    for (guint i = 0; i < count; i++) {
        const RhLayout *layout = &steps->layouts[i];
        if (c.job.global_batch < 1 || !rh_train_legal(&c, layout, NULL))
            return NULL;
        g_autoptr(RhRehearsal) r = cheap
                                       ? rh_rehearse_quick(&c, layout)
                                       : rh_rehearse(&c, layout, steps->options, NULL, NULL, NULL);
        if (!r)
            return NULL;
        rh_unused_settings_add_step(out, r);
    }
    return g_steal_pointer(&out);
}

static void add_spread(GArray *out, const RhServedSpread *spread)
{
    const double figures[] = {(double)spread->count, spread->mean.value, spread->p50.value,
                              spread->p90.value, spread->p99.value};
    g_array_append_vals(out, figures, G_N_ELEMENTS(figures));
}

void rh_unused_settings_add_outcome(GArray *out, const RhServiceMetrics *o)
{
    const double figures[] = {(double)o->completed_count,
                              (double)o->refused_count,
                              (double)o->unfinished_count,
                              (double)o->preempted_count,
                              (double)o->timed_out_count,
                              (double)o->lost_count,
                              (double)o->resent_count,
                              o->duration_s,
                              o->window_s,
                              o->sequences_mean,
                              o->tokens_per_s_per_gpu,
                              o->energy_j_per_token,
                              o->cost_usd_per_token,
                              o->energy_j_per_request,
                              o->cost_usd_per_request,
                              o->slo_met_frac};
    g_array_append_vals(out, figures, G_N_ELEMENTS(figures));
    for (int i = 0; i < RH_METRIC_LAST; i++)
        add_spread(out, &o->metrics[i]);
    for (int i = 0; i < RH_TTFT_LAST; i++)
        add_spread(out, &o->ttft_parts[i]);
}
