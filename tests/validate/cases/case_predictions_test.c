/* Tables of published runs: reading, what words mean, statistics of errors. */
#include <math.h>
#include <string.h>

#include "accuracy/evaluation.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/csv.h"
#include "tests/kit/testkit.h"
#include "validate/cases/case_predictions.h"
#include "validate/cases/cases_translate.h"

/* --- figures --- */

static void figures_are_those_of_the_definition(void)
{
    const double measured[] = {1, 2, 4, 5, 10}, predicted[] = {1.1, 1.8, 4, 6, 5};
    /* errors +10, -10, 0, +20, -50 % */
    RhErrorStatistics f = rh_error_statistics(measured, predicted, 5);
    CU_ASSERT_EQUAL(f.count, 5);
    RH_CHECK_CLOSE(f.median_abs_error_frac, 0.1, 1e-12);
    RH_CHECK_CLOSE(f.mape_frac, 0.18, 1e-12);
    RH_CHECK_CLOSE(f.bias_frac, -0.06, 1e-12);
    RH_CHECK_CLOSE(f.worst_abs_error_frac, 0.5, 1e-12);
    CU_ASSERT_EQUAL(f.worst, 4);
    /* sorted 0, 10, 10, 20, 50: at 0.9 x 4 = 3.6, between the 4th and the 5th */
    RH_CHECK_CLOSE(f.p90_abs_error_frac, 0.2 + 0.6 * 0.3, 1e-12);
}

static void figures_of_nothing_are_nothing(void)
{
    RhErrorStatistics f = rh_error_statistics(NULL, NULL, 0);
    CU_ASSERT_EQUAL(f.count, 0);
    CU_ASSERT_EQUAL(f.worst, -1);
    CU_ASSERT_TRUE(isnan(rh_kendall_tau(NULL, NULL, 0)));
    CU_ASSERT_TRUE(isnan(rh_regret_frac(NULL, NULL, 0)));
}

static void tau_counts_pairs(void)
{
    const double up[] = {1, 2, 3, 4}, down[] = {4, 3, 2, 1}, swapped[] = {2, 1, 3, 4},
                 tied[] = {1, 1, 3, 4};
    RH_CHECK_CLOSE(rh_kendall_tau(up, up, 4), 1, 1e-12);
    RH_CHECK_CLOSE(rh_kendall_tau(up, down, 4), -1, 1e-12);
    RH_CHECK_CLOSE(rh_kendall_tau(up, swapped, 4), (5.0 - 1) / 6, 1e-12);
    CU_ASSERT_FALSE(signbit(rh_percent_tenths(-4e-4)));
    CU_ASSERT_EQUAL(rh_percent_tenths(-4e-4), 0);
    RH_CHECK_CLOSE(rh_percent_tenths(-6e-4), -0.1, 1e-12);
    RH_CHECK_CLOSE(rh_kendall_tau(up, tied, 4), 5.0 / 6, 1e-12); /* a tie counts for neither */
}

static void regret_is_what_the_pick_loses(void)
{
    const double measured[] = {5, 4, 6}, right[] = {3, 2, 9}, wrong[] = {3, 4, 2};
    RH_CHECK_CLOSE(rh_regret_frac(measured, right, 3), 0, 1e-12);
    RH_CHECK_CLOSE(rh_regret_frac(measured, wrong, 3), 0.5, 1e-12);
}

/* --- evaluated rows --- */

static void add_row(RhEvaluation *evaluation, const char *rivals, double measured_s,
                    double predicted_s, double share, RhProvenance standing)
{
    RhEvaluatedRun row = {.id = g_strdup("row"),
                          .source = "one",
                          .table = "one",
                          .device = "gpu",
                          .family = "llama",
                          .stack = "megatron",
                          .strategy = "tp1",
                          .rivals = rh_intern(rivals),
                          .standing = standing,
                          .failed = measured_s <= 0,
                          .measured_s = measured_s,
                          .predicted_s = predicted_s,
                          .peak_bytes = share * 100,
                          .capacity_bytes = 100};
    g_array_append_val(evaluation->rows, row);
}

