/* rehearse explain: where does a number come from, why not another layout, what would change it? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "base/units.h"
#include "cli/explain/explain_memory.h"
#include "cli/explain/explain_private.h"
#include "cli/explain/explain_sensitivity.h"
#include "cli/explain/explain_term.h"
#include "cli/output/output_file.h"
#include "cli/output/pictures.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/run/explain_run_changes.h"
#include "report/format.h"
#include "report/json/explain_and_compare_json.h"
#include "report/json/json_facts.h"
#include "report/report.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"
#include "strategies/search/explain/cost_term_tasks.h"
#include "strategies/train/train.h"

/* Reads the words of the recorded command line that bound the search; they were checked then. */
static void read_bounds(RhExplanation *e)
{
    const RhResult *result = e->result;
    double risk_frac = RH_RISK_FRAC;
    e->constraints = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    for (char **word = result->argv; word[0] && word[1]; word++) {
        RhConstraint constraint = {0};
        bool limit = strcmp(word[0], "--limit") == 0, fix = strcmp(word[0], "--fix") == 0;
        if ((limit || fix) && rh_constraint_parse(word[1], limit, &constraint, NULL))
            g_array_append_val(e->constraints, constraint);
        if (strcmp(word[0], "--risk") == 0 && rh_share_parse(word[1], &risk_frac, NULL))
            risk_frac = fmax(risk_frac, RH_RISK_LEAST);
    }
    e->recorded = (RhRecordedPlan){.is_plan = result->is_plan,
                                   .objective = result->objective,
                                   .plans = result->plans,
                                   .constraints = RH_ELEMENTS(e->constraints, RhConstraint),
                                   .constraints_count = (int32_t)e->constraints->len,
                                   .risk_frac = risk_frac,
                                   .seed = result->seed,
                                   .progress = rh_terminal_progress};
}

static bool open_result(RhExplanation *e, GError **error)
{
    g_autofree char *path = NULL;
    RhReplay again = {0};
    bool fine =
        rh_result_split(g_ptr_array_index(e->a->operands, 0), &path, &e->rank, error) &&
        rh_result_perform(path, e->rank, rh_pictures_need_timeline(e->a->outputs), &again, error);
    e->result = again.result;
    e->plan = again.plan;
    e->in = again.in;
    e->program = again.program;
    e->run = again.run;
    e->r = again.r;
    if (fine)
        read_bounds(e);
    return fine;
}

static void close_result(RhExplanation *e)
{
    rh_rehearsal_free(e->other);
    rh_what_if_clear(&e->what_if);
    g_clear_pointer(&e->constraints, g_array_unref);
    rh_memory_answer_free(e->memory);
    g_clear_pointer(&e->effects, g_array_unref);
    g_clear_pointer(&e->rivals, g_array_unref);
    g_free(e->illegal);
    g_free(e->refused);
    rh_rehearsal_free(e->r);
    rh_program_free(e->program);
    rh_run_free(e->run);
    rh_inputs_free(e->in);
    rh_result_free(e->result);
    g_string_free(e->out, TRUE);
}

/* "±6.0 %"; "" where there is none. Caller frees. */
static char *bar_text(const RhRehearsal *r)
{
    g_autofree char *number = rh_text_number(100 * rh_report_error_frac(r), 2);
    return rh_report_error_frac(r) > 0 ? g_strdup_printf("±%s %%", number) : g_strdup("");
}

static void append_tree(RhExplanation *e)
{
    const RhRehearsal *r = e->r;
    bool verbose = e->a->verbosity > 0;
    g_autofree char *title = rh_report_layout_title(&e->in->c, &r->layout);
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 4);
    g_autofree char *bar = bar_text(r);
    g_string_append_printf(
        e->out, "#%" G_GINT64_FORMAT ": %s/step%s%s   %.1f %% MFU   %.1f of %.1f GiB per GPU\n",
        e->rank, step, *bar ? " " : "", bar, 100 * r->mfu_frac, r->memory.peak_bytes / RH_GIB_BYTES,
        r->memory_capacity_bytes / RH_GIB_BYTES);
    rh_text_wrap(e->out, title, 2, 79);
    rh_report_job(e->out, &e->in->question);
    g_string_append_c(e->out, '\n');
    rh_report_tree(e->out, r->costs, r->step_time_s, !verbose);
    g_autofree char *closed = rh_quantity_format(r->bound_closed_s, RH_QUANTITY_S, 4);
    g_autofree char *segment = rh_quantity_format(r->bound_segment_s, RH_QUANTITY_S, 4);
    if (verbose) {
        g_string_append_printf(
            e->out, "lower bounds of the step: closed form %s, longest path %s\n", closed, segment);
        rh_report_sources(e->out, &e->in->question);
    }
    g_autofree char *path = rh_text_path(e->result->path);
    g_string_append_printf(
        e->out, "next: rehearse explain %s#%" G_GINT64_FORMAT " --term compute\n", path, e->rank);
}

