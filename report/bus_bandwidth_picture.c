/* Draws the bus bandwidth of a collective over its size. */
#include <math.h>

#include "report/collective.h"
#include "report/format.h"
#include "report/pictures/svg.h"

#define WIDTH  560.0 /* pixels of the plane */
#define HEIGHT 300.0
#define LEFT   70.0
#define TOP    40.0
#define BELOW  60.0
#define RIGHT  30.0
#define LINE   18.0
#define TICKS  6

typedef struct {
    GString *out;
    double low, high; /* logarithms of sizes */
    double most;      /* GB/s at the top */
} Plane;

static double px(const Plane *p, double bytes)
{
    double whole = p->high - p->low;
    return LEFT + (whole > 0 ? WIDTH * (log2(bytes) - p->low) / whole : WIDTH / 2);
}

static double py(const Plane *p, double rate)
{
    return TOP + HEIGHT * (1 - rate / p->most);
}

static double rate_of(const RhCollectiveAnswer *a, guint i, double seconds)
{
    const RhCollectivePoint *point = &g_array_index(a->points, RhCollectivePoint, i);
    double factor = rh_benchmark_bus_factor(a->benchmark);
    return seconds > 0 ? point->bytes * factor / seconds / 1e9 : 0;
}

static Plane plane_of(const RhCollectiveAnswer *a)
{
    const RhCollectivePoint *first = &g_array_index(a->points, RhCollectivePoint, 0),
                            *last =
                                &g_array_index(a->points, RhCollectivePoint, a->points->len - 1);
    Plane p = {.low = log2(first->bytes), .high = log2(last->bytes)};
    for (guint i = 0; i < a->points->len; i++) {
        const RhCollectivePoint *point = &g_array_index(a->points, RhCollectivePoint, i);
        p.most = fmax(p.most, fmax(rate_of(a, i, point->seconds), rate_of(a, i, point->bound_s)));
        if (a->measured_s)
            p.most = fmax(p.most, rate_of(a, i, a->measured_s[i]));
    }
    p.most = p.most > 0 ? 1.05 * p.most : 1;
    return p;
}

static void draw_axes(const Plane *p, const RhCollectiveAnswer *a)
{
    double tick = rh_svg_tick(p->most, TICKS);
    for (double at = 0; at <= p->most; at += tick) {
        g_autofree char *label = rh_svg_tick_text(at, tick);
        rh_svg_line(p->out, RH_SVG_GRID, LEFT, py(p, at), LEFT + WIDTH, py(p, at));
        rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 6, py(p, at) + 4, label);
    }
    guint step = a->points->len / TICKS + 1;
    for (guint i = 0; i < a->points->len; i += step) {
        double bytes = g_array_index(a->points, RhCollectivePoint, i).bytes;
        g_autofree char *label = rh_quantity_format(bytes, RH_QUANTITY_BYTES, 3);
        rh_svg_text(p->out, RH_SVG_SOFT, "middle", px(p, bytes), TOP + HEIGHT + LINE, label);
    }
    rh_svg_text(p->out, RH_SVG_TEXT, "start", LEFT, TOP - 14, "bus bandwidth, GB/s");
    rh_svg_text(p->out, RH_SVG_SOFT, "middle", LEFT + WIDTH / 2, TOP + HEIGHT + 2.3 * LINE,
                "size of the buffer");
}

static void draw_point(const Plane *p, RhColor color, double bytes, double rate, const char *what)
{
    g_autofree char *size = rh_quantity_format(bytes, RH_QUANTITY_BYTES, 3),
                    *about = rh_text_number(rate, 3);
    g_string_append(p->out, "<circle ");
    rh_svg_fill(p->out, color);
    g_string_append(p->out, " cx=\"");
    rh_svg_number(p->out, px(p, bytes));
    g_string_append(p->out, "\" cy=\"");
    rh_svg_number(p->out, py(p, rate));
    g_string_append_printf(p->out, "\" r=\"4\"><title>%s: %s, %s GB/s</title></circle>\n", what,
                           size, about);
}

static void draw_points(const Plane *p, const RhCollectiveAnswer *a)
{
    double before_x = 0, before_y = 0;
    for (guint i = 0; i < a->points->len; i++) {
        const RhCollectivePoint *point = &g_array_index(a->points, RhCollectivePoint, i);
        double rate = rate_of(a, i, point->seconds), x = px(p, point->bytes), y = py(p, rate);
        if (i > 0)
            rh_svg_line(p->out, RH_SVG_RULE, before_x, before_y, x, y);
        draw_point(p, RH_COLOR_CHOSEN, point->bytes, rate, "predicted");
        if (a->measured_s)
            draw_point(p, RH_COLOR_SLOWER, point->bytes, rate_of(a, i, a->measured_s[i]),
                       "measured");
        before_x = x;
        before_y = y;
    }
}

static void draw_bound(const Plane *p, const RhCollectiveAnswer *a)
{
    guint last = a->points->len - 1;
    double bound = rate_of(a, last, g_array_index(a->points, RhCollectivePoint, last).bound_s);
    if (bound <= 0)
        return;
    g_autofree char *number = rh_text_number(bound, 3);
    g_autofree char *text = g_strdup_printf("bound by data sheets: %s GB/s", number);
    rh_svg_line(p->out, RH_SVG_RULE, LEFT, py(p, bound), LEFT + WIDTH, py(p, bound));
    rh_svg_text(p->out, RH_SVG_SOFT, "start", LEFT + 6, py(p, bound) - 4, text);
}

char *rh_report_collective_svg(const RhCollectiveAnswer *a)
{
    Plane p = plane_of(a);
    g_autofree char *title = g_strdup_printf("Bus bandwidth of %s among %d GPUs of %s",
                                             a->operation, a->benchmark->ranks, a->platform->name);
    p.out = rh_svg_new("collective", LEFT + WIDTH + RIGHT, TOP + HEIGHT + BELOW, "", title,
                       a->measured_s ? "Predicted and measured rates by size, and the bound of the "
                                       "links' data sheets."
                                     : "Rates by size, and the bound of the links' data sheets.");
    draw_axes(&p, a);
    draw_bound(&p, a);
    draw_points(&p, a);
    return rh_svg_finish(p.out);
}
