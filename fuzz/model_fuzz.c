/* rh_model_parse: what it accepts has countable parameters and FLOPs. */
#include <math.h>

#include "fuzz/fuzzkit.h"
#include "workloads/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, &error);
    g_autoptr(RhModel) model = doc ? rh_model_parse(doc, "fuzz", &error) : NULL;
    if (!model) {
        fuzz_check_error(&error);
        return 0;
    }
    FUZZ_CHECK(rh_model_params(model) > 0);
    double flops = rh_model_flops_per_token(model, 4096);
    FUZZ_CHECK(isfinite(flops) && flops > 0);
    return 0;
}
