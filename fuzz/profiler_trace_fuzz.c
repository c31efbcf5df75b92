/* Traces of PyTorch's profiler: whatever is read adds up, whatever is refused says why. */
#include <math.h>

#include "fuzz/fuzzkit.h"
#include "validate/runs/gpu_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhRunLog) log = rh_gpu_trace_parse("fuzz.json", data, size, &error);
    if (!log) {
        fuzz_check_error(&error);
        return 0;
    }
    const RhStepParts *p = log->parts;
    double sum = p->compute_s + p->exposed_s + p->copies_s + p->idle_s;
    FUZZ_CHECK(log->samples->len > 0 && log->typical.seconds > 0 && log->devices > 0);
    FUZZ_CHECK(isfinite(p->step_s) && p->step_s > 0);
    FUZZ_CHECK(fabs(sum - p->step_s) <= 1e-6 * p->step_s + 1e-12);
    for (int part = 0; part < RH_PART_LAST; part++)
        FUZZ_CHECK(p->busy_s[part] >= 0 && isfinite(p->busy_s[part]));
    return 0;
}
