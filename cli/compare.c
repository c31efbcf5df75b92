/* rehearse compare A B: two results side by side, from what the files hold. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text_table.h"
#include "base/units.h"
#include "cli/inputs/result_file.h"
#include "cli/output/output_file.h"
#include "cli/parse/commands.h"
#include "report/format.h"
#include "report/json/explain_and_compare_json.h"
#include "report/json/json_facts.h"
#include "report/page/page.h"
#include "report/report.h"
#include "report/timeline_diff.h"

typedef struct {
    RhResult *result;
    const RhResultPlan *plan;
    const char *name;
    int64_t rank;
} Side;

static bool open_side(Side *side, const char *spec, GError **error)
{
    g_autofree char *path = NULL;
    int64_t rank = 1;
    if (!rh_result_split(spec, &path, &rank, error))
        return false;
    side->name = spec;
    side->rank = rank;
    side->result = rh_result_load(path, error);
    side->plan = side->result ? rh_result_plan(side->result, rank, error) : NULL;
    return side->plan != NULL;
}

static void input_row(RhTable *table, const char *what, const char *a, const char *b)
{
    if (strcmp(a, b) != 0)
        rh_table_rowf(table, "%s|%s|%s", what, a, b);
}

static void number_row(RhTable *table, const char *what, int64_t a, int64_t b)
{
    g_autofree char *left = rh_text_count(a);
    g_autofree char *right = rh_text_count(b);
    input_row(table, what, left, right);
}

/* Appends the differences of the inputs. */
static void append_inputs(GString *out, const Side *a, const Side *b)
{
    const RhResult *x = a->result, *y = b->result;
    g_autofree char *sets_x = g_strjoinv(" ", x->sets);
    g_autofree char *sets_y = g_strjoinv(" ", y->sets);
    g_autoptr(RhTable) table = rh_table_new("<<<");
    gsize before = out->len;
    input_row(table, "workload", x->workload, y->workload);
    input_row(table, "platform", x->platform, y->platform);
    input_row(table, "stack", x->stack, y->stack);
    input_row(table, "dtype", x->dtype, y->dtype);
    number_row(table, "global batch", x->global_batch, y->global_batch);
    number_row(table, "sequence", x->sequence, y->sequence);
    number_row(table, "GPUs", x->gpus, y->gpus);
    input_row(table, "--set", sets_x, sets_y);
    rh_table_append(table, out, "  ");
    if (out->len == before)
        g_string_append(out, "  same model, platform and job\n");
    if (strcmp(x->workload, y->workload) == 0 && strcmp(x->workload_hash, y->workload_hash) != 0)
        g_string_append(out, "  the workload's contents differ\n");
    if (strcmp(x->platform, y->platform) == 0 && strcmp(x->platform_hash, y->platform_hash) != 0)
        g_string_append(out, "  the platform's contents differ\n");
}

/* A row of what a side gets for what it uses; "-" where that is not known of one. */
static void worth_row(RhTable *table, const char *what, double a, double b)
{
    g_autofree char *left = a > 0 ? rh_text_number(a / 1e6, 4) : g_strdup("-");
    g_autofree char *right = b > 0 ? rh_text_number(b / 1e6, 4) : g_strdup("-");
    if (a > 0 || b > 0)
        rh_table_rowf(table, "%s|%s|%s", what, left, right);
}

/* "49.9 %", "35.1 % of fp8's, 70.2 % of bf16's". Caller frees. */
static char *mfu_text(const RhRehearsal *r)
{
    if (rh_report_mfu_plain(r))
        return g_strdup_printf("%.1f %%", 100 * r->mfu_frac);
    return g_strdup_printf("%.1f %% of %s's, %.1f %% of bf16's", 100 * r->mfu_frac,
                           rh_dtype_name(r->mfu_dtype), 100 * r->mfu_bf16_frac);
}

static void append_layout(GString *out, const char *name, const char *spec, const char *layout)
{
    g_autofree char *line = g_strdup_printf("%s, %s: %s", name, spec, layout);
    g_string_append(out, "  ");
    rh_text_wrap(out, line, 4, 79);
}

