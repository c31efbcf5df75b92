#include "report/capacity/capacity_picture.h"

#include "base/array.h"
#include "report/pictures/tradeoff_chart.h"

#define DAY_S 86400.0

static const RhCapacityCell *cell_at(const RhCapacityAnswer *a, guint i)
{
    return &g_array_index(a->cells, RhCapacityCell, i);
}

static RhTradeoffPoint point_of(const RhCapacityAnswer *a, guint i, int kind, bool priced)
{
    const RhCapacityCell *cell = cell_at(a, i);
    double days = cell->seconds / DAY_S;
    double money = priced ? cell->usd : cell->seconds / 3600 * cell->c.job.gpus;
    g_autofree char *layout = rh_layout_title(&cell->r->layout);
    return (RhTradeoffPoint){.kind = kind,
                             .x = days,
                             .y = money,
                             .label = g_strdup_printf("%s%d",
                                                      (int32_t)i == a->best ? "the answer: " : "",
                                                      (int)cell->c.job.gpus),
                             .about = g_strdup_printf("%s, %d GPUs: %.3g days, %.4g %s; %s",
                                                      cell->platform, (int)cell->c.job.gpus, days,
                                                      money, priced ? "USD" : "GPU-hours", layout),
                             .large = cell->pareto,
                             .chosen = (int32_t)i == a->best};
}

char *rh_report_capacity_svg(const RhCapacityAnswer *a)
{
    bool priced = rh_capacity_priced(a->cells);
    g_autoptr(GPtrArray) kinds = g_ptr_array_new();
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(RhTradeoffPoint));
    g_array_set_clear_func(points, (GDestroyNotify)rh_tradeoff_point_clear);
    for (guint i = 0; i < a->cells->len; i++) {
        if (i == 0 || cell_at(a, i)->platform != cell_at(a, i - 1)->platform)
            g_ptr_array_add(kinds, (gpointer)cell_at(a, i)->platform);
        if (!cell_at(a, i)->r)
            continue;
        RhTradeoffPoint point = point_of(a, i, (int)kinds->len - 1, priced);
        g_array_append_val(points, point);
    }
    g_autofree char *about = g_strdup_printf(
        "%u clusters and sizes, a point each with its number of GPUs: left is sooner, down is cheaper. Large points: "
        "nothing is as good by days, money and energy.",
        points->len);
    const RhTradeoffChart front = {.id = "capacity",
                                   .title = "Days against money",
                                   .description = about,
                                   .across = "days",
                                   .up = priced ? "USD" : "GPU-hours",
                                   .kinds = (const char *const *)kinds->pdata,
                                   .kinds_count = (int)kinds->len,
                                   .joined_count = (int)kinds->len,
                                   .points = RH_ELEMENTS(points, RhTradeoffPoint),
                                   .points_count = (int)points->len,
                                   .x_goal = a->goal->by_s / DAY_S,
                                   .x_goal_text = a->goal->by_s > 0 ? "by then" : NULL,
                                   .y_goal = a->goal->budget_usd,
                                   .y_goal_text =
                                       a->goal->budget_usd > 0 && priced ? "budget" : NULL};
    return rh_report_tradeoff_svg(&front);
}
