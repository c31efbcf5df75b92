#include "report/capacity_picture.h"

#include <math.h>

#include "report/svg.h"

#define LEFT   84.0
#define TOP    44.0
#define WIDTH  780.0
#define HEIGHT 360.0
#define BELOW  48.0
#define DAY_S  86400.0

typedef struct {
    GString *out;
    const RhCapacityAnswer *answer;
    bool priced;
    double days_most, money_most;
} Picture;

static const RhCapacityCell *cell_at(const Picture *p, guint i)
{
    return &g_array_index(p->answer->cells, RhCapacityCell, i);
}

static double money_of(const Picture *p, const RhCapacityCell *cell)
{
    return p->priced ? cell->usd : cell->seconds / 3600 * cell->c.job.gpus;
}

static double x_of(const Picture *p, double seconds)
{
    return LEFT + WIDTH * seconds / DAY_S / p->days_most;
}

static double y_of(const Picture *p, double money)
{
    return TOP + HEIGHT * (1 - money / p->money_most);
}

/* The platform's number, in the order they were asked for. */
static int number_of(const Picture *p, guint cell)
{
    int number = 0;
    for (guint i = 1; i <= cell; i++)
        number += cell_at(p, i)->platform != cell_at(p, i - 1)->platform;
    return number;
}

static void draw_axes(const Picture *p)
{
    double across = rh_svg_tick(p->days_most, 10), up = rh_svg_tick(p->money_most, 6);
    for (int i = 0; i * across <= p->days_most; i++) {
        g_autofree char *text = rh_svg_tick_text(i * across, across);
        rh_svg_text(p->out, RH_SVG_SOFT, "middle", x_of(p, i * across * DAY_S), TOP + HEIGHT + 18,
                    text);
    }
    for (int i = 0; i * up <= p->money_most; i++) {
        g_autofree char *text = rh_svg_tick_text(i * up, up);
        rh_svg_line(p->out, RH_SVG_GRID, LEFT, y_of(p, i * up), LEFT + WIDTH, y_of(p, i * up));
        rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 6, y_of(p, i * up) + 4, text);
    }
    rh_svg_text(p->out, RH_SVG_TEXT, "middle", LEFT + WIDTH / 2, TOP + HEIGHT + 38, "days");
    rh_svg_text(p->out, RH_SVG_TEXT, "start", 10, TOP - 10, p->priced ? "USD" : "GPU-hours");
}

/* The date and the budget, where they lie within the picture. */
static void draw_goal(const Picture *p)
{
    const RhCapacityGoal *goal = p->answer->goal;
    double x = x_of(p, goal->by_s), y = y_of(p, goal->budget_usd);
    if (goal->by_s > 0 && x <= LEFT + WIDTH) {
        rh_svg_line(p->out, RH_SVG_RULE, x, TOP, x, TOP + HEIGHT);
        rh_svg_text(p->out, RH_SVG_SOFT, "end", x - 4, TOP + HEIGHT - 6, "by then");
    }
    if (goal->budget_usd > 0 && p->priced && y >= TOP) {
        rh_svg_line(p->out, RH_SVG_RULE, LEFT, y, LEFT + WIDTH, y);
        rh_svg_text(p->out, RH_SVG_SOFT, "start", LEFT + 4, y - 5, "budget");
    }
}

static void draw_cell(const Picture *p, guint i)
{
    const RhCapacityCell *cell = cell_at(p, i);
    int color = number_of(p, i);
    double x = x_of(p, cell->seconds), y = y_of(p, money_of(p, cell));
    g_autofree char *size = g_strdup_printf(
        "%s%d", (int32_t)i == p->answer->best ? "the answer: " : "", (int)cell->c.job.gpus);
    g_autofree char *layout = rh_layout_title(&cell->r->layout);
    g_autofree char *about = g_strdup_printf(
        "%s, %d GPUs: %.3g days, %.4g %s; %s", cell->platform, (int)cell->c.job.gpus,
        cell->seconds / DAY_S, money_of(p, cell), p->priced ? "USD" : "GPU-hours", layout);
    double half = cell->pareto ? 5 : 3;
    rh_svg_box(p->out, color, x - half, y - half, 2 * half, 2 * half, about);
    rh_svg_text(p->out, RH_SVG_TEXT, "middle", x, y - 9, size);
}

static void draw_line(const Picture *p, guint from)
{
    g_autoptr(GString) path = g_string_new(NULL);
    for (guint i = from;
         i < p->answer->cells->len && cell_at(p, i)->platform == cell_at(p, from)->platform; i++) {
        if (!cell_at(p, i)->r)
            continue;
        g_string_append_c(path, path->len ? 'L' : 'M');
        rh_svg_number(path, x_of(p, cell_at(p, i)->seconds));
        g_string_append_c(path, ' ');
        rh_svg_number(path, y_of(p, money_of(p, cell_at(p, i))));
    }
    int number = number_of(p, from);
    if (path->len)
        g_string_append_printf(p->out, "<path fill=\"none\" stroke=\"%s\" d=\"%s\"/>\n",
                               rh_svg_color(number), path->str);
    rh_svg_box(p->out, number, LEFT + 150 * number, 10, 12, 12, NULL);
    rh_svg_text(p->out, RH_SVG_TEXT, "start", LEFT + 150 * number + 17, 20,
                cell_at(p, from)->platform);
}

char *rh_report_capacity_svg(const RhCapacityAnswer *answer)
{
    Picture p = {.answer = answer, .priced = rh_capacity_priced(answer->cells)};
    int fit = 0;
    for (guint i = 0; i < answer->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(&p, i);
        if (!cell->r)
            continue;
        fit++;
        p.days_most = fmax(p.days_most, 1.08 * cell->seconds / DAY_S);
        p.money_most = fmax(p.money_most, 1.12 * money_of(&p, cell));
    }
    if (fit == 0)
        return NULL;
    g_autofree char *about = g_strdup_printf(
        "%d clusters and sizes, a point each with its number of GPUs: left is sooner, down is cheaper. Large points: "
        "nothing is as good by days, money and energy.",
        fit);
    p.out = rh_svg_new("capacity", LEFT + WIDTH + 30, TOP + HEIGHT + BELOW, "",
                       "Days against money", about);
    draw_axes(&p);
    draw_goal(&p);
    for (guint i = 0; i < answer->cells->len; i++)
        if (i == 0 || cell_at(&p, i)->platform != cell_at(&p, i - 1)->platform)
            draw_line(&p, i);
    for (guint i = 0; i < answer->cells->len; i++)
        if (cell_at(&p, i)->r)
            draw_cell(&p, i);
    return rh_svg_finish(p.out);
}
