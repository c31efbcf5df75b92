#include "report/pictures/pareto.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/pictures/label_placement.h"
#include "report/pictures/svg.h"

#define LEFT   64.0
#define TOP    58.0
#define WIDTH  560.0
#define HEIGHT 340.0
#define BELOW  48.0
#define SLOW   1.6  /* multiple of the fastest: slower ones are counted, not drawn */
#define BEYOND 1.06 /* of the capacity: limit of near misses */

typedef struct {
    GString *out;
    RhLabels *labels;
    double low_s, high_s, least_bytes, most_bytes;
    int slower;
} Picture;

void rh_pareto_see(const RhRehearsal *r, void *user)
{
    RhParetoPoint point = {r->layout, r->step_time_s, r->memory.peak_bytes};
    g_array_append_val((GArray *)user, point);
}

static double x_of(const Picture *p, double bytes)
{
    return LEFT + WIDTH * (bytes - p->least_bytes) / (p->most_bytes - p->least_bytes);
}

static double y_of(const Picture *p, double step_s)
{
    return TOP + HEIGHT * (p->high_s - step_s) / (p->high_s - p->low_s);
}

/* Mark of a kind of point. */
typedef struct {
    const char *path;
    double half; /* distance from its middle to its edge */
    RhColor color;
} Mark;

static const Mark ranked = {"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", 5, RH_COLOR_CHOSEN},
                  simulated = {"M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", 3, RH_COLOR_SEEN},
                  fuller = {"M0-7L6 4H-6z", 7, RH_COLOR_FULLER},
                  unfit = {"M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0z", 5,
                           RH_COLOR_UNFIT};

static void draw_point(Picture *p, const Mark *mark, const RhLayout *layout, const char *words,
                       double step_s, double bytes)
{
    if (step_s > p->high_s || bytes > p->most_bytes) {
        p->slower++;
        return;
    }
    g_autofree char *title = rh_layout_title(layout);
    g_autofree char *step = rh_quantity_format(step_s, RH_QUANTITY_S, 4);
    g_autofree char *about =
        g_markup_printf_escaped("%s: %s%s, %.1f GiB", title, words, step, bytes / RH_GIB_BYTES);
    g_string_append(p->out, "<g transform=\"translate(");
    rh_svg_number(p->out, x_of(p, bytes));
    g_string_append_c(p->out, ' ');
    rh_svg_number(p->out, y_of(p, step_s));
    g_string_append(p->out, ")\"><path ");
    rh_svg_fill(p->out, mark->color);
    g_string_append_printf(p->out, " d=\"%s\"/><title>%s</title></g>\n", mark->path, about);
    rh_labels_block(p->labels, x_of(p, bytes), y_of(p, step_s), mark->half);
}

static bool is_entry(const RhPlan *plan, const RhLayout *layout)
{
    g_autofree char *text = rh_layout_format(layout);
    for (guint i = 0; i < plan->entries->len; i++) {
        g_autofree char *own =
            rh_layout_format(&((RhRehearsal *)g_ptr_array_index(plan->entries, i))->layout);
        if (g_str_equal(text, own))
            return true;
    }
    return false;
}

static void set_range(Picture *p, const RhPlan *plan, const GArray *seen)
{
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    p->low_s = p->high_s = best->step_time_s;
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        p->low_s = fmin(p->low_s, r->step_time_s);
        p->high_s = fmax(p->high_s, r->step_time_s);
    }
    for (guint i = 0; i < plan->near_misses->len; i++)
        p->low_s = fmin(p->low_s, ((RhNearMiss *)g_ptr_array_index(plan->near_misses, i))->bound_s);
    if (plan->over_budget)
        p->low_s = fmin(p->low_s, plan->over_budget->step_time_s);
    p->high_s = fmin(fmax(p->high_s, 1.1 * p->low_s) * 1.05, fmax(SLOW * p->low_s, p->high_s));
    p->low_s -= 0.06 * (p->high_s - p->low_s);
    p->most_bytes = BEYOND * best->memory_capacity_bytes;
    p->least_bytes = best->memory.peak_bytes;
    for (guint i = 0; i < seen->len; i++)
        p->least_bytes = fmin(p->least_bytes, g_array_index(seen, RhParetoPoint, i).peak_bytes);
    p->least_bytes = fmax(p->least_bytes - 0.2 * (p->most_bytes - p->least_bytes), 0);
}

