#include "report/pictures/scatter.h"

#include <math.h>
#include <string.h>

#include "report/pictures/svg.h"

#define SIDE   560.0 /* pixels of the square */
#define LEFT   70.0
#define TOP    40.0
#define BELOW  50.0
#define LEGEND 270.0
#define LINE   18.0

typedef struct {
    GString *out;
    const char **tables;
    int low, high; /* decades of seconds */
} Scatter;

static bool is_point(const RhEvaluatedRun *row)
{
    return !row->skipped && row->standing == RH_STANDING_MEASURED && row->measured_s > 0 &&
           row->predicted_s > 0;
}

static void find_range(const RhEvaluation *evaluation, Scatter *s)
{
    double least = (double)INFINITY, most = 0;
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        if (!is_point(row))
            continue;
        least = fmin(least, fmin(row->measured_s, row->predicted_s));
        most = fmax(most, fmax(row->measured_s, row->predicted_s));
    }
    s->low = most > 0 ? (int)floor(log10(least)) : 0;
    s->high = most > 0 ? MAX((int)ceil(log10(most)), s->low + 1) : 1;
}

static double position_of(const Scatter *s, double seconds)
{
    return SIDE * (log10(seconds) - s->low) / (s->high - s->low);
}

static double px(const Scatter *s, double seconds)
{
    return LEFT + position_of(s, seconds);
}

static double py(const Scatter *s, double seconds)
{
    return TOP + SIDE - position_of(s, seconds);
}

static void draw_axes(const Scatter *s)
{
    for (int decade = s->low; decade <= s->high; decade++) {
        double at = pow(10, decade);
        g_autofree char *label = g_strdup_printf("%g s", at);
        rh_svg_line(s->out, RH_SVG_GRID, px(s, at), TOP, px(s, at), TOP + SIDE);
        rh_svg_line(s->out, RH_SVG_GRID, LEFT, py(s, at), LEFT + SIDE, py(s, at));
        rh_svg_text(s->out, RH_SVG_SOFT, "middle", px(s, at), TOP + SIDE + LINE, label);
        rh_svg_text(s->out, RH_SVG_SOFT, "end", LEFT - 6, py(s, at) + 4, label);
    }
    rh_svg_line(s->out, RH_SVG_RULE, LEFT, TOP + SIDE, LEFT + SIDE, TOP);
    rh_svg_text(s->out, RH_SVG_SOFT, "middle", LEFT + SIDE / 2, TOP + SIDE + 2.3 * LINE,
                "measured");
    rh_svg_text(s->out, RH_SVG_TEXT, "start", LEFT, TOP - 10, "predicted");
}

static RhColor color_of(const Scatter *s, const char *table)
{
    int i = 0;
    while (s->tables[i] && strcmp(s->tables[i], table) != 0)
        i++;
    return rh_color_series(i);
}

static void draw_point(const Scatter *s, RhColor color, double x, double y, double radius,
                       const char *about)
{
    g_autofree char *escaped = g_markup_escape_text(about, -1);
    g_string_append(s->out, "<circle ");
    rh_svg_fill(s->out, color);
    g_string_append(s->out, " fill-opacity=\"0.6\" cx=\"");
    rh_svg_number(s->out, x);
    g_string_append(s->out, "\" cy=\"");
    rh_svg_number(s->out, y);
    g_string_append_printf(s->out, "\" r=\"%.0f\"><title>%s</title></circle>\n", radius, escaped);
}

static void draw_points(const Scatter *s, const RhEvaluation *evaluation)
{
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        if (!is_point(row))
            continue;
        g_autofree char *about =
            g_strdup_printf("%s, %s: %.4g s measured, %.4g s predicted", row->model, row->device,
                            row->measured_s, row->predicted_s);
        draw_point(s, color_of(s, row->table), px(s, row->measured_s), py(s, row->predicted_s), 3,
                   about);
    }
}

static void draw_legend(const Scatter *s, const RhEvaluation *evaluation)
{
    int shown = 0;
    for (int i = 0; s->tables[i]; i++) {
        RhEvaluationFigures f =
            rh_evaluation_figures(evaluation, RH_EVALUATION_BY_TABLE, s->tables[i]);
        double y = TOP + LINE * (shown + 1);
        if (f.figures.count == 0)
            continue;
        g_autofree char *words =
            g_strdup_printf("%s: %d, median %.1f %%", s->tables[i], f.figures.count,
                            100 * f.figures.median_abs_error_frac);
        draw_point(s, rh_color_series(i), LEFT + SIDE + 20, y - 4, 5, s->tables[i]);
        rh_svg_text(s->out, RH_SVG_TEXT, "start", LEFT + SIDE + 32, y, words);
        shown++;
    }
}

static GString *begin_drawing(const RhEvaluationFigures *all)
{
    g_autofree char *about = g_strdup_printf(
        "%d measured steps, a point each, seconds on logarithmic axes; on the "
        "diagonal prediction and measurement agree. Half of them are within %.1f %%, nine in ten "
        "within %.1f %%; on average predictions are %.1f %% too %s.",
        all->figures.count, 100 * all->figures.median_abs_error_frac,
        100 * all->figures.p90_abs_error_frac, 100 * fabs(all->figures.bias_frac),
        all->figures.bias_frac < 0 ? "short" : "long");
    return rh_svg_new("scatter", LEFT + SIDE + LEGEND, TOP + SIDE + BELOW, "",
                      "Predicted against measured step times", about);
}

char *rh_report_scatter_svg(const RhEvaluation *evaluation)
{
    g_autofree const char **tables = rh_evaluation_groups(evaluation, RH_EVALUATION_BY_TABLE);
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    Scatter s = {.out = begin_drawing(&all), .tables = tables};
    find_range(evaluation, &s);
    draw_axes(&s);
    draw_points(&s, evaluation);
    draw_legend(&s, evaluation);
    return rh_svg_finish(s.out);
}