static void rows_from_memory_count_apart(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    add_row(evaluation, "a", 1, 1.1, 0.5, RH_STANDING_MEASURED);
    add_row(evaluation, "a", 1, 3, 0.5, RH_STANDING_RECALLED);
    add_row(evaluation, "a", 1, 4, 0.5, RH_STANDING_COMPUTED);
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL),
                        memory =
                            rh_evaluation_figures(evaluation, RH_EVALUATION_BY_PART, "from memory");
    CU_ASSERT_EQUAL(all.figures.count, 1);
    RH_CHECK_CLOSE(all.figures.mape_frac, 0.1, 1e-9);
    CU_ASSERT_EQUAL(memory.figures.count, 1);
    RH_CHECK_CLOSE(memory.figures.mape_frac, 2, 1e-9);
    CU_ASSERT_EQUAL(memory.figures.worst, 1);
}

static void ranks_are_means_over_groups_of_four(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    for (int i = 1; i <= 4; i++) {
        add_row(evaluation, "up", i, i, 0.5, RH_STANDING_MEASURED);        /* tau 1, regret 0 */
        add_row(evaluation, "down", i, 10 - i, 0.5, RH_STANDING_MEASURED); /* tau -1, regret 3 */
        if (i < 4)                                                         /* three are too few */
            add_row(evaluation, "few", i, 10 - i, 0.5, RH_STANDING_MEASURED);
    }
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    CU_ASSERT_EQUAL(all.rivals_count, 2);
    RH_CHECK_CLOSE(all.kendall_tau, 0, 1e-12);
    RH_CHECK_CLOSE(all.regret_frac, 1.5, 1e-12);
    RH_CHECK_CLOSE(all.regret_worst_frac, 3, 1e-12);
}

/* Errors that two layouts share cancel in the ratio of their times; others add up. */
static void pairs_are_judged_by_the_ratio_of_their_times(void)
{
    g_autoptr(RhEvaluation) shared = rh_evaluation_new("t.csv"), own = rh_evaluation_new("t.csv");
    for (int i = 1; i <= 4; i++) {
        add_row(shared, "job", i, 1.3 * i, 0.5, RH_STANDING_MEASURED);
        add_row(own, "job", i, i % 2 ? 1.1 * i : i / 1.1, 0.5, RH_STANDING_MEASURED);
    }
    RhEvaluationFigures s = rh_evaluation_figures(shared, RH_EVALUATION_BY_LAST, NULL),
                        o = rh_evaluation_figures(own, RH_EVALUATION_BY_LAST, NULL);
    CU_ASSERT_EQUAL(s.pairs_count, 6);
    RH_CHECK_CLOSE(s.pairs_error_frac, 0, 1e-12);
    CU_ASSERT_EQUAL(o.pairs_count, 6); /* 2 without an error, 4 of 1.1^2 */
    RH_CHECK_CLOSE(o.pairs_error_frac, 0.21, 1e-12);
}

static void memory_is_judged_apart_from_time(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    add_row(evaluation, "a", 1, 1, 0.5, RH_STANDING_MEASURED);
    add_row(evaluation, "a", 1, 1, 1.2, RH_STANDING_MEASURED);
    add_row(evaluation, "a", 0, 0, 1.5, RH_STANDING_MEASURED);
    add_row(evaluation, "a", 0, 0, 0.9, RH_STANDING_MEASURED);
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    CU_ASSERT_EQUAL(all.figures.count, 2);
    CU_ASSERT_EQUAL(all.ran_and_fits, 1);
    CU_ASSERT_EQUAL(all.ran_but_refused, 1);
    CU_ASSERT_EQUAL(all.failed_and_refused, 1);
    CU_ASSERT_EQUAL(all.failed_but_fits, 1);
    RH_CHECK_CLOSE(all.oom_auc, 3.0 / 4, 1e-12); /* 0.9 is below 1.2, all other pairs are right */
}

/* --- reading --- */

static void quoted_cells_hold_commas_quotes_and_lines(void)
{
    g_autoptr(RhCsv) csv = rh_csv_parse(
        "t.csv", "# a remark\r\na, b\r\n\r\n\"1,2\",\"say \"\"x\"\"\"\n\"l\nm\",3", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
    CU_ASSERT_EQUAL(csv->rows->len, 2);
    CU_ASSERT_EQUAL(rh_csv_column(csv, "b"), 1);
    const RhCsvRow *first = &g_array_index(csv->rows, RhCsvRow, 0),
                   *second = &g_array_index(csv->rows, RhCsvRow, 1);
    CU_ASSERT_STRING_EQUAL(first->cells[0], "1,2");
    CU_ASSERT_STRING_EQUAL(first->cells[1], "say \"x\"");
    CU_ASSERT_STRING_EQUAL(second->cells[0], "l\nm");
    CU_ASSERT_EQUAL(second->line, 5);
    CU_ASSERT_EQUAL(second->lines[1], 6);
    CU_ASSERT_EQUAL(second->columns[1], 4);
}

static void check_refused(const char *text, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text, &error);
    CU_ASSERT_PTR_NULL(table);
    CU_ASSERT_TRUE(error && g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, message));
}

