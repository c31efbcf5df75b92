#include "report/gantt.h"

#include <math.h>

#include "base/json.h"
#include "base/units.h"
#include "report/svg.h"

#define LEFT     190.0
#define WIDTH    1000.0 /* of the plot */
#define TOP      64.0   /* room for the legend */
#define ROW      22.0
#define BAR      16.0
#define BELOW    44.0
#define UNITS    100000 /* across the plot: positions are whole numbers, and zoom has room */
#define ROWS_MAX 64
#define LEGEND   165.0 /* pixels of an entry */

/* What is drawn in one colour. Waits that nothing waited for are left out of the legend. */
enum {
    FORWARD,
    BACKWARD,
    TENSOR,
    CONTEXT,
    EXPERT,
    DATA,
    BUBBLE,
    TRANSFER,
    END,
    OPTIMIZER,
    OTHERS,
    INKS
};

static const struct {
    const char *name;
    int color;
} inks[INKS] = {[FORWARD] = {"forward", 0},           [BACKWARD] = {"backward", 1},
                [OPTIMIZER] = {"optimizer", 7},       [TENSOR] = {"tensor parallel", 2},
                [DATA] = {"data parallel", 3},        [EXPERT] = {"expert parallel", 9},
                [CONTEXT] = {"context parallel", 10}, [BUBBLE] = {"pipeline bubble", 6},
                [TRANSFER] = {"transfers", 4},        [END] = {"waiting for the slower", 5},
                [OTHERS] = {"everything else", 8}};

static int ink_of_wait(int wait)
{
    switch ((RhWait)wait) {
    case RH_WAIT_TP:
        return TENSOR;
    case RH_WAIT_CP:
        return CONTEXT;
    case RH_WAIT_EP:
        return EXPERT;
    case RH_WAIT_DP:
        return DATA;
    case RH_WAIT_BUBBLE:
        return BUBBLE;
    case RH_WAIT_PIPELINE_TRANSFER:
        return TRANSFER;
    case RH_WAIT_END:
    case RH_WAIT_JITTER:
        return END;
    case RH_WAIT_COMPUTE:
    case RH_WAIT_STRETCH:
    case RH_WAIT_TIED:
    case RH_WAIT_NORM:
    case RH_WAIT_COPY:
    case RH_WAIT_COLLECTIVES:
    case RH_WAIT_MESSAGES:
    case RH_WAIT_OTHERS:
    case RH_WAIT_HOST:
    case RH_WAIT_LAST:
    default:
        return OTHERS;
    }
}

static int ink_of_piece(const RhCoursePiece *piece)
{
    switch ((RhCoursePieceKind)piece->kind) {
    case RH_PIECE_FORWARD:
        return FORWARD;
    case RH_PIECE_BACKWARD:
        return BACKWARD;
    case RH_PIECE_OPTIMIZER:
        return OPTIMIZER;
    case RH_PIECE_IDLE:
        return piece->late ? END : ink_of_wait(piece->wait);
    case RH_PIECE_OTHER:
    case RH_PIECE_LAST:
    default:
        return OTHERS;
    }
}

/* Pieces of a row in one colour: a path, and whose micro-batches its boxes are. */
typedef struct {
    GString *passes, *waits, *batches;
} Strokes;

typedef struct {
    double span_s;
    bool used[INKS];
    Strokes strokes[INKS];
} Row;

static int64_t at(const Row *row, double t_s)
{
    return (int64_t)llround(UNITS * t_s / row->span_s);
}

static void add_box(GString *path, int64_t from, int64_t to, bool whole)
{
    g_string_append_printf(
        path, "M%" G_GINT64_FORMAT " %dh%" G_GINT64_FORMAT "v%dH%" G_GINT64_FORMAT "z", from,
        whole ? 0 : (int)(BAR / 2), MAX(to - from, 1), whole ? (int)BAR : (int)(BAR / 2), from);
}

static void add_wait(Row *row, int ink, double *t_s, double duration_s)
{
    int64_t from = at(row, *t_s), to = at(row, *t_s + duration_s);
    *t_s += duration_s;
    if (to == from)
        return;
    add_box(row->strokes[ink].waits, from, to, false);
    row->used[ink] = true;
}

/* Kernels first, then what the pass stood still for: together as long as the pass. */
static void add_pass(Row *row, const RhCoursePiece *piece)
{
    double waited_s = 0;
    for (int w = 0; w < RH_WAIT_LAST; w++)
        waited_s += piece->wait_s[w];
    Strokes *own = &row->strokes[ink_of_piece(piece)];
    double t_s = piece->t_end_s - waited_s;
    add_box(own->passes, at(row, piece->t_start_s), at(row, t_s), true);
    g_string_append_printf(own->batches, "%s%d", own->batches->len ? " " : "", piece->microbatch);
    row->used[ink_of_piece(piece)] = true;
    double late_s =
        piece->late_s; /* of the first wait that has so much: nearly always its only one */
    for (int w = 0; w < RH_WAIT_LAST; w++) {
        double here_s = MIN(late_s, piece->wait_s[w]);
        late_s -= here_s;
        add_wait(row, END, &t_s, here_s);
        add_wait(row, ink_of_wait(w), &t_s, piece->wait_s[w] - here_s);
    }
}

