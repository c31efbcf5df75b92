#include "cli/calibrate/calibrate_one_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/stacks/step_time_causes.h"
#include "cli/inputs/log_inputs.h"
#include "cli/inputs/result_file.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/format.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "strategies/train/train.h"
#include "validate/runs/finding_texts.h"
#include "validate/runs/run_plausibility.h"

/* The log among the files of --from, beside which a launch may stand; NULL: none. */
static const char *log_of(const RhArguments *a)
{
    for (guint i = 0; i < a->froms->len && a->froms->len <= 2; i++)
        if (a->froms->pdata[i] != (void *)a->launch && rh_log_is(a->froms->pdata[i]))
            return a->froms->pdata[i];
    return NULL;
}

bool rh_calibrate_is_run(const RhArguments *a)
{
    return a->run_was_s > 0 || log_of(a) != NULL;
}

/* --- the question --- */

/* The run and its layout: of a plan, or of the options. */
typedef struct {
    RhResult *result;
    RhInputs *in;
    RhLayout layout;
    RhRunLog *log;       /* NULL: --run-was says the time */
    GPtrArray *findings; /* char*: what no run can be; NULL without a log */
    RhStepParts parts;   /* of the prediction, where the log is a trace */
    double measured_s;
    char *source; /* "73 s of plan.json#1" */
} Run;