static void append_figures(GString *out, const RhComparedSide *side_a, const RhComparedSide *side_b)
{
    const RhRehearsal *a = side_a->r, *b = side_b->r;
    g_autofree char *per_usd = g_strdup_printf("million %s/USD", rh_report_unit(a->pictures));
    g_autofree char *per_kwh = g_strdup_printf("million %s/kWh", rh_report_unit(a->pictures));
    g_autofree char *layout_a = rh_layout_title(&a->layout);
    g_autofree char *layout_b = rh_layout_title(&b->layout);
    g_autofree char *step_a = rh_quantity_format(a->step_time_s, RH_QUANTITY_S, 4);
    g_autofree char *step_b = rh_quantity_format(b->step_time_s, RH_QUANTITY_S, 4);
    g_autofree char *mfu_a = mfu_text(a), *mfu_b = mfu_text(b);
    g_autofree char *tokens_a = rh_text_rate(a->tokens_per_s_per_gpu);
    g_autofree char *tokens_b = rh_text_rate(b->tokens_per_s_per_gpu);
    append_layout(out, "A", side_a->spec, layout_a);
    append_layout(out, "B", side_b->spec, layout_b);
    g_string_append_c(out, '\n');
    g_autoptr(RhTable) table = rh_table_new("<>>");
    rh_table_rowf(table, "|A|B");
    rh_table_rowf(table, "step time|%s|%s", step_a, step_b);
    rh_table_rowf(table, "MFU|%s|%s", mfu_a, mfu_b);
    rh_table_rowf(table, "%s/s/GPU|%s|%s", rh_report_unit(a->pictures), tokens_a, tokens_b);
    worth_row(table, per_usd, rh_compared_tokens_per_usd(side_a),
              rh_compared_tokens_per_usd(side_b));
    worth_row(table, per_kwh, rh_compared_tokens_per_kwh(side_a),
              rh_compared_tokens_per_kwh(side_b));
    rh_table_rowf(table, "GiB per GPU, at the peak|%.1f|%.1f", a->memory.peak_bytes / RH_GIB_BYTES,
                  b->memory.peak_bytes / RH_GIB_BYTES);
    rh_table_append(table, out, "  ");
}

static RhComparedSide compared(const Side *side)
{
    const RhResult *r = side->result;
    return (RhComparedSide){.spec = side->name,
                            .rank = side->rank,
                            .workload = r->workload,
                            .workload_hash = r->workload_hash,
                            .platform = r->platform,
                            .platform_hash = r->platform_hash,
                            .stack = r->stack,
                            .dtype = r->dtype,
                            .global_batch = r->global_batch,
                            .sequence = r->sequence,
                            .gpus = r->gpus,
                            .seed = r->seed,
                            .sets = (const char *const *)r->sets,
                            .r = &side->plan->r};
}

/* Steps of other sizes: what a token takes. */
static void append_tokens(GString *out, const RhComparedSide *a, const RhComparedSide *b)
{
    g_autofree char *shares = rh_report_token_shares(a, b, " than B");
    g_autofree char *line =
        shares ? g_strconcat("A takes ", shares, NULL) : g_strdup("A takes as much a token as B");
    rh_text_wrap(out, line, 2, 79);
}

static void append_step(GString *out, const RhRehearsal *a, const RhRehearsal *b)
{
    double less_s = b->step_time_s - a->step_time_s;
    g_autofree char *size = rh_quantity_format(fabs(less_s), RH_QUANTITY_S, 3);
    if (less_s == 0)
        g_string_append(out, "A and B take the same time\n");
    else
        g_string_append_printf(out, "A is %s (%.1f %%) %s than B per step\n", size,
                               100 * fabs(less_s) / b->step_time_s,
                               less_s > 0 ? "faster" : "slower");
}

static void append_terms(GString *out, const RhComparedSide *a, const RhComparedSide *b)
{
    if (!a->r->costs || !b->r->costs)
        return;
    g_string_append_c(out, '\n');
    if (rh_compared_alike(a, b)) {
        rh_report_versus(out, "A", a->r, "B", b->r);
        return;
    }
    g_autoptr(RhCost) x =
        rh_cost_scaled(a->r->costs, 1e6 * (double)a->gpus / rh_compared_step_tokens(a));
    g_autoptr(RhCost) y =
        rh_cost_scaled(b->r->costs, 1e6 * (double)b->gpus / rh_compared_step_tokens(b));
    rh_report_versus_trees(
        out, a->r->pictures ? "GPU-seconds of 1e6 samples" : "GPU-seconds of 1e6 tokens", "all",
        "A", x, "B", y);
}

static char *comparison(const Side *a, const Side *b)
{
    RhComparedSide x = compared(a), y = compared(b);
    GString *out = g_string_new(NULL);
    bool rates = x.r->tokens_per_s_per_gpu > 0 && y.r->tokens_per_s_per_gpu > 0;
    if (rates && !rh_compared_alike(&x, &y))
        append_tokens(out, &x, &y);
    else
        append_step(out, x.r, y.r);
    append_inputs(out, a, b);
    append_figures(out, &x, &y);
    append_terms(out, &x, &y);
    return g_string_free(out, FALSE);
}

