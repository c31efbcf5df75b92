/* Constants of a stack from published steps: the table's reader, and a fit that finds again what
 * made its rows. */
#include <math.h>
#include <string.h>

#include "accuracy/error_bar_record.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "calibrate/stacks/steps_fit.h"
#include "tests/kit/testkit.h"

#define HEAD                                                                                       \
    RH_STEPS_FIRST_LINE                                                                            \
    "\n# source.one=synthetic\n# source.two=synthetic\n"                                           \
    "# model.small=llama layers=16 hidden=2048 heads=16 ffn=5504 vocab=32000\n"                    \
    "# model.plain=gpt layers=24 hidden=2048 heads=16 ffn=8192 vocab=50304 "                       \
    "positions=4096\n"                                                                             \
    "# model.wide=nemotron layers=12 hidden=4096 heads=32 kv_heads=8 "                             \
    "ffn=16384 vocab=64000\n" RH_STEPS_HEADER "\n"

/* Jobs times layouts: compute-bound, host-bound and network-bound steps, on one node and on many.
 */
static char *synthetic_text(void)
{
    static const char *const models[] = {"small", "plain", "wide"};
    static const char *const platforms[] = {"dgx-a100:4", "dgx-h100:16"};
    static const char *const layouts[] = {"tp1 pp1 mb1 zero1 sp=off", "tp2 pp1 mb2 zero1 sp=on",
                                          "tp4 pp2 mb1 zero1 sp=on", "tp8 pp2 mb1 zero0 sp=off",
                                          "tp1 pp4 mb2 zero1 recompute=full sp=off"};
    GString *text = g_string_new(HEAD);
    for (size_t m = 0; m < G_N_ELEMENTS(models); m++)
        for (size_t p = 0; p < G_N_ELEMENTS(platforms); p++)
            for (int sequence = 512; sequence <= 2048; sequence *= 4)
                for (size_t l = 0; l < G_N_ELEMENTS(layouts); l++)
                    g_string_append_printf(text, "%s,made,%s,%s,%d,%d,%d,bf16,%s,flash,fused,,1,\n",
                                           m == 0 ? "one" : "two", models[m], platforms[p],
                                           p ? 128 : 32, (p ? 128 : 32) * (sequence == 512 ? 1 : 4),
                                           sequence, layouts[l]);
    return g_string_free(text, FALSE);
}

typedef struct {
    double gap_s, nvlink_frac, nic_frac, optimizer_bytes, a100_clock, h100_clock;
} Truth;

static const Truth truth = {18e-6, 0.35, 0.4, 30, 0.8, 0.7};

static double noise(guint i)
{
    return 1 + 0.01 * sin(12.9898 * (i + 1)); /* one per cent, no two rows alike */
}

/* Seconds of all rows as the model has them. */
static void make_seconds(RhMeasuredSteps *steps, const RhStepModel *model)
{
    for (guint i = 0; i < steps->rows->len; i++) {
        RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, i);
        step->seconds = rh_step_model_segment_s(model, step) * noise(i);
    }
}

static void make_true_seconds(RhMeasuredSteps *steps)
{
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, "megatron", NULL);
    model->stack.kernel_gap_s.value = truth.gap_s;
    model->stack.nvlink_training_frac.value = truth.nvlink_frac;
    model->stack.nic_training_frac.value = truth.nic_frac;
    model->stack.optimizer_bytes.value = truth.optimizer_bytes;
    rh_step_model_clock(model, "a100-sxm-80")->clock_frac.value = truth.a100_clock;
    rh_step_model_clock(model, "h100-sxm")->clock_frac.value = truth.h100_clock;
    rh_step_model_refresh(model);
    make_seconds(steps, model);
}

/* `width_frac`: of the interval, at most. */
static void check_found(const RhStepsFit *fit, const char *key, const char *of, double wanted,
                        double width_frac)
{
    for (guint i = 0; i < fit->constants->len; i++) {
        const RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
        if (strcmp(c->key, key) != 0 || g_strcmp0(c->of, of) != 0)
            continue;
        CU_ASSERT_TRUE(c->determined);
        CU_ASSERT_TRUE(c->fact.low <= wanted && wanted <= c->fact.high);
        CU_ASSERT_TRUE(c->fact.high - c->fact.low < width_frac * wanted);
        RH_CHECK_CLOSE(c->fact.value, wanted, 0.1);
        CU_ASSERT_FALSE(c->kept);
        return;
    }
    CU_FAIL("the constant is reported");
}

