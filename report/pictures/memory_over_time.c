#include "report/pictures/memory_over_time.h"

#include <math.h>

#include "base/units.h"
#include "report/pictures/svg.h"
#include "sim/memory_ledger.h"

#define LEFT    60.0
#define WIDTH   560.0
#define TOP     66.0
#define HEIGHT  300.0
#define BELOW   40.0
#define COLUMNS 560
#define LEGEND  122.0 /* width of an entry of the legend */
#define A_ROW   5

typedef struct {
    RhMemorySample columns[COLUMNS]; /* the largest sample in each column */
    double span_s, most_bytes;
} Picture;

static RhColor color_of(RhMemoryUse use)
{
    static const RhColor colors[RH_MEMORY_LAST] = {
        [RH_MEMORY_NONE] = RH_COLOR_OTHER,          [RH_MEMORY_WEIGHTS] = RH_COLOR_WEIGHTS,
        [RH_MEMORY_GRADIENTS] = RH_COLOR_BACKWARD,  [RH_MEMORY_OPTIMIZER] = RH_COLOR_OPTIMIZER,
        [RH_MEMORY_ACTIVATIONS] = RH_COLOR_FORWARD, [RH_MEMORY_RECOMPUTE] = RH_COLOR_RECOMPUTE,
        [RH_MEMORY_LOGITS] = RH_COLOR_LOGITS,       [RH_MEMORY_COMMUNICATION] = RH_COLOR_BUFFERS,
        [RH_MEMORY_RESERVE] = RH_COLOR_RESERVE,
    };
    return colors[use];
}

static int32_t fullest(const RhTaskIntervals *spans, double *peak_bytes)
{
    int32_t found = 0;
    *peak_bytes = 0;
    for (int32_t i = 0; i < (int32_t)spans->run->performers->len; i++) {
        RhLedger ledger = rh_ledger_walk(spans->p, rh_task_intervals_performer(spans, i)->role,
                                         RH_MEMORY_TIER_HBM);
        if (ledger.peak_bytes > *peak_bytes) {
            *peak_bytes = ledger.peak_bytes;
            found = i;
        }
    }
    return found;
}

static void put(Picture *p, int column, const RhMemorySample *moment)
{
    if (rh_memory_sample_bytes(moment) > rh_memory_sample_bytes(&p->columns[column]))
        p->columns[column] = *moment;
}

/* Fills the columns. A sample lasts until the next, so it counts in every column that it reaches
 * into. */
static void fill_columns(Picture *p, const GArray *moments)
{
    for (guint i = 0; i < moments->len; i++) {
        const RhMemorySample *now = &g_array_index(moments, RhMemorySample, i);
        double t_end_s =
            i + 1 < moments->len ? g_array_index(moments, RhMemorySample, i + 1).t_s : p->span_s;
        int from = (int)(COLUMNS * now->t_s / p->span_s),
            to = (int)ceil(COLUMNS * t_end_s / p->span_s);
        from = MIN(from, COLUMNS - 1); /* at the very end */
        for (int k = MAX(from, 0); k < MIN(MAX(to, from + 1), COLUMNS); k++)
            put(p, k, now);
        p->most_bytes = fmax(p->most_bytes, rh_memory_sample_bytes(now));
    }
}

static double x_of(int column)
{
    return LEFT + WIDTH * column / COLUMNS;
}

static double y_of(const Picture *p, double bytes)
{
    return TOP + HEIGHT * (1 - bytes / p->most_bytes);
}

/* Bytes of the uses up to and including `use`. */
static double stacked_bytes(const RhMemorySample *moment, int use)
{
    double sum = 0;
    for (int u = 0; u < use; u++)
        sum += moment->bytes[u];
    return sum;
}

/* Draws one edge of a use's area, over the columns forward or back; straight where nothing
 * changes. */
static void draw_edge(GString *out, const Picture *p, int use, bool back)
{
    double y = (double)NAN;
    for (int k = 0; k < COLUMNS; k++) {
        int i = back ? COLUMNS - 1 - k : k;
        double next = y_of(p, stacked_bytes(&p->columns[i], use));
        if (k == 0) {
            g_string_append_c(out, back ? 'L' : 'M');
            rh_svg_number(out, x_of(back ? COLUMNS : 0));
            g_string_append_c(out, ' ');
            rh_svg_number(out, next);
        } else if (fabs(next - y) >= 0.1) {
            g_string_append_c(out, 'H');
            rh_svg_number(out, x_of(back ? i + 1 : i));
            g_string_append_c(out, 'V');
            rh_svg_number(out, next);
        } else {
            continue;
        }
        y = next;
    }
    g_string_append_c(out, 'H');
    rh_svg_number(out, x_of(back ? 0 : COLUMNS));
}

