#include "strategies/search/memory_savers.h"

#include "strategies/knobs.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/rehearsals/run_metrics.h"

typedef struct {
    const RhProblem *c;
    const RhLayout *layout;
    RhBoundCache *cache; /* of c */
    double most_bytes;
    GArray *out;
} Search;

static RhMemorySaver relief_of(RhBoundCache *cache, const RhProblem *c, const RhLayout *layout,
                               char *change)
{
    return (RhMemorySaver){.change = change,
                           .layout = *layout,
                           .peak_bytes = rh_bound_memory(cache, layout).peak_bytes,
                           .segment_s = rh_segment_graph_s(cache, layout) * rh_straggler_factor(c)};
}

/* Sets the knob to another value, completing the layout. False where it is not legal or needs more
 * memory. */
static bool change_knob(const Search *s, const RhKnob *knob, int32_t value, RhMemorySaver *out)
{
    RhLayout l = *s->layout;
    g_autofree char *text = rh_knob_value_text(knob, value);
    g_autofree char *change = g_strdup_printf("%s=%s", knob->key, text);
    if (!rh_train_change(s->c, &l, change, NULL))
        return false;
    rh_train_complete(s->c, &l);
    if (!rh_train_legal(s->c, &l, NULL))
        return false;
    l = rh_train_canonical(s->c, &l);
    if (rh_bound_memory(s->cache, &l).peak_bytes > s->most_bytes)
        return false;
    *out = relief_of(s->cache, s->c, &l, g_steal_pointer(&change));
    return true;
}

/* Copies a finding, with its text, into one of two places. */
static void copy_saver(RhMemorySaver *place, const RhMemorySaver *found)
{
    g_free(place->change);
    *place = *found;
    place->change = g_strdup(found->change);
}

/* Best findings among one knob's values. */
typedef struct {
    RhMemorySaver quickest, least;
} Best;

static void try_value(const Search *s, const RhKnob *knob, int32_t value, Best *best)
{
    RhMemorySaver found;
    if (value == rh_knob_value(knob, s->layout) || !change_knob(s, knob, value, &found))
        return;
    if (!best->quickest.change || found.segment_s < best->quickest.segment_s)
        copy_saver(&best->quickest, &found);
    if (!best->least.change || found.peak_bytes < best->least.peak_bytes)
        copy_saver(&best->least, &found);
    g_free(found.change);
}

/* Tries the values that the search tries, the lowest one (a search of pipelines with chunks does
 * not try a single one, which belongs to another schedule), and those beyond the usual space. */
static void turn_knob(Search *s, const RhKnob *knob)
{
    Best best = {0};
    int32_t value = knob->low - 1;
    bool more = knob->next(knob, s->c, s->layout, &value);
    if (!more || value > knob->low)
        try_value(s, knob, knob->low, &best);
    for (; more; more = knob->next(knob, s->c, s->layout, &value))
        try_value(s, knob, value, &best);
    for (value = 0; knob->beyond && knob->beyond(knob, s->c, s->layout, &value);)
        try_value(s, knob, value, &best);
    if (best.quickest.change)
        g_array_append_val(s->out, best.quickest);
    if (best.least.change && strcmp(best.least.change, best.quickest.change) != 0)
        g_array_append_val(s->out, best.least);
    else
        g_free(best.least.change);
}

static void try_format(Search *s, const RhProblem *changed, const char *change)
{
    g_autoptr(RhBoundCache) cache = rh_bound_new(changed);
    RhMemorySaver found = relief_of(cache, changed, s->layout, NULL);
    if (found.peak_bytes > s->most_bytes)
        return;
    found.change = g_strdup(change);
    g_array_append_val(s->out, found);
}

static void try_formats(Search *s)
{
    static const char *const moments[] = {RH_ADAM_MOMENTS(RH_ADAM_MOMENTS_AS_WORD)};
    for (size_t i = 0; i < G_N_ELEMENTS(moments); i++) {
        RhProblem changed = *s->c;
        g_autofree char *change = g_strconcat("moments=", moments[i], NULL);
        changed.job.moments = rh_adam_moments_by_name(moments[i]);
        try_format(s, &changed, change);
    }
    RhProblem changed = *s->c;
    changed.job.gradient_bytes = 2;
    try_format(s, &changed, "gradients=bf16");
    changed = *s->c;
    changed.job.narrow_weights = true;
    if (!s->c->job.narrow_weights && rh_train_job_legal(&changed, NULL) &&
        rh_train_legal(&changed, s->layout, NULL))
        try_format(s, &changed, "weights=narrow");
}

static int by_peak(gconstpointer x, gconstpointer y)
{
    const RhMemorySaver *a = x, *b = y;
    return a->peak_bytes < b->peak_bytes   ? -1
           : a->peak_bytes > b->peak_bytes ? 1
                                           : strcmp(a->change, b->change);
}

void rh_memory_saver_clear(void *saver)
{
    g_free(((RhMemorySaver *)saver)->change);
}

GArray *rh_memory_savers_new(const RhProblem *c, const RhLayout *layout, double least_frac)
{
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    GArray *out = g_array_new(FALSE, TRUE, sizeof(RhMemorySaver));
    double peak_bytes = rh_bound_memory(cache, layout).peak_bytes;
    Search s = {c, layout, cache, (1 - least_frac) * peak_bytes, out};
    g_array_set_clear_func(out, rh_memory_saver_clear);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (knob->next)
            turn_knob(&s, knob);
    try_formats(&s);
    g_array_sort(out, by_peak);
    return out;
}