static void run_clear(Run *run)
{
    rh_result_free(run->result);
    rh_inputs_free(run->in);
    rh_run_log_free(run->log);
    g_clear_pointer(&run->findings, g_ptr_array_unref);
    g_free(run->source);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

static bool read_plan(const char *spec, Run *run, GError **error)
{
    g_autofree char *path = NULL;
    int64_t rank = 1;
    bool changed = false;
    if (!rh_result_split(spec, &path, &rank, error))
        return false;
    run->result = rh_result_load(path, error);
    const RhResultPlan *plan = run->result ? rh_result_plan(run->result, rank, error) : NULL;
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    run->in = plan ? rh_result_inputs(run->result, none, &changed, error) : NULL;
    return run->in && rh_inputs_layout(run->in, spec, &run->layout, error);
}

static bool read_options(const RhArguments *a, Run *run, GError **error)
{
    if (run->log) {
        run->in = rh_log_inputs(run->log, a, &run->layout, error);
        return run->in != NULL;
    }
    if (!a->workload || !a->platform || !a->strategy || a->global_batch == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "which run was it?\nhelp: name plan.json#RANK behind --run-was, or say -w "
                       "MODEL -p PLATFORM -s LAYOUT --global-batch B --seq S");
    run->in = rh_inputs_of(a, error);
    return run->in && rh_inputs_layout(run->in, a->strategy, &run->layout, error);
}

static bool read_run(const RhArguments *a, Run *run, GError **error)
{
    const char *plan = a->operands->len > 0 ? a->operands->pdata[0] : NULL;
    if (a->operands->len > 1 || (plan && a->workload))
        return rh_fail(error, RH_ERROR_USAGE,
                       "--run-was is of one run: plan.json#RANK, or -w, -p "
                       "and -s");
    const char *path = log_of(a);
    if (path && a->run_was_s > 0)
        return rh_fail(error, RH_ERROR_USAGE, "--run-was and --from say the time twice");
    run->log = path ? rh_run_log_load(path, error) : NULL;
    if (path && !run->log)
        return false;
    if (plan ? !read_plan(plan, run, error) : !read_options(a, run, error))
        return false;
    if (plan && run->log && !rh_run_log_is_of(run->log, &run->in->c, plan, error))
        return false;
    run->findings = run->log ? rh_run_log_findings(run->log, &run->in->c, &run->layout) : NULL;
    RhRunJob job = {run->in->c.job.global_batch, run->in->c.job.sequence, run->in->c.job.gpus};
    g_autofree char *how = run->log ? rh_run_log_describe(run->log) : NULL;
    run->measured_s = run->log ? rh_run_log_step_s(run->log, &job) : a->run_was_s;
    run->source = run->log ? g_strdup_printf("%s (%s)", run->log->name, how)
                           : g_strdup_printf("--run-was of %s", plan ? plan : a->strategy);
    return true;
}

/* --- the answer --- */

static char *seconds_text(double seconds)
{
    return rh_quantity_format(seconds, RH_QUANTITY_S, 4);
}

/* "12.3 % slower": of a factor on a rate. Caller frees. */
static char *speed_text(double factor)
{
    return factor < 1 ? g_strdup_printf("%.1f %% slower", 100 * (1 / factor - 1))
                      : g_strdup_printf("%.1f %% quicker", 100 * (1 - 1 / factor));
}

/* Returns what the cause would have to be. Caller frees. */
static char *cause_text(const RhMeasuredRun *run, RhMeasuredCause cause)
{
    const RhMeasuredCauseAnswer *c = &run->causes[cause];
    bool slower = run->measured_s > run->predicted_s;
    g_autofree char *reached = seconds_text(c->reached_s), *share = seconds_text(c->share_s);
    if (!c->explains)
        return g_strdup_printf(
            "cannot explain it alone: %s at %s", reached,
            cause == RH_CAUSE_LINKS
                ? (slower ? "a hundredth of the rates" : "a hundred times the rates")
            : cause == RH_CAUSE_WAITING
                ? (slower ? "a fiftieth of a GPU's speed" : "no waiting at all")
            : cause == RH_CAUSE_HOST
                ? (slower ? "5 ms after each kernel" : "no time after kernels")
                : (slower ? "a twentieth of their rates" : "the data sheet's rates"));
    if (cause == RH_CAUSE_KERNELS) {
        g_autofree char *speed = speed_text(c->value);
        return g_strdup_printf("every kernel %s (they take %s of the step)", speed, share);
    }
    if (cause == RH_CAUSE_LINKS)
        return g_strdup_printf("links at %.3g %% of their rates (%s is exposed now)",
                               100 * c->value, share);
    if (cause == RH_CAUSE_WAITING)
        return slower
                   ? g_strdup_printf("one GPU at %.1f %% of its speed, and the others wait for "
                                     "it (waiting takes %s now)",
                                     100 * c->value, share)
                   : g_strdup_printf("%.0f %% of the waiting there is (%s)", 100 * c->value, share);
    return g_strdup_printf("%.3g us after each kernel, not %.3g", 1e6 * c->value, 1e6 * c->now);
}

/* Error bars with and without the run. */
static void append_bar(GString *out, const Run *run)
{
    RhEvidenceKey like = rh_evidence_key_of(&run->in->c);
    const RhErrorBar *bar = rh_record_bar(rh_record_shipped(), &like);
    g_autoptr(GString) line = g_string_new("error bar: ");
    if (!bar)
        g_string_append(line, "none, nothing like this run was measured by others");
    else if (bar->within_frac > 0)
        g_string_append_printf(
            line,
            "±%.2g %% of such runs, ±%.2g %% of this model and stack with the profile: the run's "
            "residual takes away what runs of one job share, and %.0f %% of pairs of such runs "
            "are so close to each other; of other models and stacks it is no narrower",
            100 * bar->error_frac, 100 * bar->within_frac, 100 * RH_RECORD_SHARE);
    else
        g_string_append_printf(line,
                               "±%.2g %%, with and without the profile: too few groups of such "
                               "runs have several, so that none tells what remains",
                               100 * bar->error_frac);
    rh_text_wrap(out, line->str, 2, 79);
}

/* Where no cause explains the run: whether all do together, and which other job would take so
 * long, at the predicted time of a token and GPU. */
static void append_way_on(GString *out, const RhMeasuredRun *one, const Run *run)
{
    const RhJob *job = &run->in->c.job;
    bool slower = one->measured_s > one->predicted_s;
    double ratio = one->measured_s / one->predicted_s;
    bool together =
        slower ? one->together_s >= one->measured_s : one->together_s <= one->measured_s;
    int64_t micro = rh_train_microbatches(&run->in->c, &run->layout);
    g_autofree char *reached = seconds_text(one->together_s);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line, "no cause explains it alone, %s %s with all four at these limits. ",
                    together ? "all together do:" : "nor do all together:", reached);
    g_string_append_printf(
        line,
        "The job may be another: at the predicted speed such a step has %.3g samples and not "
        "%" G_GINT64_FORMAT ", or runs on %.3g GPUs and not %d, or the model is %.3g times as "
        "large",
        ratio * (double)job->global_batch, job->global_batch, job->gpus / ratio, job->gpus, ratio);
    if (!slower && micro > 1)
        g_string_append_printf(line,
                               "; or the time is of one of the step's %" G_GINT64_FORMAT
                               " micro-batches, which take %.3g s each",
                               micro, one->predicted_s / (double)micro);
    if (slower)
        g_string_append_printf(line,
                               "; or the time is of %.3g steps, as a log prints that many at "
                               "a time",
                               ratio);
    rh_text_wrap(out, line->str, 2, 79);
}

