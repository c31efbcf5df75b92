/* The record of predicted runs: error bars, odds of memory, and cases without any. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "accuracy/error_bar_record.h"

#include "base/interned_strings.h"
#include "tests/kit/testkit.h"
#include <string.h>

static RhEvaluatedRun *add_row(RhEvaluation *evaluation, const char *table, const char *model)
{
    RhEvaluatedRun row = {.id = g_strdup("t.csv:1"),
                          .table = rh_intern(table),
                          .model = rh_intern(model),
                          .device = rh_intern("d"),
                          .like = {.stack = rh_intern("s"),
                                   .generation = rh_intern("g"),
                                   .kind = rh_intern("dense"),
                                   .kernels = rh_intern("k"),
                                   .gpus = 8,
                                   .params = 1e9}};
    g_array_append_val(evaluation->rows, row);
    return &g_array_index(evaluation->rows, RhEvaluatedRun, evaluation->rows->len - 1);
}

static void add_step(RhEvaluation *evaluation, const char *table, const char *model,
                     double error_frac)
{
    RhEvaluatedRun *row = add_row(evaluation, table, model);
    row->predicted_s = 1;
    row->measured_s = 1 + error_frac;
}

/* The bar of 8 groups of one step each, with errors of 1 to 8 %, holds 80 % of them: 6.4 are within
 * 7 %. */
static void a_bar_holds_four_fifths_of_the_groups(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *models[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int i = 0; i < 8; i++)
        add_step(evaluation, "t", models[i], (i % 2 ? 0.01 : -0.01) * (i + 1));
    for (int i = 0; i < 100; i++) /* of one group: they count as one */
        add_step(evaluation, "t", "a", -0.01);
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    const RhErrorBar *bar =
        rh_record_bar(record, &g_array_index(evaluation->rows, RhEvaluatedRun, 0).like);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bar);
    RH_CHECK_CLOSE(bar->error_frac, 0.07, 1e-12);
    CU_ASSERT_EQUAL(bar->groups, 8);
    CU_ASSERT_EQUAL(bar->steps, 108);
    CU_ASSERT_EQUAL(bar->gpus_most, 8);
}

/* Four groups of two steps whose ratios of measured and predicted differ by 1 to 4 %: of the eight
 * ordered pairs 80 % are seven, and the largest of these is the 4 % one taken the smaller way. */
static void what_remains_in_a_group_is_how_its_steps_differ(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *models[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        double shared = 0.1 * i - 0.15; /* common to the group: it goes */
        add_step(evaluation, "t", models[i], shared);
        add_step(evaluation, "t", models[i], (1 + shared) * (1 + 0.01 * (i + 1)) - 1);
    }
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    const RhErrorBar *bar =
        rh_record_bar(record, &g_array_index(evaluation->rows, RhEvaluatedRun, 0).like);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bar);
    RH_CHECK_CLOSE(bar->within_frac, 1 - 1 / 1.04, 1e-9);
    CU_ASSERT_TRUE(bar->error_frac > 0.15);
    g_autofree char *text = rh_record_json(record, "test");
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"within_frac\""));
}

/* Single steps of groups do not tell what remains. */
static void groups_of_one_step_tell_nothing_of_what_remains(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *models[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int i = 0; i < 8; i++)
        add_step(evaluation, "t", models[i], 0.01 * (i + 1));
    add_step(evaluation, "t", "a", 0.01);
    add_step(evaluation, "t", "b", 0.01);
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    const RhErrorBar *bar =
        rh_record_bar(record, &g_array_index(evaluation->rows, RhEvaluatedRun, 0).like);
    CU_ASSERT_TRUE(bar && bar->within_frac == 0);
}

/* Steps of long samples err by 1 to 8 %, the others by 0.1 %: the bar knows how long its samples were. */
static void long_samples_have_an_error_of_their_own(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *models[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int i = 0; i < 16; i++) {
        add_step(evaluation, "t", models[i % 8], i < 8 ? 0.01 * (i + 1) : 0.001);
        g_array_index(evaluation->rows, RhEvaluatedRun, i).like.tokens =
            i < 8 ? RH_LONG_TOKENS : 8192;
    }
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    RH_CHECK_CLOSE(record->longs.error_frac, 0.07, 1e-12);
    CU_ASSERT_EQUAL(record->longs.steps, 8);
    CU_ASSERT_EQUAL(g_array_index(record->bars, RhErrorBar, 0).tokens_most, RH_LONG_TOKENS);
    g_array_set_size(evaluation->rows, 7);
    g_autoptr(RhRecord) few = rh_record_make(evaluation);
    CU_ASSERT_EQUAL(few->longs.error_frac, 0);
}

