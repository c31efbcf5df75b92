#include "report/run/run_picture.h"

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
