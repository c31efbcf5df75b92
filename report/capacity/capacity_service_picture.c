#include "report/capacity/capacity_service_picture.h"

#include "base/array.h"
#include "report/format.h"
#include "report/pictures/tradeoff_chart.h"

static RhTradeoffPoint point_of(const RhServiceCapacity *a, guint i, bool priced)
{
    const RhServiceCell *cell = &g_array_index(a->cells, RhServiceCell, i);
    double answer_s = rh_service_answer_s(cell->entry);
    double money = priced ? 1e6 * cell->usd_per_token : cell->gpus;
    g_autofree char *deployment = rh_deployment_format(&cell->entry->deployment);
    g_autofree char *whole = rh_quantity_format(answer_s, RH_QUANTITY_S, 3);
    g_autofree char *paid = rh_text_number(money, 3);
    return (RhTradeoffPoint){
        .kind = (int)(cell->offer - a->offers),
        .x = answer_s,
        .y = money,
        .label =
            g_strdup_printf("%s%d", (int32_t)i == a->best ? "the answer: " : "", (int)cell->gpus),
        .about =
            g_strdup_printf("%s, %d GPUs: %s, %s %s; %s", cell->offer->platform, (int)cell->gpus,
                            whole, paid, priced ? "USD a million" : "GPUs", deployment),
        .large = cell->pareto,
        .chosen = (int32_t)i == a->best};
}

char *rh_report_service_capacity_svg(const RhServiceCapacity *a)
{
    bool priced = rh_service_priced(a->cells);
    g_autofree const char **kinds = g_new0(const char *, a->offers_count);
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(RhTradeoffPoint));
    g_array_set_clear_func(points, (GDestroyNotify)rh_tradeoff_point_clear);
    for (guint i = 0; i < a->offers_count; i++)
        kinds[i] = a->offers[i].platform;
    for (guint i = 0; i < a->cells->len; i++)
        if (g_array_index(a->cells, RhServiceCell, i).entry) {
            RhTradeoffPoint point = point_of(a, i, priced);
            g_array_append_val(points, point);
        }
    g_autofree char *about = g_strdup_printf(
        "%u clusters and sizes, a point each with its number of GPUs: left is sooner, down is cheaper. Large points: "
        "nothing is as good by both.",
        points->len);
    const RhTradeoffChart front = {.id = "capacity",
                                   .title = "Money against time to the answer",
                                   .description = about,
                                   .across = "seconds to the whole answer, in the mean",
                                   .up = priced ? "USD a million tokens" : "GPUs",
                                   .kinds = kinds,
                                   .kinds_count = (int)a->offers_count,
                                   .joined_count = (int)a->offers_count,
                                   .points = RH_ELEMENTS(points, RhTradeoffPoint),
                                   .points_count = (int)points->len};
    return rh_report_tradeoff_svg(&front);
}
