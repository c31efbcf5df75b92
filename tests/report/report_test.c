/* report/: what is formatted, not what it means. */
#include "report/report.h"

#include <string.h>

#include "accuracy/error_bar_record.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "report/format.h"
#include "report/pictures/canvas.h"
#include "report/pictures/platform_picture.h"
#include "report/validation/evaluation_published_runs.h"
#include "tests/kit/testkit.h"

static void check_text(char *text, const char *expected)
{
    CU_ASSERT_STRING_EQUAL(text, expected);
    g_free(text);
}

static void counts_are_grouped_by_three(void)
{
    check_text(rh_text_count(0), "0");
    check_text(rh_text_count(999), "999");
    check_text(rh_text_count(1000), "1,000");
    check_text(rh_text_count(70553706496), "70,553,706,496");
    check_text(rh_text_count(-1234), "-1,234");
}

static void numbers_keep_their_digits(void)
{
    check_text(rh_text_number(62.44, 3), "62.4");
    check_text(rh_text_number(0.037159, 3), "0.0372");
    check_text(rh_text_number(1054.2, 3), "1054");
    check_text(rh_text_number(100, 3), "100");
    check_text(rh_text_number(0, 3), "0.00");
    check_text(rh_text_number(2.5e15, 3), "2.5e+15");
    check_text(rh_text_number(-4e289, 3), "-4e+289");
    check_text(rh_text_large(70553706496.0), "70.6 G");
    check_text(rh_text_large(12), "12.0");
}

static void paths_are_quoted_only_when_they_must_be(void)
{
    check_text(rh_text_path("out/plan.json"), "out/plan.json");
    check_text(rh_text_path("my plan.json"), "'my plan.json'");
}

static void wrapped_text_stays_inside_its_width(void)
{
    g_autoptr(GString) out = g_string_new(NULL);
    rh_text_wrap(out, "one two three four five six seven", 4, 16);
    g_auto(GStrv) lines = g_strsplit(out->str, "\n", -1);
    for (int i = 0; lines[i]; i++)
        CU_ASSERT_TRUE(strlen(lines[i]) + (i == 0 ? 4 : 0) <= 16);
    CU_ASSERT_TRUE(g_str_has_prefix(lines[1], "    "));
    g_autoptr(GString) share = g_string_new(NULL);
    g_autoptr(GString) money = g_string_new(NULL);
    rh_text_wrap(money, "seven or 61 k$, two", 0, 11);
    CU_ASSERT_STRING_EQUAL(money->str, "seven or\n61 k$, two\n");
    g_autoptr(GString) name = g_string_new(NULL);
    rh_text_wrap(name, "seven or $DATA, two", 0, 11);
    CU_ASSERT_STRING_EQUAL(name->str, "seven or\n$DATA, two\n");
    g_string_truncate(name, 0);
    rh_text_wrap(name, "one two six $DATA", 0, 11);
    CU_ASSERT_STRING_EQUAL(name->str, "one two six\n$DATA\n");
    rh_text_wrap(share, "seven or 61 %, two", 0, 11);
    CU_ASSERT_STRING_EQUAL(share->str, "seven or\n61 %, two\n");
}

static RhCanvas *draw(RhCanvas *canvas)
{
    rh_canvas_line(canvas, 2, 0, 2, 3, RH_INK_LINK);
    rh_canvas_rect(canvas, 0, 1, 5, 3, RH_INK_GPU);
    rh_canvas_text(canvas, 1, 2, RH_INK_LABEL, "a<b");
    return canvas;
}

static void lines_and_boxes_join_where_they_meet(void)
{
    check_text(rh_canvas_finish(draw(rh_canvas_text_new(5, 4))), "  │\n"
                                                                 "┌─┼─┐\n"
                                                                 "│a<b│\n"
                                                                 "└─┴─┘\n");
}

static void svg_escapes_what_xml_needs(void)
{
    g_autofree char *svg = rh_canvas_finish(draw(rh_canvas_svg_new(5, 4, "x & y")));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "<title>x &amp; y</title>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "a&lt;b</text>"));
    CU_ASSERT_TRUE(g_str_has_suffix(svg, "</svg>\n"));
}

/* --- a question and two made-up answers --- */

typedef struct {
    RhModel *model;
    RhPlatform *platform;
    RhProblem c;
    RhQuestion q;
    RhRehearsal a, b;
} World;

static RhCost *tree(double compute_s, double tp_s)
{
    RhCost *root = rh_cost_new("step", compute_s + tp_s, "");
    rh_cost_add(root, rh_wait_name(RH_WAIT_COMPUTE), compute_s, "kernels");
    rh_cost_add(root, rh_wait_name(RH_WAIT_TP), tp_s, "collectives");
    return root;
}

