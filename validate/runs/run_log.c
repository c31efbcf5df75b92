#include "validate/runs/run_log.h"

#include <string.h>

#include "base/error.h"
#include "base/text/gzip_file.h"
#include "base/text/log_prefix_strip.h"
#include "report/format.h"
#include "validate/runs/gpu_trace.h"
#include "validate/runs/training_log.h"

#define FILE_MAX ((gsize)256 << 20)

const RhRunLogReader *rh_run_log_reader(const char *text)
{
    for (size_t i = 0; rh_training_logs[i].name; i++)
        if (rh_training_logs[i].recognise(text))
            return &rh_training_logs[i];
    return NULL;
}

/* Removes colours; a progress bar's carriage returns become ends of lines. Caller frees. */
static char *plain_of(const char *text)
{
    g_autofree char *tidy = g_strdup(text);
    char *to = tidy;
    for (const char *at = tidy; *at; at++) {
        if (*at == '\033' && at[1] == '[') {
            for (at += 2; *at && !g_ascii_isalpha(*at); at++)
                ;
            if (!*at)
                break;
            continue;
        }
        *to++ = *at == '\r' && at[1] != '\n' ? '\n' : *at;
    }
    *to = '\0';
    return rh_log_without_prefixes(tidy, true);
}

bool rh_run_log_begins(const char *text)
{
    g_autofree char *plain = plain_of(text);
    return rh_run_log_reader(plain) != NULL;
}

/* --- files --- */

RhRunLog *rh_run_log_parse(const char *name, const char *text, GError **error)
{
    g_autofree char *plain = plain_of(text);
    const RhRunLogReader *reader = rh_run_log_reader(plain);
    if (!reader) {
        g_autofree char *known = rh_training_logs_names();
        rh_fail(error, RH_ERROR_INPUT,
                "%s:1:1: no log of a training run that is known\nhelp: logs of %s are", name,
                known);
        return NULL;
    }
    g_autoptr(RhRunLog) log = rh_run_log_new(name, reader->name);
    if (!reader->read(log, plain, error))
        return NULL;
    log->typical = rh_run_typical(log->samples);
    return g_steal_pointer(&log);
}

RhRunLog *rh_run_log_load(const char *path, GError **error)
{
    if (rh_gpu_trace_is(path))
        return rh_gpu_trace_load(path, error);
    g_autoptr(GByteArray) bytes = rh_bytes_load(path, FILE_MAX, error);
    if (!bytes)
        return NULL;
    g_autofree char *text = g_strndup((const char *)bytes->data, bytes->len);
    return rh_run_log_parse(path, text, error);
}

/* --- what it says --- */

const char *rh_run_said_name(RhRunFigureKind kind)
{
    static const char *const names[RH_SAID_LAST] = {
        "global batch", "tokens of a sample", "GPUs",          "layers",
        "hidden size",  "parameters",         "speed of a GPU"};
    return names[kind];
}

char *rh_run_said_text(RhRunFigureKind kind, double value)
{
    return kind == RH_SAID_FLOPS ? g_strdup_printf("%.4g TFLOP/s", value / 1e12)
                                 : rh_text_count((int64_t)value);
}

double rh_run_log_step_s(const RhRunLog *log, const RhRunJob *job)
{
    double samples = (double)job->global_batch, tokens = samples * (double)job->sequence;
    switch (log->unit) {
    case RH_RUN_STEP:
        return log->typical.seconds;
    case RH_RUN_SAMPLE:
        return log->typical.seconds * samples;
    case RH_RUN_TOKEN:
        return log->typical.seconds * tokens;
    case RH_RUN_GPU_TOKEN:
        return log->typical.seconds * tokens / job->gpus;
    case RH_RUN_NONE:
    default:
        return 0;
    }
}

char *rh_run_log_describe(const RhRunLog *log)
{
    const RhRunTypical *t = &log->typical;
    int32_t kept = t->samples - t->warmup - t->stalls;
    if (log->summary)
        return g_strdup_printf("%s's mean over the whole run, its start and stalls with it",
                               log->format);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%s's log, median of %d", log->format, kept);
    if (kept < t->samples)
        g_string_append_printf(text, " of %d", t->samples);
    g_string_append_printf(text, " iteration%s", t->samples == 1 ? "" : "s");
    if (t->warmup > 0)
        g_string_append_printf(text, ", %d of the warm-up", t->warmup);
    if (t->stalls > 0)
        g_string_append_printf(text, "%s%d that stalled", t->warmup > 0 ? " and " : ", ",
                               t->stalls);
    if (kept < t->samples)
        g_string_append(text, " left out");
    return g_string_free(text, FALSE);
}