static char *text_of(const RhMeasuredRun *one, const Run *run, const char *saved)
{
    GString *out = g_string_new(NULL);
    g_autofree char *measured = seconds_text(one->measured_s),
                    *predicted = seconds_text(one->predicted_s), *speed = speed_text(one->scale);
    g_autofree char *head =
        g_strdup_printf("measured: %s a step (%s), predicted: %s, %+.1f %%", measured, run->source,
                        predicted, 100 * (one->predicted_s / one->measured_s - 1));
    rh_text_wrap(out, head, 2, 79);
    if (one->by_kernels)
        rh_step_parts_append(out, run->log->parts, &run->parts);
    g_string_append_printf(out, "what would have to be wrong for %s, each alone:\n", measured);
    for (int cause = 0; cause < RH_CAUSE_CAUSES; cause++) {
        g_autofree char *text = cause_text(one, (RhMeasuredCause)cause);
        g_string_append_printf(out, "  %-14s ", rh_measured_cause_name((RhMeasuredCause)cause));
        rh_text_wrap(out, text, 17, 79);
    }
    g_autofree char *fitted =
        one->scale > 0
            ? g_strdup_printf("fitted: one scale, %s: kernels of %s on %s %s (sustained_clock "
                              "%.4g, memory.peak %.4g)",
                              one->by_kernels ? "by the time of the trace's kernels alone"
                                              : "as one run tells no more",
                              one->stack, run->in->hardware->device->name, speed, one->clock_frac,
                              one->memory_frac)
            : g_strdup("fitted: nothing, as kernels cannot explain the run");
    rh_text_wrap(out, fitted, 2, 79);
    if (!rh_measured_run_explained(one))
        append_way_on(out, one, run);
    else
        append_bar(out, run);
    if (run->findings)
        rh_findings_append(out, run->findings);
    if (saved)
        g_string_append_printf(out, "next: rehearse plan ... --profile %s\n", saved);
    return g_string_free(out, FALSE);
}

static void progress(const char *what, int32_t done, int32_t total, void *user)
{
    (void)user;
    rh_terminal_progress(what, done, total, 0, NULL);
}

static int answer(const RhArguments *a, const RhMeasuredRun *one, const Run *run, GError **error)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date = g_date_time_format(now, "%Y-%m");
    g_autofree char *profile = rh_measured_run_profile(one, run->in->hardware, run->source, date);
    for (guint i = 0; profile && i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), profile, error))
            return 3;
    const char *saved = profile ? rh_outputs_find(a->outputs, RH_OUTPUT_JSON) : NULL;
    g_autofree char *text = a->json ? g_strdup(profile ? profile : "") : text_of(one, run, saved);
    fputs(text, stdout);
    rh_output_answered();
    if (profile)
        return 0;
    rh_fail(error, RH_ERROR_NO_ANSWER,
            "no profile: with all kernels at their limit the step takes %.4g s, not %.4g\nhelp: "
            "correct the job (-w, --global-batch, --seq, --gpus, -s) or the time",
            one->causes[RH_CAUSE_KERNELS].reached_s, one->measured_s);
    return 1;
}

/* Rehearses the run for the parts of its step, where the log is a trace. */
static bool predict_parts(const RhArguments *a, Run *run, GError **error)
{
    RhEngineOptions options = {.timeline = true, .timeout_s = rh_terminal_left_s(a->timeout_s)};
    g_autoptr(RhProgram) program = NULL;
    g_autoptr(RhRun) performed = NULL;
    if (!run->log || !run->log->parts)
        return true;
    g_autoptr(RhRehearsal) r =
        rh_rehearse(&run->in->c, &run->layout, &options, &program, &performed, error);
    if (r)
        run->parts = rh_step_parts_of_run(&run->in->c, program, performed, run->log->rank);
    return r != NULL;
}

int rh_calibrate_run(const RhArguments *a, GError **error)
{
    g_auto(Run) run = {0};
    if (!read_run(a, &run, error))
        return error && g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    if (!predict_parts(a, &run, error))
        return 3;
    RhMeasuredRun one;
    RhMeasuredRunQuestion q = {.c = &run.in->c,
                               .hardware = run.in->hardware,
                               .layout = &run.layout,
                               .measured_s = run.measured_s,
                               .kernels_s = run.parts.step_s > 0 ? run.log->parts->compute_s : 0,
                               .predicted_kernels_s = run.parts.compute_s,
                               .timeout_s = rh_terminal_left_s(a->timeout_s),
                               .progress = progress};
    bool explained = rh_measured_run_explain(&q, &one, error);
    rh_terminal_progress_end();
    return explained ? answer(a, &one, &run, error) : 3;
}
