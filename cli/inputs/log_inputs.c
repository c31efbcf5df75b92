#include "cli/inputs/log_inputs.h"

#include "base/error.h"
#include "base/text/gzip_file.h"
#include "validate/runs/gpu_trace.h"
#include "validate/runs/run_plausibility.h"

#define FILE_MAX ((gsize)256 << 20)

bool rh_log_is(const char *path)
{
    if (rh_gpu_trace_is(path))
        return true;
    if (g_str_has_suffix(path, ".csv") || g_str_has_suffix(path, ".jsonl"))
        return false;
    g_autoptr(GByteArray) bytes = rh_bytes_load(path, FILE_MAX, NULL);
    g_autofree char *text = bytes ? g_strndup((const char *)bytes->data, bytes->len) : NULL;
    return text && rh_run_log_begins(text);
}

/* Fills what no option says with the log's words. */
static void fill_words(const RhRunLog *log, RhArguments *job)
{
    if (job->global_batch == 0)
        job->global_batch = (int64_t)log->said[RH_SAID_BATCH].value;
    if (job->sequence == 0)
        job->sequence = (int64_t)log->said[RH_SAID_SEQUENCE].value;
    if (job->gpus == 0)
        job->gpus = (int64_t)log->said[RH_SAID_GPUS].value;
}

static bool check_words(const RhRunLog *log, const RhArguments *job, GError **error)
{
    if (!job->workload || !job->platform || !job->strategy)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s is a log of %s, which says how long a step took, not of what\nhelp: say "
                       "the run: -w MODEL -p PLATFORM -s LAYOUT%s%s, or --from LAUNCH -p PLATFORM",
                       log->name, log->format, job->sequence > 0 ? "" : " --seq S",
                       job->global_batch > 0 ? "" : " --global-batch B");
    if (job->global_batch == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s does not say the global batch\nhelp: add --global-batch B", log->name);
    return true;
}

RhInputs *rh_log_inputs(const RhRunLog *log, const RhArguments *a, RhLayout *layout, GError **error)
{
    RhArguments job = *a;
    fill_words(log, &job);
    if (!check_words(log, &job, error))
        return NULL;
    g_autoptr(RhInputs) in = rh_inputs_of(&job, error);
    if (!in || !rh_run_log_is_of(log, &in->c, a->launch, error) ||
        !rh_inputs_layout(in, a->strategy, layout, error))
        return NULL;
    return g_steal_pointer(&in);
}