/* Adam's bytes are counted: what the rows would have them is reported, and the count stands. */
static void check_counted(const RhStepsFit *fit)
{
    for (guint i = 0; i < fit->constants->len; i++) {
        const RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
        if (strcmp(c->key, "optimizer_bytes") != 0)
            continue;
        CU_ASSERT_TRUE(c->counted && c->kept && c->determined);
        CU_ASSERT_TRUE(c->fact.low <= truth.optimizer_bytes);
        CU_ASSERT_TRUE(truth.optimizer_bytes <= c->fact.high);
        return;
    }
    CU_FAIL("the constant is reported");
}

static void a_fit_finds_the_constants_that_made_its_rows(void)
{
    g_autofree char *text = synthetic_text();
    g_autoptr(GError) error = NULL;
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    make_true_seconds(steps);
    RhStepsFitOptions options = {.segments_alone = true};
    g_autoptr(RhStepsFit) fit = rh_steps_fit(steps, "megatron", &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    check_found(fit, "kernel_gap_s", NULL, truth.gap_s, 0.1);
    check_found(fit, "nvlink_training_frac", NULL, truth.nvlink_frac, 0.1);
    check_found(fit, "nic_training_frac", NULL, truth.nic_frac, 0.1);
    check_found(fit, "sustained_clock", "a100-sxm-80", truth.a100_clock, 0.1);
    check_found(fit, "sustained_clock", "h100-sxm", truth.h100_clock, 0.1);
    check_counted(fit);
    RhFitFigures before, held;
    rh_steps_figures(fit, NULL, NULL, offsetof(RhStepPrediction, before_s), &before);
    rh_steps_figures(fit, NULL, NULL, offsetof(RhStepPrediction, held_out_s), &held);
    CU_ASSERT_EQUAL(held.count, (int32_t)steps->rows->len);
    CU_ASSERT_TRUE(before.median_frac > 0.05); /* the fit had something to do */
    CU_ASSERT_TRUE(held.median_frac < 0.015);
    rh_fit_figures_clear(&before);
    rh_fit_figures_clear(&held);
}

/* Rows that say what the tree says already: every value stands, and what is held out is predicted as
 * well as where the tree is wrong. */
static void what_stands_is_held_out_all_the_same(void)
{
    static const size_t kinds[] = {offsetof(RhStepPrediction, held_out_s),
                                   offsetof(RhStepPrediction, source_out_s)};
    g_autofree char *text = synthetic_text();
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    g_autoptr(RhStepModel) tree = rh_step_model_new(steps, "megatron", NULL);
    make_seconds(steps, tree);
    RhStepsFitOptions options = {.segments_alone = true};
    g_autoptr(RhStepsFit) fit = rh_steps_fit(steps, "megatron", &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        RhFitFigures held;
        rh_steps_figures(fit, NULL, NULL, kinds[i], &held);
        CU_ASSERT_EQUAL(held.count, (int32_t)steps->rows->len);
        CU_ASSERT_TRUE(held.median_frac < 0.015);
        rh_fit_figures_clear(&held);
    }
    for (guint i = 0; i < fit->constants->len; i++) {
        const RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
        CU_ASSERT_EQUAL(c->kept, c->determined);
    }
}

/* Noise by which two of the tree's values lie outside their intervals while all are free, and within them once the
 * others are held: they stand too. */
static void what_comes_to_stand_beside_others_stands(void)
{
    g_autofree char *text = synthetic_text();
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    g_autoptr(RhStepModel) tree = rh_step_model_new(steps, "megatron", NULL);
    for (guint i = 0; i < steps->rows->len; i++) {
        RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, i);
        step->seconds = rh_step_model_segment_s(tree, step) *
                        (1 + 0.01 * sin(12.9898 * (i + 1) + 0.37 * 33 * i));
    }
    RhStepsFitOptions options = {.segments_alone = true};
    g_autoptr(RhStepsFit) fit = rh_steps_fit(steps, "megatron", &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    for (guint i = 0; i < fit->constants->len; i++) {
        const RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
        CU_ASSERT_TRUE(!c->determined || c->kept || c->before < c->fact.low ||
                       c->before > c->fact.high);
    }
}

/* A fit stops at its deadline, wherever it is. */
static void a_deadline_is_kept_within_half_a_second(void)
{
    g_autofree char *text = synthetic_text();
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    make_true_seconds(steps);
    static const double timeouts_s[] = {0.001, 0.1, 0.5, 1.5};
    int late = 0;
    for (size_t i = 0; i < RH_TRIES(2 * G_N_ELEMENTS(timeouts_s), 4); i++) {
        double timeout_s = timeouts_s[i / 2];
        RhStepsFitOptions options = {.segments_alone = i % 2 != 0,
                                     .deadline = rh_deadline_in(timeout_s)};
        g_autoptr(GError) error = NULL;
        g_autoptr(RhStepsFit) fit = rh_steps_fit(steps, "megatron", &options, &error);
        CU_ASSERT_TRUE(rh_deadline_left_s(options.deadline) > -0.5);
        CU_ASSERT_TRUE(fit || g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
        late += fit == NULL;
    }
    CU_ASSERT_TRUE(late >= 4);
}

/* A row whose graph takes longer than the deadline does not outlast it: 400,000 micro-batches in 16
 * stages. */
static void a_row_that_takes_long_does_not_outlast_the_deadline(void)
{
    g_autofree char *text =
        g_strconcat(HEAD,
                    "one,made,small,dgx-h100:2,16,400000,512,bf16,tp1 pp16 mb1 vpp1 sp=off,"
                    "flash,fused,,1,\n",
                    NULL);
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    const RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, 0);
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, "megatron", NULL);
    gint64 t_start_us = g_get_monotonic_time();
    double free_s = rh_step_model_segment_s(model, step);
    double took_s = (double)(g_get_monotonic_time() - t_start_us) * 1e-6;
    CU_ASSERT_TRUE_FATAL(took_s > 0.1); /* else it tells nothing */
    model->deadline = rh_deadline_in(took_s / 10);
    CU_ASSERT_EQUAL(rh_step_model_segment_s(model, step), 1);
    CU_ASSERT_TRUE(rh_deadline_left_s(model->deadline) > -took_s / 2);
    model->deadline = rh_deadline_in(100 * took_s + 10);
    CU_ASSERT_EQUAL(rh_step_model_segment_s(model, step), free_s); /* apart: the same number */
}

