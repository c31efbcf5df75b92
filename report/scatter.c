#include "report/scatter.h"

#include <math.h>
#include <string.h>

#define SIDE        560.0 /* pixels of the square */
#define LEFT        70.0
#define TOP         40.0
#define BELOW       50.0
#define LEGEND      270.0
#define LINE        18.0
#define COLORS_MOST 8
#define GRID        "class=\"grid\" stroke=\"#dddddd\""
#define EQUAL       "class=\"equal\" stroke=\"#888888\" stroke-dasharray=\"4 3\""

/* Okabe-Ito; tables beyond them share the last. */
static const char *const colors[COLORS_MOST] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#8a8a00", "#555555"};

typedef struct {
    GString *out;
    const char **tables;
    int low, high; /* decades of seconds */
} Scatter;

static bool is_point(const RhJudgedRow *row)
{
    return !row->skipped && row->standing == RH_STANDING_MEASURED && row->measured_s > 0 &&
           row->predicted_s > 0;
}

static void find_range(const RhJudged *judged, Scatter *s)
{
    double least = (double)INFINITY, most = 0;
    for (guint i = 0; i < judged->rows->len; i++) {
        const RhJudgedRow *row = &g_array_index(judged->rows, RhJudgedRow, i);
        if (!is_point(row))
            continue;
        least = fmin(least, fmin(row->measured_s, row->predicted_s));
        most = fmax(most, fmax(row->measured_s, row->predicted_s));
    }
    s->low = most > 0 ? (int)floor(log10(least)) : 0;
    s->high = most > 0 ? MAX((int)ceil(log10(most)), s->low + 1) : 1;
}

static double along(const Scatter *s, double seconds)
{
    return SIDE * (log10(seconds) - s->low) / (s->high - s->low);
}

static double px(const Scatter *s, double seconds)
{
    return LEFT + along(s, seconds);
}

static double py(const Scatter *s, double seconds)
{
    return TOP + SIDE - along(s, seconds);
}

/* One decimal, whatever the locale. */
static const char *decimal(char buffer[32], double value)
{
    return g_ascii_formatd(buffer, 32, "%.1f", value);
}

/* `ink` is a class, for a sheet that recolours, and attributes, for who has none. */
static void line(const Scatter *s, const char *ink, double x1, double y1, double x2, double y2)
{
    char a[32], b[32], c[32], d[32];
    g_string_append_printf(s->out, "<line %s x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", ink,
                           decimal(a, x1), decimal(b, y1), decimal(c, x2), decimal(d, y2));
}

static void text(const Scatter *s, const char *anchor, double x, double y, const char *words)
{
    char a[32], b[32];
    g_autofree char *escaped = g_markup_escape_text(words, -1);
    g_string_append_printf(s->out, "<text text-anchor=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", anchor,
                           decimal(a, x), decimal(b, y), escaped);
}

static void draw_axes(const Scatter *s)
{
    for (int decade = s->low; decade <= s->high; decade++) {
        double at = pow(10, decade);
        g_autofree char *label = g_strdup_printf("%g s", at);
        line(s, GRID, px(s, at), TOP, px(s, at), TOP + SIDE);
        line(s, GRID, LEFT, py(s, at), LEFT + SIDE, py(s, at));
        text(s, "middle", px(s, at), TOP + SIDE + LINE, label);
        text(s, "end", LEFT - 6, py(s, at) + 4, label);
    }
    line(s, EQUAL, LEFT, TOP + SIDE, LEFT + SIDE, TOP);
    text(s, "middle", LEFT + SIDE / 2, TOP + SIDE + 2.3 * LINE, "measured");
    text(s, "start", LEFT, TOP - 10, "predicted");
}

static int color_of(const Scatter *s, const char *table)
{
    int i = 0;
    while (s->tables[i] && strcmp(s->tables[i], table) != 0)
        i++;
    return MIN(i, COLORS_MOST - 1);
}

static void draw_points(const Scatter *s, const RhJudged *judged)
{
    char a[32], b[32];
    for (guint i = 0; i < judged->rows->len; i++) {
        const RhJudgedRow *row = &g_array_index(judged->rows, RhJudgedRow, i);
        if (!is_point(row))
            continue;
        g_autofree char *about =
            g_strdup_printf("%s, %s: %.4g s measured, %.4g s predicted", row->model, row->device,
                            row->measured_s, row->predicted_s);
        g_autofree char *escaped = g_markup_escape_text(about, -1);
        g_string_append_printf(
            s->out,
            "<circle fill=\"%s\" fill-opacity=\"0.6\" cx=\"%s\" cy=\"%s\" r=\"3\"><title>%s</title></circle>\n",
            colors[color_of(s, row->table)], decimal(a, px(s, row->measured_s)),
            decimal(b, py(s, row->predicted_s)), escaped);
    }
}

static void draw_legend(const Scatter *s, const RhJudged *judged)
{
    char a[32], b[32];
    int shown = 0;
    for (int i = 0; s->tables[i]; i++) {
        RhJudgedFigures f = rh_judged_figures(judged, RH_JUDGED_BY_TABLE, s->tables[i]);
        double y = TOP + LINE * (shown + 1);
        if (f.figures.count == 0)
            continue;
        g_autofree char *words =
            g_strdup_printf("%s: %d, median %.1f %%", s->tables[i], f.figures.count,
                            100 * f.figures.median_abs_error_frac);
        g_string_append_printf(
            s->out, "<circle fill=\"%s\" fill-opacity=\"0.6\" cx=\"%s\" cy=\"%s\" r=\"5\"/>\n",
            colors[MIN(i, COLORS_MOST - 1)], decimal(a, LEFT + SIDE + 20), decimal(b, y - 4));
        text(s, "start", LEFT + SIDE + 32, y, words);
        shown++;
    }
}

static void begin(const Scatter *s, const RhJudgedFigures *all)
{
    char a[32], b[32];
    decimal(a, LEFT + SIDE + LEGEND);
    decimal(b, TOP + SIDE + BELOW);
    g_string_append_printf(
        s->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" viewBox=\"0 0 %s %s\" "
        "role=\"img\" aria-labelledby=\"title description\">\n"
        "<title id=\"title\">Predicted against measured step times</title>\n"
        "<desc id=\"description\">%d measured steps, a point each, seconds on logarithmic axes; on the "
        "diagonal prediction and measurement agree. Half of them are within %.1f %%, nine in ten "
        "within %.1f %%; on average predictions are %.1f %% too %s.</desc>\n"
        "<rect class=\"paper\" width=\"%s\" height=\"%s\" fill=\"#ffffff\"/>\n"
        "<g font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n",
        a, b, a, b, all->figures.count, 100 * all->figures.median_abs_error_frac,
        100 * all->figures.p90_abs_error_frac, 100 * fabs(all->figures.bias_frac),
        all->figures.bias_frac < 0 ? "short" : "long", a, b);
}

char *rh_report_scatter_svg(const RhJudged *judged)
{
    g_autofree const char **tables = rh_judged_groups(judged, RH_JUDGED_BY_TABLE);
    RhJudgedFigures all = rh_judged_figures(judged, RH_JUDGED_BY_LAST, NULL);
    Scatter s = {.out = g_string_new(NULL), .tables = tables};
    find_range(judged, &s);
    begin(&s, &all);
    draw_axes(&s);
    draw_points(&s, judged);
    draw_legend(&s, judged);
    g_string_append(s.out, "</g>\n</svg>\n");
    return g_string_free(s.out, FALSE);
}
