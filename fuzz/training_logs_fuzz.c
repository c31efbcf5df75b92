/* Logs of training runs: whatever is read has a time that is finite, and samples that add up. */
#include <math.h>

#include "fuzz/fuzzkit.h"
#include "validate/runs/run_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhRunLog) log = rh_run_log_parse("fuzz.log", text, &error);
    if (!log) {
        fuzz_check_error(&error);
        return 0;
    }
    const RhRunTypical *t = &log->typical;
    RhRunJob job = {64, 4096, 8};
    double step_s = rh_run_log_step_s(log, &job);
    FUZZ_CHECK(t->samples > 0 && t->warmup >= 0 && t->stalls >= 0);
    FUZZ_CHECK(t->warmup + t->stalls < t->samples);
    FUZZ_CHECK(isfinite(t->seconds) && t->seconds > 0 && isfinite(step_s) && step_s > 0);
    FUZZ_CHECK(log->memory_bytes >= 0);
    for (int i = 0; i < RH_SAID_LAST; i++)
        FUZZ_CHECK(log->said[i].value >= 0 && isfinite(log->said[i].value));
    g_autofree char *said = rh_run_log_describe(log);
    FUZZ_CHECK(*said != 0);
    return 0;
}