/* A network declared a source's own does not move the stack's. */
static void a_source_may_have_a_network_of_its_own(void)
{
    g_autofree char *text = synthetic_text();
    g_autoptr(GString) own = g_string_new(text);
    g_string_insert(own, (gssize)strlen(RH_STEPS_FIRST_LINE "\n"), "# network.two=slower\n");
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", own->str, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, "megatron", NULL);
    CU_ASSERT_EQUAL_FATAL(model->networks_count, 1);
    const RhMeasuredStep *one = &g_array_index(steps->rows, RhMeasuredStep, 9),
                         *two = &g_array_index(steps->rows, RhMeasuredStep, steps->rows->len - 1);
    double one_s = rh_step_model_segment_s(model, one), two_s = rh_step_model_segment_s(model, two);
    model->networks[0].nic_frac.value /= 20;
    rh_step_model_refresh(model);
    CU_ASSERT_EQUAL(rh_step_model_segment_s(model, one), one_s);
    CU_ASSERT_TRUE(rh_step_model_segment_s(model, two) > 1.01 * two_s);
}

/* A table's network goes before its source's, and a source's runs have the habits of the stack it names. */
static void a_table_may_have_a_network_and_a_source_habits(void)
{
    g_autofree char *text = synthetic_text();
    g_autoptr(GString) own = g_string_new(text);
    g_string_insert(own, (gssize)strlen(RH_STEPS_FIRST_LINE "\n"),
                    "# stack.two=aleph\n# network.two=slower\n# network.two/made=slower still\n");
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", own->str, NULL);
    g_autoptr(RhMeasuredSteps) plain = rh_steps_parse("made.csv", text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, "megatron", NULL);
    g_autoptr(RhStepModel) base = rh_step_model_new(plain, "megatron", NULL);
    guint last = steps->rows->len - 1;
    const RhMeasuredStep *two = &g_array_index(steps->rows, RhMeasuredStep, last);
    double two_s = rh_step_model_segment_s(model, two);
    CU_ASSERT_TRUE(
        two_s > rh_step_model_segment_s(base, &g_array_index(plain->rows, RhMeasuredStep, last)));
    CU_ASSERT_EQUAL_FATAL(model->networks_count, 2);
    for (int32_t i = 0; i < 2; i++) {
        bool of_table = strcmp(model->networks[i].name, "two/made") == 0;
        double was = model->networks[i].nic_frac.value;
        model->networks[i].nic_frac.value /= 20;
        rh_step_model_refresh(model);
        CU_ASSERT_EQUAL(rh_step_model_segment_s(model, two) > 1.01 * two_s, of_table);
        model->networks[i].nic_frac.value = was;
    }
}