static void of_what_is_like_nothing_there_is_no_bar(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    for (int i = 0; i < 20; i++)
        add_step(evaluation, "t", i % 2 ? "a" : "b", 0.1);
    g_autoptr(RhRecord) two = rh_record_make(evaluation);
    CU_ASSERT_EQUAL(two->bars->len, 0); /* two groups are too few */
    add_step(evaluation, "t", "c", 0.1);
    g_autoptr(RhRecord) three = rh_record_make(evaluation);
    RhEvidenceKey like = g_array_index(evaluation->rows, RhEvaluatedRun, 0).like, other = like;
    CU_ASSERT_PTR_NOT_NULL(rh_record_bar(three, &like));
    other.stack = rh_intern("another");
    other.gpus = 4096;
    const RhErrorBar *wide = rh_record_bar(three, &other);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wide);
    CU_ASSERT_PTR_NULL(wide->stack);
    other.kind = rh_intern("mixture");
    CU_ASSERT_PTR_NULL(rh_record_bar(three, &other));
    like.generation = NULL;
    CU_ASSERT_PTR_NULL(rh_record_bar(three, &like));
}

/* The bar of an unmeasured device is as wide as the errors of all stacks together on any
 * generation. */
static void of_assumed_constants_the_bar_is_wider(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *models[] = {"a", "b", "c"};
    for (int i = 0; i < 24; i++) {
        add_step(evaluation, "t", models[i % 3], 0.02);
        add_step(evaluation, "t", models[i % 3], 0.1);
        g_array_index(evaluation->rows, RhEvaluatedRun, evaluation->rows->len - 1).like.generation =
            rh_intern("other");
    }
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    RhEvidenceKey like = g_array_index(evaluation->rows, RhEvaluatedRun, 0).like;
    RH_CHECK_CLOSE(rh_record_bar(record, &like)->error_frac, 0.02, 1e-12);
    like.adapters = true; /* the steps train all weights */
    CU_ASSERT_PTR_NULL(rh_record_bar(record, &like));
    like.adapters = false;
    like.assumed = true;
    RH_CHECK_CLOSE(rh_record_bar(record, &like)->error_frac, 0.1, 1e-12);
    like.generation = rh_intern("other"); /* never narrower */
    RH_CHECK_CLOSE(rh_record_bar(record, &like)->error_frac, 0.1, 1e-12);
    like.generation = rh_intern("a third"); /* nor one where there was none */
    CU_ASSERT_PTR_NULL(rh_record_bar(record, &like));
}

static void a_bar_that_is_judged_knows_nothing_of_its_own_table(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *models[] = {"a", "b", "c"};
    for (int i = 0; i < 30; i++)
        add_step(evaluation, "one", models[i % 3], 0.1);
    add_step(evaluation, "two", "d", 0.3);
    rh_record_hold_out(evaluation);
    RH_CHECK_CLOSE(g_array_index(evaluation->rows, RhEvaluatedRun, 30).bar_frac, 0.1, 1e-12);
    CU_ASSERT_EQUAL(g_array_index(evaluation->rows, RhEvaluatedRun, 0).bar_frac,
                    0); /* one step is left */
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    CU_ASSERT_EQUAL(all.barred_count, 1);
    CU_ASSERT_EQUAL(all.within_count, 0);
}

static void add_run(RhEvaluation *evaluation, double share, bool failed)
{
    RhEvaluatedRun *row = add_row(evaluation, "t", "a");
    row->peak_bytes = share;
    row->capacity_bytes = 1;
    row->failed = failed;
    row->measured_s = failed ? 0 : 1;
    row->predicted_s = 1;
}

/* Two models whose memory ends at the same share are told by each other's runs, and a table by none but the prior; a table
 * without failures does not count. */