/* Draws a rule. Its words stand above it, ending at `end`, or beginning there if there is no
 * space. */
static void draw_rule(Picture *p, double x, double end, const char *words)
{
    bool left = x > LEFT + WIDTH / 2;
    rh_svg_line(p->out, RH_SVG_RULE, x, TOP, x, TOP + HEIGHT);
    rh_svg_text(p->out, RH_SVG_SOFT, left ? "end" : "start", left ? end : x + 4, TOP - 6, words);
    rh_labels_block_line(p->labels, x, TOP, x, TOP + HEIGHT);
}

static void draw_axes(Picture *p, const RhPlan *plan)
{
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    double tick = rh_svg_tick(p->high_s - p->low_s, 8),
           step = rh_svg_tick((p->most_bytes - p->least_bytes) / RH_GIB_BYTES, 10);
    for (double at = ceil(p->low_s / tick) * tick; at <= p->high_s; at += tick) {
        g_autofree char *number = rh_svg_tick_text(at, tick);
        g_autofree char *text = g_strconcat(number, " s", NULL);
        rh_svg_line(p->out, RH_SVG_GRID, LEFT, y_of(p, at), LEFT + WIDTH, y_of(p, at));
        rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 6, y_of(p, at) + 4, text);
    }
    for (int i = (int)ceil(p->least_bytes / RH_GIB_BYTES / step);
         i * step * RH_GIB_BYTES <= p->most_bytes; i++) {
        g_autofree char *text = rh_svg_tick_text(i * step, step);
        rh_svg_text(p->out, RH_SVG_SOFT, "middle", x_of(p, i * step * RH_GIB_BYTES),
                    TOP + HEIGHT + 18, text);
    }
    rh_svg_text(p->out, RH_SVG_TEXT, "start", LEFT, TOP - 10, "time of a step");
    rh_svg_text(p->out, RH_SVG_TEXT, "middle", LEFT + WIDTH / 2, TOP + HEIGHT + 38,
                "memory of the fullest GPU, GiB");
    double all = x_of(p, best->memory_capacity_bytes), room = x_of(p, plan->ranked_bytes);
    draw_rule(p, all, LEFT + WIDTH + 24, "all there is");
    if (plan->ranked_bytes > p->least_bytes && room < all - 1)
        draw_rule(p, room, room - 4, "ranked up to here");
}

/* Draws the Pareto-optimal ranked layouts, joined by steps. */
static void draw_front(Picture *p, const RhPlan *plan)
{
    g_autoptr(GString) path = g_string_new(NULL);
    double least = (double)INFINITY, x = 0, y = 0;
    for (guint i = 0; i < plan->entries->len; i++) { /* by time, where that is the objective */
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        if (r->memory.peak_bytes >= least || r->step_time_s > p->high_s)
            continue;
        least = r->memory.peak_bytes;
        double next_x = x_of(p, r->memory.peak_bytes), next_y = y_of(p, r->step_time_s);
        g_string_append(path, path->len ? "V" : "M");
        if (!path->str[1]) {
            rh_svg_number(path, next_x);
            g_string_append_c(path, ' ');
        } else {
            rh_labels_block_line(p->labels, x, y, x, next_y);
            rh_labels_block_line(p->labels, x, next_y, next_x, next_y);
        }
        rh_svg_number(path, next_y);
        g_string_append_c(path, 'H');
        rh_svg_number(path, next_x);
        x = next_x;
        y = next_y;
    }
    g_string_append(p->out, "<path ");
    rh_svg_stroke(p->out, RH_COLOR_CHOSEN);
    g_string_append_printf(p->out, " d=\"%s\"/>\n", path->str);
}

