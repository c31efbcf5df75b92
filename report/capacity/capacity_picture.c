#include "report/capacity/capacity_picture.h"

#include "base/garray_access.h"
#include "report/format.h"
#include "report/pictures/tradeoff_chart.h"

#define DAY_S 86400.0

typedef struct {
    GPtrArray *platforms; /* char*, borrowed */
    GArray *points;       /* RhTradeoffPoint */
} Points;

static Points points_new(void)
{
    Points p = {g_ptr_array_new(), g_array_new(FALSE, FALSE, sizeof(RhTradeoffPoint))};
    g_array_set_clear_func(p.points, (GDestroyNotify)rh_tradeoff_point_clear);
    return p;
}

/* Begins the line of a platform, unless it is that of the last. */
static void begin_line(Points *p, const char *platform)
{
    guint count = p->platforms->len;
    if (count == 0 || g_ptr_array_index(p->platforms, count - 1) != platform)
        g_ptr_array_add(p->platforms, (gpointer)platform);
}

/* Adds a size of the last platform: `point` without kind and texts, and `about`, its tooltip. */
static void add_point(Points *p, int32_t gpus, RhTradeoffPoint point, const char *about)
{
    point.kind = (int)p->platforms->len - 1;
    point.label = g_strdup_printf("%s%d", point.chosen ? "the answer: " : "", (int)gpus);
    point.about = g_strdup_printf("%s, %d GPUs: %s",
                                  (const char *)g_ptr_array_index(p->platforms, point.kind),
                                  (int)gpus, about);
    g_array_append_val(p->points, point);
}

/* Draws the points, and frees them. `by`: what large ones are the best by. */
static char *draw(Points p, RhTradeoffChart chart, const char *by)
{
    g_autofree char *description = g_strdup_printf(
        "%u clusters and sizes, a point each with its number of GPUs: left is sooner, down is "
        "cheaper. Large points: nothing is as good by %s.",
        p.points->len, by);
    chart.id = "capacity";
    chart.description = description;
    chart.kinds = (const char *const *)p.platforms->pdata;
    chart.kinds_count = chart.joined_count = (int)p.platforms->len;
    chart.points = RH_ELEMENTS(p.points, RhTradeoffPoint);
    chart.points_count = (int)p.points->len;
    char *svg = rh_report_tradeoff_svg(&chart);
    g_array_unref(p.points);
    g_ptr_array_unref(p.platforms);
    return svg;
}

static void add_training(Points *p, const RhCapacityCell *cell, bool priced, bool chosen)
{
    int32_t gpus = (int32_t)cell->c.job.gpus;
    double days = cell->seconds / DAY_S, money = priced ? cell->usd : cell->seconds / 3600 * gpus;
    g_autofree char *layout = rh_layout_title(&cell->r->layout);
    g_autofree char *about = g_strdup_printf("%.3g days, %.4g %s; %s", days, money,
                                             priced ? "USD" : "GPU-hours", layout);
    add_point(p, gpus,
              (RhTradeoffPoint){.x = days, .y = money, .large = cell->pareto, .chosen = chosen},
              about);
}

char *rh_report_capacity_svg(const RhCapacityAnswer *a)
{
    bool priced = rh_capacity_priced(a->cells);
    Points p = points_new();
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = RH_AT(a->cells, RhCapacityCell, i);
        begin_line(&p, cell->platform);
        if (cell->r)
            add_training(&p, cell, priced, (int32_t)i == a->best);
    }
    RhTradeoffChart chart = {.title = "Days against money",
                             .across = "days",
                             .up = priced ? "USD" : "GPU-hours",
                             .x_goal = a->goal->by_s / DAY_S,
                             .x_goal_text = a->goal->by_s > 0 ? "by then" : NULL,
                             .y_goal = a->goal->budget_usd,
                             .y_goal_text = a->goal->budget_usd > 0 && priced ? "budget" : NULL};
    return draw(p, chart, "days, money and energy");
}

static void add_service(Points *p, const RhServiceCell *cell, bool priced, bool chosen)
{
    double answer_s = rh_service_answer_s(cell->entry);
    double money = priced ? 1e6 * cell->usd_per_token : cell->gpus;
    g_autofree char *deployment = rh_deployment_format(&cell->entry->deployment);
    g_autofree char *whole = rh_quantity_format(answer_s, RH_QUANTITY_S, 3);
    g_autofree char *paid = rh_text_number(money, 3);
    g_autofree char *about = g_strdup_printf("%s, %s %s; %s", whole, paid,
                                             priced ? "USD a million" : "GPUs", deployment);
    add_point(p, cell->gpus,
              (RhTradeoffPoint){.x = answer_s, .y = money, .large = cell->pareto, .chosen = chosen},
              about);
}

char *rh_report_service_capacity_svg(const RhServiceCapacity *a)
{
    bool priced = rh_service_priced(a->cells);
    Points p = points_new();
    for (guint i = 0; i < a->cells->len; i++) {
        const RhServiceCell *cell = RH_AT(a->cells, RhServiceCell, i);
        begin_line(&p, cell->offer->platform);
        if (cell->entry)
            add_service(&p, cell, priced, (int32_t)i == a->best);
    }
    RhTradeoffChart chart = {.title = "Money against time to the answer",
                             .across = "seconds to the whole answer, in the mean",
                             .up = priced ? "USD a million tokens" : "GPUs"};
    return draw(p, chart, "both");
}
