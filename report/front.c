#include "report/front.h"

#include <math.h>

#include "report/svg.h"

#define LEFT   84.0
#define TOP    44.0
#define WIDTH  780.0
#define HEIGHT 360.0
#define BELOW  48.0

typedef struct {
    GString *out;
    const RhFront *front;
    double x_most, y_most;
} Picture;

static double x_of(const Picture *p, double x)
{
    return LEFT + WIDTH * x / p->x_most;
}

static double y_of(const Picture *p, double y)
{
    return TOP + HEIGHT * (1 - y / p->y_most);
}

static void draw_axes(const Picture *p)
{
    double across = rh_svg_tick(p->x_most, 10), up = rh_svg_tick(p->y_most, 6);
    for (int i = 0; i * across <= p->x_most; i++) {
        g_autofree char *text = rh_svg_tick_text(i * across, across);
        rh_svg_text(p->out, RH_SVG_SOFT, "middle", x_of(p, i * across), TOP + HEIGHT + 18, text);
    }
    for (int i = 0; i * up <= p->y_most; i++) {
        g_autofree char *text = rh_svg_tick_text(i * up, up);
        rh_svg_line(p->out, RH_SVG_GRID, LEFT, y_of(p, i * up), LEFT + WIDTH, y_of(p, i * up));
        rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 6, y_of(p, i * up) + 4, text);
    }
    rh_svg_text(p->out, RH_SVG_TEXT, "middle", LEFT + WIDTH / 2, TOP + HEIGHT + 38,
                p->front->across);
    rh_svg_text(p->out, RH_SVG_TEXT, "start", 10, TOP - 10, p->front->up);
}

static void draw_goals(const Picture *p)
{
    const RhFront *f = p->front;
    double x = x_of(p, f->x_goal), y = y_of(p, f->y_goal);
    if (f->x_goal_text && x <= LEFT + WIDTH) {
        rh_svg_line(p->out, RH_SVG_RULE, x, TOP, x, TOP + HEIGHT);
        rh_svg_text(p->out, RH_SVG_SOFT, "end", x - 4, TOP + HEIGHT - 6, f->x_goal_text);
    }
    if (f->y_goal_text && y >= TOP) {
        rh_svg_line(p->out, RH_SVG_RULE, LEFT, y, LEFT + WIDTH, y);
        rh_svg_text(p->out, RH_SVG_SOFT, "start", LEFT + 4, y - 5, f->y_goal_text);
    }
}

static void draw_line(const Picture *p, int kind)
{
    g_autoptr(GString) path = g_string_new(NULL);
    for (int i = 0; i < p->front->points_count; i++) {
        const RhFrontPoint *point = &p->front->points[i];
        if (point->kind != kind)
            continue;
        g_string_append_c(path, path->len ? 'L' : 'M');
        rh_svg_number(path, x_of(p, point->x));
        g_string_append_c(path, ' ');
        rh_svg_number(path, y_of(p, point->y));
    }
    if (path->len)
        g_string_append_printf(p->out, "<path fill=\"none\" stroke=\"%s\" d=\"%s\"/>\n",
                               rh_svg_color(kind), path->str);
    rh_svg_box(p->out, kind, LEFT + 150 * kind, 10, 12, 12, NULL);
    rh_svg_text(p->out, RH_SVG_TEXT, "start", LEFT + 150 * kind + 17, 20, p->front->kinds[kind]);
}

static void draw_point(const Picture *p, const RhFrontPoint *point)
{
    double half = point->large ? 5 : 3, x = x_of(p, point->x), y = y_of(p, point->y);
    rh_svg_box(p->out, point->kind, x - half, y - half, 2 * half, 2 * half, point->about);
    rh_svg_text(p->out, RH_SVG_TEXT, "middle", x, y - 9, point->label);
}

void rh_front_point_clear(RhFrontPoint *point)
{
    g_free(point->label);
    g_free(point->about);
}

char *rh_report_front_svg(const RhFront *front)
{
    Picture p = {.front = front};
    for (int i = 0; i < front->points_count; i++) {
        p.x_most = fmax(p.x_most, 1.08 * front->points[i].x);
        p.y_most = fmax(p.y_most, 1.12 * front->points[i].y);
    }
    if (front->points_count == 0)
        return NULL;
    p.out = rh_svg_new("capacity", LEFT + WIDTH + 30, TOP + HEIGHT + BELOW, "", front->title,
                       front->description);
    draw_axes(&p);
    draw_goals(&p);
    for (int k = 0; k < front->kinds_count; k++)
        draw_line(&p, k);
    for (int i = 0; i < front->points_count; i++)
        draw_point(&p, &front->points[i]);
    return rh_svg_finish(p.out);
}
