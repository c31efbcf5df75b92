#include "report/rl/rl_picture.h"

#include <math.h>

#include "report/format.h"
#include "report/pictures/svg.h"

#define LEFT   110.0
#define WIDTH  620.0
#define RIGHT  20.0
#define TOP    26.0
#define LANE   26.0
#define HEIGHT 70.0 /* of a chart of groups */
#define GAP    18.0
#define BINS   310
#define TICKS  8

static const RhColor colors[RH_RL_ACTS_LAST] = {
    [RH_RL_WAITS] = RH_COLOR_IDLE,
    [RH_RL_LOADS] = RH_COLOR_BUFFERS,
    [RH_RL_TRAINS] = RH_COLOR_BACKWARD,
    [RH_RL_SENDS] = RH_COLOR_WEIGHTS,
};

typedef struct {
    GString *out;
    const RhRlStep *step;
    double end_s, y;
} Picture;

static double x_of(const Picture *p, double t_s)
{
    return LEFT + WIDTH * t_s / p->end_s;
}

static void draw_trainer(Picture *p)
{
    rh_svg_text(p->out, RH_SVG_TEXT, "end", LEFT - 8, p->y + LANE - 9, "trainer");
    for (guint i = 0; i < p->step->spans->len; i++) {
        const RhRlSpan *span = &g_array_index(p->step->spans, RhRlSpan, i);
        g_autofree char *s = rh_quantity_format(span->t_end_s - span->t_begin_s, RH_QUANTITY_S, 3);
        g_autofree char *about = g_strdup_printf("%s: %s", rh_rl_act_name(span->act), s);
        double x = x_of(p, span->t_begin_s);
        rh_svg_box(p->out, colors[span->act], x, p->y, fmax(x_of(p, span->t_end_s) - x, 0.5), LANE,
                   about);
    }
    p->y += LANE + GAP;
}

static int32_t level_of(const RhRlLevel *level, bool ready)
{
    return ready ? level->ready : level->answered;
}

/* Largest level in each bin, as bars. */
static void draw_levels(Picture *p, bool ready, const char *name, RhColor color)
{
    const GArray *levels = p->step->levels;
    double bins[BINS] = {0}, most = 1;
    for (guint i = 0; i < levels->len; i++) {
        const RhRlLevel *l = &g_array_index(levels, RhRlLevel, i);
        double before_s = i > 0 ? g_array_index(levels, RhRlLevel, i - 1).t_s : 0;
        int first = (int)(before_s / p->end_s * BINS), last = (int)(l->t_s / p->end_s * BINS);
        for (int b = first; b <= MIN(last, BINS - 1); b++)
            bins[b] = fmax(bins[b], level_of(l, ready));
        most = fmax(most, level_of(l, ready));
    }
    g_autofree char *label = g_strdup_printf("%.0f", most);
    rh_svg_text(p->out, RH_SVG_TEXT, "end", LEFT - 8, p->y + HEIGHT / 2, name);
    rh_svg_text(p->out, RH_SVG_SOFT, "end", LEFT - 8, p->y + 8, label);
    for (int b = 0; b < BINS; b++) {
        double height = HEIGHT * bins[b] / most;
        if (height > 0)
            rh_svg_box(p->out, color, LEFT + WIDTH * b / BINS, p->y + HEIGHT - height, WIDTH / BINS,
                       height, NULL);
    }
    rh_svg_line(p->out, RH_SVG_GRID, LEFT, p->y + HEIGHT, LEFT + WIDTH, p->y + HEIGHT);
    p->y += HEIGHT + GAP;
}

static void draw_axis(Picture *p)
{
    double tick = rh_svg_tick(p->end_s, TICKS);
    for (double t_s = 0; t_s <= p->end_s; t_s += tick) {
        g_autofree char *text = rh_svg_tick_text(t_s, tick);
        g_autofree char *label = g_strdup_printf("%s s", text);
        rh_svg_line(p->out, RH_SVG_GRID, x_of(p, t_s), TOP, x_of(p, t_s), p->y - GAP / 2);
        rh_svg_text(p->out, RH_SVG_SOFT, "middle", x_of(p, t_s), p->y + 6, label);
    }
    rh_svg_line(p->out, RH_SVG_RULE, x_of(p, p->step->t_begin_s), TOP - 8,
                x_of(p, p->step->t_begin_s), p->y - GAP / 2);
    rh_svg_text(p->out, RH_SVG_SOFT, "start", x_of(p, p->step->t_begin_s) + 4, TOP - 10,
                "steps that count");
}

char *rh_report_rl_timeline_svg(const RhRlEntry *e)
{
    Picture p = {.step = &e->step, .end_s = e->step.t_end_s, .y = TOP};
    p.out =
        rh_svg_new("rl-timeline", LEFT + WIDTH + RIGHT, TOP + LANE + 2 * HEIGHT + 3 * GAP + 2 * GAP,
                   "", "Trainer and servers over time",
                   "What the trainer does, how many groups are being answered, and how many wait "
                   "for the trainer");
    draw_trainer(&p);
    draw_levels(&p, false, "being answered", RH_COLOR_DECODE);
    draw_levels(&p, true, "ready", RH_COLOR_CACHE);
    draw_axis(&p);
    return rh_svg_finish(p.out);
}
