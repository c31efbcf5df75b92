#include "cli/idle_words.h"

#include <string.h>

#include "cli/inputs_set.h"
#include "cli/terminal.h"

/* NULL: no answer, which differs from any. */
static bool same(const GArray *a, const GArray *b)
{
    if (!a || !b || a->len != b->len)
        return false;
    return a->len == 0 ||
           memcmp(a->data, b->data, a->len * g_array_get_element_size((GArray *)a)) == 0;
}

/* As the user wrote it. */
static char *word_of(const RhArguments *a, const char *set)
{
    if (a->profile && g_str_has_prefix(set, "profile="))
        return g_strdup_printf("--profile %s", a->profile);
    for (guint i = 0; i < a->sets->len; i++)
        if (strcmp(g_ptr_array_index(a->sets, i), set) == 0)
            return g_strdup_printf("--set %s", set);
    return g_strdup(set);
}

/* A warning named it when the inputs were loaded. */
static bool was_told(const RhInputs *in, const char *set)
{
    g_autofree char *key = g_strndup(set, strcspn(set, "="));
    return rh_inputs_ignored(in, key) != NULL;
}

/* Is every figure what it is without that setting? What was worked out with it is kept in `with`, of both kinds
 * of figures. */
static bool is_idle(const RhInputs *in, int set, RhIdleFigures figures, const void *user,
                    GArray *with[2])
{
    g_autoptr(RhInputs) less = rh_inputs_without(in, set, NULL);
    bool idle = less != NULL;
    for (int performed = 0; performed < 2 && idle; performed++) {
        if (!with[performed])
            with[performed] = figures(in, !performed, user);
        g_autoptr(GArray) without = figures(less, !performed, user);
        idle = same(with[performed], without);
    }
    return idle;
}

void rh_idle_words_tell(const RhArguments *a, const RhInputs *in, RhIdleFigures figures,
                        const void *user)
{
    GArray *with[2] = {NULL};
    for (int i = 0; in->sets[i]; i++) {
        if (was_told(in, in->sets[i]) || !is_idle(in, i, figures, user, with))
            continue;
        g_autofree char *word = word_of(a, in->sets[i]);
        g_autofree char *line = g_strdup_printf(
            "note: %s changes no number here: time, memory, energy and cost are the same without it",
            word);
        rh_terminal_hint(line);
    }
    for (int i = 0; i < 2; i++)
        g_clear_pointer(&with[i], g_array_unref);
}

static void add_figures(GArray *out, const RhRehearsal *r)
{
    const double figures[] = {
        r->step_time_s,    r->bound_closed_s,    r->bound_segment_s,       r->memory.peak_bytes,
        r->energy.total_j, r->cost_usd,          r->memory_capacity_bytes, r->mfu_frac,
        r->hfu_frac,       r->memory.host_bytes, r->tokens_per_s_per_gpu};
    g_array_append_vals(out, figures, G_N_ELEMENTS(figures));
}

GArray *rh_idle_words_steps(const RhInputs *in, bool cheap, const void *user)
{
    const RhIdleSteps *steps = user;
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(double));
    guint count = cheap ? steps->count : steps->options ? MIN(steps->count, 1) : 0;
    for (guint i = 0; i < count; i++) {
        const RhLayout *layout = &steps->layouts[i];
        if (in->c.job.global_batch < 1 || !rh_train_legal(&in->c, layout, NULL))
            return NULL;
        g_autoptr(RhRehearsal) r =
            cheap ? rh_rehearse_quick(&in->c, layout)
                  : rh_rehearse(&in->c, layout, steps->options, NULL, NULL, NULL);
        if (!r)
            return NULL;
        add_figures(out, r);
    }
    return g_steal_pointer(&out);
}