static void odds_are_tried_where_the_run_was_not(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    static const char *const tables[] = {"t", "t", "survivors"}, *const models[] = {"a", "b", "c"};
    for (int i = 0; i < 120; i++) {
        double share = 0.5 + (double)(i % 40) / 40;
        bool failed = share > 1;
        if (i >= 80 && failed)
            continue;
        add_run(evaluation, share, failed);
        RhEvaluatedRun *row =
            &g_array_index(evaluation->rows, RhEvaluatedRun, evaluation->rows->len - 1);
        row->table = tables[i / 40];
        row->model = models[i / 40];
    }
    RhOddsTrial models_apart = rh_record_try_odds(evaluation, false),
                tables_apart = rh_record_try_odds(evaluation, true);
    CU_ASSERT_EQUAL(models_apart.count, 80);
    CU_ASSERT_EQUAL(tables_apart.count, 80);
    CU_ASSERT_EQUAL(models_apart.failed[0], 0);
    CU_ASSERT_EQUAL(models_apart.failed[RH_ODDS_BANDS - 1], models_apart.runs[RH_ODDS_BANDS - 1]);
    CU_ASSERT_TRUE(models_apart.brier < 0.02);
    CU_ASSERT_TRUE(models_apart.brier <= tables_apart.brier);
}

/* MFUs of 10 groups are 10 to 100 %: a tenth has 10 %, nine tenths have at most 90 %. */
static void usual_mfus_are_of_steps_on_the_device(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *models[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    for (int i = 0; i < 30; i++) {
        add_step(evaluation, "t", models[i % 10], 0.01);
        RhEvaluatedRun *row =
            &g_array_index(evaluation->rows, RhEvaluatedRun, evaluation->rows->len - 1);
        row->like.device = rh_intern("chip");
        row->like.dtype = rh_intern("bf16");
        row->measured_mfu_frac = 0.1 * (i % 10 + 1);
    }
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    RhEvidenceKey like = g_array_index(evaluation->rows, RhEvaluatedRun, 0).like, other = like;
    const RhTypicalMfu *usual = rh_record_usual(record, &like);
    CU_ASSERT_PTR_NOT_NULL_FATAL(usual);
    CU_ASSERT_EQUAL(record->usual->len, 1);
    CU_ASSERT_EQUAL(usual->steps, 30);
    CU_ASSERT_EQUAL(usual->groups, 10);
    RH_CHECK_CLOSE(usual->low_frac, 0.1, 1e-12);
    RH_CHECK_CLOSE(usual->high_frac, 0.9, 1e-12);
    other.device = rh_intern("another");
    CU_ASSERT_PTR_NULL(rh_record_usual(record, &other));
    other = like;
    other.dtype = rh_intern("fp8");
    CU_ASSERT_PTR_NULL(rh_record_usual(record, &other));
    like.params *= 2; /* larger than any that was measured */
    CU_ASSERT_PTR_NULL(rh_record_usual(record, &like));
}

static void add_outcomes(RhEvaluation *evaluation, double share, int ran, int failed)
{
    for (int i = 0; i < ran + failed; i++)
        add_run(evaluation, share, i >= ran);
}

/* Odds are even where as many runs fitted as failed; from there on they fall and never rise. */
static void odds_fall_without_a_step(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    add_outcomes(evaluation, 0.5, 60, 0);
    add_outcomes(evaluation, 0.9, 36, 4);
    add_outcomes(evaluation, 0.95, 20, 20);
    add_outcomes(evaluation, 1, 4, 36);
    add_outcomes(evaluation, 1.2, 0, 40);
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    RhEvidenceKey like = {.stack = rh_intern("s")};
    const RhOdds *odds = rh_record_odds(record, &like);
    CU_ASSERT_PTR_NOT_NULL_FATAL(odds);
    CU_ASSERT_EQUAL(odds->ran, 120);
    CU_ASSERT_EQUAL(odds->failed, 100);
    CU_ASSERT_DOUBLE_EQUAL(odds->middle_frac, 0.95, 0.004);
    CU_ASSERT_DOUBLE_EQUAL(rh_odds_risk(odds, 0.9), 0.1, 0.04);
    CU_ASSERT_DOUBLE_EQUAL(rh_odds_risk(odds, 1), 0.9, 0.04);
    RH_CHECK_CLOSE(rh_odds_risk(odds, rh_odds_room(odds, 0.05)), 0.05, 1e-9);
    RH_CHECK_CLOSE(rh_odds_room(odds, 0.5), odds->middle_frac, 1e-9);
    CU_ASSERT_TRUE(isinf(rh_odds_room(odds, 1)));
    for (double share = 0; share < 2; share += 0.001) { /* no step is higher than a hundredth */
        double more = rh_odds_risk(odds, share + 0.001) - rh_odds_risk(odds, share);
        CU_ASSERT_TRUE(more >= 0 && more < 0.02);
    }
}

/* Runs of stacks that hold as much as another are that one's: neither has enough for a curve of its own. */
static void odds_are_of_who_holds_the_same(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    add_outcomes(evaluation, 0.9, 24, 0);
    for (guint i = 0; i < evaluation->rows->len; i += 2) {
        RhEvidenceKey *like = &g_array_index(evaluation->rows, RhEvaluatedRun, i).like;
        like->stack = rh_intern("guest");
        like->holds_as = rh_intern("s");
    }
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    RhEvidenceKey guest = {.stack = rh_intern("guest"), .holds_as = rh_intern("s")};
    const RhOdds *odds = rh_record_odds(record, &guest);
    CU_ASSERT_PTR_NOT_NULL_FATAL(odds);
    CU_ASSERT_STRING_EQUAL(odds->stack, "s");
    CU_ASSERT_EQUAL(odds->ran, 24);
    guest.holds_as = NULL;
    CU_ASSERT_PTR_NULL(rh_record_odds(record, &guest)->stack);
}

/* Runs that ran make surer the over_budget they were, and no more than all of the memory; a mislabelled one moves little. */
static void runs_that_ran_tell_up_to_all_of_it(void)
{
    static const double fullest[] = {0.7, 0.9, 0.95, 1.02};
    double room = 0, before = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(fullest); i++) {
        g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
        add_outcomes(evaluation, fullest[i], 40, 0);
        g_autoptr(RhRecord) record = rh_record_make(evaluation);
        const RhOdds *odds = rh_record_odds(record, &(RhEvidenceKey){.stack = rh_intern("s")});
        CU_ASSERT_PTR_NOT_NULL_FATAL(odds);
        CU_ASSERT_TRUE(odds->middle_frac <= 1);
        room = rh_odds_room(odds, RH_ODDS_ASKED);
        CU_ASSERT_TRUE(room >= before - 1e-9);
        before = room;
    }
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    add_outcomes(evaluation, 0.9, 60, 0);
    add_outcomes(evaluation, 1.05, 0, 60);
    g_autoptr(RhRecord) clean = rh_record_make(evaluation);
    add_outcomes(evaluation, 1.4, 1, 0);
    g_autoptr(RhRecord) wrong = rh_record_make(evaluation);
    RhEvidenceKey like = {.stack = rh_intern("s")};
    CU_ASSERT_DOUBLE_EQUAL(rh_odds_room(rh_record_odds(clean, &like), 0.05),
                           rh_odds_room(rh_record_odds(wrong, &like), 0.05), 0.005);
}

