/* Draws a service over time: a row for each group of figures, one below the other over the same
 * time. */
#include <math.h>

#include "base/units.h"
#include "report/format.h"
#include "report/pictures/svg.h"
#include "report/serve/service_pictures.h"
#include "strategies/serve/results/metrics_over_time.h"

#define LEFT   56.0
#define WIDTH  560.0
#define TITLE  28.0 /* above a row's plot */
#define HEIGHT 62.0
#define APART  12.0
#define BELOW  30.0
#define TIMES  80 /* bins of the picture */

typedef double (*Value)(const RhMetricsOverTime *t);

typedef struct {
    const char *name;
    RhColor color;
    bool area; /* down to the series below it; else a line */
    Value value;
} Series;

#define SERIES_MOST 2
typedef struct {
    const char *title;
    const char *unit; /* of the axis: " %", "s" (a spoken plural) */
    bool ratio;       /* the axis ends at 1 */
    bool stacked;     /* the second series stands on the first */
    Series series[SERIES_MOST];
    int metric; /* RhMetric whose levels are drawn; -1: none */
} Row;

static double arrived(const RhMetricsOverTime *t)
{
    return t->arrived_per_s;
}
static double ended(const RhMetricsOverTime *t)
{
    return t->ended_per_s;
}
static double running(const RhMetricsOverTime *t)
{
    return t->running;
}
static double waiting(const RhMetricsOverTime *t)
{
    return t->waiting;
}
static double replicas(const RhMetricsOverTime *t)
{
    return t->replicas;
}
static double cached(const RhMetricsOverTime *t)
{
    return t->cached_frac;
}
static double cached_most(const RhMetricsOverTime *t)
{
    return t->cached_most_frac;
}
static double ttft_p50(const RhMetricsOverTime *t)
{
    return t->p50_s[RH_METRIC_TTFT];
}
static double ttft_p99(const RhMetricsOverTime *t)
{
    return t->p99_s[RH_METRIC_TTFT];
}
static double tpot_p50(const RhMetricsOverTime *t)
{
    return t->p50_s[RH_METRIC_TPOT];
}
static double tpot_p99(const RhMetricsOverTime *t)
{
    return t->p99_s[RH_METRIC_TPOT];
}
static double e2e_p50(const RhMetricsOverTime *t)
{
    return t->p50_s[RH_METRIC_E2E];
}
static double e2e_p99(const RhMetricsOverTime *t)
{
    return t->p99_s[RH_METRIC_E2E];
}

static const Row load_rows[] = {
    {"requests/s",
     "",
     false,
     false,
     {{"sent", RH_COLOR_LOAD, true, arrived}, {"answered", RH_COLOR_DECODE, false, ended}},
     -1},
    {"requests in the service",
     "",
     false,
     true,
     {{"running", RH_COLOR_DECODE, true, running}, {"queued", RH_COLOR_IDLE, true, waiting}},
     -1},
    {"replicas that take requests", "", false, false, {{"", RH_COLOR_WEIGHTS, true, replicas}}, -1},
    {"cache in use",
     " %",
     true,
     false,
     {{"of all replicas", RH_COLOR_CACHE, true, cached},
      {"of the fullest", RH_COLOR_OTHER, false, cached_most}},
     -1},
};
static const Row ttft_row = {
    "time to the first token, of requests sent then",
    "s",
    false,
    false,
    {{"half", RH_COLOR_FORWARD, true, ttft_p50}, {"99 %", RH_COLOR_FORWARD, false, ttft_p99}},
    RH_METRIC_TTFT};
static const Row tpot_row = {
    "time per further token, of requests sent then",
    "s",
    false,
    false,
    {{"half", RH_COLOR_DECODE, true, tpot_p50}, {"99 %", RH_COLOR_DECODE, false, tpot_p99}},
    RH_METRIC_TPOT};
static const Row e2e_row = {
    "time to the answer, of requests sent then",
    "s",
    false,
    false,
    {{"half", RH_COLOR_FORWARD, true, e2e_p50}, {"99 %", RH_COLOR_FORWARD, false, e2e_p99}},
    RH_METRIC_E2E};

typedef struct {
    GString *out;
    const GArray *times;
    const RhSlos *slos;
    double span_s;
    double top, most; /* of the row: its plot's head, the value there */
} Picture;

