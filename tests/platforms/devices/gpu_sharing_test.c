/* Processes that share a GPU: closed forms of a closed network, and the laws that they obey. */
#include "platforms/devices/gpu_sharing.h"

#include <math.h>

#include "platforms/devices/device.h"
#include "tests/kit/engine_kit.h"

static double seconds(int32_t count, RhClientsKind kind, RhClientWork work)
{
    return rh_clients_time(&(RhGpuClients){count, kind}, &work).seconds;
}

static void one_process_takes_its_kernels_and_its_gaps(void)
{
    for (int32_t count = 0; count <= 1; count++) {
        RhSharedTime t =
            rh_clients_time(&(RhGpuClients){count, RH_CLIENTS_MPS}, &(RhClientWork){3, 2, 1});
        CU_ASSERT_EQUAL(t.seconds, 4);
        CU_ASSERT_EQUAL(t.busy_s, 3);
    }
}

static void where_one_fills_the_gpu_all_queue_and_nothing_is_gained(void)
{
    for (int32_t m = 2; m <= 8; m++) {
        RH_CHECK_CLOSE(seconds(m, RH_CLIENTS_MPS, (RhClientWork){2, 2, 0}), 2 * m, 1e-12);
        RH_CHECK_CLOSE(seconds(m, RH_CLIENTS_TIME, (RhClientWork){2, 0.5, 0}), 2 * m, 1e-12);
    }
}

static void kernels_that_fit_beside_one_another_do_not_slow_down(void)
{
    RH_CHECK_CLOSE(seconds(2, RH_CLIENTS_MPS, (RhClientWork){2, 1, 0}), 2, 1e-12);
    RH_CHECK_CLOSE(seconds(4, RH_CLIENTS_MPS, (RhClientWork){2, 0.5, 0.25}), 2.25, 1e-12);
    RH_CHECK_CLOSE(seconds(4, RH_CLIENTS_MPS, (RhClientWork){2, 1, 0}), 4, 1e-12);
}

/* Mean-value analysis of a processor and a delay of m customers. Source: Reiser and Lavenberg, JACM
 * 27(2), 1980, doi 10.1145/322186.322195, the recursion of its section 2. */
static double mean_value_s(int32_t m, double service_s, double think_s)
{
    double queue = 0, response_s = 0;
    for (int32_t n = 1; n <= m; n++) {
        response_s = service_s * (1 + queue);
        queue = n / (think_s + response_s) * response_s;
    }
    return think_s + response_s;
}

static void kernels_that_fill_the_gpu_queue_as_mean_value_analysis_says(void)
{
    RH_CHECK_CLOSE(seconds(2, RH_CLIENTS_MPS, (RhClientWork){1, 1, 1}), 2.5, 1e-12);
    for (int32_t m = 1; m <= 12; m++)
        for (double gap = 0.125; gap < 10; gap *= 2)
            RH_CHECK_CLOSE(seconds(m, RH_CLIENTS_TIME, (RhClientWork){1, 0.5, gap}),
                           mean_value_s(m, 1, gap), 1e-9);
}

static void the_gpu_is_busy_at_least_while_it_works_and_at_most_always(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 1);
    for (int i = 0; i < 300; i++) {
        double kernels = gsl_rng_uniform_pos(rng), gap = gsl_rng_uniform(rng);
        RhClientWork work = {kernels, kernels * gsl_rng_uniform_pos(rng), gap};
        double before = kernels + gap;
        for (int32_t m = 2; m <= 16; m++) {
            RhSharedTime t = rh_clients_time(&(RhGpuClients){m, RH_CLIENTS_MPS}, &work);
            double least = fmax(kernels + gap, m * work.filled_s);
            CU_ASSERT_TRUE(t.seconds >= least * (1 - 1e-9));
            CU_ASSERT_TRUE(t.seconds <= (m * kernels + gap) * (1 + 1e-9));
            CU_ASSERT_TRUE(t.seconds >= before * (1 - 1e-9));
            CU_ASSERT_TRUE(t.busy_s <= t.seconds * (1 + 1e-9) && t.busy_s >= kernels * (1 - 1e-9));
            before = t.seconds;
        }
    }
    gsl_rng_free(rng);
}

static RhKernel gemm(int64_t m, int64_t n, int64_t k)
{
    return (RhKernel){.cls = RH_KERNEL_GEMM,
                      .dtype = RH_DTYPE_BF16,
                      .batch = 1,
                      .m = m,
                      .n = n,
                      .k = k,
                      .flops = 2.0 * (double)(m * n * k),
                      .bytes = 2.0 * (double)(m * k + k * n + m * n)};
}

static double filled(const RhDevice *d, const RhKernel *k)
{
    return rh_kernel_filled_s(d, k) / rh_kernel_time_s(d, k);
}

static void a_kernel_fills_what_its_thread_blocks_fill(void)
{
    g_autoptr(RhPlatform) p = kit_platform("a100-sxm-80:1x1");
    RhKernel large = gemm(8192, 8192, 8192), small = gemm(256, 256, 128);
    CU_ASSERT_TRUE(filled(p->device, &large) > 0.95);
    CU_ASSERT_TRUE(filled(p->device, &small) < 0.2);
    RhKernel pass = {.cls = RH_KERNEL_ADD, .dtype = RH_DTYPE_BF16, .bytes = 1e9};
    CU_ASSERT_TRUE(filled(p->device, &pass) > 0.95);
    pass.bytes = 1e4;
    CU_ASSERT_TRUE(filled(p->device, &pass) < 0.05);
}

static void no_kernel_fills_more_than_the_gpu(void)
{
    g_autoptr(RhPlatform) p = kit_platform("h100-sxm:1x1");
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 2);
    for (int i = 0; i < 1000; i++) {
        RhKernel k = gemm(1 + (int64_t)gsl_rng_uniform_int(rng, 5000),
                          1 + (int64_t)gsl_rng_uniform_int(rng, 5000),
                          1 + (int64_t)gsl_rng_uniform_int(rng, 5000));
        CU_ASSERT_TRUE(filled(p->device, &k) > 0 && filled(p->device, &k) <= 1);
    }
    gsl_rng_free(rng);
}

int main(void)
{
    return rh_test_main(
        "gpu_clients",
        (RhTest[]){{"one_process_takes_its_kernels_and_its_gaps",
                    one_process_takes_its_kernels_and_its_gaps},
                   {"where_one_fills_the_gpu_all_queue_and_nothing_is_gained",
                    where_one_fills_the_gpu_all_queue_and_nothing_is_gained},
                   {"kernels_that_fit_beside_one_another_do_not_slow_down",
                    kernels_that_fit_beside_one_another_do_not_slow_down},
                   {"kernels_that_fill_the_gpu_queue_as_mean_value_analysis_says",
                    kernels_that_fill_the_gpu_queue_as_mean_value_analysis_says},
                   {"the_gpu_is_busy_at_least_while_it_works_and_at_most_always",
                    the_gpu_is_busy_at_least_while_it_works_and_at_most_always},
                   {"a_kernel_fills_what_its_thread_blocks_fill",
                    a_kernel_fills_what_its_thread_blocks_fill},
                   {"no_kernel_fills_more_than_the_gpu", no_kernel_fills_more_than_the_gpu},
                   {0}});
}