static RhRehearsal answer(int32_t tp, double compute_s, double tp_s)
{
    RhRehearsal r = {.layout = rh_layout_default(),
                     .step_time_s = compute_s + tp_s,
                     .tokens_per_s_per_gpu = 1054.2,
                     .mfu_frac = 0.478,
                     .memory = {.peak_bytes = 70e9},
                     .memory_capacity_bytes = 80e9,
                     .fits = true,
                     .events_count = 10,
                     .costs = tree(compute_s, tp_s)};
    r.layout.tp = tp;
    r.layout.dp = 8 / tp;
    return r;
}

static World world_new(void)
{
    static const char *const argv[] = {"plan", "--seq", "8192", NULL};
    static const char *const sets[] = {NULL};
    World w = {.model = rh_model_gpt("gpt-test", 4, 1024, 16, 0, 32000, 2048),
               .platform = rh_platform_load("h100-sxm:8x1", NULL),
               .a = answer(4, 50, 5),
               .b = answer(8, 50, 11)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(w.platform);
    w.c = (RhProblem){
        .model = w.model,
        .platform = w.platform,
        .stack = rh_stack_by_name("megatron", NULL),
        .job = {.global_batch = 16, .sequence = 2048, .gpus = 8, .recipe = &rh_recipe_bf16}};
    w.q = (RhQuestion){.version = "0",
                       .argv = argv,
                       .hardware = w.platform,
                       .workload_spec = "gpt-test",
                       .platform_spec = "h100-sxm:8x1",
                       .sets = sets,
                       .seed = 1};
    return w;
}

static void world_clear(World *w)
{
    rh_model_free(w->model);
    rh_platform_free(w->platform);
    rh_cost_free(w->a.costs);
    rh_cost_free(w->b.costs);
}

static void json_of_a_run_reads_back(void)
{
    World w = world_new();
    w.q.c = &w.c;
    g_autofree char *text = rh_report_run_json(&w.q, &w.a);
    g_autofree char *again = rh_report_run_json(&w.q, &w.a);
    CU_ASSERT_STRING_EQUAL(text, again);
    g_autoptr(RhJson) doc = rh_json_parse("run.json", text, strlen(text), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    const RhJsonNode *root = rh_json_root(doc);
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, root, "schema"), "rehearse.simulate/1");
    RH_CHECK_CLOSE(rh_json_number(doc, root, "step_time_s", 0, 1e9), 55, 1e-9);
    CU_ASSERT_FALSE(rh_json_has(root, "error_frac")); /* null: nothing validated */
    const RhJsonNode *costs = rh_json_object(doc, root, "costs");
    CU_ASSERT_EQUAL(rh_json_count(rh_json_array(doc, costs, "children")), 2);
    const RhJsonNode *layout = rh_json_object(doc, root, "layout");
    CU_ASSERT_EQUAL(rh_json_int(doc, layout, "tp", 1, 8), 4);
    world_clear(&w);
}

static RhPlan plan_of(World *w)
{
    RhPlan plan = {.legal_count = 13440,
                   .fit_count = 5211,
                   .screened_count = 5211,
                   .rehearsed_count = 24,
                   .proved = true,
                   .entries = g_ptr_array_new(),
                   .variants = g_array_new(FALSE, FALSE, sizeof(RhPlanVariants)),
                   .families = g_ptr_array_new(),
                   .family_bounds = g_array_new(FALSE, FALSE, sizeof(RhPlanFamilyBound)),
                   .near_misses = g_ptr_array_new(),
                   .changes = g_ptr_array_new()};
    g_ptr_array_add(plan.entries, &w->a);
    g_ptr_array_add(plan.entries, &w->b);
    return plan;
}

static void plan_clear(RhPlan *plan)
{
    g_ptr_array_unref(plan->entries);
    g_array_unref(plan->variants);
    g_ptr_array_unref(plan->families);
    g_array_unref(plan->family_bounds);
    g_ptr_array_unref(plan->near_misses);
    g_ptr_array_unref(plan->changes);
}

static void text_of_a_plan_is_small_and_answers_first(void)
{
    World w = world_new();
    w.q.c = &w.c;
    RhPlan plan = plan_of(&w);
    RhPlanOptions options = {.gap_frac = 0.002, .top = 2};
    RhReportStyle style = {0};
    g_autofree char *text = rh_report_plan_text(&w.q, &plan, &options, &style);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    CU_ASSERT_TRUE(g_str_has_prefix(lines[0], "best: tp4 pp1 dp2"));
    CU_ASSERT_TRUE(g_strv_length(lines) <= 41);
    for (char **line = lines; *line; line++)
        CU_ASSERT_TRUE(g_utf8_strlen(*line, -1) <= 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "13,440 valid layouts"));
    plan_clear(&plan);
    world_clear(&w);
}

