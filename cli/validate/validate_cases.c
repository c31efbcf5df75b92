#include "cli/validate/validate_cases.h"

#include <stdio.h>

#include "accuracy/cross_validation_errors.h"
#include "accuracy/error_bar_record.h"
#include "base/error.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/json/json_facts.h"
#include "report/page/page.h"
#include "report/pictures/scatter.h"
#include "report/validation/evaluation_published_runs.h"
#include "validate/cases/case_predictions.h"
#include "validate/serving/a2a_published.h"
#include "validate/serving/kv_cache_sizes.h"
#include "validate/serving/served_vs_predicted.h"
#include "validate/serving/server_timeline.h"

static void progress(const char *what, int32_t done, int32_t total, void *user)
{
    (void)user;
    rh_terminal_progress(what, done, total, 0, NULL);
}

/* Returns the violations of --tolerance. Caller frees. */
static GPtrArray *missed_of(const RhEvaluation *evaluation, bool asked, double tolerance_frac)
{
    GPtrArray *missed = g_ptr_array_new_with_free_func(g_free);
    RhErrorStatistics f = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL).figures;
    if (asked && f.count == 0)
        g_ptr_array_add(missed, g_strdup("no step could be judged"));
    else if (asked && f.mape_frac > tolerance_frac)
        g_ptr_array_add(missed,
                        g_strdup_printf("the mean error of the step is %.1f %%, more than %.1f %%",
                                        100 * f.mape_frac, 100 * tolerance_frac));
    return missed;
}

/* Limits of the fraction of runs that error bars hold, which are made for RH_RECORD_SHARE. */
#define COVERAGE_LEAST 0.70
#define COVERAGE_MOST  0.92

/* Appends the metrics whose error bars, made from other groups, hold too few or too many runs. */
static void add_coverage_missed(GPtrArray *missed, const RhEvaluation *evaluation)
{
    g_autofree const char **metrics = rh_group_errors_metrics(evaluation);
    for (int i = 0; metrics[i]; i++) {
        RhGroupErrors e = rh_group_errors(evaluation, metrics[i], RH_STRATUM_ALL);
        if (e.barred_groups < RH_GROUPS_LEAST ||
            (e.coverage_frac >= COVERAGE_LEAST && e.coverage_frac <= COVERAGE_MOST))
            continue;
        g_ptr_array_add(missed,
                        g_strdup_printf("error bars of %s hold %.0f %% of the runs of groups that "
                                        "they were not made from, not %.0f to %.0f %%",
                                        metrics[i], 100 * e.coverage_frac, 100 * COVERAGE_LEAST,
                                        100 * COVERAGE_MOST));
    }
}

/* --- the source of every constant --- */

/* The inputs of predictions, each once; they are freed with it. */
typedef struct {
    GPtrArray *names, *questions, *cases, *platforms;
} Predictors;

/* Whose name this is; the platform's is taken. */
static void add_predictor(Predictors *p, char *name, RhPlatform *platform, const RhStack *stack)
{
    RhProblem *c = g_new0(RhProblem, 1);
    RhQuestion *q = g_new0(RhQuestion, 1);
    c->stack = stack;
    *q = (RhQuestion){.c = c, .hardware = platform};
    g_ptr_array_add(p->names, name);
    g_ptr_array_add(p->cases, c);
    g_ptr_array_add(p->questions, q);
    if (platform)
        g_ptr_array_add(p->platforms, platform);
}

static bool is_named(const Predictors *p, const char *name)
{
    return g_ptr_array_find_with_equal_func(p->names, name, g_str_equal, NULL);
}

/* Sizes of a platform differ in nodes alone. One of a file that is gone, and a server, are left out. */
static void add_row(Predictors *p, const RhEvaluatedRun *row)
{
    g_autofree char *node = g_strndup(row->platform, strcspn(row->platform, ":"));
    RhPlatform *platform = is_named(p, node) ? NULL : rh_platform_load(row->platform, NULL);
    if (platform)
        add_predictor(p, g_steal_pointer(&node), platform, NULL);
    g_autofree char *name = g_strconcat("stack ", row->stack, NULL);
    const RhStack *stack = is_named(p, name) ? NULL : rh_stack_by_name(row->stack, NULL);
    if (stack)
        add_predictor(p, g_steal_pointer(&name), NULL, stack);
}

static char *facts_of(const RhEvaluation *evaluation)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) platforms =
        g_ptr_array_new_with_free_func((GDestroyNotify)rh_platform_free);
    g_autoptr(GPtrArray) cases = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) questions = g_ptr_array_new_with_free_func(g_free);
    Predictors p = {names, questions, cases, platforms};
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        if (row->platform && row->stack)
            add_row(&p, row);
    }
    return rh_report_facts_of_json((const RhQuestion *const *)questions->pdata,
                                   (const char *const *)names->pdata, names->len);
}

static char *page_of(const RhEvaluation *evaluation, const RhRecord *record,
                     const GPtrArray *missed)
{
    g_autofree char *text = rh_report_evaluation_text(evaluation, record, false);
    g_autofree char *json = rh_report_evaluation_json(evaluation, missed);
    g_autofree char *svg = rh_report_scatter_svg(evaluation);
    RhPagePicture picture = {
        .id = "scatter",
        .title = "Predicted against measured",
        .caption = "A point is a measured step; on the diagonal prediction and measurement agree.",
        .svg = svg};
    g_autofree char *facts = facts_of(evaluation);
    RhPage page = {.command = "validate",
                   .answer = text,
                   .json = json,
                   .facts = facts,
                   .pictures = &picture,
                   .pictures_count = 1};
    return rh_report_page(&page);
}