/* Some that ran where more than all memory was said to be needed make those no doubtful ones that are less full. */
static void each_side_has_its_own_spread(void)
{
    double room[2], above[2];
    for (int wide = 0; wide < 2; wide++) {
        g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
        add_outcomes(evaluation, 0.9, 60, 1);
        add_outcomes(evaluation, 0.95, 20, 20);
        add_outcomes(evaluation, 1.02, wide ? 10 : 1, 30);
        add_outcomes(evaluation, 1.2, 0, 60);
        g_autoptr(RhRecord) record = rh_record_make(evaluation);
        const RhOdds *odds = rh_record_odds(record, &(RhEvidenceKey){.stack = rh_intern("s")});
        CU_ASSERT_PTR_NOT_NULL_FATAL(odds);
        room[wide] = rh_odds_room(odds, RH_ODDS_ASKED);
        above[wide] = odds->above_frac;
        RH_CHECK_CLOSE(rh_odds_risk(odds, rh_odds_room(odds, 0.95)), 0.95, 1e-9);
    }
    CU_ASSERT_TRUE(above[1] > 1.3 * above[0]);
    CU_ASSERT_DOUBLE_EQUAL(room[0], room[1], 0.01);
}

/* Adds a service of a group that gives both times, each measured as 1 plus these fractions. */
static RhEvidenceKey *add_served(RhEvaluation *evaluation, const char *group, double ttft_frac,
                                 double tpot_frac)
{
    static const char *const metrics[] = {"ttft", "tpot"};
    for (int i = 0; i < 2; i++) {
        RhEvaluatedRun *row = add_row(evaluation, "t", "a");
        row->metric = metrics[i];
        row->cross_group = rh_intern(group);
        row->predicted_s = 1;
        row->measured_s = 1 + (i ? tpot_frac : ttft_frac);
    }
    return &g_array_index(evaluation->rows, RhEvaluatedRun, evaluation->rows->len - 1).like;
}

