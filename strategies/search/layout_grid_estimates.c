#include "strategies/search/layout_grid_estimates.h"

#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/train/train.h"

static int32_t grid_size(const RhLayoutAxis *axes, int32_t axes_count)
{
    int32_t size = 1;
    for (int32_t i = 0; i < axes_count; i++)
        size *= (int32_t)g_strv_length((char **)axes[i].values);
    return size;
}

/* Returns the text of a combination: "tp2,pp1,...". Caller frees. */
static char *text_at(const RhLayoutAxis *axes, int32_t axes_count, int32_t at)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int32_t i = axes_count - 1; i >= 0; i--) {
        int32_t count = (int32_t)g_strv_length((char **)axes[i].values);
        g_autofree char *word = g_strconcat(axes[i].key, axes[i].values[at % count],
                                            i + 1 < axes_count ? "," : "", NULL);
        g_string_prepend(text, word);
        at /= count;
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static RhGridCell cell_of(const RhProblem *c, RhBoundCache *cache, const RhLayout *l, int32_t at)
{
    g_autoptr(RhRehearsal) r = rh_run_metrics_new(c, l);
    double bound_s = rh_segment_graph_s(cache, l);
    rh_run_metrics_bound(c, r, bound_s);
    return (RhGridCell){.at = at,
                        .step_s = r->step_time_s,
                        .compute_s = rh_run_metrics_kernels_s(c, l),
                        .slow_s = r->step_time_s - bound_s,
                        .mfu_frac = r->mfu_frac,
                        .peak_bytes = r->memory.peak_bytes,
                        .capacity_bytes = r->memory_capacity_bytes,
                        .fits = r->fits};
}

GArray *rh_layout_grid(const RhProblem *c, const RhLayoutAxis *axes, int32_t axes_count)
{
    GArray *cells = g_array_new(FALSE, FALSE, sizeof(RhGridCell));
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    int32_t size = grid_size(axes, axes_count);
    for (int32_t at = 0; at < size; at++) {
        RhLayout l = rh_train_default(c);
        g_autofree char *text = text_at(axes, axes_count, at);
        if (!rh_layout_parse(text, &l, NULL) || !rh_train_settle_layout(c, &l, NULL))
            continue;
        RhGridCell cell = cell_of(c, cache, &l, at);
        g_array_append_val(cells, cell);
    }
    return cells;
}