#define HEAD "model,gpu,gpus,seq,global_batch,tp,note\n"

static void bad_tables_say_where(void)
{
    check_refused("", "t.csv: there is no header");
    check_refused("model,gpu\n", "t.csv:1: not the header of a table of training runs");
    check_refused("model,gpu,gpus,seq,global_batch,modle\n",
                  "t.csv:1:33: unknown column \"modle\"");
    check_refused("model,gpu,gpus,isl\n",
                  "not the header of a table of serving runs: no column \"osl\"");
    check_refused("source,table,model,platform,gpus,global_batch,sequence,layout,step_s\n",
                  "`rehearse calibrate --stack NAME --from t.csv` reads it");
    check_refused("model,model\n", "t.csv:1:7: two columns are named \"model\"");
    check_refused(HEAD "m,g,8,4096,32,1,\"\xc3\xa9\n\xe9\"\n", "t.csv:3:1: this text is not UTF-8");
    check_refused(HEAD "m,g,8,4096,32,1\n", "t.csv:2:1: 6 cells in this row, 7 in the header");
    check_refused(HEAD "m,g,8.5,4096,32,1,\n", "t.csv:2:5: gpus \"8.5\" is not a whole number");
    check_refused(HEAD "m,g,8,4096,32,x,\n", "t.csv:2:15: tp \"x\" is not a whole number");
    check_refused(HEAD "m,g,8,4096,32,1,\"open\n", "t.csv:2:17: this quote is not closed");
    check_refused(HEAD "m,g,8,4096,32,1,\"a\"b\n", "t.csv:2:20: text behind a closing quote");
}

/* --- what words mean --- */

static const char kept[] =
    "source,model,layers,hidden,heads,kv_heads,ffn,vocab,seq,gpu,gpus,tp,pp,dp,"
    "cp,ep,vpp,microbatch,global_batch,recompute,seqpar,zero,precision,"
    "measured_iteration_s,measured_tflops_per_gpu,note\n";