static RhEvidenceKey key_at(const RhEvaluation *evaluation, guint i)
{
    return g_array_index(evaluation->rows, RhEvaluatedRun, i).like;
}

/* Nine groups of errors of 1 to 9 %: 80 % of a tenth group's runs are held by the eighth error, as
 * 0.8 (9 + 1) = 8; a group of a hundred runs counts as one. */
static void services_have_bars_by_groups(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("folder/t.csv");
    for (int i = 1; i <= 9; i++) {
        g_autofree char *group = g_strdup_printf("g%d", i);
        for (int k = 0; k < (i == 1 ? 100 : 1); k++)
            add_served(evaluation, group, (i % 2 ? 0.01 : -0.01) * i, 0.001 * i);
    }
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    CU_ASSERT_EQUAL(record->bars->len, 0); /* they are no steps */
    CU_ASSERT_TRUE(rh_record_serve(record, evaluation));
    CU_ASSERT_STRING_EQUAL(record->serving.file, "t.csv");
    CU_ASSERT_EQUAL(record->serving.rows, 108);
    RhEvidenceKey like = key_at(evaluation, 0);
    const RhServedBar *bar = rh_record_served(record, &like);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bar);
    RH_CHECK_CLOSE(bar->ttft_frac, 0.08, 1e-9);
    RH_CHECK_CLOSE(bar->tpot_frac, 0.008, 1e-9);
    CU_ASSERT_EQUAL(bar->groups, 9);
    CU_ASSERT_EQUAL(bar->rows, 108);
}

/* A service has the most particular bar that four groups give, by what is known of it. */
static void the_most_particular_bar_counts(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *groups[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        add_served(evaluation, groups[i], 0.1, 0.01);
        for (guint k = 0; k < 2; k++) {
            add_served(evaluation, groups[i], 0.4, 0.04);
            for (guint r = evaluation->rows->len - 2; r < evaluation->rows->len; r++)
                g_array_index(evaluation->rows, RhEvaluatedRun, r).like.flags_defaulted = true;
        }
    }
    g_autoptr(RhRecord) record = rh_record_new();
    CU_ASSERT_TRUE(rh_record_serve(record, evaluation));
    RhEvidenceKey known = key_at(evaluation, 0), defaulted = known, mixture = known;
    defaulted.flags_defaulted = true;
    mixture.kind = rh_intern("mixture"); /* no group of its kind: all kinds' */
    CU_ASSERT_DOUBLE_EQUAL(rh_record_served(record, &known)->ttft_frac, 0.1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rh_record_served(record, &defaulted)->ttft_frac, 0.4, 1e-9);
    CU_ASSERT_PTR_NULL(rh_record_served(record, &mixture)->kind);
    rh_record_hold_out_groups(evaluation);
    for (guint i = 0; i < evaluation->rows->len; i++) /* three other groups are too few */
        CU_ASSERT_EQUAL(g_array_index(evaluation->rows, RhEvaluatedRun, i).bar_frac, 0);
    add_served(evaluation, "e", 0.2, 0.02);
    rh_record_hold_out_groups(evaluation);
    CU_ASSERT_DOUBLE_EQUAL(g_array_index(evaluation->rows, RhEvaluatedRun, 0).bar_frac, 0.2, 1e-9);
    const RhEvaluatedRun *last =
        &g_array_index(evaluation->rows, RhEvaluatedRun, evaluation->rows->len - 1);
    CU_ASSERT_DOUBLE_EQUAL(last->bar_frac, 0.01, 1e-9);
}

