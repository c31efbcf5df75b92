#include "report/pictures/tradeoff_chart.h"

#include <math.h>

#include "report/pictures/label_placement.h"
#include "report/pictures/svg.h"

#define LEFT   56.0
#define WIDTH  580.0
#define HEIGHT 330.0
#define BELOW  48.0
#define LEGEND 190.0 /* width of an entry of the legend */
#define A_ROW  3
#define ROW    18.0

typedef struct {
    GString *out;
    const RhTradeoffChart *front;
    RhLabels *labels;
    double x_least, x_most, y_most, top;
} Picture;

static double x_of(const Picture *p, double x)
{
    return LEFT + WIDTH * (x - p->x_least) / (p->x_most - p->x_least);
}

static double y_of(const Picture *p, double y)
{
    return p->top + HEIGHT * (1 - y / p->y_most);
}

static RhColor color_of(const Picture *p, int kind)
{
    return p->front->colors ? p->front->colors[kind] : rh_color_series(kind);
}

static void draw_axes(const Picture *p)
{
    double across = rh_svg_tick(p->x_most - p->x_least, 8), up = rh_svg_tick(p->y_most, 6);
    for (int i = (int)ceil(p->x_least / across - 1e-9); i * across <= p->x_most; i++) {
        g_autofree char *text = rh_svg_tick_text(i * across, across);
        rh_svg_text(p->out, RH_SVG_SOFT, "middle", x_of(p, i * across), p->top + HEIGHT + 18, text);
    }
    for (int i = 0; i * up <= p->y_most; i++) {
        g_autofree char *text = rh_svg_tick_short(i * up, up);
        rh_svg_line(p->out, RH_SVG_GRID, LEFT, y_of(p, i * up), LEFT + WIDTH, y_of(p, i * up));
        rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 6, y_of(p, i * up) + 4, text);
    }
    rh_svg_text(p->out, RH_SVG_TEXT, "middle", LEFT + WIDTH / 2, p->top + HEIGHT + 38,
                p->front->across);
    rh_svg_text(p->out, RH_SVG_TEXT, "start", 10, p->top - 10, p->front->up);
}

static void draw_goals(const Picture *p)
{
    const RhTradeoffChart *f = p->front;
    double x = x_of(p, f->x_goal), y = y_of(p, f->y_goal);
    if (f->x_goal_text && x <= LEFT + WIDTH) {
        rh_svg_line(p->out, RH_SVG_RULE, x, p->top, x, p->top + HEIGHT);
        rh_labels_block_line(p->labels, x, p->top, x, p->top + HEIGHT);
        rh_labels_text(p->labels, p->out, RH_SVG_SOFT, "end", x - 4, p->top + HEIGHT - 6,
                       f->x_goal_text);
    }
    if (f->y_goal_text && y >= p->top) {
        rh_svg_line(p->out, RH_SVG_RULE, LEFT, y, LEFT + WIDTH, y);
        rh_labels_block_line(p->labels, LEFT, y, LEFT + WIDTH, y);
        rh_labels_text(p->labels, p->out, RH_SVG_SOFT, "start", LEFT + 4, y - 5, f->y_goal_text);
    }
}

static void draw_line(const Picture *p, int kind)
{
    double x = 0, y = 0;
    g_autoptr(GString) path = g_string_new(NULL);
    for (int i = 0; i < p->front->points_count; i++) {
        const RhTradeoffPoint *point = &p->front->points[i];
        if (point->kind != kind)
            continue;
        double next_x = x_of(p, point->x), next_y = y_of(p, point->y);
        if (path->len)
            rh_labels_block_line(p->labels, x, y, next_x, next_y);
        g_string_append_c(path, path->len ? 'L' : 'M');
        rh_svg_number(path, next_x);
        g_string_append_c(path, ' ');
        rh_svg_number(path, next_y);
        x = next_x;
        y = next_y;
    }
    if (path->len == 0)
        return;
    g_string_append(p->out, "<path ");
    rh_svg_stroke(p->out, color_of(p, kind));
    g_string_append_printf(p->out, " d=\"%s\"/>\n", path->str);
}

static void draw_legend(const Picture *p, int kind)
{
    double x = 10 + LEGEND * (kind % A_ROW), y = 6 + ROW * (kind / A_ROW);
    rh_svg_box(p->out, color_of(p, kind), x, y, 12, 12, NULL);
    rh_svg_text(p->out, RH_SVG_TEXT, "start", x + 17, y + 10, p->front->kinds[kind]);
}

/* Distance from a point to the edge of its mark; the chosen one has a ring. */
static double half_of(const RhTradeoffPoint *point)
{
    return point->chosen ? 11 : point->large ? 5 : 3;
}

static void draw_point(const Picture *p, const RhTradeoffPoint *point)
{
    double half = half_of(point), side = point->large ? 5 : 3, x = x_of(p, point->x),
           y = y_of(p, point->y);
    rh_svg_box(p->out, color_of(p, point->kind), x - side, y - side, 2 * side, 2 * side,
               point->about);
    rh_labels_block(p->labels, x, y, half);
    if (!point->chosen)
        return;
    g_string_append(p->out, "<circle class=\"rule\" fill=\"none\" stroke=\"#222222\" "
                            "stroke-width=\"2\" r=\"10\" cx=\"");
    rh_svg_number(p->out, x);
    g_string_append(p->out, "\" cy=\"");
    rh_svg_number(p->out, y);
    g_string_append(p->out, "\"/>\n");
}

/* Draws labels: first the answer's, then those of Pareto-optimal points, as far as there is
 * space. */
static void draw_labels(const Picture *p)
{
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < p->front->points_count; i++) {
            const RhTradeoffPoint *point = &p->front->points[i];
            if ((point->chosen ? 0 : point->large ? 1 : 2) == turn)
                rh_labels_draw(p->labels, p->out, x_of(p, point->x), y_of(p, point->y),
                               half_of(point), point->label);
        }
}

static void draw(const Picture *p)
{
    const RhTradeoffChart *front = p->front;
    draw_axes(p);
    draw_goals(p);
    for (int k = 0; k < front->kinds_count; k++) {
        if (k < front->joined_count)
            draw_line(p, k);
        draw_legend(p, k);
    }
    for (int i = 0; i < front->points_count; i++)
        draw_point(p, &front->points[i]);
    draw_labels(p);
}

void rh_tradeoff_point_clear(RhTradeoffPoint *point)
{
    g_free(point->label);
    g_free(point->about);
}

char *rh_report_tradeoff_svg(const RhTradeoffChart *front)
{
    Picture p = {.front = front};
    for (int i = 0; i < front->points_count; i++) {
        p.x_most = fmax(p.x_most, 1.08 * front->points[i].x);
        p.y_most = fmax(p.y_most, 1.12 * front->points[i].y);
    }
    if (front->points_count == 0)
        return NULL;
    p.x_least = front->x_near ? p.x_most : 0;
    for (int i = 0; i < front->points_count; i++)
        p.x_least = fmin(p.x_least, 0.92 * front->points[i].x);
    p.top = 30 + ROW * ((front->kinds_count + A_ROW - 1) / A_ROW);
    g_autoptr(RhLabels) labels = rh_labels_new(LEFT, p.top, LEFT + WIDTH + 20, p.top + HEIGHT);
    p.labels = labels;
    p.out = rh_svg_new(front->id, LEFT + WIDTH + 24, p.top + HEIGHT + BELOW, "", front->title,
                       front->description);
    draw(&p);
    return rh_svg_finish(p.out);
}