/* Translates one row; returns why it cannot be, or NULL. The caller frees it. */
static char *translate(const char *row, RhTranslator *t, RhTranslated *out)
{
    g_autofree char *text = g_strconcat(kept, row, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    return rh_translate(t, &g_array_index(table->rows, RhCaseRow, 0), out);
}

static void a_row_is_said_with_its_sizes_and_layout(void)
{
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    RhTranslated out;
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    g_autofree char *why = translate(
        "me,llama-13b,40,5120,40,40,13824,128000,2048,A100-80GB,64,2,4,8,1,1,5,2,1024,full,"
        "1,1,bf16,12.5,,",
        t, &out);
    CU_ASSERT_PTR_NULL(why);
    CU_ASSERT_EQUAL(out.c.model->vocab, 128000);
    CU_ASSERT_EQUAL(out.c.model->layers_count, 40);
    CU_ASSERT_STRING_EQUAL(out.c.platform->device->name, "a100-sxm-80");
    CU_ASSERT_EQUAL(out.layout.tp, 2);
    CU_ASSERT_EQUAL(out.layout.vpp, 5);
    CU_ASSERT_EQUAL(out.layout.schedule, RH_PIPELINE_INTERLEAVED);
    CU_ASSERT_EQUAL(out.layout.recompute, RH_RECOMPUTE_FULL);
    CU_ASSERT_TRUE(out.layout.sequence_parallel);
    CU_ASSERT_EQUAL(out.measured_s, 12.5);
    CU_ASSERT_TRUE(out.stands_in && strstr(out.stands_in, "framework")); /* "me" is nobody */
    rh_translated_clear(&out);
}

/* Sizes that no column holds stand in the rules: the same cells of another source are the whole model's. */
static void sizes_of_a_source_are_the_models(void)
{
    static const char cells[] =
        "deepseek-v3-trunc,4,7168,128,,2048,129280,4096,B200,8,1,1,8,1,8,1,1,64,,"
        "1,1,bf16,1.1,,";
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    g_autofree char *theirs = g_strconcat("SimuMax B200,", cells, NULL);
    g_autofree char *others = g_strconcat("me,", cells, NULL);
    RhTranslated out, other;
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    g_autofree char *why = translate(theirs, t, &out), *other_why = translate(others, t, &other);
    CU_ASSERT_PTR_NULL(why);
    CU_ASSERT_PTR_NULL(other_why);
    CU_ASSERT_EQUAL(out.c.model->layers_count, 4);
    CU_ASSERT_EQUAL(other.c.model->layers_count, 4);
    CU_ASSERT_TRUE(rh_model_params(out.c.model) > 2 * rh_model_params(other.c.model));
    rh_translated_clear(&out);
    rh_translated_clear(&other);
}

/* A run timed in rounds is predicted as one round, of the same stack; where memory ran out the
 * question is unknown. */
static void a_step_of_rounds_is_asked_of_one(void)
{
    static const char cells[] = "Aleph Alpha layouts,llama-13b,40,5120,40,40,13824,128000,2048,"
                                "A100-80GB,64,1,2,32,1,1,1,8,2048,full,0,1,bf16,";
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    g_autofree char *ran = g_strconcat(cells, "72.8,,kernel=flash_attention2; x", NULL);
    g_autofree char *died = g_strconcat(cells, ",,kernel=flash_attention2; x", NULL);
    g_autofree char *old = g_strconcat(cells, "44.7,,kernel=flash_attentionv1.0.8; x", NULL);
    RhTranslated out, oom, whole;
    g_autofree char *why = translate(ran, t, &out), *why_oom = translate(died, t, &oom),
                    *why_old = translate(old, t, &whole);
    CU_ASSERT_TRUE(!why && !why_oom && !why_old);
    CU_ASSERT_TRUE(out.rounds == 8 && out.c.job.global_batch == 256 && out.c.job.accumulates);
    CU_ASSERT_EQUAL(out.measured_s, 72.8);
    CU_ASSERT_TRUE(oom.rounds == 1 && oom.c.job.global_batch == 2048);
    CU_ASSERT_TRUE(whole.rounds == 1 && !whole.c.job.accumulates);
    CU_ASSERT_PTR_EQUAL(out.c.stack, oom.c.stack); /* the software is one */
    CU_ASSERT_STRING_NOT_EQUAL(out.key, oom.key);
    rh_translated_clear(&out);
    rh_translated_clear(&oom);
    rh_translated_clear(&whole);
}

/* Experts are cut by tensor ranks where a recipe says nothing else, whatever the note of a table has it. */
static void experts_are_cut_as_their_recipe_says(void)
{
    static const char cells[] = ",grok1-314b,64,6144,48,8,32768,131072,8192,H100-80GB,512,4,8,8,2,"
                                "8,8,1,1024,,1,1,bf16,20,,";
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    g_autofree char *old =
        g_strconcat("NVIDIA dgxc-benchmarking v25.04", cells, "EP shares DPxCPxTP ranks", NULL);
    g_autofree char *new = g_strconcat("NVIDIA dgxc-benchmarking v25.05.01", cells, "ETP=1", NULL);
    RhTranslated whole, cut;
    g_autofree char *why = translate(new, t, &whole), *why_old = translate(old, t, &cut);
    CU_ASSERT_PTR_NULL(why);
    CU_ASSERT_PTR_NULL(why_old);
    CU_ASSERT_EQUAL(whole.layout.etp, 1);
    CU_ASSERT_EQUAL(cut.layout.etp, 0); /* as many as tensor ranks */
    CU_ASSERT_TRUE(whole.layout.tensor_overlap && cut.layout.tensor_overlap);
    CU_ASSERT_FALSE(cut.c.model->tied_embeddings);
    rh_translated_clear(&whole);
    rh_translated_clear(&cut);
}

/* Layers that predict further tokens are a source's, as its own count of FLOPs has it. */
static void further_tokens_are_predicted_where_a_recipe_does(void)
{
    static const struct {
        const char *row;
        double gflops; /* a token: its TFLOP/s over its tokens/s */
    } rows[] = {
        {"Megatron-Bridge 26.04,deepseek-v3,61,,,,,,4096,GB200,256,1,4,64,1,64,4,1,4096,,0,1,"
         "mxfp8,15.63,,",
         260.0},
        {"Megatron-Bridge 26.06,Nemotron_3_Super,88,,,,,,8192,GB300,64,1,1,64,1,64,1,1,512,,"
         "0,1,mxfp8,6.79,,",
         84.7}};
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhTranslated out;
        g_autofree char *why = translate(rows[i].row, t, &out);
        CU_ASSERT_PTR_NULL(why);
        double flops = rh_model_flops_per_token(out.c.model, out.c.job.sequence);
        RH_CHECK_CLOSE(flops / 1e9, rows[i].gflops, 0.01);
        rh_translated_clear(&out);
    }
}

