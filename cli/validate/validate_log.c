#include "cli/validate/validate_log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "cli/inputs/log_inputs.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/format.h"
#include "report/validation/evaluation_published_runs.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/train/memory/stream_memory_pools.h"
#include "validate/runs/finding_texts.h"
#include "validate/runs/run_plausibility.h"

/* The part of the predicted peak that a log's peak covers. */
static double counted_bytes(const RhInputs *in, const RhLayout *layout, const RhRunLog *log)
{
    RhTrainMemory memory = rh_train_memory(&in->c, layout);
    double tensors = memory.peak_bytes - in->c.stack->reserve_bytes.value;
    if (log->memory_bytes == 0)
        return 0;
    return log->memory_reserved
               ? RH_RESERVED_OVER * tensors + rh_train_streams_bytes(&in->c, layout, &memory)
               : tensors;
}

/* --- the answer --- */

static void add_row(RhEvaluation *evaluation, const RhInputs *in, const RhRehearsal *r,
                    const RhRunLog *log, double measured_s)
{
    g_autofree char *layout = rh_layout_format(&r->layout);
    RhEvaluatedRun row = {
        .id = g_strdup_printf("%s:%d", log->name, g_array_index(log->samples, RhRunSample, 0).line),
        .line = g_array_index(log->samples, RhRunSample, 0).line,
        .source = rh_intern(log->format),
        .table = rh_intern(log->format),
        .model = in->model->name,
        .device = in->hardware->device->name,
        .family = in->model->family,
        .strategy = rh_intern(layout),
        .stack = in->c.stack->name,
        .platform = rh_intern(in->platform_spec),
        .like = rh_evidence_key_of(&in->c),
        .measured_s = measured_s,
        .predicted_s = r->step_time_s,
        .measured_mfu_frac = rh_mfu_frac(&in->c, measured_s),
        .peak_bytes = r->memory.peak_bytes,
        .capacity_bytes = r->memory_capacity_bytes,
        .measured_peak_bytes = log->memory_bytes,
        .counted_peak_bytes = counted_bytes(in, &r->layout, log),
        .bar_frac = r->error_frac,
    };
    g_array_append_val(evaluation->rows, row);
}

/* Is the measured time within the bar, which is of measured over predicted? */
static bool within_bar(const RhEvaluatedRun *row)
{
    return fabs(row->measured_s / row->predicted_s - 1) <= row->bar_frac;
}

static void append_times(GString *out, const RhEvaluatedRun *row, const RhRunLog *log,
                         const RhProblem *c)
{
    g_autofree char *measured = rh_quantity_format(row->measured_s, RH_QUANTITY_S, 4),
                    *predicted = rh_quantity_format(row->predicted_s, RH_QUANTITY_S, 4),
                    *how = rh_run_log_describe(log);
    double tokens = (double)c->job.global_batch * (double)c->job.sequence;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line, "measured: %s a step, %.0f tokens/s, %.1f %% MFU (%s", measured,
                    tokens / row->measured_s, 100 * row->measured_mfu_frac, how);
    if (log->typical.samples > 2)
        g_string_append_printf(line, "; ±%.1f %%", 100 * log->typical.spread_frac);
    g_string_append_c(line, ')');
    rh_text_wrap(out, line->str, 2, 79);
    g_string_printf(line, "predicted: %s, %+.1f %%", predicted,
                    100 * rh_evaluation_error_frac(row));
    if (row->bar_frac > 0)
        g_string_append_printf(line, "; %s the error bar of ±%.1f %%",
                               within_bar(row) ? "within" : "beyond", 100 * row->bar_frac);
    else
        g_string_append(line, "; nothing like it was measured, so there is no error bar");
    rh_text_wrap(out, line->str, 2, 79);
}

static void append_memory(GString *out, const RhEvaluatedRun *row, const RhRunLog *log)
{
    double gib = 1073741824.0, counted = row->counted_peak_bytes;
    g_autofree char *line =
        log->memory_bytes > 0
            ? g_strdup_printf("memory: measured %.1f GiB %s, predicted %.1f GiB of it, %+.1f %%; "
                              "%.1f of %.1f GiB with all the framework keeps",
                              log->memory_bytes / gib,
                              log->memory_reserved ? "reserved" : "allocated", counted / gib,
                              100 * (counted / log->memory_bytes - 1), row->peak_bytes / gib,
                              row->capacity_bytes / gib)
            : g_strdup_printf("memory: the log does not say it; predicted %.1f of %.1f GiB",
                              row->peak_bytes / gib, row->capacity_bytes / gib);
    rh_text_wrap(out, line, 2, 79);
}