static void draw_ranked(Picture *p, const RhPlan *plan)
{
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        g_autofree char *rank = g_strdup_printf("#%u ", i + 1);
        draw_point(p, &ranked, &r->layout, rank, r->step_time_s, r->memory.peak_bytes);
    }
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        g_autofree char *rank = g_strdup_printf("#%u", i + 1);
        if (r->step_time_s <= p->high_s)
            rh_labels_draw(p->labels, p->out, x_of(p, r->memory.peak_bytes),
                           y_of(p, r->step_time_s), 5, rank);
    }
}

static void draw_others(Picture *p, const RhPlan *plan, const GArray *seen)
{
    for (guint i = 0; i < seen->len; i++) {
        const RhParetoPoint *point = &g_array_index(seen, RhParetoPoint, i);
        if (!is_entry(plan, &point->layout))
            draw_point(p, &simulated, &point->layout, "simulated, ", point->step_s,
                       point->peak_bytes);
    }
    if (plan->over_budget)
        draw_point(p, &fuller, &plan->over_budget->layout, "faster, but fuller than is ranked, ",
                   plan->over_budget->step_time_s, plan->over_budget->memory.peak_bytes);
    for (guint i = 0; i < plan->near_misses->len; i++) {
        const RhNearMiss *miss = g_ptr_array_index(plan->near_misses, i);
        draw_point(p, &unfit, &miss->layout, "does not fit; at least ", miss->bound_s,
                   miss->memory.peak_bytes);
    }
}

static void draw_legend(Picture *p, const RhPlan *plan)
{
    const struct {
        RhColor color;
        const char *text;
        bool there;
    } rows[] = {{RH_COLOR_CHOSEN, "ranked, by number", true},
                {RH_COLOR_SEEN, "simulated", true},
                {RH_COLOR_FULLER, "faster, but fuller", plan->over_budget},
                {RH_COLOR_UNFIT, "too large (a lower bound)", plan->near_misses->len > 0}};
    double x = 10;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!rows[i].there)
            continue;
        rh_svg_box(p->out, rows[i].color, x, 8, 11, 11, NULL);
        rh_svg_text(p->out, RH_SVG_TEXT, "start", x + 16, 18, rows[i].text);
        x += 40 + 6.5 * (double)strlen(rows[i].text);
    }
}

char *rh_report_pareto_svg(const RhPlan *plan, const GArray *seen)
{
    if (plan->entries->len == 0)
        return NULL;
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    g_autofree char *title = rh_layout_title(&best->layout);
    g_autofree char *about = g_strdup_printf(
        "%u ranked layouts and %u simulated ones, a mark each: left is less memory, down is less time. The best "
        "is %s.",
        plan->entries->len, seen->len, title);
    g_autoptr(RhLabels) labels = rh_labels_new(LEFT, TOP, LEFT + WIDTH + 24, TOP + HEIGHT);
    Picture p = {.labels = labels,
                 .out = rh_svg_new("pareto", LEFT + WIDTH + 30, TOP + HEIGHT + BELOW, "",
                                   "Time against memory", about)};
    set_range(&p, plan, seen);
    draw_axes(&p, plan);
    draw_front(&p, plan);
    draw_others(&p, plan, seen);
    draw_ranked(&p, plan);
    draw_legend(&p, plan);
    if (p.slower > 0) {
        g_autofree char *more =
            g_strdup_printf("%d more %s slower", p.slower, p.slower == 1 ? "is" : "are");
        rh_svg_text(p.out, RH_SVG_SOFT, "end", LEFT + WIDTH, TOP + HEIGHT + 38, more);
    }
    return rh_svg_finish(p.out);
}
