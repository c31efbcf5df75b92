#include "tests/kit/raw_kit.h"

#include <string.h>

RhDevice *kit_device(void)
{
    RhDevice *d = rh_device_load("h200-sxm", NULL);
    RhDeviceCurves *c = &d->curves;
    double rates[] = {1, 1, 0.9, 0.8, 0.75, 0.65};
    for (int i = 0; i < c->tiles_count; i++)
        c->tiles[i].rate_frac.value = rates[i];
    c->gemm_peak_frac[RH_DTYPE_BF16].value = 0.7;
    c->gemm_peak_frac[RH_DTYPE_FP16].value = 0.6;
    c->gemm_peak_frac[RH_DTYPE_FP8].value = 0.5;
    c->gemm_k_half.value = 200;
    c->gemm_launch_s.value = 4e-6;
    c->gemm_memory_frac.value = 0.7;
    c->gemm_overlap_frac.value = 0.1;
    c->gemm_wave_tail_frac.value = 0.5;
    c->gemm_k_split.value = 1000;
    c->attention_peak_frac.value = 0.5;
    c->attention_backward_frac.value = 0.8;
    c->attention_s_half.value = 600;
    c->attention_d_half.value = 30;
    c->memory_peak_frac.value = 0.9;
    c->memory_bytes_half.value = 3e6;
    c->kernel_floor_s.value = 2.5e-6;
    c->sustained_clock_frac.value = 1;
    rh_device_refresh(d);
    return d;
}

void kit_row(const KitRaw *kit, const char *name, const RhKernel *k)
{
    double seconds = rh_kernel_time_s(kit->device, k) * (kit->factor ? kit->factor(k) : 1) *
                     exp(gsl_ran_gaussian(kit->rng, kit->noise_frac));
    char bytes[32], flops[32], time[32];
    g_ascii_formatd(bytes, sizeof bytes, "%.0f", k->bytes);
    g_ascii_formatd(flops, sizeof flops, "%.0f", k->flops);
    g_ascii_formatd(time, sizeof time, "%.6g", seconds);
    g_string_append_printf(kit->text,
                           "%s,%s,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
                           ",%" G_GINT64_FORMAT ",%d,%d,%d,%s,%s,library,9,%s,0,0,0,0\n",
                           name, rh_dtype_name((RhDtype)k->dtype), k->batch, k->m, k->n, k->k,
                           k->heads, k->kv_heads, k->causal, bytes, flops, time);
}

static void kit_gemm(const KitRaw *kit, RhDtype dtype, int64_t m, int64_t n, int64_t k)
{
    double each = rh_dtype_bytes(dtype);
    RhKernel gemm = {.cls = RH_KERNEL_GEMM,
                     .dtype = (uint8_t)dtype,
                     .batch = 1,
                     .m = m,
                     .n = n,
                     .k = k,
                     .bytes = each * (double)(m * k + k * n + m * n),
                     .flops = 2.0 * (double)m * (double)n * (double)k};
    kit_row(kit, "gemm", &gemm);
}

void kit_gemms(const KitRaw *kit, RhDtype dtype, int rows, int sides)
{
    static const int64_t m[] = {1, 16, 64, 128, 192, 256, 512, 1024, 1536, 2048, 4096, 8192};
    static const int64_t side[] = {256, 1024, 4096, 512, 2048, 8192, 1536, 5120, 12288};
    for (int i = 0; i < sides; i++)
        for (int j = 0; j < sides; j++)
            for (int r = 0; r < rows; r++)
                kit_gemm(kit, dtype, m[r], side[i], side[j]);
}

void kit_attentions(const KitRaw *kit, const char *name, RhKernelClass cls)
{
    for (int64_t s = 256; s <= 16384; s *= 2)
        for (int64_t d = 64; d <= 128; d *= 2)
            for (int32_t heads = 8; heads <= 32; heads *= 2) {
                RhKernel k = {.cls = (uint8_t)cls,
                              .dtype = RH_DTYPE_BF16,
                              .causal = true,
                              .batch = 4,
                              .m = s,
                              .n = s,
                              .k = d,
                              .heads = heads,
                              .kv_heads = 8,
                              .bytes = 2.0 * 4 * (double)(s * d) * (2 * heads + 16)};
                kit_row(kit, name, &k);
            }
}

void kit_streams(const KitRaw *kit)
{
    int64_t rows = 0;
    for (double bytes = 1e5; bytes < 3e9; bytes *= 1.4) {
        RhKernel add = {.cls = RH_KERNEL_ADD, .dtype = RH_DTYPE_BF16, .bytes = bytes};
        RhKernel norm = {
            .cls = RH_KERNEL_NORM, .dtype = RH_DTYPE_BF16, .m = ++rows, .bytes = bytes};
        kit_row(kit, "add", &add);
        kit_row(kit, "norm", &norm);
    }
}

KitRaw kit_raw(const RhDevice *device, double noise_frac)
{
    KitRaw kit = {device, gsl_rng_alloc(gsl_rng_mt19937), noise_frac, NULL, g_string_new(KIT_HEAD)};
    gsl_rng_set(kit.rng, 20261121);
    return kit;
}

void kit_raw_clear(KitRaw *kit)
{
    gsl_rng_free(kit->rng);
    g_string_free(kit->text, TRUE);
}

RhKernelsFit *kit_fit(const char *text, const RhDevice *device, GError **error)
{
    g_autoptr(GPtrArray) raws = g_ptr_array_new_with_free_func((GDestroyNotify)rh_raw_free);
    RhRaw *raw = rh_raw_parse("synthetic.csv", text, error);
    if (!raw)
        return NULL;
    g_ptr_array_add(raws, raw);
    return rh_kernels_fit(raws, device, 0.2, "2026-11-21", 0, error);
}

const RhFittedFact *kit_fact(const RhKernelsFit *fit, const char *key)
{
    for (guint i = 0; i < fit->facts->len; i++)
        if (strcmp(g_array_index(fit->facts, RhFittedFact, i).key, key) == 0)
            return &g_array_index(fit->facts, RhFittedFact, i);
    return NULL;
}
