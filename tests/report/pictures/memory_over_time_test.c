/* report/pictures/memory_over_time.h: the picture's peak is the memory that is said, in all and by what it is for. */
#include "report/pictures/memory_over_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/pictures/colors.h"
#include "sim/memory_ledger.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define PIXEL 0.1 /* coordinates have one decimal */

/* Place of 0 on the axis, and pixels per GiB, from the axis' own labels. */
typedef struct {
    double y_zero, gib_of_pixel;
} Axis;

static Axis axis_of(const char *svg)
{
    Axis axis = {0};
    double most_gib = 0, y_most = 0;
    for (const char *at = svg; (at = strstr(at, "text-anchor=\"end\"")); at++) {
        double y = g_ascii_strtod(strstr(at, " y=\"") + 4, NULL);
        char *end, *text = strchr(at, '>') + 1;
        double gib = g_ascii_strtod(text, &end);
        if (end == text || *end != '<') /* "GiB", "all that the GPU has" */
            continue;
        if (gib == 0)
            axis.y_zero = y;
        if (gib > most_gib) {
            most_gib = gib;
            y_most = y;
        }
    }
    axis.gib_of_pixel = most_gib / (axis.y_zero - y_most);
    axis.y_zero -= 4; /* a label's foot lies under the line that it names */
    return axis;
}

/* The heights of a path's edges at a column, [0] its upper and [1] its lower one: "M x y Hx Vy ... Lx y Hx Vy ... z". */
static void edges_at(const char *path, double x_wanted, double y_edges[2])
{
    double x = 0, y = 0;
    int edge = 0;
    for (const char *at = path; *at && *at != 'z' && *at != '"';) {
        char what = *at++, *end, *next;
        double value = g_ascii_strtod(at, &end);
        double before = x;
        if (what == 'M' || what == 'L') {
            edge = what == 'L';
            x = value;
            y = g_ascii_strtod(end, &next);
            end = next;
        } else if (what == 'H') {
            x = value;
            if (fmin(before, x) <= x_wanted && x_wanted < fmax(before, x))
                y_edges[edge] = y;
        } else {
            y = value;
        }
        at = end;
    }
}

/* The highest point of all paths: its y, and an x within its column. */
static double peak_of(const char *svg, double *x_peak)
{
    double y_least = (double)INFINITY;
    for (const char *at = svg; (at = strstr(at, " d=\"M")); at++) {
        double x = 0, y = 0;
        for (const char *p = at + 4; *p && *p != 'L';) {
            char what = *p++, *end, *next;
            double value = g_ascii_strtod(p, &end);
            if (what == 'M') {
                x = value;
                y = g_ascii_strtod(end, &next);
                end = next;
            } else if (what == 'V') {
                y = value;
            } else if (what == 'H') {
                if (y < y_least) {
                    y_least = y;
                    *x_peak = (x + value) / 2;
                }
                x = value;
            }
            p = end;
        }
    }
    return y_least;
}

static void check_picture(const char *svg, const RhLedger *ledger)
{
    Axis axis = axis_of(svg);
    double x_peak = 0, within_gib = 2.5 * PIXEL * axis.gib_of_pixel, sum_gib = 0;
    double peak_gib = (axis.y_zero - peak_of(svg, &x_peak)) * axis.gib_of_pixel;
    CU_ASSERT_DOUBLE_EQUAL(peak_gib, ledger->peak_bytes / RH_GIB_BYTES, within_gib);
    for (int use = RH_MEMORY_NONE + 1; use < RH_MEMORY_LAST; use++) {
        g_autofree char *title =
            g_strdup_printf("<title>%s</title></path>", rh_memory_name((RhMemoryUse)use));
        const char *end = strstr(svg, title), *path = NULL;
        for (const char *at = svg; end && (at = strstr(at, " d=\"")) && at < end; at++)
            path = at + 4;
        double y_edges[2] = {0, 0};
        if (path)
            edges_at(path, x_peak, y_edges);
        double gib = (y_edges[1] - y_edges[0]) * axis.gib_of_pixel;
        sum_gib += gib;
        CU_ASSERT_DOUBLE_EQUAL(gib, ledger->at_peak_bytes[use] / RH_GIB_BYTES, within_gib);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum_gib, ledger->peak_bytes / RH_GIB_BYTES, within_gib);
    g_autofree char *said =
        g_strdup_printf(": %.1f GiB at most", ledger->peak_bytes / RH_GIB_BYTES);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, said));
}

/* Peaks that last for an instant, as of logits and of what is computed once more, are drawn whole. */
static void the_peak_drawn_is_the_peak_said(void)
{
    static const char *const layouts[] = {"tp1,pp1,dp8,mb2,zero=3,recompute=full",
                                          "tp2,pp2,dp2,mb1,recompute=full",
                                          "tp1,pp4,dp2,mb1,recompute=none"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        TrainKit k = train_kit("llama-3.2-1b", "h100-sxm:4x2", "megatron", 16, 4096);
        RhLayout layout = train_layout(&k, layouts[i]);
        RhEngineOptions options = {.timeline = true, .steps = 1};
        RhProgram *program = NULL;
        RhRun *run = NULL;
        GError *error = NULL;
        RhRehearsal *r = rh_rehearse(&k.c, &layout, &options, &program, &run, &error);
        g_assert_no_error(error);
        RhTaskIntervals *spans = rh_task_intervals_new(program, run);
        RhLedger ledger = rh_ledger_walk(program, r->memory.stage, RH_MEMORY_TIER_HBM);
        CU_ASSERT_DOUBLE_EQUAL(ledger.peak_bytes / r->memory.peak_bytes, 1, 1e-9);
        g_autofree char *svg = rh_report_memory_svg(spans, r->memory_capacity_bytes);
        check_picture(svg, &ledger);
        rh_task_intervals_free(spans);
        rh_run_free(run);
        rh_rehearsal_free(r);
        rh_program_free(program);
        train_kit_clear(&k);
    }
}

/* "#rrggbb" */
static bool is_color(const char *text)
{
    return text && strlen(text) == 7 && text[0] == '#' && strspn(text + 1, "0123456789abcdef") == 6;
}

/* A meaning has a colour of its own, in light and in the dark; where two are one on purpose, that is said here. */
static void a_colour_means_one_thing(void)
{
    for (RhColor i = 0; i < RH_COLOR_LAST; i++) {
        CU_ASSERT_TRUE(is_color(rh_color_light(i)) && is_color(rh_color_dark(i)));
        for (RhColor k = 0; k < i; k++) {
            bool meant =
                k == RH_COLOR_IDLE && i == RH_COLOR_SEEN; /* what is not looked at further */
            CU_ASSERT_EQUAL(g_str_equal(rh_color_light(i), rh_color_light(k)), meant);
        }
    }
}

int main(void)
{
    return rh_test_main(
        "memory_over_time",
        (RhTest[]){{"the_peak_drawn_is_the_peak_said", the_peak_drawn_is_the_peak_said},
                   {"a_colour_means_one_thing", a_colour_means_one_thing},
                   {0}});
}