static void services_unlike_the_measured_have_none(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    const char *groups[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 20; k++)
            add_served(evaluation, groups[i], 0.1, 0.1);
    g_autoptr(RhRecord) record = rh_record_new();
    RhEvidenceKey like = key_at(evaluation, 0);
    CU_ASSERT_TRUE(rh_record_serve(record, evaluation));
    CU_ASSERT_PTR_NULL(rh_record_served(record, &like)); /* three groups are too few */
    add_served(evaluation, groups[3], 0.1, 0.1);
    CU_ASSERT_TRUE(rh_record_serve(record, evaluation));
    CU_ASSERT_PTR_NOT_NULL(rh_record_served(record, &like));
    RhEvidenceKey others[] = {like, like, like, like};
    others[0].stack = rh_intern("another");
    others[1].apart = true;
    others[2].starved = true;
    others[3].generation = NULL; /* no table of kernels */
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
        CU_ASSERT_PTR_NULL(rh_record_served(record, &others[i]));
    g_autoptr(RhEvaluation) nothing = rh_evaluation_new("t.csv");
    guint bars = record->serving.bars->len;
    CU_ASSERT_FALSE(rh_record_serve(record, nothing)); /* it stays as it was */
    CU_ASSERT_EQUAL(record->serving.bars->len, bars);
    for (guint i = 0; i < evaluation->rows->len; i++) /* in-sample errors are no evidence */
        g_array_index(evaluation->rows, RhEvaluatedRun, i).cross_group = NULL;
    CU_ASSERT_FALSE(rh_record_serve(record, evaluation));
    g_autoptr(RhRecord) taken = rh_record_new();
    rh_record_take_serving(taken, record);
    CU_ASSERT_PTR_NOT_NULL(rh_record_served(taken, &like));
}

/* The tree's own reads as it was written, and says how right its bars are. */
static void the_shipped_record_reads_back(void)
{
    const RhRecord *record = rh_record_shipped();
    CU_ASSERT_TRUE(record->steps >= 400 && record->failed >= 400);
    CU_ASSERT_TRUE(record->bars->len > 0 && record->odds->len > 0 && record->usual->len > 0);
    CU_ASSERT_TRUE(record->serving.rows >= 1000 && record->serving.bars->len > 0);
    double within = (double)record->within / record->barred;
    CU_ASSERT_TRUE(within >= 0.75 && within <= 0.85);
    g_autofree char *text = rh_record_json(record, "rehearse validate --record FILE");
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("rehearse-record-XXXXXX.json", &path, NULL);
    CU_ASSERT_TRUE_FATAL(fd >= 0 && close(fd) == 0 && g_file_set_contents(path, text, -1, NULL));
    g_autoptr(RhRecord) again = rh_record_load(path, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    g_autofree char *same = rh_record_json(again, "rehearse validate --record FILE");
    CU_ASSERT_STRING_EQUAL(text, same);
    (void)remove(path);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a_bar_holds_four_fifths_of_the_groups", a_bar_holds_four_fifths_of_the_groups},
        {"what_remains_in_a_group_is_how_its_steps_differ",
         what_remains_in_a_group_is_how_its_steps_differ},
        {"groups_of_one_step_tell_nothing_of_what_remains",
         groups_of_one_step_tell_nothing_of_what_remains},
        {"long_samples_have_an_error_of_their_own", long_samples_have_an_error_of_their_own},
        {"of_what_is_like_nothing_there_is_no_bar", of_what_is_like_nothing_there_is_no_bar},
        {"of_assumed_constants_the_bar_is_wider", of_assumed_constants_the_bar_is_wider},
        {"a_bar_that_is_judged_knows_nothing_of_its_own_table",
         a_bar_that_is_judged_knows_nothing_of_its_own_table},
        {"odds_are_tried_where_the_run_was_not", odds_are_tried_where_the_run_was_not},
        {"usual_mfus_are_of_steps_on_the_device", usual_mfus_are_of_steps_on_the_device},
        {"odds_fall_without_a_step", odds_fall_without_a_step},
        {"odds_are_of_who_holds_the_same", odds_are_of_who_holds_the_same},
        {"each_side_has_its_own_spread", each_side_has_its_own_spread},
        {"runs_that_ran_tell_up_to_all_of_it", runs_that_ran_tell_up_to_all_of_it},
        {"services_have_bars_by_groups", services_have_bars_by_groups},
        {"the_most_particular_bar_counts", the_most_particular_bar_counts},
        {"services_unlike_the_measured_have_none", services_unlike_the_measured_have_none},
        {"the_shipped_record_reads_back", the_shipped_record_reads_back},
        {0}};
    return rh_test_main("record", tests);
}