static bool find_rank(RhExplanation *e, GError **error)
{
    const RhResultPlan *plan = rh_result_plan(e->result, e->a->versus, error);
    if (!plan)
        return false;
    e->layout = plan->r.layout;
    e->other = rh_rehearse_settled(&e->in->c, &e->layout, e->result->seed, NULL, NULL, error);
    return e->other != NULL;
}

/* Says whether two steps differ by more than their error bar; NULL where they are equal or have none. Caller
 * frees. */
static char *decided(const RhRehearsal *a, const RhRehearsal *b)
{
    double apart_frac =
        fabs(b->step_time_s - a->step_time_s) / fmin(a->step_time_s, b->step_time_s);
    g_autofree char *bar = bar_text(a);
    if (apart_frac == 0 || rh_report_error_frac(a) == 0)
        return NULL;
    return apart_frac < rh_report_error_frac(a)
               ? g_strdup_printf(
                     "that is less than the error bar of a step (%s): either may be faster", bar)
               : g_strdup_printf("that is more than the error bar of a step (%s)", bar);
}

/* Returns what is said of two layouts beside their times: whether the error bar decides, and the knobs in which they
 * differ, "they differ in kv (gather, ring)". NULL: nothing. Caller frees. */
static char *decided_and_knobs(const RhRehearsal *ra, const RhLayout *a, const RhRehearsal *rb,
                               const RhLayout *b)
{
    g_autofree char *verdict = decided(ra, rb);
    g_autoptr(GString) line = g_string_new(NULL);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *own = rh_knob_cell(knob, a), *other = rh_knob_cell(knob, b);
        if (strcmp(own, other) != 0)
            g_string_append_printf(line, "%s %s (%s, %s)", line->len ? "," : "they differ in",
                                   knob->legend ? knob->legend : knob->key, own, other);
    }
    if (line->len == 0)
        return g_steal_pointer(&verdict);
    g_autoptr(GString) wrapped = g_string_new(NULL);
    rh_text_wrap(wrapped, line->str, 4, 77);
    g_string_truncate(wrapped, wrapped->len - 1); /* its newline */
    return g_strconcat(verdict ? verdict : "", verdict ? "\n  " : "", wrapped->str, NULL);
}

static void append_rank(RhExplanation *e)
{
    g_autofree char *a = g_strdup_printf("#%" G_GINT64_FORMAT, e->rank);
    g_autofree char *b = g_strdup_printf("#%" G_GINT64_FORMAT, e->a->versus);
    g_autofree char *verdict = decided_and_knobs(e->r, &e->r->layout, e->other, &e->other->layout);
    rh_explain_versus(e, a, e->r, b, e->other, verdict);
    rh_explain_layout(e, a, &e->r->layout, "");
    rh_explain_layout(e, b, &e->other->layout, "");
}

/* Finds why a layout does not win: invalid, not run by the framework, too large, or slower. Each is an answer. */
static bool find_why_not(RhExplanation *e, GError **error)
{
    g_autoptr(GError) illegal = NULL;
    e->layout = rh_train_default(&e->in->c);
    if (!rh_layout_parse(e->a->why_not, &e->layout, error))
        return false;
    if (!rh_train_settle_layout(&e->in->c, &e->layout, &illegal)) {
        e->illegal = g_strdup(illegal->message);
        return true;
    }
    e->refused = rh_framework_refused(&e->in->c, &e->layout);
    e->other = rh_rehearse_settled(&e->in->c, &e->layout, e->result->seed, NULL, NULL, error);
    return e->other != NULL;
}

