/* LSTM layers: parameters and FLOPs against PyTorch's nn.LSTM, and weights that stay in a device's caches. */
#include "platforms/devices/device.h"
#include "tests/kit/operators_kit.h"

#define NET(hidden, width)                                                                         \
    "{'model_type': 'layers', 'hidden': " hidden ", 'vocab': 10000, 'context': 2048, 'norm': "     \
    "'none', 'positions': 'none', 'layers': [{'repeat': 2, 'layers': [{'mixer': {'operator': "     \
    "'LSTM', 'width': " width "}}]}]}"

/* Source: PyTorch's documentation of torch.nn.LSTM: weight_ih (4 w, h), weight_hh (4 w, w), a bias of 4 w (it has two
 * alike); with proj_size a matrix (h, w). Zaremba et al. 2014 (arXiv 1409.2329): the large model of 66 million. */
static void parameters_are_those_of_four_gates(void)
{
    g_autoptr(RhModel) large = load(NET("1500", "1500")), narrow = load(NET("512", "1024"));
    int64_t w = 1500;
    CU_ASSERT_EQUAL(rh_model_params(large), 2 * 10000 * w + 2 * (8 * w * w + 4 * w));
    RH_CHECK_CLOSE((double)rh_model_params(large), 66e6, 0.01);
    CU_ASSERT_EQUAL(rh_model_params(narrow),
                    2 * 10000 * 512 + 2 * (4 * 1024 * (512 + 1024) + 4 * 1024 + 1024 * 512));
}

/* A pass of s tokens has s products one after the other, of all sequences' rows; FLOPs are those of the matrices. */
static void tokens_follow_one_another(void)
{
    g_autoptr(RhModel) m = load(NET("512", "1024"));
    RhShard shard = shard_of(1, 35, 20);
    RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(f.weights, 2.0 * 35 * 20 * (4 * 1024 * (512 + 1024) + 1024 * 512));
    for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++) {
        g_autoptr(GArray) kernels = kernels_of(m, RH_BLOCK_MIXER, pass, &shard);
        int steps = 0, again = 0;
        for (guint i = 0; i < kernels->len; i++) {
            const RhKernel *k = &g_array_index(kernels, RhKernel, i);
            steps += k->cls == RH_KERNEL_GEMM && k->m == 20;
            again += k->again;
        }
        CU_ASSERT_EQUAL(steps, pass == RH_PASS_BACKWARD_WEIGHT ? 0 : 35);
        CU_ASSERT_EQUAL(again, pass == RH_PASS_BACKWARD_WEIGHT ? 0 : 34);
        RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, pass, &shard).flops, f.weights, 1e-14);
    }
}

static double step_s(const RhDevice *d, int64_t width, bool again)
{
    RhKernel k = {.cls = RH_KERNEL_GEMM,
                  .dtype = RH_DTYPE_FP32,
                  .m = 1,
                  .n = 4 * width,
                  .k = width,
                  .again = again};
    k.flops = 2.0 * (double)(k.n * k.k);
    k.bytes = 4.0 * (double)(k.n * k.k + k.k + k.n);
    return rh_kernel_time_s(d, &k);
}

/* Weights that fit are read at the caches' rate from the second product on; what does not fit comes from memory.
 * Source: Zhang et al. 2018 (USENIX ATC, DeepCPU): an RNN's products are bound by reading weights again. */
static void weights_that_fit_stay_in_caches(void)
{
    g_autoptr(RhDevice) d = rh_device_load("xeon-8280", NULL);
    g_assert_nonnull(d);
    int64_t fits = 1024, too_wide = 2048; /* 16 and 64 MiB of fp32 in 28 */
    CU_ASSERT_TRUE(step_s(d, fits, true) < 0.5 * step_s(d, fits, false));
    CU_ASSERT_EQUAL(step_s(d, too_wide, true), step_s(d, too_wide, false));
    d->cache_bytes.value = 0;
    rh_device_refresh(d);
    CU_ASSERT_EQUAL(step_s(d, fits, true), step_s(d, fits, false));
    g_autoptr(RhDevice) none = rh_device_load("a100-sxm-80", NULL);
    CU_ASSERT_EQUAL(step_s(none, fits, true), step_s(none, fits, false));
}

int main(void)
{
    return rh_test_main(
        "lstm",
        (RhTest[]){{"parameters_are_those_of_four_gates", parameters_are_those_of_four_gates},
                   {"tokens_follow_one_another", tokens_follow_one_another},
                   {"weights_that_fit_stay_in_caches", weights_that_fit_stay_in_caches},
                   {0}});
}