static void a_best_that_a_lost_layout_may_beat_says_so_first(void)
{
    World w = world_new();
    w.q.c = &w.c;
    RhPlan plan = plan_of(&w);
    plan.lost_count = 3;
    plan.lost_may_win = true;
    plan.proved = false;
    RhPlanOptions options = {.gap_frac = 0.002, .top = 2};
    RhReportStyle style = {0};
    g_autofree char *text = rh_report_plan_text(&w.q, &plan, &options, &style);
    CU_ASSERT_TRUE(g_str_has_prefix(
        text, "best of those that this machine had the memory to simulate: tp4 pp1 dp2"));
    plan_clear(&plan);
    world_clear(&w);
}

/* The text with no more than a space between words. */
static char *on_one_line(const RhQuestion *q, const RhPlan *plan, const RhPlanOptions *options)
{
    RhReportStyle style = {0};
    g_autofree char *text = rh_report_plan_text(q, plan, options, &style);
    g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
    GString *line = g_string_new(NULL);
    for (char **word = words; *word; word++)
        if (**word)
            g_string_append_printf(line, "%s ", *word);
    return g_string_free(line, FALSE);
}

/* A proof is no tighter than the sensitivity of steps: how far sharing moves a printed step applies
 * to the others as well. */
static void a_proof_is_no_closer_than_sensitive_steps(void)
{
    World w = world_new();
    w.q.c = &w.c;
    RhPlan plan = plan_of(&w);
    plan.apart_frac = 0.007;
    plan.spread_frac = 0.01;
    RhPlanOptions options = {.gap_frac = 0.002, .top = 2};
    g_autofree char *text = on_one_line(&w.q, &plan, &options);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "is faster than #1 by more than 1.2 %;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "move it by up to 1 %: rows closer than that"));
    plan.proved = false;
    g_autofree char *not_proved = on_one_line(&w.q, &plan, &options);
    CU_ASSERT_PTR_NOT_NULL(strstr(not_proved, "not proved: a printed step is sensitive"));
    plan_clear(&plan);
    world_clear(&w);
}

