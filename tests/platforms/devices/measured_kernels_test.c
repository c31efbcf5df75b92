/* Kernels of layers of Llama-2 beside times that others measured. The constants of both devices were fitted to
 * other tables. */
#include <math.h>

#include "platforms/devices/device.h"
#include "tests/kit/testkit.h"

/* A product of 4,096 or 1,024 tokens, whole or on one of eight ranks. */
typedef struct {
    int64_t m, n, k;
    double measured_s;
} Product;

static double product_s(const RhDevice *d, const Product *p)
{
    RhKernel k = {.cls = RH_KERNEL_GEMM,
                  .dtype = RH_DTYPE_FP16,
                  .batch = 1,
                  .m = p->m,
                  .n = p->n,
                  .k = p->k,
                  .flops = 2.0 * (double)p->m * (double)p->n * (double)p->k,
                  .bytes = 2.0 * (double)(p->m * p->k + p->k * p->n + p->m * p->n)};
    return rh_kernel_time_s(d, &k);
}

/* Checks that each is within a third and that their mean error is at most an eighth. */
static void check_products(const char *device, const Product *products, size_t count)
{
    g_autoptr(RhDevice) d = rh_device_load(device, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double error = product_s(d, &products[i]) / products[i].measured_s - 1;
        CU_ASSERT_TRUE(fabs(error) < 1.0 / 3);
        sum += fabs(error);
    }
    CU_ASSERT_TRUE(sum / (double)count < 0.125);
}

/* Queries, keys and values; attention's output; gate and up; down.
 * Source: microsoft/vidur 7d47513, profiling/compute/h100/meta-llama/Llama-2-70b-hf/mlp.csv, medians. */
static void products_on_an_h100_take_as_long_as_vidur_measured(void)
{
    static const Product products[] = {{4096, 10240, 8192, 982.5e-6},  {4096, 8192, 8192, 788.5e-6},
                                       {4096, 57344, 8192, 5668.5e-6}, {4096, 8192, 28672, 2647e-6},
                                       {1024, 10240, 8192, 271.5e-6},  {1024, 8192, 8192, 258e-6},
                                       {1024, 57344, 8192, 1383.5e-6}, {1024, 8192, 28672, 846e-6},
                                       {4096, 1280, 8192, 150.5e-6},   {4096, 8192, 1024, 94e-6},
                                       {4096, 7168, 8192, 643e-6},     {4096, 8192, 3584, 296e-6},
                                       {1024, 1280, 8192, 45e-6},      {1024, 8192, 1024, 34e-6},
                                       {1024, 7168, 8192, 170e-6},     {1024, 8192, 3584, 83e-6}};
    check_products("h100-sxm", products, G_N_ELEMENTS(products));
}

/* Queries, keys and values; attention's output; gate and up; down. Source: microsoft/vidur 7d47513,
 * profiling/compute/a100/meta-llama/Llama-2-70b-hf/mlp.csv, medians. */
static void products_on_an_a100_take_as_long_as_vidur_measured(void)
{
    static const Product products[] = {
        {4096, 10240, 8192, 2872e-6},    {4096, 8192, 8192, 2377e-6},
        {4096, 57344, 8192, 15940.5e-6}, {4096, 8192, 28672, 8063.5e-6},
        {1024, 10240, 8192, 802.5e-6},   {1024, 8192, 8192, 647e-6},
        {1024, 57344, 8192, 4424.5e-6},  {1024, 8192, 28672, 2254e-6},
        {4096, 1280, 8192, 348e-6},      {4096, 8192, 1024, 296e-6},
        {4096, 7168, 8192, 1931e-6},     {4096, 8192, 3584, 1047.5e-6},
        {1024, 1280, 8192, 119e-6},      {1024, 8192, 1024, 79e-6},
        {1024, 7168, 8192, 543e-6},      {1024, 8192, 3584, 271e-6}};
    check_products("a100-sxm-80", products, G_N_ELEMENTS(products));
}