/* Where the step of a profiler's trace went, beside the prediction of it. */
static void append_parts(GString *out, const RhRunLog *log, const RhStepParts *predicted)
{
    g_autoptr(GString) line = g_string_new("trace:");
    if (log->rank >= 0)
        g_string_append_printf(line, " rank %d,", log->rank);
    if (log->devices > 1)
        g_string_append_printf(line, " the GPU of %d that worked longest,", log->devices);
    if (log->whole_trace)
        g_string_append(line, " the whole of it, as no ProfilerStep# marks steps");
    else
        g_string_append_printf(line, " step %" G_GINT64_FORMAT ", the median one", log->parts_step);
    g_string_append(line, "; a kernel of NCCL runs while it waits for other ranks, so that such "
                          "waits count as communication");
    rh_text_wrap(out, line->str, 2, 79);
    rh_step_parts_append(out, log->parts, predicted);
}

static char *text_of(const RhEvaluatedRun *row, const RhRunLog *log, const RhProblem *c,
                     const char *profile, const GPtrArray *findings, const RhStepParts *predicted)
{
    GString *out = g_string_new(NULL);
    append_times(out, row, log, c);
    append_memory(out, row, log);
    if (predicted)
        append_parts(out, log, predicted);
    g_autofree char *job =
        g_strdup_printf("job: %s on %d GPUs of %s, %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                        " tokens a step, %s, %s, %s",
                        row->model, c->job.gpus, row->platform, c->job.global_batch,
                        c->job.sequence, c->job.recipe->name, row->stack, row->strategy);
    rh_text_wrap(out, job, 2, 79);
    if (profile) {
        g_autofree char *line = g_strconcat("profile: ", profile, NULL);
        rh_text_wrap(out, line, 2, 79);
    }
    rh_findings_append(out, findings);
    if (row->peak_bytes > row->capacity_bytes)
        rh_text_wrap(out,
                     "warning: this layout was predicted to need more memory than a GPU has, "
                     "and it ran",
                     2, 79);
    return g_string_free(out, FALSE);
}

static int answer(const RhArguments *a, const RhRunLog *log, const RhInputs *in,
                  const RhRehearsal *r, const RhStepParts *parts, GError **error)
{
    RhRunJob job = {in->c.job.global_batch, in->c.job.sequence, in->c.job.gpus};
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new(log->name);
    add_row(evaluation, in, r, log, rh_run_log_step_s(log, &job));
    const RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, 0);
    g_autoptr(GPtrArray) findings = rh_run_log_findings(log, &in->c, &r->layout);
    g_autoptr(GPtrArray) missed = g_ptr_array_new_with_free_func(g_free);
    double off = fabs(rh_evaluation_error_frac(row));
    if (rh_arguments_given(a, "--tolerance") && off > a->tolerance_frac)
        g_ptr_array_add(missed, g_strdup_printf("the error is %.1f %%, more than %.1f %%",
                                                100 * off, 100 * a->tolerance_frac));
    g_autofree char *text =
        a->json ? NULL : text_of(row, log, &in->c, in->hardware->profile, findings, parts);
    guint bars = missed->len;
    for (guint i = 0; i < findings->len; i++)
        g_ptr_array_add(missed, g_strdup(findings->pdata[i]));
    g_autofree char *json = rh_report_evaluation_json(evaluation, missed);
    fputs(a->json ? json : text, stdout);
    for (guint i = 0; i < bars && !a->json; i++)
        printf("missed: %s\n", (const char *)missed->pdata[i]);
    rh_output_answered();
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        g_autofree char *file = rh_output_kind(path) == RH_OUTPUT_JSON
                                    ? g_strdup(json)
                                    : rh_report_evaluation_markdown(evaluation);
        if (!rh_output_write(path, file, error))
            return 3;
    }
    return missed->len > 0 ? 1 : 0;
}

int rh_validate_log(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_MARKDOWN, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    g_autoptr(RhRunLog) log = rh_run_log_load(a->cases, error);
    if (!log)
        return 3;
    RhLayout layout;
    g_autoptr(RhInputs) in = rh_log_inputs(log, a, &layout, error);
    if (!in)
        return error && g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    RhEngineOptions options = {.seed = (uint64_t)a->seed,
                               .timeline = log->parts != NULL,
                               .timeout_s = rh_terminal_left_s(a->timeout_s)};
    rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
    g_autoptr(RhProgram) program = NULL;
    g_autoptr(RhRun) run = NULL;
    g_autoptr(RhRehearsal) r = rh_rehearse(&in->c, &layout, &options, &program, &run, error);
    rh_terminal_progress_end();
    if (!r)
        return 3;
    RhStepParts parts = rh_step_parts_of_run(&in->c, program, run, log->rank);
    return answer(a, log, in, r, log->parts ? &parts : NULL, error);
}