static const RhMetricsOverTime *time_at(const Picture *p, guint i)
{
    return &g_array_index(p->times, RhMetricsOverTime, i);
}

static double x_of(const Picture *p, double t_s)
{
    return LEFT + WIDTH * fmin(t_s / p->span_s, 1);
}

static double y_of(const Picture *p, double value)
{
    return p->top + HEIGHT * (1 - fmin(value / p->most, 1));
}

/* Returns the height of a series' top, which is cumulative in a stack. */
static double height_of(const Row *row, int series, const RhMetricsOverTime *t)
{
    double value = row->series[series].value(t);
    return row->stacked && series > 0 ? value + row->series[0].value(t) : value;
}

static double most_of(const Picture *p, const Row *row)
{
    double most = 0;
    for (guint i = 0; i < p->times->len; i++)
        for (int s = 0; s < SERIES_MOST && row->series[s].value; s++)
            most = fmax(most, height_of(row, s, time_at(p, i))); /* fmax() ignores NaN */
    for (int k = 0; k < p->slos->count; k++)
        if ((int)p->slos->list[k].metric == row->metric && p->slos->list[k].limit_s < 3 * most)
            most = fmax(most, 1.05 * p->slos->list[k].limit_s);
    return row->ratio ? 1 : most > 0 ? 1.05 * most : 1;
}

/* Appends a line with steps from bin to bin, and a new segment after bins without a value. */
static void append_line(GString *path, const Picture *p, const Row *row, int series)
{
    bool drawn = false;
    for (guint i = 0; i < p->times->len; i++) {
        const RhMetricsOverTime *t = time_at(p, i);
        double value = height_of(row, series, t);
        if (isfinite(value)) {
            g_string_append_c(path, drawn ? 'V' : 'M');
            if (!drawn) {
                rh_svg_number(path, x_of(p, t->t_begin_s));
                g_string_append_c(path, ' ');
            }
            rh_svg_number(path, y_of(p, value));
            g_string_append_c(path, 'H');
            rh_svg_number(path, x_of(p, t->t_end_s));
        }
        drawn = isfinite(value);
    }
}

/* Appends an area, a column for each bin; the second series of a stack stands on the first. */
static void append_area(GString *path, const Picture *p, const Row *row, int series)
{
    for (guint i = 0; i < p->times->len; i++) {
        const RhMetricsOverTime *t = time_at(p, i);
        double value = height_of(row, series, t),
               below = row->stacked && series > 0 ? row->series[0].value(t) : 0;
        if (!isfinite(value) || y_of(p, below) - y_of(p, value) < 0.05)
            continue;
        g_string_append_c(path, 'M');
        rh_svg_number(path, x_of(p, t->t_begin_s));
        g_string_append_c(path, ' ');
        rh_svg_number(path, y_of(p, below));
        g_string_append_c(path, 'V');
        rh_svg_number(path, y_of(p, value));
        g_string_append_c(path, 'H');
        rh_svg_number(path, x_of(p, t->t_end_s));
        g_string_append_c(path, 'V');
        rh_svg_number(path, y_of(p, below));
        g_string_append_c(path, 'z');
    }
}

static void draw_series(const Picture *p, const Row *row, int series)
{
    const Series *s = &row->series[series];
    g_autoptr(GString) path = g_string_new(NULL);
    (s->area ? append_area : append_line)(path, p, row, series);
    if (path->len == 0)
        return;
    g_string_append(p->out, "<path ");
    (s->area ? rh_svg_fill : rh_svg_stroke)(p->out, s->color);
    g_string_append_printf(p->out, "%s d=\"%s\"/>\n",
                           s->area ? " fill-opacity=\"0.75\"" : " stroke-width=\"1.5\"", path->str);
}

/* Text of a value on the axis. Caller frees. */
static char *axis_text(const Row *row, double value, double tick)
{
    if (row->ratio)
        return g_strdup_printf("%.0f %%", 100 * value);
    return *row->unit ? rh_quantity_format(value, RH_QUANTITY_S, 3)
                      : rh_svg_tick_short(value, tick);
}