/* Products of Llama-2-7B on an H100, of whole layers and of one of eight ranks.
 * Source: microsoft/vidur 7d47513, profiling/compute/h100/meta-llama/Llama-2-7b-hf/mlp.csv, medians. */
static void small_products_on_an_h100_take_as_long_as_vidur_measured(void)
{
    static const Product products[] = {
        {4096, 12288, 4096, 584e-6}, {4096, 4096, 4096, 193e-6},  {4096, 22016, 4096, 987e-6},
        {4096, 4096, 11008, 441e-6}, {1024, 12288, 4096, 151e-6}, {1024, 4096, 4096, 49e-6},
        {1024, 22016, 4096, 256e-6}, {1024, 4096, 11008, 109e-6}, {4096, 1536, 4096, 86e-6},
        {4096, 4096, 512, 30e-6},    {4096, 2752, 4096, 132e-6},  {4096, 4096, 1376, 69e-6},
        {1024, 1536, 4096, 27e-6},   {1024, 4096, 512, 13e-6},    {1024, 2752, 4096, 46e-6},
        {1024, 4096, 1376, 22e-6}};
    check_products("h100-sxm", products, G_N_ELEMENTS(products));
}

/* Products of Llama-2-7B on an A100, of whole layers and of one of eight ranks.
 * Source: microsoft/vidur 7d47513, profiling/compute/a100/meta-llama/Llama-2-7b-hf/mlp.csv, medians. */
static void small_products_on_an_a100_take_as_long_as_vidur_measured(void)
{
    static const Product products[] = {
        {4096, 12288, 4096, 1911e-6}, {4096, 4096, 4096, 611e-6},  {4096, 22016, 4096, 3365.5e-6},
        {4096, 4096, 11008, 1604e-6}, {1024, 12288, 4096, 475e-6}, {1024, 4096, 4096, 176e-6},
        {1024, 22016, 4096, 877e-6},  {1024, 4096, 11008, 431e-6}, {4096, 1536, 4096, 231e-6},
        {4096, 4096, 512, 86e-6},     {4096, 2752, 4096, 410e-6},  {4096, 4096, 1376, 242.5e-6},
        {1024, 1536, 4096, 57e-6},    {1024, 4096, 512, 30e-6},    {1024, 2752, 4096, 111e-6},
        {1024, 4096, 1376, 64e-6}};
    check_products("a100-sxm-80", products, G_N_ELEMENTS(products));
}

/* A residual sum of 8,192 columns reads two tensors and writes one.
 * Source: microsoft/vidur 7d47513, profiling/compute, meta-llama/Llama-2-70b-hf/mlp.csv, medians of `add`. */
static void sums_take_as_long_as_vidur_measured(void)
{
    static const struct {
        const char *device;
        double tokens, measured_s;
    } rows[] = {{"h100-sxm", 4096, 62e-6},
                {"h100-sxm", 2048, 31e-6},
                {"a100-sxm-80", 4096, 112e-6},
                {"a100-sxm-80", 2048, 56e-6}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhDevice) d = rh_device_load(rows[i].device, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(d);
        RhKernel k = {
            .cls = RH_KERNEL_ADD, .dtype = RH_DTYPE_FP16, .bytes = 3 * 2 * rows[i].tokens * 8192};
        RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), rows[i].measured_s, 0.1);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"products_on_an_h100_take_as_long_as_vidur_measured",
         products_on_an_h100_take_as_long_as_vidur_measured},
        {"products_on_an_a100_take_as_long_as_vidur_measured",
         products_on_an_a100_take_as_long_as_vidur_measured},
        {"small_products_on_an_h100_take_as_long_as_vidur_measured",
         small_products_on_an_h100_take_as_long_as_vidur_measured},
        {"small_products_on_an_a100_take_as_long_as_vidur_measured",
         small_products_on_an_a100_take_as_long_as_vidur_measured},
        {"sums_take_as_long_as_vidur_measured", sums_take_as_long_as_vidur_measured},
        {0},
    };
    return rh_test_main("measured_kernels", tests);
}
