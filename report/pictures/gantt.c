#include "report/pictures/gantt.h"

#include <math.h>

#include "base/json/json.h"
#include "base/units.h"
#include "report/pictures/gantt_bar_path.h"
#include "report/pictures/gantt_colors.h"
#include "report/pictures/svg.h"

#define LEFT     190.0
#define WIDTH    1000.0 /* of the plot */
#define TOP      64.0   /* space for the legend */
#define ROW      22.0
#define BAR      16.0
#define BELOW    44.0
#define UNITS    100000 /* across the plot: positions are whole numbers, fine enough for zoom */
#define COARSE   20000  /* where neighbours are drawn together, and zoom would show nothing more */
#define ROWS_MAX 64
#define LEGEND   165.0 /* pixels of an entry */
/* Characters of all paths beyond which neighbours are drawn together, a 16th of a pixel, an 8th,
 * ... */
#define LONG 1200000

/* Heights of bars: passes are full bars, waits half ones. */
enum { PASS, WAIT, HEIGHTS };

/* Neighbours too narrow to be seen: total length by colour. */
typedef struct {
    bool filled;
    double t_start_s, t_end_s;
    double sum_s[RH_GANTT_INKS][HEIGHTS];
} Cell;

typedef struct {
    double span_s;
    double cell_s; /* shorter boxes are drawn together with their neighbours; 0: none are */
    int units;     /* across the plot */
    bool used[RH_GANTT_INKS];
    RhBarPath *boxes[RH_GANTT_INKS][HEIGHTS];
    Cell cell;
} Row;

static int64_t at(const Row *row, double t_s)
{
    return (int64_t)llround(row->units * t_s / row->span_s);
}

static void draw_cell(Row *row)
{
    Cell *cell = &row->cell;
    double t_s = cell->t_start_s;
    for (int k = 0; cell->filled && k < RH_GANTT_INKS * HEIGHTS; k++) {
        int height = k / RH_GANTT_INKS, ink = k % RH_GANTT_INKS;
        double next_s = t_s + cell->sum_s[ink][height];
        int64_t from = at(row, t_s), to = at(row, next_s);
        t_s = next_s;
        if (to == from)
            continue;
        rh_bar_path_add(row->boxes[ink][height], from, to, RH_BOXES_NO_LABEL);
        row->used[ink] = true;
    }
    *cell = (Cell){0};
}

static void gather(Cell *cell, int ink, int height, double from_s, double to_s)
{
    if (!cell->filled)
        cell->t_start_s = from_s;
    cell->filled = true;
    cell->t_end_s = to_s;
    cell->sum_s[ink][height] += to_s - from_s;
}

/* Adds a box; boxes come in order of time. */
static void add_box(Row *row, int ink, int height, double from_s, double to_s, int32_t microbatch)
{
    Cell *cell = &row->cell;
    bool narrow = to_s - from_s < row->cell_s;
    int64_t from = at(row, from_s), to = at(row, to_s);
    if (!narrow || cell->t_end_s - cell->t_start_s >= row->cell_s)
        draw_cell(row);
    if (narrow) {
        gather(cell, ink, height, from_s, to_s);
    } else if (height == PASS || to > from) {
        rh_bar_path_add(row->boxes[ink][height], from, to, microbatch);
        row->used[ink] = true;
    }
}

static void add_wait(Row *row, int ink, double *t_s, double duration_s)
{
    if (duration_s > 0)
        add_box(row, ink, WAIT, *t_s, *t_s + duration_s, RH_BOXES_NO_LABEL);
    *t_s += duration_s;
}

/* Adds a pass: first kernels, then recomputed ones, then waits inside the pass; together as long as
 * the pass. */
static void add_pass(Row *row, const RhGpuSegment *segment)
{
    double waited_s = 0;
    for (int w = 0; w < RH_WAIT_LAST; w++)
        waited_s += segment->wait_s[w];
    double t_s = segment->t_end_s - waited_s, t_again_s = segment->t_start_s + segment->recompute_s;
    if (segment->recompute_s > 0)
        add_box(row, RH_GANTT_RECOMPUTE, PASS, segment->t_start_s, t_again_s, segment->microbatch);
    if (t_s > t_again_s)
        add_box(row, rh_gantt_ink_of_segment(segment), PASS, t_again_s, t_s, segment->microbatch);
    double late_s =
        segment->late_s; /* of the first wait that is long enough: nearly always the only one */
    for (int w = 0; w < RH_WAIT_LAST; w++) {
        double here_s = MIN(late_s, segment->wait_s[w]);
        late_s -= here_s;
        add_wait(row, RH_GANTT_END, &t_s, here_s);
        add_wait(row, rh_gantt_ink_of_wait(w), &t_s, segment->wait_s[w] - here_s);
    }
}