static void draw_axis(const Picture *p, const Row *row)
{
    double tick = rh_svg_tick(p->most, 3);
    for (int i = 0; i * tick <= p->most * (1 + 1e-9); i++) {
        g_autofree char *text = i ? axis_text(row, i * tick, tick) : g_strdup("0");
        double y = y_of(p, i * tick);
        rh_svg_line(p->out, RH_SVG_GRID, LEFT, y, LEFT + WIDTH, y);
        rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 5, y + 4, text);
    }
}

static void draw_levels(const Picture *p, const Row *row)
{
    for (int k = 0; k < p->slos->count; k++) {
        const RhSlo *slo = &p->slos->list[k];
        if ((int)slo->metric != row->metric || slo->limit_s > p->most)
            continue;
        g_autofree char *text = rh_slo_text(slo);
        double y = y_of(p, slo->limit_s);
        rh_svg_line(p->out, RH_SVG_RULE, LEFT, y, LEFT + WIDTH, y);
        rh_svg_text(p->out, RH_SVG_TEXT, "end", LEFT + WIDTH, y - 3 < p->top + 10 ? y + 12 : y - 3,
                    text);
    }
}

static void draw_title(const Picture *p, const Row *row)
{
    double x = LEFT + WIDTH, y = p->top - 12;
    rh_svg_text(p->out, RH_SVG_TEXT, "start", 10, y, row->title);
    for (int s = SERIES_MOST - 1; s >= 0; s--) {
        const Series *of = &row->series[s];
        if (!of->value || !*of->name)
            continue;
        x -= 7.0 * (double)g_utf8_strlen(of->name, -1);
        rh_svg_text(p->out, RH_SVG_TEXT, "start", x, y, of->name);
        x -= 18;
        rh_svg_box(p->out, of->color, x, of->area ? y - 10 : y - 5, 13, of->area ? 11 : 2, NULL);
        x -= 12;
    }
}

static void draw_row(Picture *p, const Row *row)
{
    p->most = most_of(p, row);
    draw_title(p, row);
    draw_axis(p, row);
    for (int s = 0; s < SERIES_MOST && row->series[s].value; s++)
        draw_series(p, row, s);
    draw_levels(p, row);
}

static void draw_time(const Picture *p, double y)
{
    static const struct {
        double s;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t u = 0;
    while (u + 1 < G_N_ELEMENTS(units) && p->span_s < 4 * units[u].s)
        u++;
    double number = rh_svg_tick(p->span_s / units[u].s, 6), tick = number * units[u].s;
    for (int i = 0; i * tick <= p->span_s * (1 + 1e-9); i++) {
        g_autofree char *value = rh_svg_tick_text(i * number, number),
                        *text = g_strdup_printf("%s %s", value, units[u].name);
        rh_svg_text(p->out, RH_SVG_SOFT, i ? "middle" : "start", x_of(p, i * tick), y, text);
    }
}

char *rh_report_service_time_svg(const RhServiceResult *result, const RhSlos *slos)
{
    g_autoptr(GArray) times = rh_served_times(result, TIMES);
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    if (times->len == 0)
        return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(load_rows); i++)
        g_ptr_array_add(rows, (gpointer)&load_rows[i]);
    g_ptr_array_add(rows, (gpointer)(result->once ? &e2e_row : &ttft_row));
    if (!result->once)
        g_ptr_array_add(rows, (gpointer)&tpot_row);
    double span_s = g_array_index(times, RhMetricsOverTime, times->len - 1).t_end_s;
    g_autofree char *width =
        rh_quantity_format(g_array_index(times, RhMetricsOverTime, 0).t_end_s, RH_QUANTITY_S, 3);
    g_autofree char *about = g_strdup_printf(
        "Requests that come and are answered, that run and are queued, replicas, use of the cache and latencies, in "
        "times of %s.",
        width);
    double foot = rows->len * (TITLE + HEIGHT + APART);
    Picture p = {.out = rh_svg_new("service", LEFT + WIDTH + 24, foot + BELOW, "",
                                   "The service over time", about),
                 .times = times,
                 .slos = slos,
                 .span_s = span_s};
    for (guint i = 0; i < rows->len; i++) {
        p.top = i * (TITLE + HEIGHT + APART) + TITLE;
        draw_row(&p, g_ptr_array_index(rows, i));
    }
    draw_time(&p, foot + 6);
    return rh_svg_finish(p.out);
}
