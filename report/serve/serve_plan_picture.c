/* Draws the deployments of a plan: throughput of a GPU against time per token. */
#include "base/garray_access.h"
#include "report/format.h"
#include "report/pictures/tradeoff_chart.h"
#include "report/serve/serve_words.h"
#include "report/serve/service_pictures.h"

#define MS 1e3

static RhTradeoffPoint point_of(const RhServePlan *plan, guint i, bool pareto)
{
    const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
    double wait_s = e->outcome.metrics[e->outcome.once ? RH_METRIC_E2E : RH_METRIC_TPOT].p50.value;
    g_autofree char *servers = rh_report_servers(&e->deployment),
                    *deployment = rh_deployment_format(&e->deployment),
                    *rate = rh_text_number(e->rate_per_s, 3);
    return (RhTradeoffPoint){.kind = pareto ? 0 : 1,
                             .x = wait_s * MS,
                             .y = e->rate_per_s / e->gpus,
                             .label = g_strdup_printf("%s%s", i == 0 ? "best: " : "", servers),
                             .about = g_strdup_printf("#%u, %d GPUs, %s requests/s: %s", i + 1,
                                                      e->gpus, rate, deployment),
                             .large = pareto,
                             .chosen = i == 0};
}

static gint by_x(gconstpointer a, gconstpointer b)
{
    const RhTradeoffPoint *p = a, *q = b;
    return p->kind != q->kind ? p->kind - q->kind : (p->x > q->x) - (p->x < q->x);
}

char *rh_report_serve_plan_svg(const RhServePlan *plan)
{
    static const char *const kinds[] = {"Pareto-optimal", "others"};
    static const RhColor colors[] = {RH_COLOR_CHOSEN, RH_COLOR_SEEN};
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(RhTradeoffPoint));
    g_array_set_clear_func(points, (GDestroyNotify)rh_tradeoff_point_clear);
    bool once = false;
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        RhTradeoffPoint point = point_of(plan, i, e->pareto);
        once = e->outcome.once;
        g_array_append_val(points, point);
    }
    g_array_sort(points, by_x);
    g_autofree char *about = g_strdup_printf(
        "%u deployments, a point each: up is more requests a second of a GPU, left is less time per %s. The best has a "
        "ring.",
        points->len, once ? "answer" : "token");
    const RhTradeoffChart front = {.id = "serve-plan",
                                   .title = "Rate of a GPU against latency",
                                   .description = about,
                                   .across = once ? "time to the answer, median, ms"
                                                  : "time per further token, median, ms",
                                   .up = "requests/s of a GPU",
                                   .kinds = kinds,
                                   .kinds_count = G_N_ELEMENTS(kinds),
                                   .colors = colors,
                                   .x_near = true,
                                   .joined_count = 1,
                                   .points = RH_ELEMENTS(points, RhTradeoffPoint),
                                   .points_count = (int)points->len};
    return rh_report_tradeoff_svg(&front);
}