/* Two timelines, of a rehearsal and a real run, say. */
static int compare_timelines(const char *a_path, const char *b_path, GError **error)
{
    g_autoptr(GArray) a = rh_timeline_read(a_path, error);
    g_autoptr(GArray) b = a ? rh_timeline_read(b_path, error) : NULL;
    if (!b)
        return 3;
    g_autoptr(RhTimelineDiff) overlay = rh_timeline_diff_new(a, b);
    g_autofree char *text = rh_report_timeline_diff_text(overlay);
    fputs(text, stdout);
    return 0;
}

static char *comparison_json(const RhArguments *arguments, const Side *a, const Side *b)
{
    g_auto(GStrv) argv = rh_arguments_words(arguments->recorded);
    RhComparedSide x = compared(a), y = compared(b);
    return rh_report_compare_json(RH_VERSION, (const char *const *)argv, &x, &y);
}

/* Returns the facts of the inputs if they still exist, else NULL; figures do not need them. */
static char *facts_of(const Side *a, const Side *b)
{
    static const char *const names[] = {"A", "B"};
    g_autoptr(RhInputs) x = rh_result_inputs(a->result, NULL, NULL, NULL);
    g_autoptr(RhInputs) y = x ? rh_result_inputs(b->result, NULL, NULL, NULL) : NULL;
    if (!y)
        return NULL;
    const RhQuestion *questions[] = {&x->question, &y->question};
    g_autofree char *first = rh_report_facts_json(questions[0]);
    g_autofree char *second = rh_report_facts_json(questions[1]);
    return g_str_equal(first, second) ? g_steal_pointer(&first)
                                      : rh_report_facts_of_json(questions, names, 2);
}

static bool write_files(const RhArguments *arguments, const char *json, const char *text,
                        const Side *a, const Side *b, GError **error)
{
    bool wanted = rh_outputs_find(arguments->outputs, RH_OUTPUT_HTML) != NULL;
    g_autofree char *facts = wanted ? facts_of(a, b) : NULL;
    RhPage page = {.command = "compare", .answer = text, .json = json, .facts = facts};
    return rh_outputs_write_page(arguments->outputs, &page, error);
}

static int run(const RhArguments *arguments, GError **error)
{
    const char *first = g_ptr_array_index(arguments->operands, 0),
               *second = g_ptr_array_index(arguments->operands, 1);
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (!rh_outputs_check(arguments->outputs, kinds, error))
        return 2;
    bool timelines = g_str_has_suffix(first, ".json.gz") && g_str_has_suffix(second, ".json.gz");
    if (timelines && (arguments->json || arguments->outputs->len > 0)) {
        rh_fail(error, RH_ERROR_USAGE,
                "compare: two timelines have no JSON form, and no report\nhelp: leave %s out",
                arguments->json ? "--json" : "-o");
        return 2;
    }
    if (timelines)
        return compare_timelines(first, second, error);
    Side a = {0}, b = {0};
    bool fine = open_side(&a, g_ptr_array_index(arguments->operands, 0), error) &&
                open_side(&b, g_ptr_array_index(arguments->operands, 1), error);
    if (fine) {
        g_autofree char *json = comparison_json(arguments, &a, &b);
        g_autofree char *text = comparison(&a, &b);
        fputs(arguments->json ? json : text, stdout);
        rh_output_answered();
        fine = write_files(arguments, json, text, &a, &b, error);
    }
    rh_result_free(a.result);
    rh_result_free(b.result);
    return fine ? 0 : 3;
}

static const RhOption own[] = {
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "also write the answer, as .json or .html", .neutral = true),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL, "one JSON document on stdout, nothing else",
              .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_terminal, rh_options_help, NULL};

const RhCommand rh_command_compare = {
    .name = "compare",
    .operands = "A[#RANK] B[#RANK]",
    .operands_low = 2,
    .operands_high = 2,
    .summary = "two results side by side",
    .about = "A and B are JSON files written by `plan` or `simulate` with -o. Shows how their\n"
             "inputs differ, their figures, and where the steps differ, largest first. If\n"
             "GPUs or tokens of a step differ, tokens are compared: per GPU-second, per\n"
             "dollar, per kWh. Nothing is computed again.\n\n"
             "Two timelines (NAME.trace.json.gz of a simulation, NAME.run.json.gz of a real\n"
             "run) are compared task by task: where they diverge, and which tasks take\n"
             "longer.\n",
    .examples =
        "rehearse compare plan.json#1 plan.json#2\nrehearse compare monday.json today.json\n"
        "rehearse compare run.json.gz rehearsal.trace.json.gz",
    .tables = tables,
    .run = run,
};
