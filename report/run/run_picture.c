#include "report/run/run_picture.h"

#include <math.h>
#include <string.h>

#include "report/capacity/capacity.h"
#include "report/pictures/svg.h"

#define LEFT  110.0
#define WIDTH 420.0
#define RIGHT 150.0
#define TOP   12.0
#define ROW   28.0
#define BAR   18.0

static const RhColor colors[RH_RUN_TIMES_LAST] = {
    [RH_RUN_COMPUTE] = RH_COLOR_FORWARD,    [RH_RUN_SHRUNK] = RH_COLOR_SLOWER,
    [RH_RUN_SLOW] = RH_COLOR_OPTIMIZER,     [RH_RUN_CHECKPOINT] = RH_COLOR_DATA,
    [RH_RUN_LOST] = RH_COLOR_LOST,          [RH_RUN_DETECTION] = RH_COLOR_IDLE,
    [RH_RUN_WAIT] = RH_COLOR_OTHER,         [RH_RUN_RESTART] = RH_COLOR_RECOMPUTE,
    [RH_RUN_DIAGNOSIS] = RH_COLOR_TRANSFER, [RH_RUN_PLANNED] = RH_COLOR_RESERVE,
    [RH_RUN_TUNING] = RH_COLOR_CHOSEN,
};

static void draw_row(GString *out, const RhRunResult *r, RhRunTime part, double y)
{
    double share = r->spent_s[part] / r->time_s.mean;
    g_autofree char *time = rh_report_duration(r->spent_s[part]);
    g_autofree char *text = g_strdup_printf("%s, %.1f %%", time, 100 * share);
    g_autofree char *about = g_strdup_printf("%s: %s", rh_run_time_name(part), text);
    rh_svg_text(out, RH_SVG_TEXT, "end", LEFT - 8, y + BAR - 5, rh_run_time_name(part));
    rh_svg_box(out, colors[part], LEFT, y, WIDTH * share, BAR, about);
    rh_svg_text(out, RH_SVG_SOFT, "start", LEFT + WIDTH * share + 6, y + BAR - 5, text);
}

char *rh_report_run_time_svg(const RhRunAnswer *a)
{
    const RhRunResult *r = a->result;
    int rows = 0;
    for (int i = 0; i < RH_RUN_TIMES_LAST; i++)
        rows += rh_report_run_time_shown(r, (RhRunTime)i);
    GString *out = rh_svg_new("run-time", LEFT + WIDTH + RIGHT, 2 * TOP + ROW * rows, "",
                              "Where the time of the run goes",
                              "A bar for each part of the mean time, with its share");
    double y = TOP;
    for (int i = 0; i < RH_RUN_TIMES_LAST; i++) {
        if (!rh_report_run_time_shown(r, (RhRunTime)i))
            continue;
        draw_row(out, r, (RhRunTime)i, y);
        y += ROW;
    }
    return rh_svg_finish(out);
}

/* --- one run --- */

#define ROWS       12
#define STRIP_LEFT 60.0
#define STRIP      640.0
#define STRIP_ROW  22.0
#define STRIP_BOX  16.0

/* Draws a span, cut at the ends of rows. */
static void draw_span(GString *out, const RhRunInterval *span, double row_s)
{
    int first = (int)(span->from_s / row_s), last = MIN((int)(span->to_s / row_s), ROWS - 1);
    g_autofree char *time = rh_report_duration(span->to_s - span->from_s),
                    *at = rh_report_duration(span->from_s);
    g_autofree char *about =
        g_strdup_printf("%s: %s, after %s", rh_run_time_name(span->what), time, at);
    for (int row = MAX(first, 0); row <= last; row++) {
        double from = fmax(span->from_s - row * row_s, 0) / row_s;
        double to = fmin(span->to_s - row * row_s, row_s) / row_s;
        rh_svg_box(out, colors[span->what], STRIP_LEFT + STRIP * from, TOP + STRIP_ROW * row,
                   fmax(STRIP * (to - from), 0.3), STRIP_BOX, about);
    }
}

static void draw_key(GString *out, const bool *seen, double y)
{
    double x = STRIP_LEFT;
    for (int i = 0; i < RH_RUN_TIMES_LAST; i++) {
        if (!seen[i])
            continue;
        const char *name = rh_run_time_name((RhRunTime)i);
        rh_svg_box(out, colors[i], x, y, 10, 10, NULL);
        rh_svg_text(out, RH_SVG_SOFT, "start", x + 14, y + 9, name);
        x += 26 + 6.4 * (double)strlen(name);
    }
}