static void append_why_not(RhExplanation *e)
{
    const RhRehearsal *r = e->other;
    if (!r) {
        g_string_append_printf(e->out, "%s is not a valid layout here: %s\n", e->a->why_not,
                               e->illegal);
        return;
    }
    g_autofree char *title = rh_layout_title(&e->layout);
    if (e->refused) {
        g_autofree char *line = g_strdup_printf("%s is not offered by plan: %s", title, e->refused);
        rh_text_wrap(e->out, line, 4, 79);
    }
    g_autofree char *drives =
        r->memory.nvme_bytes > 0
            ? g_strdup_printf(" and %.1f of drives", r->memory.nvme_bytes / RH_GIB_BYTES)
            : g_strdup("");
    if (!r->fits && r->memory.peak_bytes <= r->memory_capacity_bytes)
        g_string_append_printf(e->out,
                               "%s does not fit: it needs %.1f GiB of host memory%s a node\n",
                               title, r->memory.host_bytes / RH_GIB_BYTES, drives);
    else if (!r->fits)
        g_string_append_printf(e->out,
                               "%s does not fit: a GPU of stage %d needs %.1f GiB, %.1f too much\n",
                               title, r->memory.stage, r->memory.peak_bytes / RH_GIB_BYTES,
                               (r->memory.peak_bytes - r->memory_capacity_bytes) / RH_GIB_BYTES);
    g_autofree char *a = g_strdup_printf("#%" G_GINT64_FORMAT, e->rank);
    g_autofree char *verdict = decided_and_knobs(e->r, &e->r->layout, r, &e->layout);
    rh_explain_versus(e, a, e->r, r->fits ? "that layout" : "that layout (if it fitted)", r,
                      verdict);
    rh_explain_layout(e, "that layout", &e->layout, "");
    g_string_append_printf(e->out, "  its lower bounds: closed form %.4g s, longest path %.4g s\n",
                           r->bound_closed_s, r->bound_segment_s);
}

static bool find_sensitivity(RhExplanation *e, GError **error)
{
    e->rivals = rh_sensitivity_rivals(&e->in->c, &e->recorded, error);
    rh_terminal_progress_end();
    if (!e->rivals)
        return false;
    RhSensitivityRequest request = {.c = &e->in->c,
                                    .hardware = e->in->hardware,
                                    .recorded = &e->recorded,
                                    .rank = e->plan->rank,
                                    .rivals = e->rivals};
    e->effects = rh_sensitivity(&request, error);
    return e->effects != NULL;
}

static bool find_answer(RhExplanation *e, GError **error)
{
    const RhArguments *a = e->a;
    if (a->replanned && a->what_ifs->len == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--replan needs --what-if\n"
                       "help: --what-if nodes=16 --replan");
    int questions =
        !!a->term + !!a->versus + !!a->why_not + (a->what_ifs->len > 0) + a->sensitivity;
    if (questions > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "give only one of --term, --vs, --why-not, --what-if and --sensitivity");
    if (!rh_explain_check_changes(a->what_ifs, error) || !open_result(e, error))
        return false;
    if (a->term && rh_explain_is_memory(a->term))
        return (e->memory = rh_memory_answer_new(&e->in->c, e->r, e->program)) != NULL;
    if (a->term)
        return (e->term = rh_term_find(e->r->costs, e->program, a->term, error)) != NULL;
    if (a->sensitivity)
        return find_sensitivity(e, error);
    return a->versus              ? find_rank(e, error)
           : a->why_not           ? find_why_not(e, error)
           : a->what_ifs->len > 0 ? rh_explain_find_what_if(e, error)
                                  : true;
}

static void append_answer(RhExplanation *e)
{
    const RhArguments *a = e->a;
    if (e->memory)
        rh_explain_append_memory(e->out, e->in, e->r, e->memory);
    else if (a->term)
        rh_explain_term(e->out, e->in, e->r, e->program, e->term, a->verbosity == 0);
    else if (a->versus)
        append_rank(e);
    else if (a->why_not)
        append_why_not(e);
    else if (a->what_ifs->len > 0)
        rh_explain_append_what_if(e);
    else if (a->sensitivity)
        rh_explain_append_sensitivity(e->out, e->in, e->result->objective, e->effects, e->rivals);
    else
        append_tree(e);
}

static char *answer_json(const RhExplanation *e)
{
    g_auto(GStrv) argv = rh_arguments_words(e->a->recorded);
    g_auto(GStrv) changes = rh_arguments_words(e->a->what_ifs);
    RhQuestion q = e->in->question;
    q.argv = (const char *const *)argv;
    RhAnswer answer = {.rank = e->rank,
                       .r = e->r,
                       .recorded_s = e->plan->r.step_time_s,
                       .term = e->term,
                       .memory = e->memory,
                       .other = e->other ? e->other : e->what_if.other,
                       .versus = e->a->versus,
                       .strategy = e->a->why_not,
                       .changes = (const char *const *)changes,
                       .winner = e->what_if.winner,
                       .effects = e->effects,
                       .objective = e->result->objective,
                       .rivals = e->rivals,
                       .replanned = e->what_if.replanned,
                       .illegal = e->illegal ? e->illegal : e->what_if.illegal,
                       .refused = e->refused};
    return rh_report_explain_json(&q, &answer);
}