static void refused(const char *text, const char *because)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    RhStepsFitOptions options = {.segments_alone = true};
    g_autoptr(RhStepsFit) fit = rh_steps_fit(steps, "megatron", &options, &error);
    CU_ASSERT_PTR_NULL(fit);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(error ? strstr(error->message, because) : NULL);
}

static void rows_that_determine_no_constants_are_refused(void)
{
    static const char row[] =
        "one,made,small,dgx-a100:4,32,128,2048,bf16,tp2 pp2 mb1 zero1 sp=on,flash,fused,,1,\n";
    g_autoptr(GString) copies = g_string_new(HEAD);
    g_autoptr(GString) group = g_string_new(HEAD);
    g_autoptr(GString) dead = g_string_new(HEAD);
    for (int i = 0; i < 60; i++) {
        g_string_append(copies, row);
        g_string_append_printf(group,
                               "one,made,small,dgx-a100:4,32,%d,2048,bf16,tp%d pp%d mb1 zero1 "
                               "sp=off,flash,fused,,1,\n",
                               64 * (1 + i / 4), 1 << i % 2, 1 + i / 2 % 2);
    }
    g_string_append(dead,
                    "one,made,small,dgx-a100:4,32,128,2048,bf16,tp2 pp2 mb1,flash,fused,,oom,\n");
    refused(copies->str, "different steps");
    refused(group->str, "groups");
    refused(dead->str, "no row depends");
}

/* Between two spaces stands a word of no letters. */
static void a_size_without_a_name_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new(HEAD);
    g_string_replace(text, "layers=16 ", "layers=16  ", 1);
    g_string_append(text,
                    "one,made,small,dgx-a100:4,32,128,2048,bf16,tp2 pp2 mb1,flash,fused,,1,\n");
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text->str, &error);
    CU_ASSERT_PTR_NULL(steps);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(error ? strstr(error->message, "\"\" is not a size") : NULL);
}

/* Runs that die where the account and 6 GB more pass the capacity: the reserve is found again. */
static void a_reserve_is_found_from_runs_that_died(void)
{
    g_autoptr(GString) text = g_string_new(HEAD);
    for (int sequence = 256; sequence <= 16384; sequence += 256)
        g_string_append_printf(text,
                               "one,made,wide,dgx-a100:1,8,64,%d,bf16,tp1 pp1 mb4 zero1 sp=off,"
                               "flash,fused,,1,\n",
                               sequence);
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text->str, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, "megatron", NULL);
    RhStepReserve none, found;
    rh_steps_reserve(model, &none);
    CU_ASSERT_EQUAL(none.failed_count, 0);
    int32_t failed = 0;
    for (guint i = 0; i < steps->rows->len; i++) {
        RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, i);
        double bare = rh_step_model_peak_bytes(model, step) - model->stack.reserve_bytes.value;
        step->out_of_memory = bare * noise(i) + 6e9 > step->platform->device->hbm_bytes.value;
        failed += step->out_of_memory;
    }
    CU_ASSERT_TRUE_FATAL(failed > 10 && failed < (int32_t)steps->rows->len - 10);
    rh_steps_reserve(model, &found);
    CU_ASSERT_EQUAL(found.failed_count, failed);
    CU_ASSERT_TRUE(found.low_bytes <= 6e9 && 6e9 <= found.high_bytes);
    CU_ASSERT_TRUE(found.high_bytes - found.low_bytes < 10e9);
    CU_ASSERT_TRUE(found.caught_fitted >= failed - 1 && found.refused_fitted <= 1);
}

static void unreadable(const char *row, const char *because)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strconcat(HEAD, row, "\n", NULL);
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("made.csv", text, &error);
    CU_ASSERT_PTR_NULL(steps);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, because));
}