static void add_segment(Row *row, const RhGpuSegment *segment)
{
    double t_s = segment->t_start_s;
    if (segment->kind != RH_SEGMENT_IDLE)
        add_pass(row, segment);
    else
        add_wait(row, rh_gantt_ink_of_segment(segment), &t_s, segment->t_end_s - t_s);
}

/* Appends paths. Heights are in this transform: in a path 1 is the foot and 0 the head. */
static void append_paths(GString *out, Row *row)
{
    for (int k = 0; k < RH_GANTT_INKS * HEIGHTS; k++) {
        int i = k / HEIGHTS, height = (k + 1) % HEIGHTS;
        g_autoptr(GString) labels = g_string_new(NULL);
        g_autoptr(GString) path = g_string_new(NULL);
        rh_bar_path_take(row->boxes[i][height], labels, path);
        if (path->len == 0)
            continue;
        g_string_append(out, "<path ");
        rh_svg_fill(out, rh_gantt_ink_color((RhGanttInk)i));
        g_string_append_printf(out, " data-name=\"%s\"", rh_gantt_ink_name((RhGanttInk)i));
        if (height == PASS && row->cell_s <= 0)
            g_string_append_printf(out, " data-m=\"%s\"", labels->str);
        double high = height == PASS ? BAR : BAR / 2;
        g_string_append_printf(out, " transform=\"matrix(1 0 0 %.0f 0 %.0f)\" d=\"%s\"/>\n", high,
                               BAR - high, path->str);
    }
}

/* Name of a row: "stage 0, for 8". Caller frees. */
static char *row_name(const RhTaskIntervals *spans, int32_t performer)
{
    const RhPerformer *p = rh_task_intervals_performer(spans, performer);
    const char *label = rh_task_intervals_role_name(spans, performer);
    return p->ranks_count > 1
               ? g_strdup_printf("%s, r%d + %d more", label, p->rank, p->ranks_count - 1)
               : g_strdup_printf("%s, r%d", label, p->rank);
}

static double row_y(int32_t row)
{
    return TOP + ROW * row;
}

static void draw_rows(GString *out, const RhGpuTimeline *timeline, int32_t rows, Row *row)
{
    char scale[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out,
                           "<clipPath id=\"gantt-clip\"><rect x=\"%.0f\" y=\"0\" width=\"%.0f\" "
                           "height=\"%.0f\"/></clipPath>\n<g clip-path=\"url(#gantt-clip)\">\n"
                           "<g class=\"zoom\" transform=\"translate(%.0f 0) scale(%s 1)\">\n",
                           LEFT, WIDTH, row_y(rows) + 8, LEFT,
                           g_ascii_formatd(scale, sizeof scale, "%g", WIDTH / row->units));
    for (int32_t i = 0; i < rows; i++) {
        const GArray *segments = g_ptr_array_index(timeline->passes, i);
        g_string_append_printf(out, "<g transform=\"translate(0 %.0f)\">\n", row_y(i));
        for (guint n = 0; n < segments->len; n++)
            add_segment(row, &g_array_index(segments, RhGpuSegment, n));
        draw_cell(row);
        append_paths(out, row);
        g_string_append(out, "</g>\n");
    }
}

/* Draws the rows with as much detail as a file of acceptable size allows. */
static void draw_rows_short(GString *out, const RhGpuTimeline *timeline, int32_t rows, Row *row)
{
    gsize before = out->len;
    draw_rows(out, timeline, rows, row);
    for (double cell = row->span_s / WIDTH / 16; out->len - before > LONG; cell *= 2) {
        g_string_truncate(out, before);
        memset(row->used, 0, sizeof row->used);
        row->cell_s = cell;
        row->units = COARSE;
        draw_rows(out, timeline, rows, row);
    }
}

/* Draws the critical path: along the foot of the row that it is on; from row to row faintly, as
 * many such lines side by side would hide the rows. */