static void add_piece(Row *row, const RhCoursePiece *piece)
{
    int64_t from = at(row, piece->t_start_s), to = at(row, piece->t_end_s);
    if (piece->kind != RH_PIECE_IDLE) {
        add_pass(row, piece);
    } else if (to > from) {
        add_box(row->strokes[ink_of_piece(piece)].waits, from, to, false);
        row->used[ink_of_piece(piece)] = true;
    }
}

static void append_paths(GString *out, Row *row)
{
    for (int i = 0; i < INKS; i++) {
        const Strokes *s = &row->strokes[i];
        if (s->waits->len)
            g_string_append_printf(
                out, "<path class=\"c%d\" fill=\"%s\" data-name=\"%s\" d=\"%s\"/>\n", inks[i].color,
                rh_svg_color(inks[i].color), inks[i].name, s->waits->str);
        if (s->passes->len)
            g_string_append_printf(
                out, "<path class=\"c%d\" fill=\"%s\" data-name=\"%s\" data-m=\"%s\" d=\"%s\"/>\n",
                inks[i].color, rh_svg_color(inks[i].color), inks[i].name, s->batches->str,
                s->passes->str);
        g_string_truncate(s->waits, 0);
        g_string_truncate(s->passes, 0);
        g_string_truncate(s->batches, 0);
    }
}

/* "stage 0, for 8". Caller frees. */
static char *row_name(const RhSpanIndex *spans, int32_t performer)
{
    const RhPerformer *p = rh_spans_performer(spans, performer);
    const char *label = rh_spans_role_name(spans, performer);
    return p->ranks_count > 1
               ? g_strdup_printf("%s, r%d + %d more", label, p->rank, p->ranks_count - 1)
               : g_strdup_printf("%s, r%d", label, p->rank);
}

static double row_y(int32_t row)
{
    return TOP + ROW * row;
}

static void draw_rows(GString *out, const RhCourse *course, int32_t rows, Row *row)
{
    g_string_append_printf(out,
                           "<clipPath id=\"gantt-clip\"><rect x=\"%.0f\" y=\"0\" width=\"%.0f\" "
                           "height=\"%.0f\"/></clipPath>\n<g clip-path=\"url(#gantt-clip)\">\n"
                           "<g class=\"zoom\" transform=\"translate(%.0f 0) scale(0.01 1)\">\n",
                           LEFT, WIDTH, row_y(rows) + 8, LEFT);
    for (int32_t i = 0; i < rows; i++) {
        const GArray *pieces = g_ptr_array_index(course->passes, i);
        g_string_append_printf(out, "<g transform=\"translate(0 %.0f)\">\n", row_y(i));
        for (guint n = 0; n < pieces->len; n++)
            add_piece(row, &g_array_index(pieces, RhCoursePiece, n));
        append_paths(out, row);
        g_string_append(out, "</g>\n");
    }
}

/* Along the foot of the row that the step's end hung on just then, from row to row. */
static void draw_chain(GString *out, const RhCourse *course, int32_t rows, const Row *row)
{
    int32_t here = -1;
    int64_t to = -1;
    g_string_append(out,
                    "<path class=\"chain\" fill=\"none\" stroke=\"#222222\" stroke-width=\"2\" "
                    "vector-effect=\"non-scaling-stroke\" d=\"");
    for (guint i = 0; i < course->chain->len; i++) {
        const RhLinkOfChain *link = &g_array_index(course->chain, RhLinkOfChain, i);
        if (link->performer >= rows)
            continue;
        if (link->performer != here && to >= 0)
            g_string_append_printf(out, "H%" G_GINT64_FORMAT "V%.0f", to,
                                   row_y(link->performer) + BAR + 2);
        else if (link->performer != here)
            g_string_append_printf(out, "M%" G_GINT64_FORMAT " %.0f", at(row, link->t_start_s),
                                   row_y(link->performer) + BAR + 2);
        here = link->performer;
        to = at(row, link->t_end_s);
    }
    if (to >= 0)
        g_string_append_printf(out, "H%" G_GINT64_FORMAT, to);
    g_string_append(out, "\"/>\n</g>\n</g>\n");
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
    for (int i = 0; i < INKS; i++) {
        double x = LEFT + LEGEND * (shown % 6), y = 14 + 20 * (shown / 6);
        bool pass = i == FORWARD || i == BACKWARD || i == OPTIMIZER;
        if (!used[i])
            continue;
        rh_svg_box(out, inks[i].color, x, y + (pass ? 0 : 5), 14, pass ? 12 : 7, NULL);
        rh_svg_text(out, RH_SVG_TEXT, "start", x + 19, y + 11, inks[i].name);
        shown++;
    }
    double x = LEFT + LEGEND * (shown % 6), y = 14 + 20 * (shown / 6);
    g_string_append_printf(
        out,
        "<path class=\"chain\" fill=\"none\" stroke=\"#222222\" stroke-width=\"2\" d=\"M%.0f %.0fh14\"/>\n",
        x, y + 7);
    rh_svg_text(out, RH_SVG_TEXT, "start", x + 19, y + 11, "critical path");
}

