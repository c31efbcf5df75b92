/* Draws the fraction of requests within a time, over a logarithmic axis of times, with levels. */
#include <math.h>

#include "base/garray_access.h"
#include "base/units.h"
#include "report/pictures/svg.h"
#include "report/serve/service_pictures.h"
#include "strategies/serve/results/metrics_over_time.h"

#define LEFT   56.0
#define TOP    30.0
#define WIDTH  560.0
#define HEIGHT 200.0
#define BELOW  44.0
#define POINTS 300 /* of the curve, at most */
/* range, as a multiple of its beginning, in which 1, 2 and 5 may be a single tick */
#define NARROW 8.0
#define TIMES  5 /* ticks of such a range, at most */

typedef struct {
    GString *out;
    const GArray *values; /* double, ascending */
    double low_s, high_s; /* of the axis */
} Picture;

static double value_at(const Picture *p, double share)
{
    return rh_sorted_quantile(RH_ELEMENTS(p->values, double), p->values->len, share);
}

static double x_of(const Picture *p, double seconds)
{
    double part = log(fmax(seconds, p->low_s) / p->low_s) / log(p->high_s / p->low_s);
    return LEFT + WIDTH * fmin(part, 1);
}

static double y_of(double share)
{
    return TOP + HEIGHT * (1 - share);
}

static void draw_time(const Picture *p, double at_s)
{
    g_autofree char *text = rh_quantity_format(at_s, RH_QUANTITY_S, 3);
    rh_svg_line(p->out, RH_SVG_GRID, x_of(p, at_s), TOP, x_of(p, at_s), TOP + HEIGHT);
    rh_svg_text(p->out, RH_SVG_SOFT, "middle", x_of(p, at_s), TOP + HEIGHT + 18, text);
}

static const double STEPS[] = {1, 2, 5};

/* Draws equidistant ticks, for a range in which 1, 2 and 5 of a decade would leave too few. */
static void draw_even_times(const Picture *p)
{
    double span_s = p->high_s - p->low_s, decade_s = pow(10, floor(log10(span_s / TIMES)));
    double step_s = 10 * decade_s;
    for (size_t k = G_N_ELEMENTS(STEPS); k-- > 0;)
        if (STEPS[k] * decade_s >= span_s / TIMES)
            step_s = STEPS[k] * decade_s;
    for (double n = ceil(p->low_s / step_s); n * step_s <= p->high_s; n++)
        draw_time(p, n * step_s);
}

/* Draws decades, with 2 and 5 of each where there is space. */
static void draw_times(const Picture *p)
{
    bool wide = p->high_s / p->low_s > 100;
    if (p->high_s / p->low_s < NARROW) {
        draw_even_times(p);
        return;
    }
    for (int decade = (int)floor(log10(p->low_s)); decade <= (int)ceil(log10(p->high_s)); decade++)
        for (size_t k = 0; k < (wide ? 1 : G_N_ELEMENTS(STEPS)); k++) {
            double at_s = STEPS[k] * pow(10, decade);
            if (at_s >= p->low_s && at_s <= p->high_s)
                draw_time(p, at_s);
        }
}

static void draw_axes(const Picture *p)
{
    static const double shares[] = {0, 0.25, 0.5, 0.75, 0.9, 1};
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
        g_autofree char *text = g_strdup_printf("%.0f %%", 100 * shares[i]);
        rh_svg_line(p->out, RH_SVG_GRID, LEFT, y_of(shares[i]), LEFT + WIDTH, y_of(shares[i]));
        rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 5, y_of(shares[i]) + 4, text);
    }
    draw_times(p);
}

static void draw_curve(const Picture *p, RhColor color)
{
    g_autoptr(GString) path = g_string_new(NULL);
    guint points = MIN(p->values->len, POINTS);
    for (guint i = 0; i < points; i++) {
        double share = points > 1 ? (double)i / (points - 1) : 1;
        g_string_append_c(path, i ? 'L' : 'M');
        rh_svg_number(path, x_of(p, value_at(p, share)));
        g_string_append_c(path, ' ');
        rh_svg_number(path, y_of(share));
    }
    g_string_append(p->out, "<path ");
    rh_svg_stroke(p->out, color);
    g_string_append_printf(p->out, " stroke-width=\"2\" d=\"%s\"/>\n", path->str);
}

/* Draws levels, one below the other where limits are equal. */
static void draw_levels(const Picture *p, RhMetric metric, const RhSlos *slos)
{
    int drawn = 0;
    for (int k = 0; k < slos->count; k++) {
        const RhSlo *slo = &slos->list[k];
        if (slo->metric != metric)
            continue;
        g_autofree char *text = rh_slo_text(slo);
        double x = x_of(p, slo->limit_s);
        bool right = x < LEFT + WIDTH / 2;
        rh_svg_line(p->out, RH_SVG_RULE, x, TOP, x, TOP + HEIGHT);
        if (slo->share > 0) /* fraction that may be beyond */
            rh_svg_line(p->out, RH_SVG_RULE, x - 8, y_of(slo->share), x + 8, y_of(slo->share));
        rh_svg_text(p->out, RH_SVG_TEXT, right ? "start" : "end", x + (right ? 5 : -5),
                    TOP + HEIGHT - 8 - 15 * drawn++, text);
    }
}

static void set_range(Picture *p, RhMetric metric, const RhSlos *slos)
{
    p->low_s = fmax(value_at(p, 0), 1e-6);
    p->high_s = fmax(value_at(p, 1), p->low_s);
    for (int k = 0; k < slos->count; k++)
        if (slos->list[k].metric == metric) {
            p->low_s = fmin(p->low_s, slos->list[k].limit_s);
            p->high_s = fmax(p->high_s, slos->list[k].limit_s);
        }
    p->low_s /= 1.1;
    p->high_s *= 1.1;
}

char *rh_report_service_spread_svg(const RhServiceResult *result, RhMetric metric,
                                   const RhSlos *slos)
{
    g_autoptr(GArray) values = rh_served_values(result, metric);
    Picture p = {.values = values};
    if (values->len == 0)
        return NULL;
    set_range(&p, metric, slos);
    g_autofree char *
        half = rh_quantity_format(value_at(&p, 0.5), RH_QUANTITY_S, 3),
       *most = rh_quantity_format(value_at(&p, 0.99), RH_QUANTITY_S, 3),
       *title = g_strdup_printf("How long the %s is", rh_metric_about(metric)),
       *about = g_strdup_printf(
           "Share of the %u requests whose %s is at most this long: half within %s, 99 %% within %s.",
           values->len, rh_metric_about(metric), half, most),
       *across = g_strdup_printf("%s at most", rh_metric_about(metric));
    p.out = rh_svg_new("spread", LEFT + WIDTH + 24, TOP + HEIGHT + BELOW, "", title, about);
    rh_svg_text(p.out, RH_SVG_TEXT, "start", 10, 16, "of the requests");
    rh_svg_text(p.out, RH_SVG_TEXT, "middle", LEFT + WIDTH / 2, TOP + HEIGHT + 38, across);
    draw_axes(&p);
    draw_levels(&p, metric, slos);
    draw_curve(&p, metric == RH_METRIC_TPOT   ? RH_COLOR_DECODE
                   : metric == RH_METRIC_TTFT ? RH_COLOR_FORWARD
                                              : RH_COLOR_OTHER); /* both: of a whole answer */
    return rh_svg_finish(p.out);
}