static void adapters_are_read_from_the_note(void)
{
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    RhTranslated out;
    g_autofree char *why = translate("NVIDIA dgxc-benchmarking v25.02,llama3.1-70b,,,,,,,4096,"
                                     "H100-80GB,8,2,4,1,1,1,20,1,32,,1,1,bf16,9.1,,LoRA",
                                     t, &out);
    CU_ASSERT_PTR_NULL(why);
    CU_ASSERT_EQUAL(out.c.job.lora.rank, 16);
    CU_ASSERT_EQUAL(out.c.job.lora.modules, (uint32_t)RH_LINEAR_QKV);
    rh_translated_clear(&out);
}

/* TFLOP/s a GPU alone are seconds by the model's own FLOPs. */
/* Peaks are judged in rows that give one, with or without a time; other rows count in no figure of
 * peaks. */
static void peaks_are_judged_where_a_row_has_one(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t.csv");
    for (int i = 0; i < 3; i++)
        add_row(evaluation, NULL, 1, 1, 0.5, RH_STANDING_MEASURED);
    for (guint i = 1; i < 3; i++) {
        RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        row->measured_peak_bytes = row->peak_bytes / (i == 1 ? 1.1 : 0.6);
    }
    RhEvaluationFigures f = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    CU_ASSERT_EQUAL(f.figures.count, 3);
    CU_ASSERT_EQUAL(f.peaks.count, 2);
    CU_ASSERT_EQUAL(f.peaks.worst, 2);
    RH_CHECK_CLOSE(f.peaks.worst_abs_error_frac, 0.4, 1e-12);
    RH_CHECK_CLOSE(f.peaks.bias_frac, -0.15, 1e-12);
    g_array_index(evaluation->rows, RhEvaluatedRun, 2).counted_peak_bytes = 0.6 * 50; /* of 50 */
    f = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    RH_CHECK_CLOSE(f.peaks.bias_frac, (0.1 + 0.6 * 0.6 - 1) / 2, 1e-12);
}

static void a_rate_is_a_time(void)
{
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    RhTranslated out;
    g_autofree char *why = translate(
        "me,llama-2-7b,,,,,,,4096,A100-80GB,8,1,1,8,1,1,1,1,64,none,0,1,bf16,,200,", t, &out);
    CU_ASSERT_PTR_NULL(why);
    double flops = rh_model_flops_per_token(out.c.model, 4096) * 64 * 4096;
    RH_CHECK_CLOSE(out.measured_s, flops / 8 / 200e12, 1e-12);
    rh_translated_clear(&out);
}

static void check_skipped(RhTranslator *t, const char *row, const char *reason)
{
    RhTranslated out;
    g_autofree char *why = translate(row, t, &out);
    CU_ASSERT_TRUE(why && strstr(why, reason));
    if (!why || !strstr(why, reason))
        g_printerr("  %s\n", why ? why : "was said");
    rh_translated_clear(&out);
}