static void draw_chain(GString *out, const RhGpuTimeline *timeline, int32_t rows, const Row *row)
{
    int32_t here = -1;
    int64_t to = -1;
    g_autoptr(GString) along = g_string_new(NULL), between = g_string_new(NULL);
    for (guint i = 0; i < timeline->chain->len; i++) {
        const RhCriticalStep *link = &g_array_index(timeline->chain, RhCriticalStep, i);
        if (link->performer >= rows)
            continue;
        double y = row_y(link->performer) + BAR + 2;
        if (link->performer != here && to >= 0) {
            g_string_append_printf(along, "H%" G_GINT64_FORMAT, to);
            g_string_append_printf(between, "M%" G_GINT64_FORMAT " %.0fV%.0f", to,
                                   row_y(here) + BAR + 2, y);
        }
        if (link->performer != here)
            g_string_append_printf(along, "M%" G_GINT64_FORMAT " %.0f",
                                   to >= 0 ? to : at(row, link->t_start_s), y);
        here = link->performer;
        to = at(row, link->t_end_s);
    }
    if (to >= 0)
        g_string_append_printf(along, "H%" G_GINT64_FORMAT, to);
    g_string_append_printf(
        out,
        "<g class=\"chain\" fill=\"none\" stroke=\"#222222\">\n<path stroke-width=\"2\" "
        "vector-effect=\"non-scaling-stroke\" d=\"%s\"/>\n<path stroke-opacity=\"0.3\" "
        "vector-effect=\"non-scaling-stroke\" d=\"%s\"/>\n</g>\n</g>\n</g>\n",
        along->str, between->str);
}

static void draw_axis(GString *out, double span_s, double foot)
{
    double tick = rh_svg_tick(span_s, 10);
    g_string_append(out, "<g class=\"axis\">\n");
    for (int i = 0; i * tick <= span_s * (1 + 1e-9); i++) {
        double x = LEFT + WIDTH * i * tick / span_s;
        g_autofree char *number = rh_svg_tick_text(i * tick, tick);
        g_autofree char *text = g_strconcat(number, " s", NULL);
        rh_svg_line(out, RH_SVG_GRID, x, foot, x, foot + 5);
        rh_svg_text(out, RH_SVG_SOFT, "middle", x, foot + 18, text);
    }
    g_string_append(out, "</g>\n");
}

static void draw_legend(GString *out, const bool *used)
{
    int shown = 0;
    for (int i = 0; i < RH_GANTT_INKS; i++) {
        double x = LEFT + LEGEND * (shown % 6), y = 14 + 20 * (shown / 6);
        bool pass = i == RH_GANTT_FORWARD || i == RH_GANTT_BACKWARD || i == RH_GANTT_RECOMPUTE ||
                    i == RH_GANTT_OPTIMIZER;
        if (!used[i])
            continue;
        rh_svg_box(out, rh_gantt_ink_color((RhGanttInk)i), x, y + (pass ? 0 : 5), 14, pass ? 12 : 7,
                   NULL);
        rh_svg_text(out, RH_SVG_TEXT, "start", x + 19, y + 11, rh_gantt_ink_name((RhGanttInk)i));
        shown++;
    }
    double x = LEFT + LEGEND * (shown % 6), y = 14 + 20 * (shown / 6);
    g_string_append_printf(
        out,
        "<path class=\"chain\" fill=\"none\" stroke=\"#222222\" stroke-width=\"2\" d=\"M%.0f %.0fh14\"/>\n",
        x, y + 7);
    rh_svg_text(out, RH_SVG_TEXT, "start", x + 19, y + 11, "critical path");
}

/* Draws remarks about omitted and simplified parts. */
static void draw_remarks(GString *out, const RhGpuTimeline *timeline, const Row *row, double y)
{
    g_autoptr(GString) said = g_string_new(NULL);
    if (timeline->passes->len > ROWS_MAX)
        g_string_append_printf(said, "the first %d of %u kinds of GPU", ROWS_MAX,
                               timeline->passes->len);
    if (row->cell_s > 0) {
        g_autofree char *cell = rh_quantity_format(row->cell_s, RH_QUANTITY_S, 3);
        g_string_append_printf(said,
                               "%stasks shorter than %s are drawn together with their neighbours",
                               said->len ? "; " : "", cell);
    }
    if (said->len)
        rh_svg_text(out, RH_SVG_SOFT, "start", LEFT, y, said->str);
}

/* --- figures --- */

static double span_of(const RhTaskIntervals *spans)
{
    guint count = spans->run->timeline->len;
    return count ? rh_task_intervals_at(spans, (int32_t)count - 1)->t_end_s : 1;
}

static void sum_row(const GArray *segments, double sum_s[RH_GANTT_INKS])
{
    for (guint n = 0; n < segments->len; n++) {
        const RhGpuSegment *segment = &g_array_index(segments, RhGpuSegment, n);
        sum_s[rh_gantt_ink_of_segment(segment)] +=
            segment->t_end_s - segment->t_start_s - segment->recompute_s;
        sum_s[RH_GANTT_RECOMPUTE] += segment->recompute_s;
        for (int w = 0; w < RH_WAIT_LAST; w++) {
            sum_s[rh_gantt_ink_of_segment(segment)] -= segment->wait_s[w];
            sum_s[rh_gantt_ink_of_wait(w)] += segment->wait_s[w];
        }
    }
}