static void errors_name_line_and_cell(void)
{
    unreadable("one,made,small,dgx-a100:4,32,128,2048,bf16,tp2,flash,fused,,1", "made.csv:8: 13");
    unreadable("who,made,small,dgx-a100:4,32,128,2048,bf16,tp2,flash,fused,,1,", "made.csv:8:1:");
    unreadable("one,made,huge,dgx-a100:4,32,128,2048,bf16,tp2,flash,fused,,1,", "made.csv:8:3:");
    unreadable("one,made,small,dgx-z9:4,32,128,2048,bf16,tp2,flash,fused,,1,", "made.csv:8:4:");
    unreadable("one,made,small,dgx-a100:4,0,128,2048,bf16,tp2,flash,fused,,1,", "made.csv:8:5:");
    unreadable("one,made,small,dgx-a100:4,32,128,2048,int4,tp2,flash,fused,,1,", "made.csv:8:8:");
    unreadable("one,made,small,dgx-a100:4,32,128,2048,bf16,tp3,flash,fused,,1,", "made.csv:8:9:");
    unreadable("one,made,small,dgx-a100:4,32,128,2048,bf16,tp2,fast,fused,,1,", "made.csv:8:10:");
    unreadable("one,made,small,dgx-a100:4,32,128,2048,bf16,tp2,flash,fused,,0,", "made.csv:8:13:");
    unreadable("one,made,small,dgx-a100:4,32,128,2048,bf16,tp2,flash,fused,,1,x", "made.csv:8:14:");
}

/* The table that ships: what its head says of itself. */
static void the_published_table_is_read_whole(void)
{
    const char *data = g_getenv("REHEARSE_DATA");
    g_autofree char *path = g_build_filename(data ? data : RH_DATA_DIR, "calibrate", "data",
                                             "published-steps.csv", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhMeasuredSteps) steps = rh_steps_load(path, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    guint fitted = 0, apart = 0, dead = 0;
    for (guint i = 0; i < steps->rows->len; i++) {
        const RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, i);
        fitted += !step->out_of_memory && *step->apart == 0;
        apart += *step->apart != 0;
        dead += step->out_of_memory;
    }
    CU_ASSERT_EQUAL(fitted, 229);
    CU_ASSERT_EQUAL(apart, 242 + 118);
    CU_ASSERT_EQUAL(dead, 405);
}

/* The shipped curve of memory was fitted to as many runs as the table has, of which as many ran out
 * of memory, by today's prediction of their memory. */
static void the_record_of_the_memory_is_what_the_table_says(void)
{
    const char *data = g_getenv("REHEARSE_DATA");
    g_autofree char *path = g_build_filename(data ? data : RH_DATA_DIR, "calibrate", "data",
                                             "published-steps.csv", NULL);
    g_autoptr(RhMeasuredSteps) steps = rh_steps_load(path, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    RhEvidenceKey like = {.stack = rh_intern("aleph")};
    const RhOdds *odds = rh_record_odds(rh_record_shipped(), &like);
    CU_ASSERT_PTR_NOT_NULL_FATAL(odds);
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, "megatron", NULL);
    int32_t runs = 0, failed = 0;
    double expected = 0;
    for (guint i = 0; i < steps->rows->len; i++) {
        const RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, i);
        if (strcmp(step->source, "aleph") != 0 || !step->flash_attention || !step->fused_norms)
            continue;
        double share =
            rh_step_model_peak_bytes(model, step) / step->platform->device->hbm_bytes.value;
        expected += rh_odds_risk(odds, share);
        failed += step->out_of_memory;
        runs++;
    }
    CU_ASSERT_EQUAL(runs, odds->ran + odds->failed);
    CU_ASSERT_EQUAL(failed, odds->failed);
    CU_ASSERT_DOUBLE_EQUAL(expected, failed, 0.02 * runs);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a fit finds the constants that made its rows",
         a_fit_finds_the_constants_that_made_its_rows},
        {"what stands is held out all the same", what_stands_is_held_out_all_the_same},
        {"what comes to stand beside others stands", what_comes_to_stand_beside_others_stands},
        {"a deadline is kept within half a second", a_deadline_is_kept_within_half_a_second},
        {"a row that takes long does not outlast the deadline",
         a_row_that_takes_long_does_not_outlast_the_deadline},
        {"a source may have a network of its own", a_source_may_have_a_network_of_its_own},
        {"a table may have a network and a source habits",
         a_table_may_have_a_network_and_a_source_habits},
        {"rows that determine no constants are refused",
         rows_that_determine_no_constants_are_refused},
        {"a size without a name is refused", a_size_without_a_name_is_refused},
        {"the record of the memory is what the table says",
         the_record_of_the_memory_is_what_the_table_says},
        {"a reserve is found from runs that died", a_reserve_is_found_from_runs_that_died},
        {"errors name line and cell", errors_name_line_and_cell},
        {"the published table is read whole", the_published_table_is_read_whole},
        {NULL, NULL}};
    return rh_test_main("steps_fit", tests);
}
