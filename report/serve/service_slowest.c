/* Draws the slowest requests: a bar each, divided into waits and work. */
#include <math.h>

#include "base/units.h"
#include "report/pictures/svg.h"
#include "report/serve/service_pictures.h"
#include "strategies/serve/results/metrics_over_time.h"

#define LEFT   190.0
#define WIDTH  330.0
#define RIGHT  110.0 /* for words behind a bar */
#define TOP    54.0
#define ROW    24.0
#define BAR    15.0
#define BELOW  30.0
#define SHOWN  10
#define LEGEND 150.0
#define A_ROW  4

/* Parts of the time to the first token, then of the rest. */
enum { TOKENS = RH_TTFT_LAST, OUT, PARTS };

static const struct {
    const char *name;
    RhColor color;
} parts[PARTS] = {
    [RH_TTFT_QUEUE] = {"queued", RH_COLOR_IDLE},
    [RH_TTFT_PREFILL] = {"its prompt", RH_COLOR_FORWARD},
    [RH_TTFT_INTERFERENCE] = {"others' prompts", RH_COLOR_SLOWER},
    [RH_TTFT_TRANSFER] = {"cache on its way", RH_COLOR_TRANSFER},
    [RH_TTFT_FAILURES] = {"servers that failed", RH_COLOR_LOST},
    [TOKENS] = {"its tokens", RH_COLOR_DECODE},
    [OUT] = {"put out of the cache", RH_COLOR_FULLER},
};

static double part_s(const RhRequestRecord *s, int part)
{
    if (part < RH_TTFT_LAST)
        return fmax(rh_served_ttft_part_s(s, (RhTtftPart)part), 0);
    double rest_s = s->t_end_s - s->t_first_s, out_s = fmin(s->t_out_s, rest_s);
    return part == OUT ? out_s : rest_s - out_s;
}

static void draw_bar(GString *out, const RhRequestRecord *s, double y, double longest_s,
                     bool used[PARTS])
{
    double t_s = 0;
    for (int i = 0; i < PARTS; i++) {
        double each_s = part_s(s, i);
        if (each_s <= 0)
            continue;
        g_autofree char *time = rh_quantity_format(each_s, RH_QUANTITY_S, 3),
                        *about = g_strdup_printf("%s: %s", parts[i].name, time);
        rh_svg_box(out, parts[i].color, LEFT + WIDTH * t_s / longest_s, y,
                   WIDTH * each_s / longest_s, BAR, about);
        used[i] |= each_s / longest_s > 0.002;
        t_s += each_s;
    }
}

static void draw_request(GString *out, const RhServiceResult *result, int32_t request, double y,
                         double longest_s, bool used[PARTS])
{
    const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, request);
    g_autofree char *name = result->once ? g_strdup_printf("#%d", request)
                                         : g_strdup_printf("#%d: %d in, %d out", request,
                                                           s->input_tokens, s->output_tokens),
                    *time = rh_quantity_format(s->t_end_s - s->t_arrive_s, RH_QUANTITY_S, 3),
                    *words = s->preempted_count > 0
                                 ? g_strdup_printf("%s, put out %d x", time, s->preempted_count)
                                 : g_strdup(time);
    rh_svg_text(out, RH_SVG_TEXT, "end", LEFT - 8, y + BAR - 3, name);
    draw_bar(out, s, y, longest_s, used);
    rh_svg_text(out, RH_SVG_TEXT, "start",
                LEFT + WIDTH * (s->t_end_s - s->t_arrive_s) / longest_s + 6, y + BAR - 3, words);
}

static void draw_legend(GString *out, const bool used[PARTS])
{
    int shown = 0;
    for (int i = 0; i < PARTS; i++) {
        double x = 10 + LEGEND * (shown % A_ROW), y = 8 + 18 * (shown / A_ROW);
        if (!used[i])
            continue;
        rh_svg_box(out, parts[i].color, x, y, 12, 12, NULL);
        rh_svg_text(out, RH_SVG_TEXT, "start", x + 17, y + 10, parts[i].name);
        shown++;
    }
}

char *rh_report_service_slowest_svg(const RhServiceResult *result)
{
    g_autoptr(GArray) slowest = rh_served_slowest(result, SHOWN);
    bool used[PARTS] = {false};
    if (slowest->len == 0)
        return NULL;
    const RhRequestRecord *first =
        &g_array_index(result->served, RhRequestRecord, g_array_index(slowest, int32_t, 0));
    double longest_s = fmax(first->t_end_s - first->t_arrive_s, 1e-12);
    g_autofree char *time = rh_quantity_format(longest_s, RH_QUANTITY_S, 3);
    g_autofree char *about = g_strdup_printf(
        "The %u slowest of the requests that were answered, from sent to the last token, by what they waited for and "
        "what was done for them; the slowest took %s.",
        slowest->len, time);
    GString *out = rh_svg_new("slowest", LEFT + WIDTH + RIGHT, TOP + ROW * slowest->len + BELOW / 2,
                              "", "The slowest requests", about);
    for (guint i = 0; i < slowest->len; i++)
        draw_request(out, result, g_array_index(slowest, int32_t, i), TOP + ROW * i, longest_s,
                     used);
    draw_legend(out, used);
    return rh_svg_finish(out);
}