static void a_plan_without_rehearsal_tells_no_waits(void)
{
    World w = world_new();
    w.q.c = &w.c;
    w.a.events_count = w.b.events_count = 0;
    RhPlan plan = plan_of(&w);
    RhPlanOptions options = {.gap_frac = 0.002, .top = 2, .quick = true};
    RhReportStyle style = {0};
    g_autofree char *text = rh_report_plan_text(&w.q, &plan, &options, &style);
    CU_ASSERT_PTR_NULL(strstr(text, "stages, comm"));
    CU_ASSERT_PTR_NULL(strstr(text, " comm\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "at least 55.0 s/step   at most "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ">=: a lower bound"));
    plan_clear(&plan);
    world_clear(&w);
}

/* Equal plans break their lines at the same words, however long the search took. */
static void the_time_taken_moves_no_line(void)
{
    static const double walls_s[] = {0.1, 21.7, 432.1, 9999.9};
    World w = world_new();
    w.q.c = &w.c;
    RhPlan plan = plan_of(&w);
    g_autofree char *first = NULL;
    for (plan.legal_count = 13440; plan.legal_count < 1e12; plan.legal_count *= 10) {
        g_clear_pointer(&first, g_free);
        for (size_t i = 0; i < G_N_ELEMENTS(walls_s); i++) {
            RhPlanOptions options = {.gap_frac = 0.002, .top = 2};
            RhReportStyle style = {0};
            plan.wall_s = walls_s[i];
            g_autofree char *text = rh_report_plan_text(&w.q, &plan, &options, &style);
            g_autofree char *spent = g_strdup_printf("in %.1f s,", walls_s[i]);
            g_autoptr(GString) plain = g_string_new(text);
            CU_ASSERT_EQUAL(g_string_replace(plain, spent, "in N s,", 0), 1);
            if (!first)
                first = g_strdup(plain->str);
            CU_ASSERT_STRING_EQUAL(plain->str, first);
        }
    }
    plan_clear(&plan);
    world_clear(&w);
}

static void why_names_the_term_that_decides(void)
{
    World w = world_new();
    g_autofree char *reason = rh_report_reason(&w.a, &w.b, "#2");
    CU_ASSERT_TRUE(g_str_has_prefix(reason, rh_wait_name(RH_WAIT_TP)));
    RH_CHECK_CLOSE(rh_report_exposed_frac(&w.a), 5.0 / 55, 1e-12);
    g_autoptr(GString) table = g_string_new(NULL);
    rh_report_versus(table, "#1", &w.a, "#2", &w.b);
    g_auto(GStrv) lines = g_strsplit(table->str, "\n", -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(lines[1], rh_wait_name(RH_WAIT_TP)));
    CU_ASSERT_PTR_NOT_NULL(strstr(lines[1], "-6.00"));
    world_clear(&w);
}

static void csv_has_as_many_cells_as_its_head(void)
{
    World w = world_new();
    RhPlan plan = plan_of(&w);
    g_autofree char *csv = rh_report_plan_csv(&plan);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(csv), "\n", -1);
    g_auto(GStrv) head = g_strsplit(lines[0], ",", -1);
    CU_ASSERT_EQUAL(g_strv_length(lines), 3);
    for (int i = 1; lines[i]; i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
        CU_ASSERT_EQUAL(g_strv_length(cells), g_strv_length(head));
    }
    plan_clear(&plan);
    world_clear(&w);
}

static void platforms_of_every_shape_can_be_drawn(void)
{
    static const char *const specs[] = {"h100-sxm:1x1",  "h100-sxm:8x1", "h100-sxm:4x2,nics:2",
                                        "h100-sxm:16x3", "dgx-h100:1",   "dgx-h100:33",
                                        "dgx-h100:300",  "llama3-roce",  "selene"};
    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++) {
        g_autoptr(RhPlatform) p = rh_platform_load(specs[i], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        g_autofree char *text = rh_platform_text(p, false);
        g_autofree char *svg = rh_platform_svg(p);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        CU_ASSERT_TRUE(g_strv_length(lines) <= 41);
        for (char **line = lines; *line; line++)
            CU_ASSERT_TRUE(g_utf8_strlen(*line, -1) <= 80);
        CU_ASSERT_TRUE(g_utf8_validate(svg, -1, NULL));
    }
}

/* Runs counted by device below a heading, of which the last row stands for those that are not listed. */
static int runs_by_device(const char *text)
{
    int runs = 0;
    g_auto(GStrv) lines = g_strsplit(strstr(text, "error in % by device"), "\n", -1);
    for (char **line = lines + 1; *line && (strstr(*line, "gpu-") || strstr(*line, "more"));
         line++) {
        const char *name_end = strstr(*line, strstr(*line, "more") ? ")" : "gpu-");
        runs += (int)g_ascii_strtoll(strchr(name_end, ' ') ? strchr(name_end, ' ') : "0", NULL, 10);
    }
    return runs;
}

/* Tables of groups list the largest ones and count the others, so that their rows add up to all runs. */
static void rows_of_groups_add_up(void)
{
    for (int devices = 7; devices <= 12; devices++) {
        g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
        for (int i = 0; i < 3 * devices; i++) {
            g_autofree char *device = g_strdup_printf("gpu-%02d", i % devices);
            RhEvaluatedRun run = {.id = g_strdup_printf("t.csv:%d", i),
                                  .line = i,
                                  .model = "m",
                                  .device = rh_intern(device),
                                  .table = "t",
                                  .strategy = "",
                                  .measured_s = 1,
                                  .predicted_s = 1.1};
            g_array_append_val(evaluation->rows, run);
        }
        g_autofree char *text = rh_report_evaluation_text(evaluation, rh_record_shipped(), false);
        CU_ASSERT_EQUAL(runs_by_device(text), 3 * devices);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"counts_are_grouped_by_three", counts_are_grouped_by_three},
        {"numbers_keep_their_digits", numbers_keep_their_digits},
        {"paths_are_quoted_only_when_they_must_be", paths_are_quoted_only_when_they_must_be},
        {"wrapped_text_stays_inside_its_width", wrapped_text_stays_inside_its_width},
        {"lines_and_boxes_join_where_they_meet", lines_and_boxes_join_where_they_meet},
        {"svg_escapes_what_xml_needs", svg_escapes_what_xml_needs},
        {"json_of_a_run_reads_back", json_of_a_run_reads_back},
        {"text_of_a_plan_is_small_and_answers_first", text_of_a_plan_is_small_and_answers_first},
        {"a_best_that_a_lost_layout_may_beat_says_so_first",
         a_best_that_a_lost_layout_may_beat_says_so_first},
        {"a_proof_is_no_closer_than_sensitive_steps", a_proof_is_no_closer_than_sensitive_steps},
        {"a_plan_without_rehearsal_tells_no_waits", a_plan_without_rehearsal_tells_no_waits},
        {"the_time_taken_moves_no_line", the_time_taken_moves_no_line},
        {"why_names_the_term_that_decides", why_names_the_term_that_decides},
        {"csv_has_as_many_cells_as_its_head", csv_has_as_many_cells_as_its_head},
        {"platforms_of_every_shape_can_be_drawn", platforms_of_every_shape_can_be_drawn},
        {"rows_of_groups_add_up", rows_of_groups_add_up},
        {0}};
    return rh_test_main("report", tests);
}