static void sum_chain(const RhGpuTimeline *timeline, double chain_s[RH_WAIT_LAST])
{
    for (guint i = 0; i < timeline->chain->len; i++) {
        const RhCriticalStep *link = &g_array_index(timeline->chain, RhCriticalStep, i);
        chain_s[link->wait] += link->t_end_s - link->t_start_s;
    }
}

char *rh_report_gpu_timeline_json(const RhTaskIntervals *spans, const RhGpuTimeline *timeline)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    double chain_s[RH_WAIT_LAST] = {0}, span_s = span_of(spans);
    rh_json_begin_object(w, NULL);
    rh_json_begin_array(w, "gpus");
    for (guint i = 0; i < timeline->passes->len; i++) {
        double sum_s[RH_GANTT_INKS] = {0};
        g_autofree char *name = row_name(spans, (int32_t)i);
        sum_row(g_ptr_array_index(timeline->passes, i), sum_s);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "gpu", name);
        for (int k = 0; k < RH_GANTT_INKS; k++)
            rh_json_put_number(w, rh_gantt_ink_name((RhGanttInk)k),
                               fabs(sum_s[k]) < 1e-7 * span_s ? 0 : sum_s[k]);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    sum_chain(timeline, chain_s);
    rh_json_begin_array(w, "chain");
    for (int k = 0; k < RH_WAIT_LAST; k++) {
        if (chain_s[k] <= 0)
            continue;
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", k == RH_WAIT_COMPUTE ? "kernels" : rh_wait_name((RhWait)k));
        rh_json_put_number(w, "value_s", chain_s[k]);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* Description: "... the step's end hung on: kernels 50.1 s, tensor parallel 9.81 s". Caller
 * frees. */
static char *description_of(const RhGpuTimeline *timeline, int32_t rows)
{
    g_autoptr(GString) out = g_string_new(NULL);
    double chain_s[RH_WAIT_LAST] = {0};
    g_string_printf(
        out, "%d of %u kinds of GPU, a row each, over the time of a step. The critical path:", rows,
        timeline->passes->len);
    sum_chain(timeline, chain_s);
    for (int k = 0; k < RH_WAIT_LAST; k++) {
        if (chain_s[k] <= 0)
            continue;
        g_autofree char *value = rh_quantity_format(chain_s[k], RH_QUANTITY_S, 3);
        g_string_append_printf(out, " %s %s;",
                               k == RH_WAIT_COMPUTE ? "kernels" : rh_wait_name((RhWait)k), value);
    }
    g_string_truncate(out, out->len - 1);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

char *rh_report_gantt_svg(const RhTaskIntervals *spans, const RhGpuTimeline *timeline)
{
    int32_t rows = (int32_t)MIN(timeline->passes->len, ROWS_MAX);
    Row row = {.span_s = span_of(spans), .units = UNITS};
    g_autoptr(GString) body = g_string_new(NULL);
    for (int k = 0; k < RH_GANTT_INKS * HEIGHTS; k++)
        row.boxes[k / HEIGHTS][k % HEIGHTS] = rh_bar_path_new();
    draw_rows_short(body, timeline, rows, &row);
    draw_chain(body, timeline, rows, &row);
    double foot = row_y(rows) + 6;
    char span[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *about = description_of(timeline, rows);
    g_autofree char *data = g_strdup_printf(
        "data-left=\"%.0f\" data-width=\"%.0f\" data-units=\"%d\" data-span=\"%s\" data-foot=\"%.0f\"",
        LEFT, WIDTH, row.units, g_ascii_formatd(span, sizeof span, "%.9g", row.span_s), foot);
    GString *out =
        rh_svg_new("gantt", LEFT + WIDTH + 20, foot + BELOW, data, "What each GPU did when", about);
    g_string_append_len(out, body->str, (gssize)body->len);
    for (int32_t i = 0; i < rows; i++) {
        g_autofree char *name = row_name(spans, i);
        rh_svg_text(out, RH_SVG_TEXT, "end", LEFT - 8, row_y(i) + BAR - 4, name);
    }
    draw_axis(out, row.span_s, foot);
    draw_legend(out, row.used);
    draw_remarks(out, timeline, &row, foot + 36);
    for (int k = 0; k < RH_GANTT_INKS * HEIGHTS; k++)
        rh_bar_path_free(row.boxes[k / HEIGHTS][k % HEIGHTS]);
    return rh_svg_finish(out);
}
