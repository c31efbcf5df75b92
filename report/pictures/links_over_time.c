#include "report/pictures/links_over_time.h"

#include <math.h>

#include "base/units.h"
#include "report/pictures/svg.h"

#define LEFT   20.0
#define WIDTH  940.0
#define TOP    10.0
#define ROW    74.0 /* height of a row; the name takes NAME */
#define NAME   30.0
#define HEIGHT 36.0
#define BELOW  38.0

/* Load of one link over time. */
typedef struct {
    const RhLinkUse *use;
    const double *loads;
    double most;
    double t_most_s; /* middle of the busiest interval */
} Series;

static Series series_of(const RhRun *run, guint i, double span_s)
{
    Series s = {.use = &g_array_index(run->links, RhLinkUse, i),
                .loads = &g_array_index(run->link_loads, double, i *RH_LINK_BINS)};
    for (int k = 0; k < RH_LINK_BINS; k++)
        if (s.loads[k] > s.most) {
            s.most = s.loads[k];
            s.t_most_s = (k + 0.5) * span_s / RH_LINK_BINS;
        }
    return s;
}

/* Text of a link: "nic/node0/0/tx: 12 % in the mean, 95 % at most, at 1.20 s". Caller frees. */
static char *words_of(const Series *s)
{
    g_autofree char *when = rh_quantity_format(s->t_most_s, RH_QUANTITY_S, 3);
    return g_strdup_printf("%s: %.0f %% in the mean, %.0f %% at most, at %s", s->use->name,
                           100 * s->use->busy_frac, 100 * fmin(s->most, 1), when);
}

static double x_of(int bin)
{
    return LEFT + WIDTH * bin / RH_LINK_BINS;
}

/* Draws an area from left to right, straight where nothing changes. */
static void draw_area(GString *out, const Series *s, double y_floor, const char *about)
{
    double y = y_floor;
    g_string_append(out, "<path ");
    rh_svg_fill(out, RH_COLOR_LOAD);
    g_string_append(out, " d=\"M");
    rh_svg_number(out, LEFT);
    g_string_append_c(out, ' ');
    rh_svg_number(out, y_floor);
    for (int k = 0; k < RH_LINK_BINS; k++) {
        double next = y_floor - HEIGHT * fmin(s->loads[k], 1);
        if (fabs(next - y) < 0.1)
            continue;
        g_string_append_c(out, 'H');
        rh_svg_number(out, x_of(k));
        g_string_append_c(out, 'V');
        rh_svg_number(out, next);
        y = next;
    }
    g_string_append_c(out, 'H');
    rh_svg_number(out, x_of(RH_LINK_BINS));
    g_string_append_c(out, 'V');
    rh_svg_number(out, y_floor);
    g_autofree char *escaped = g_markup_escape_text(about, -1);
    g_string_append_printf(out, "z\"><title>%s</title></path>\n", escaped);
}

static void draw_row(GString *out, const Series *s, guint row)
{
    double top = TOP + ROW * row + NAME, y_floor = top + HEIGHT;
    g_autofree char *words = words_of(s);
    rh_svg_text(out, RH_SVG_TEXT, "start", LEFT, top - 5, words);
    rh_svg_line(out, RH_SVG_GRID, LEFT, top, LEFT + WIDTH, top);
    draw_area(out, s, y_floor, words);
    rh_svg_line(out, RH_SVG_GRID, LEFT, y_floor, LEFT + WIDTH, y_floor);
}

static void draw_time(GString *out, double span_s, double y)
{
    double step = rh_svg_tick(span_s, 8);
    for (int i = 0; i * step <= span_s * (1 + 1e-9); i++) {
        g_autofree char *number = rh_svg_tick_text(i * step, step);
        g_autofree char *text = g_strconcat(number, " s", NULL);
        rh_svg_text(out, RH_SVG_SOFT, i ? "middle" : "start", LEFT + WIDTH * i * step / span_s, y,
                    text);
    }
}

/* Duration until the last task ends: over several steps all of them. */
static double span_of(const RhRun *run)
{
    double span_s = 0;
    for (guint i = 0; i < run->timeline->len; i++)
        span_s = fmax(span_s, g_array_index(run->timeline, RhTaskInterval, i).t_end_s);
    return span_s;
}

char *rh_report_links_svg(const RhRun *run)
{
    guint rows = run->link_loads->len / RH_LINK_BINS;
    double span_s = span_of(run);
    if (rows == 0 || span_s <= 0)
        return NULL;
    g_autoptr(GString) about = g_string_new("The share of its rate that each of the busiest links "
                                            "moves, over the time of a step.");
    for (guint i = 0; i < rows; i++) {
        Series s = series_of(run, i, span_s);
        g_autofree char *words = words_of(&s);
        g_string_append_printf(about, " %s.", words);
    }
    double bottom = TOP + ROW * rows;
    GString *out =
        rh_svg_new("links", LEFT + WIDTH + 20, bottom + BELOW, "", "Links over a step", about->str);
    for (guint i = 0; i < rows; i++) {
        Series s = series_of(run, i, span_s);
        draw_row(out, &s, i);
    }
    draw_time(out, span_s, bottom + 20);
    return rh_svg_finish(out);
}