static void draw_use(GString *out, const Picture *p, int use)
{
    g_string_append(out, "<path ");
    rh_svg_fill(out, color_of((RhMemoryUse)use));
    g_string_append(out, " d=\"");
    draw_edge(out, p, use + 1, false);
    draw_edge(out, p, use, true);
    g_string_append_printf(out, "z\"><title>%s</title></path>\n", rh_memory_name((RhMemoryUse)use));
}

static void draw_axes(GString *out, const Picture *p, double capacity_bytes)
{
    double y = y_of(p, capacity_bytes);
    double tick = rh_svg_tick(p->most_bytes / RH_GIB_BYTES, 6), step = rh_svg_tick(p->span_s, 6);
    for (int i = 0; i * tick * RH_GIB_BYTES <= p->most_bytes; i++) {
        g_autofree char *text = rh_svg_tick_text(i * tick, tick);
        rh_svg_line(out, RH_SVG_GRID, LEFT, y_of(p, i * tick * RH_GIB_BYTES), LEFT + WIDTH,
                    y_of(p, i * tick * RH_GIB_BYTES));
        rh_svg_text(out, RH_SVG_SOFT, "end", LEFT - 6, y_of(p, i * tick * RH_GIB_BYTES) + 4, text);
    }
    rh_svg_text(out, RH_SVG_SOFT, "end", LEFT - 6, TOP - 8, "GiB");
    for (int i = 0; i * step <= p->span_s * (1 + 1e-9); i++) {
        g_autofree char *number = rh_svg_tick_text(i * step, step);
        g_autofree char *text = g_strconcat(number, " s", NULL);
        rh_svg_text(out, RH_SVG_SOFT, "middle", LEFT + WIDTH * i * step / p->span_s,
                    TOP + HEIGHT + 18, text);
    }
    rh_svg_line(out, RH_SVG_RULE, LEFT, y, LEFT + WIDTH, y);
    rh_svg_text(out, RH_SVG_TEXT, "end", LEFT + WIDTH, y - 5, "all that the GPU has");
}

static void draw_legend(GString *out, const bool *used)
{
    int shown = 0;
    for (int use = RH_MEMORY_NONE + 1; use < RH_MEMORY_LAST; use++) {
        double x = 16 + LEGEND * (shown % A_ROW), y = 6 + 18 * (shown / A_ROW);
        if (!used[use])
            continue;
        rh_svg_box(out, color_of((RhMemoryUse)use), x, y, 12, 12, NULL);
        rh_svg_text(out, RH_SVG_TEXT, "start", x + 17, y + 10, rh_memory_name((RhMemoryUse)use));
        shown++;
    }
}

char *rh_report_memory_svg(const RhTaskIntervals *spans, double capacity_bytes)
{
    double peak_bytes;
    int32_t performer = fullest(spans, &peak_bytes);
    guint count = spans->run->timeline->len;
    g_autofree Picture *p = g_new0(Picture, 1);
    p->span_s = count ? rh_task_intervals_at(spans, (int32_t)count - 1)->t_end_s : 1;
    p->most_bytes = 1.06 * capacity_bytes;
    g_autoptr(GArray) moments = rh_memory_timeline_new(spans, performer);
    fill_columns(p, moments);
    const RhPerformer *of = rh_task_intervals_performer(spans, performer);
    g_autofree char *about = g_strdup_printf(
        "Rank %d (%s), the fullest, over the time of a step: %.1f GiB at most of the %.1f that the GPU has.",
        of->rank, rh_task_intervals_role_name(spans, performer), peak_bytes / RH_GIB_BYTES,
        capacity_bytes / RH_GIB_BYTES);
    GString *out = rh_svg_new("memory", LEFT + WIDTH + 20, TOP + HEIGHT + BELOW, "",
                              "Memory over a step, by kind", about);
    bool used[RH_MEMORY_LAST] = {false};
    for (int use = RH_MEMORY_NONE + 1; use < RH_MEMORY_LAST; use++) {
        for (int k = 0; k < COLUMNS; k++)
            used[use] |= p->columns[k].bytes[use] > 0;
        if (used[use])
            draw_use(out, p, use);
    }
    draw_axes(out, p, capacity_bytes);
    draw_legend(out, used);
    return rh_svg_finish(out);
}
