/* Number formats of the kernels of an iteration. */
#include "strategies/serve/iteration/iteration.h"
#include "tests/kit/serve_kit.h"

/* A device without units for bf16 serves in fp16, with weights of 16 and of 8 bits. */
static void formats_without_units_run_as_fp16(void)
{
    static const char *const formats[] = {"bf16", "int8-weights"};
    for (int k = 0; k < 2; k++) {
        Setting s = setting_of("llama-3.2-1b", "v100-sxm-32:1x1", "tp1");
        RhPool pool = s.deployment.pools[0];
        pool.batch = s.serving.server->batch;
        pool.chunk = s.serving.server->chunk;
        s.serving.recipe = rh_recipe_by_name(formats[k]);
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &pool, NULL);
        g_autoptr(RhPlatform) with_units = rh_platform_copy(s.platform);
        RhFact *peaks = with_units->device->peak_flops_per_s;
        peaks[RH_DTYPE_BF16] = peaks[RH_DTYPE_FP16];
        rh_device_refresh(with_units->device);
        s.serving.platform = with_units;
        g_autoptr(RhIterations) same = rh_iterations_new(&s.serving, &pool, NULL);
        RhChunk chunk = {.tokens = 4096};
        RhBatch prompt = {.chunks = &chunk, .chunks_count = 1, .ended = 1};
        RH_CHECK_CLOSE(rh_iteration_s(it, &prompt), rh_iteration_s(same, &prompt), 1e-9);
        s.serving.platform = s.platform;
        close_setting(&s);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"formats_without_units_run_as_fp16", formats_without_units_run_as_fp16},
        {NULL, NULL},
    };
    return rh_test_main("iteration_formats", tests);
}