/* --- figures --- */

static double span_of(const RhSpanIndex *spans)
{
    guint count = spans->run->timeline->len;
    return count ? rh_spans_at(spans, (int32_t)count - 1)->t_end_s : 1;
}

static void sum_row(const GArray *pieces, double sum_s[INKS])
{
    for (guint n = 0; n < pieces->len; n++) {
        const RhCoursePiece *piece = &g_array_index(pieces, RhCoursePiece, n);
        sum_s[ink_of_piece(piece)] += piece->t_end_s - piece->t_start_s;
        for (int w = 0; w < RH_WAIT_LAST; w++) {
            sum_s[ink_of_piece(piece)] -= piece->wait_s[w];
            sum_s[ink_of_wait(w)] += piece->wait_s[w];
        }
    }
}

static void sum_chain(const RhCourse *course, double chain_s[RH_WAIT_LAST])
{
    for (guint i = 0; i < course->chain->len; i++) {
        const RhLinkOfChain *link = &g_array_index(course->chain, RhLinkOfChain, i);
        chain_s[link->wait] += link->t_end_s - link->t_start_s;
    }
}

char *rh_report_course_json(const RhSpanIndex *spans, const RhCourse *course)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    double chain_s[RH_WAIT_LAST] = {0}, span_s = span_of(spans);
    rh_json_begin_object(w, NULL);
    rh_json_begin_array(w, "gpus");
    for (guint i = 0; i < course->passes->len; i++) {
        double sum_s[INKS] = {0};
        g_autofree char *name = row_name(spans, (int32_t)i);
        sum_row(g_ptr_array_index(course->passes, i), sum_s);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "gpu", name);
        for (int k = 0; k < INKS; k++)
            rh_json_put_number(w, inks[k].name, fabs(sum_s[k]) < 1e-7 * span_s ? 0 : sum_s[k]);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    sum_chain(course, chain_s);
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

/* "... the step's end hung on: kernels 50.1 s, tensor parallel 9.81 s". Caller frees. */
static char *description_of(const RhCourse *course, int32_t rows)
{
    g_autoptr(GString) out = g_string_new(NULL);
    double chain_s[RH_WAIT_LAST] = {0};
    g_string_printf(
        out, "%d of %u kinds of GPU, a row each, over the time of a step. The critical path:", rows,
        course->passes->len);
    sum_chain(course, chain_s);
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

char *rh_report_gantt_svg(const RhSpanIndex *spans, const RhCourse *course)
{
    int32_t rows = (int32_t)MIN(course->passes->len, ROWS_MAX);
    Row row = {.span_s = span_of(spans)};
    for (int i = 0; i < INKS; i++)
        row.strokes[i] = (Strokes){g_string_new(NULL), g_string_new(NULL), g_string_new(NULL)};
    double foot = row_y(rows) + 6;
    char span[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *about = description_of(course, rows);
    g_autofree char *data = g_strdup_printf(
        "data-left=\"%.0f\" data-width=\"%.0f\" data-units=\"%d\" data-span=\"%s\" data-foot=\"%.0f\"",
        LEFT, WIDTH, UNITS, g_ascii_formatd(span, sizeof span, "%.9g", row.span_s), foot);
    GString *out =
        rh_svg_new("gantt", LEFT + WIDTH + 20, foot + BELOW, data, "What each GPU did when", about);
    draw_rows(out, course, rows, &row);
    draw_chain(out, course, rows, &row);
    for (int32_t i = 0; i < rows; i++) {
        g_autofree char *name = row_name(spans, i);
        rh_svg_text(out, RH_SVG_TEXT, "end", LEFT - 8, row_y(i) + BAR - 4, name);
    }
    draw_axis(out, row.span_s, foot);
    draw_legend(out, row.used);
    if (course->passes->len > ROWS_MAX) {
        g_autofree char *more =
            g_strdup_printf("the first %d of %u kinds of GPU", ROWS_MAX, course->passes->len);
        rh_svg_text(out, RH_SVG_SOFT, "start", LEFT, foot + 36, more);
    }
    for (int i = 0; i < INKS; i++) {
        g_string_free(row.strokes[i].passes, TRUE);
        g_string_free(row.strokes[i].waits, TRUE);
        g_string_free(row.strokes[i].batches, TRUE);
    }
    return rh_svg_finish(out);
}