static void what_cannot_be_said_is_not_guessed(void)
{
    g_autoptr(RhTranslator) t = rh_translator_new(NULL);
    check_skipped(t, "me,llama-2-7b,,,,,,,4096,A100-80GB,8,1,1,8,1,1,1,1,,none,0,1,bf16,1,,",
                  "global_batch is not given");
    check_skipped(t, "me,alexnet,,,,,,,4096,A100-80GB,8,1,1,8,1,1,1,1,64,none,0,1,bf16,1,,",
                  "model alexnet: not in the catalogue");
    check_skipped(t, "me,llama-2-7b,,,,,,,4096,Z9,8,1,1,8,1,1,1,1,64,none,0,1,bf16,1,,",
                  "gpu Z9: not in the catalogue");
    check_skipped(t, "me,llama-2-7b,,,,,,,4096,A100-80GB,8,1,1,8,1,1,1,1,64,none,0,1,int3,1,,",
                  "precision int3: no recipe");
    check_skipped(t, "me,llama-2-7b,,,,,,,4096,A100-80GB,8,1,1,8,1,1,1,1,64,perhaps,0,1,bf16,1,,",
                  "recompute \"perhaps\": not supported");
    check_skipped(t, "me,llama-2-7b,,,,,,,4096,A100-80GB,8,3,1,8,1,1,1,1,64,none,0,1,bf16,1,,",
                  "tp=3");
    check_skipped(t,
                  "me,deepseek-v3.2,,,,,,,4096,A100-80GB,8,1,1,8,1,8,1,1,64,none,0,1,bf16,1,,LoRA",
                  "lora");
    check_skipped(t, "me,llama-2-7b,,,,,,,4096,A100-80GB,8,1,4,2,1,1,spiral,1,64,none,0,1,bf16,1,,",
                  "spiral");
}

/* --- the tree's own tables --- */

/* A row of the table that constants are fitted to has, as a row of runs, the very layout it has there. */
static void rows_fitted_to_are_said_alike(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_published(&error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    g_autoptr(RhTranslator) t = rh_translator_new(&error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    guint steps = table->steps->rows->len, others = table->rows->len - steps, timed = 0;
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        RhTranslated said;
        g_autofree char *why = rh_translate(t, row, &said);
        timed += !why && said.measured_s > 0;
        if (i >= others && !why) {
            const RhMeasuredStep *step =
                &g_array_index(table->steps->rows, RhMeasuredStep, i - others);
            g_autofree char *of_step = rh_layout_format(&step->layout);
            bool same = *step->apart || strcmp(of_step, said.strategy) == 0;
            if (!same)
                fprintf(stderr, "    line %d: %s\n    said: %s\n", step->line, of_step,
                        said.strategy);
            CU_ASSERT_TRUE(same);
        }
        if (why)
            fprintf(stderr, "    %s:%d: %s\n", row->file, row->line, why);
        CU_ASSERT_PTR_NULL(why);
        rh_translated_clear(&said);
    }
    CU_ASSERT_TRUE(timed >= 400);
}

int main(void)
{
    return rh_test_main(
        "cases",
        (RhTest[]){
            {"figures_are_those_of_the_definition", figures_are_those_of_the_definition},
            {"figures_of_nothing_are_nothing", figures_of_nothing_are_nothing},
            {"tau_counts_pairs", tau_counts_pairs},
            {"regret_is_what_the_pick_loses", regret_is_what_the_pick_loses},
            {"rows_from_memory_count_apart", rows_from_memory_count_apart},
            {"ranks_are_means_over_groups_of_four", ranks_are_means_over_groups_of_four},
            {"pairs_are_judged_by_the_ratio_of_their_times",
             pairs_are_judged_by_the_ratio_of_their_times},
            {"memory_is_judged_apart_from_time", memory_is_judged_apart_from_time},
            {"quoted_cells_hold_commas_quotes_and_lines",
             quoted_cells_hold_commas_quotes_and_lines},
            {"bad_tables_say_where", bad_tables_say_where},
            {"a_row_is_said_with_its_sizes_and_layout", a_row_is_said_with_its_sizes_and_layout},
            {"sizes_of_a_source_are_the_models", sizes_of_a_source_are_the_models},
            {"a_step_of_rounds_is_asked_of_one", a_step_of_rounds_is_asked_of_one},
            {"experts_are_cut_as_their_recipe_says", experts_are_cut_as_their_recipe_says},
            {"further_tokens_are_predicted_where_a_recipe_does",
             further_tokens_are_predicted_where_a_recipe_does},
            {"adapters_are_read_from_the_note", adapters_are_read_from_the_note},
            {"peaks_are_judged_where_a_row_has_one", peaks_are_judged_where_a_row_has_one},
            {"a_rate_is_a_time", a_rate_is_a_time},
            {"what_cannot_be_said_is_not_guessed", what_cannot_be_said_is_not_guessed},
            {"rows_fitted_to_are_said_alike", rows_fitted_to_are_said_alike},
            {0}});
}