char *rh_report_run_spans_svg(const RhRunAnswer *a, const GArray *spans, double time_s)
{
    (void)a;
    double row_s = time_s / ROWS;
    bool seen[RH_RUN_TIMES_LAST] = {[RH_RUN_COMPUTE] = true};
    GString *out = rh_svg_new("run-spans", STRIP_LEFT + STRIP + 20, 2 * TOP + STRIP_ROW * ROWS + 20,
                              "", "One run from its first to its last step",
                              "A row for each twelfth of the run; what is not plain computing");
    for (int row = 0; row < ROWS; row++) {
        g_autofree char *at = rh_report_duration(row * row_s);
        double y = TOP + STRIP_ROW * row;
        rh_svg_text(out, RH_SVG_SOFT, "end", STRIP_LEFT - 6, y + STRIP_BOX - 4, row ? at : "0");
        rh_svg_box(out, colors[RH_RUN_COMPUTE], STRIP_LEFT, y, STRIP, STRIP_BOX, NULL);
    }
    for (guint i = 0; i < spans->len; i++) {
        const RhRunInterval *span = &g_array_index(spans, RhRunInterval, i);
        draw_span(out, span, row_s);
        seen[span->what] = true;
    }
    draw_key(out, seen, TOP + STRIP_ROW * ROWS + 6);
    return rh_svg_finish(out);
}

/* --- all runs --- */

#define SPREAD_LEFT   60.0
#define SPREAD_WIDTH  520.0
#define SPREAD_HEIGHT 180.0

typedef struct {
    double low_s, high_s;
} SpreadAxis;

static double spread_x(const SpreadAxis *axis, double time_s)
{
    return SPREAD_LEFT + SPREAD_WIDTH * (time_s - axis->low_s) / (axis->high_s - axis->low_s);
}

/* A tick says the days, and the goodput of a run of that length. */
static void draw_ticks(GString *out, const RhRunAnswer *a, const SpreadAxis *axis)
{
    const RhRunResult *r = a->result;
    double bottom = TOP + SPREAD_HEIGHT, paid = r->goodput_frac * r->time_s.mean;
    for (int i = 0; i <= 4; i++) {
        double time_s = axis->low_s + i * (axis->high_s - axis->low_s) / 4;
        g_autofree char *days = rh_report_duration(time_s),
                        *goodput = g_strdup_printf("%.1f %%", 100 * paid / time_s);
        double x = spread_x(axis, time_s);
        rh_svg_line(out, RH_SVG_GRID, x, TOP, x, bottom);
        rh_svg_text(out, RH_SVG_SOFT, "middle", x, bottom + 14, days);
        rh_svg_text(out, RH_SVG_SOFT, "middle", x, bottom + 28, goodput);
    }
    for (int i = 0; i <= 4; i++) {
        g_autofree char *share = g_strdup_printf("%d %%", 25 * i);
        double y = bottom - SPREAD_HEIGHT * i / 4;
        rh_svg_line(out, RH_SVG_GRID, SPREAD_LEFT, y, SPREAD_LEFT + SPREAD_WIDTH, y);
        rh_svg_text(out, RH_SVG_SOFT, "end", SPREAD_LEFT - 6, y + 4, share);
    }
}

char *rh_report_run_spread_svg(const RhRunAnswer *a)
{
    const double *times_s = a->result->times_s;
    SpreadAxis axis = {times_s[0], times_s[RH_RUN_QUANTILES - 1]};
    double least_s = 1e-3 * axis.low_s; /* runs that are all alike */
    if (axis.high_s - axis.low_s < least_s)
        axis.high_s = axis.low_s + least_s;
    GString *out = rh_svg_new("run-spread", SPREAD_LEFT + SPREAD_WIDTH + 40,
                              2 * TOP + SPREAD_HEIGHT + 30, "", "How long drawn runs take",
                              "Share of the runs that are done, over time, with their goodput");
    draw_ticks(out, a, &axis);
    for (int i = 1; i < RH_RUN_QUANTILES; i++) {
        double step = SPREAD_HEIGHT / (RH_RUN_QUANTILES - 1);
        rh_svg_line(out, RH_SVG_RULE, spread_x(&axis, times_s[i - 1]),
                    TOP + SPREAD_HEIGHT - step * (i - 1), spread_x(&axis, times_s[i]),
                    TOP + SPREAD_HEIGHT - step * i);
    }
    return rh_svg_finish(out);
}