static bool write_files(const RhArguments *a, const RhEvaluation *evaluation,
                        const RhRecord *record, const GPtrArray *missed, GError **error)
{
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text =
            kind == RH_OUTPUT_JSON       ? rh_report_evaluation_json(evaluation, missed)
            : kind == RH_OUTPUT_HTML     ? page_of(evaluation, record, missed)
            : kind == RH_OUTPUT_MARKDOWN ? rh_report_evaluation_markdown(evaluation)
                                         : rh_report_scatter_svg(evaluation);
        if (!rh_output_write(path, text, error))
            return false;
    }
    return true;
}

/* The record that --record will replace; *there stays NULL where there is none. */
static bool load_there(const RhArguments *a, RhRecord **there, GError **error)
{
    if (!a->record || !g_file_test(a->record, G_FILE_TEST_EXISTS))
        return true;
    *there = rh_record_load(a->record, error);
    if (!*there)
        rh_error_note(error,
                      "--record keeps of the record that it replaces what it does not judge");
    return *there != NULL;
}

/* Writes the record that plans read error bars and odds from. Of a record that is `there` the other part stays: that of services, or
 * that of training. */
static bool write_record(const RhArguments *a, const RhEvaluation *evaluation, RhRecord *record,
                         RhRecord *there, GError **error)
{
    if (!a->record)
        return true;
    bool serves = rh_record_serve(there ? there : record, evaluation);
    if (there && !serves)
        rh_record_take_serving(record, there);
    g_autofree char *made_by =
        g_strdup_printf("rehearse validate --cross %s --record FILE", a->cross);
    g_autofree char *text = rh_record_json(there && serves ? there : record, made_by);
    return rh_output_write(a->record, text, error);
}

/* By RhCaseKind. */
static RhEvaluation *(*const judges[])(const RhCaseTable *, const RhCasesOptions *, GError **) = {
    rh_cases_judge, rh_served_judge, rh_kv_cache_sizes_judge, rh_exchanges_judge};

static RhEvaluation *judge(const RhArguments *a, const RhCasesOptions *options, GError **error)
{
    bool timeline = a->cases && g_pattern_match_simple("*.jsonl*", a->cases);
    g_autoptr(RhCaseTable) table = timeline   ? NULL
                                   : a->cases ? rh_case_table_load(a->cases, error)
                                              : rh_case_table_published(error);
    if (!timeline && !table)
        return NULL;
    if (options->cross && (timeline || table->kind > RH_CASE_SERVING)) {
        rh_fail(error, RH_ERROR_USAGE,
                "--cross is of training steps and of services; %s has neither", a->cases);
        return NULL;
    }
    return timeline ? rh_timeline_judge(a->cases, a->platform ? a->platform : "h200-sxm:1x1",
                                        options, error)
                    : judges[table->kind](table, options, error);
}

/* Was any row evaluated, by its time or its memory? */
static bool any_said(const RhEvaluation *evaluation)
{
    for (guint i = 0; i < evaluation->rows->len; i++)
        if (!g_array_index(evaluation->rows, RhEvaluatedRun, i).skipped)
            return true;
    return false;
}

int rh_validate_cases(const RhArguments *a, GError **error)
{
    RhCasesOptions options = {.jobs = (int32_t)(a->jobs > 0 ? a->jobs : g_get_num_processors()),
                              .timeout_s = rh_terminal_left_s(a->timeout_s),
                              .only = a->only,
                              .cross = rh_cross_by_parse(a->cross),
                              .progress = progress};
    g_autoptr(RhRecord) there = NULL;
    if (!load_there(a, &there, error))
        return 3;
    g_autoptr(RhEvaluation) evaluation = judge(a, &options, error);
    rh_terminal_progress_end();
    if (!evaluation)
        return error && g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    if (a->only && evaluation->rows->len == 0) {
        rh_fail(error, RH_ERROR_USAGE,
                "--only \"%s\": no row of %s has it in its source, model or note", a->only,
                evaluation->file);
        return 2;
    }
    g_autoptr(GPtrArray) missed =
        missed_of(evaluation, rh_arguments_given(a, "--tolerance"), a->tolerance_frac);
    add_coverage_missed(missed, evaluation);
    g_autoptr(RhRecord) record = rh_record_make(evaluation);
    g_autofree char *text = a->json
                                ? rh_report_evaluation_json(evaluation, missed)
                                : rh_report_evaluation_text(evaluation, record, a->verbosity > 0);
    fputs(text, stdout);
    for (guint i = 0; i < missed->len && !a->json; i++)
        printf("missed: %s\n", (const char *)g_ptr_array_index(missed, i));
    rh_output_answered();
    if (!write_files(a, evaluation, record, missed, error) ||
        !write_record(a, evaluation, record, there, error))
        return 3;
    return missed->len > 0 || !any_said(evaluation) ? 1 : 0;
}