static bool write_files(const RhExplanation *e, const char *json, GError **error)
{
    g_auto(RhPictures) pictures = {0};
    g_autofree char *facts = rh_report_facts_json(&e->in->question);
    RhPage page = {.command = "explain", .answer = e->out->str, .json = json, .facts = facts};
    if (e->run)
        rh_pictures_draw_run(&pictures, e->program, e->run, e->r->memory_capacity_bytes);
    for (guint i = 0; i < e->a->outputs->len; i++) {
        const char *path = g_ptr_array_index(e->a->outputs, i);
        g_autofree char *html =
            rh_output_kind(path) == RH_OUTPUT_HTML ? rh_pictures_page(&pictures, page) : NULL;
        if (!rh_output_write(path, html ? html : json, error))
            return false;
    }
    return true;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    if (rh_run_explains(g_ptr_array_index(a->operands, 0)))
        return rh_run_explain(a, g_ptr_array_index(a->operands, 0), error);
    if (a->profile) { /* an input changed, as any other */
        g_autofree char *set = g_strconcat("profile=", a->profile, NULL);
        g_ptr_array_add(a->what_ifs, (void *)rh_intern(set));
    }
    RhExplanation e = {.a = a, .out = g_string_new(NULL)};
    bool fine = find_answer(&e, error);
    if (fine) {
        append_answer(&e);
        g_autofree char *json = answer_json(&e);
        fputs(a->json ? json : e.out->str, stdout);
        rh_output_answered();
        fine = write_files(&e, json, error);
    }
    close_result(&e);
    return fine ? 0 : 3;
}

static const RhOption own[] = {
    RH_OPTION(term, "term", 0, RH_OPTION_TEXT, "TERM",
              "details of one part of the step: its collectives or kernels, algorithm, "
              "constants; memory: by pipeline stage, and what would lower it"),
    RH_OPTION(versus, "vs", 0, RH_OPTION_INTEGER, "RANK",
              "compare with another row of the same plan", .low = 1, .high = 1 << 20),
    RH_OPTION(why_not, "why-not", 0, RH_OPTION_TEXT, "STRATEGY",
              "why this layout is not the best: invalid, not run by the framework, too large, or "
              "slower",
              .layout_keys = true),
    RH_OPTION(what_ifs, "what-if", 0, RH_OPTION_LIST, "KEY=VALUE",
              "change a key of the layout or an input, as nic.bandwidth=200Gb/s",
              .layout_keys = true),
    RH_OPTION(profile, "profile", 0, RH_OPTION_TEXT, "FILE|NAME",
              "with the constants that `calibrate` measured, beside those of the file",
              .names = rh_profile_names),
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "also write the answer, as .json or .html", .neutral = true),
    RH_OPTION(replanned, "replan", 0, RH_OPTION_FLAG, NULL,
              "with --what-if: search the layouts again, and show the one that wins"),
    RH_OPTION(sensitivity, "sensitivity", 0, RH_OPTION_FLAG, NULL,
              "how the step and the best layout change if each constant is 10 % larger or "
              "smaller, and from which value on another layout is the best"),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL, "one JSON document on stdout, nothing else",
              .neutral = true),
    RH_OPTION(verbosity, "verbose", 'v', RH_OPTION_COUNT, NULL, "more detail", .neutral = true),
    RH_OPTION(quiet, "quiet", 'q', RH_OPTION_FLAG, NULL, "no hints", .neutral = true),
    RH_OPTION(color, "color", 0, RH_OPTION_CHOICE, "WHEN", "color of the text",
              .choices = "auto|always|never", .otherwise = "auto", .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_help, NULL};

const RhCommand rh_command_explain = {
    .name = "explain",
    .operands = "RESULT[#RANK]",
    .operands_low = 1,
    .operands_high = 1,
    .summary = "where does this number come from, and what would change it?",
    .about = "RESULT is a JSON file written by `plan` or `simulate` with -o. Its inputs are\n"
             "loaded and its layout is simulated again. Without a question, the answer is the\n"
             "step time split into its terms; -v adds small terms and all sources.\n",
    .examples = "rehearse explain plan.json#1\n"
                "rehearse explain plan.json#1 --term compute\n"
                "rehearse explain plan.json#1 --term memory\n"
                "rehearse explain plan.json#1 --vs 2\n"
                "rehearse explain plan.json --why-not tp2,pp4,mb1\n"
                "rehearse explain plan.json --what-if nic.bandwidth=200Gb/s\n"
                "rehearse explain plan.json --what-if nodes=16 --what-if global_batch=1024 \\\n"
                "    --replan",
    .tables = tables,
    .run = run,
};
