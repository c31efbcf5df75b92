#include "platforms/devices/device.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "platforms/platform.h"
#include "platforms/platform_constants.h"
#include "tests/kit/testkit.h"

#define FACT(value)                                                                                \
    "{\"value\": " value ", \"tag\": \"assumed\", \"source\": \"test\", \"date\": \"2026-01\"}"
/* A device with round numbers: 100 SMs, 100 TFLOP/s, 1 TB/s, one 128x128 tile, nothing lost. */
#define TOY_HEAD                                                                                    \
    "{\"name\": \"toy\", \"sms\": 100, \"peak\": {\"bf16\": " FACT(                                 \
        "\"100TFLOP/s\"") "},"                                                                      \
                          "\"hbm\": " FACT("\"10GB\"") ", \"hbm_bandwidth\": " FACT(                \
                              "\"1TB/s\"") ","                                                      \
                                           "\"power\": " FACT(                                      \
                                               "\"500W\"") ","                                      \
                                                           "\"gemm\": {\"peak\": {\"bf16\": " FACT( \
                                                               "1") "}, \"tiles\": [{\"m\": 128, \"n\": "
#define TOY_TAIL                                                                                                               \
    ", \"rate\": " FACT("1") "}], \"k_half\": " FACT("0") ", \"launch\": " FACT(                                               \
        "\"0s\"") ","                                                                                                          \
                  "\"memory\": " FACT("1") ", \"overlap\": " FACT("0") ", \"wave_tail\": " FACT(                               \
                      "1") ","                                                                                                 \
                           "\"k_split\": " FACT(                                                                               \
                               "1000000") "},"                                                                                 \
                                          "\"attention\": {\"peak\": " FACT("0.5") ", \"backward\": " FACT(                    \
                                              "0.5") ","                                                                       \
                                                     "\"s_half\": " FACT("0") ", \"d_half\": " FACT(                           \
                                                         "0") "},"                                                             \
                                                              "\"memory\": {\"peak\": " FACT("0.5") ", \"bytes_half\": " FACT( \
                                                                  "\"1MB\"") "},"                                              \
                                                                             "\"sustained_clock\": " FACT(                     \
                                                                                 "1") ", \"kernel_floor\": " FACT("\"1us\"") "}"

static RhDevice *parse(const char *text, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse("toy.json", text, strlen(text), error);
    return doc == NULL ? NULL : rh_device_parse(doc, error);
}

static RhDevice *toy(void)
{
    g_autoptr(GError) error = NULL;
    RhDevice *d = parse(TOY_HEAD "128" TOY_TAIL, &error);
    if (d == NULL)
        CU_FAIL_FATAL(error->message);
    return d;
}

static RhKernel gemm(int64_t m, int64_t n, int64_t k)
{
    return (RhKernel){.cls = RH_KERNEL_GEMM,
                      .dtype = RH_DTYPE_BF16,
                      .batch = 1,
                      .m = m,
                      .n = n,
                      .k = k,
                      .flops = 2.0 * (double)m * (double)n * (double)k,
                      .bytes = 2.0 * (double)(m * k + k * n + m * n)};
}

static RhKernel attention(RhKernelClass cls, int64_t s, bool causal)
{
    return (RhKernel){.cls = (uint8_t)cls,
                      .dtype = RH_DTYPE_BF16,
                      .causal = causal,
                      .heads = 64,
                      .kv_heads = 8,
                      .batch = 1,
                      .m = s,
                      .n = s,
                      .k = 128};
}

static void whole_waves_run_at_peak(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = gemm(1280, 1280, 8192); /* 100 tiles on 100 SMs */
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), k.flops / 100e12, 1e-12);
}

static void one_tile_more_costs_a_wave(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = gemm(1280, 1280, 8192), more = gemm(1281, 1280, 8192);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &more), 2 * rh_kernel_time_s(d, &k), 1e-12);
}

static void a_wave_tail_of_zero_costs_only_its_tiles(void)
{
    g_autoptr(RhDevice) d = toy();
    d->curves.gemm_wave_tail_frac.value = 0;
    rh_device_refresh(d);
    RhKernel k = gemm(1280, 1280, 8192), more = gemm(1408, 1280, 8192);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &more), 1.1 * rh_kernel_time_s(d, &k), 1e-12);
}

static void gradients_of_narrow_activations_have_their_rate(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = gemm(1280, 1280, 8192), gradient = k;
    gradient.narrow_gradient = true;
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &gradient), rh_kernel_time_s(d, &k), 1e-12);
    d->curves.gemm_gradient_frac.value = 0.5;
    rh_device_refresh(d);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &gradient), 2 * rh_kernel_time_s(d, &k), 1e-12);
}

/* Fewer rows than a tile are padded to a matrix instruction's 8, and weights come at a rate of their own. From a
 * tile on nothing changes. */
static void few_rows_fill_no_tile(void)
{
    g_autoptr(RhDevice) d = toy(), few = toy();
    few->curves.gemm_few_rows_frac.value = 0.5;
    rh_device_refresh(few);
    int64_t tile = INT64_MAX;
    for (int i = 0; i < few->curves.tiles_count; i++)
        tile = MIN(tile, few->curves.tiles[i].m);
    for (int64_t m = 1; m < tile; m *= 2) {
        RhKernel k = gemm(m, 1 << 15, 1 << 15);
        double memory_s = k.bytes / (0.5 * few->hbm_bytes_per_s.value), rows = (double)MAX(m, 8);
        RhKernel whole = gemm(tile, 1 << 15, 1 << 15);
        whole.bytes = 0;
        double launch_s = few->curves.gemm_launch_s.value;
        double compute_s = (rh_kernel_time_s(few, &whole) - launch_s) * rows / (double)tile;
        RH_CHECK_CLOSE(rh_kernel_time_s(few, &k), launch_s + fmax(compute_s, memory_s), 1e-9);
    }
    for (int64_t m = tile; m < 16 * tile; m = 2 * m + 1) {
        RhKernel k = gemm(m, 1 << 15, 1 << 15);
        CU_ASSERT_EQUAL(rh_kernel_time_s(few, &k), rh_kernel_time_s(d, &k));
    }
}

/* Devices whose products were not timed have the rate of a generation's that were; those with tiles of their own
 * have none. */
static void few_rows_are_of_the_generation(void)
{
    g_autoptr(RhDevice) known = rh_device_load("a100-sxm-80", NULL);
    g_autoptr(RhDevice) other = rh_device_load("rtx-3090", NULL);
    CU_ASSERT_EQUAL(known->curves.gemm_few_rows_frac.value, 0);
    CU_ASSERT_DOUBLE_EQUAL(other->curves.gemm_few_rows_frac.value, 0.71, 1e-9);
    CU_ASSERT_EQUAL(other->curves.gemm_few_rows_frac.tag, RH_TAG_ASSUMED);
}

static void a_small_grid_is_split_along_k(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = gemm(128, 128, 65536);
    double whole_s = rh_kernel_time_s(d, &k);
    RH_CHECK_CLOSE(whole_s, k.flops / 1e12, 1e-12); /* one SM */
    d->curves.gemm_k_split.value = 6553.6;
    rh_device_refresh(d);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), whole_s / 10, 1e-9); /* down to k_split */
    d->curves.gemm_k_split.value = 1;
    rh_device_refresh(d);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), MAX(whole_s / 100, k.bytes / 1e12), 1e-9);
}

static void batches_count_as_tiles(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = gemm(128, 128, 65536);
    double one_s = rh_kernel_time_s(d, &k);
    k.batch = 100;
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), one_s, 1e-12);
    k.batch = 101;
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), 2 * one_s, 1e-12);
}

static void thin_gemms_are_bound_by_memory(void)
{
    g_autoptr(RhDevice) d = toy();
    d->hbm_bytes_per_s.value = 0.1e12;
    rh_device_refresh(d);
    RhKernel k = gemm(1, 12800, 12800);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), k.bytes / 0.1e12, 1e-12);
}

static void no_kernel_beats_the_floor(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = gemm(1, 1, 1);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), 1e-6, 1e-12);
    RhKernel nothing = {0};
    CU_ASSERT_EQUAL(rh_kernel_time_s(d, &nothing), 0);
}

static void attention_runs_at_its_rate_and_causal_at_half_the_work(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel full = attention(RH_KERNEL_ATTENTION, 8192, false);
    RhKernel causal = attention(RH_KERNEL_ATTENTION, 8192, true);
    double flops = 4.0 * 64 * 8192 * 8192 * 128;
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &full), flops / 50e12, 1e-12);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &causal), flops / 50e12 / 2, 1e-12);
    RhKernel backward = attention(RH_KERNEL_ATTENTION_BACKWARD, 8192, true);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &backward), 2.5 * flops / 2 / 25e12, 1e-12);
    backward.flops = 1e12; /* given flops win over the shape's */
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &backward), 1e12 / 25e12, 1e-12);
}

/* Keys of 192 columns and values of 128: forward 2 (192 + 128) a pair, backward three products with
 * keys and two with values; the rate is that of the mean size. */
static void values_may_have_another_head_size_than_keys(void)
{
    g_autoptr(RhDevice) d = toy();
    d->curves.attention_d_half.value = 32;
    rh_device_refresh(d);
    double pairs = 64.0 * 8192 * 8192 / 2, by_head = (1 + 32.0 / 160) / (1 + 32.0 / 128);
    RhKernel forward = attention(RH_KERNEL_ATTENTION, 8192, true);
    RhKernel backward = attention(RH_KERNEL_ATTENTION_BACKWARD, 8192, true);
    double same_s = rh_kernel_time_s(d, &forward);
    forward.v_head = 128; /* as the keys: no difference */
    CU_ASSERT_EQUAL(rh_kernel_time_s(d, &forward), same_s);
    forward.k = backward.k = 192;
    forward.v_head = backward.v_head = 128;
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &forward), pairs * 2 * (192 + 128) / 50e12 * by_head, 1e-12);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &backward),
                   pairs * 2 * (3 * 192 + 2 * 128) / 25e12 * by_head, 1e-12);
    forward.heads = 1; /* 64 blocks of 128 rows on 100 SMs: the longest one */
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &forward),
                   2 * (192 + 128) * 128.0 * 8192 / (50e12 / 100) * by_head, 1e-12);
}

static void few_heads_leave_sms_idle(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = attention(RH_KERNEL_ATTENTION, 1024, true);
    k.heads = 1; /* 8 blocks of 128 rows on 100 SMs */
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), 4.0 * 128 * 1024 * 128 / (50e12 / 100), 1e-12);
}

static void streaming_kernels_reach_half_rate_at_bytes_half(void)
{
    g_autoptr(RhDevice) d = toy();
    for (int cls = RH_KERNEL_SOFTMAX; cls < RH_KERNEL_LAST; cls++) {
        RhKernel k = {.cls = (uint8_t)cls, .bytes = 1e6};
        RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), 2 * 1e6 / 0.5e12, 1e-12);
    }
}

static void scans_reach_a_part_of_their_roof(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel bytes = {.cls = RH_KERNEL_SCAN, .m = 4096, .bytes = 1e9}, flops = bytes, token = bytes;
    flops.flops = 1e13;
    token.m = 1;
    double bytes_s = rh_kernel_time_s(d, &bytes), flops_s = rh_kernel_time_s(d, &flops);
    CU_ASSERT_TRUE(flops_s > bytes_s);
    d->curves.scan_frac.value = 0.25;
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &bytes), 4 * bytes_s, 1e-12);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &flops), 4 * flops_s, 1e-12);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &token), bytes_s, 1e-12);
}

static void the_clock_slows_compute_and_not_memory(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel compute = gemm(1280, 1280, 8192), memory = {.cls = RH_KERNEL_NORM, .bytes = 1e9};
    double compute_s = rh_kernel_time_s(d, &compute), memory_s = rh_kernel_time_s(d, &memory);
    d->curves.sustained_clock_frac.value = 0.8;
    rh_device_refresh(d);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &compute), compute_s / 0.8, 1e-12);
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &memory), memory_s, 1e-12);
}

static void a_device_without_fp8_runs_it_as_bf16(void)
{
    g_autoptr(RhDevice) d = toy();
    RhKernel k = gemm(1280, 1280, 8192), k8 = k;
    k8.dtype = RH_DTYPE_FP8;
    CU_ASSERT_EQUAL(rh_kernel_time_s(d, &k8), rh_kernel_time_s(d, &k));
}

static void explanations_add_up_to_the_time(void)
{
    for (const char *const *name = rh_device_names(); *name != NULL; name++) {
        g_autoptr(RhDevice) d = rh_device_load(*name, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(d);
        RhKernel kernels[] = {
            gemm(8192, 8192, 8192),
            gemm(1, 8192, 8192),
            gemm(3, 5, 7),
            attention(RH_KERNEL_ATTENTION, 8192, true),
            attention(RH_KERNEL_ATTENTION_BACKWARD, 2048, true),
            {.cls = RH_KERNEL_NORM, .bytes = 1e9},
            {.cls = RH_KERNEL_ADD, .bytes = 10},
            {0},
        };
        for (size_t i = 0; i < G_N_ELEMENTS(kernels); i++) {
            g_autoptr(RhCost) cost = rh_kernel_explain(d, &kernels[i]);
            RH_CHECK_CLOSE(cost->value_s, rh_kernel_time_s(d, &kernels[i]), 1e-12);
            CU_ASSERT_TRUE(rh_cost_check(cost, 1e-9));
        }
    }
}

static void check_fact(const RhFact *fact)
{
    CU_ASSERT_TRUE(isfinite(fact->value));
    CU_ASSERT_NOT_EQUAL(fact->tag, RH_TAG_NONE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fact->source);
    CU_ASSERT_TRUE(strlen(fact->source) > 5);
}

static void every_fact_of_the_catalogue_has_a_source(void)
{
    int count = 0;
    for (const char *const *name = rh_device_names(); *name != NULL; name++, count++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhDevice) d = rh_device_load(*name, &error);
        if (d == NULL)
            CU_FAIL_FATAL(error->message);
        CU_ASSERT_STRING_EQUAL(d->name, *name);
        const RhDeviceCurves *c = &d->curves;
        const RhFact *facts[] = {&d->hbm_bytes,
                                 &d->hbm_bytes_per_s,
                                 &c->gemm_peak_frac[RH_DTYPE_BF16],
                                 &c->gemm_k_half,
                                 &c->gemm_launch_s,
                                 &c->gemm_memory_frac,
                                 &c->gemm_overlap_frac,
                                 &c->gemm_wave_tail_frac,
                                 &c->gemm_k_split,
                                 &c->attention_peak_frac,
                                 &c->attention_backward_frac,
                                 &c->attention_s_half,
                                 &c->attention_d_half,
                                 &c->memory_peak_frac,
                                 &c->memory_bytes_half,
                                 &c->sustained_clock_frac,
                                 &c->kernel_floor_s,
                                 &d->peak_flops_per_s[RH_DTYPE_BF16]};
        for (size_t i = 0; i < G_N_ELEMENTS(facts); i++)
            check_fact(facts[i]);
        for (int i = 0; i < c->tiles_count; i++)
            check_fact(&c->tiles[i].rate_frac);
    }
    CU_ASSERT_TRUE(count >= 29);
}

/* Data sheet alone: everything else is the reference's value, and nothing but an assumption. */
#define SHEET                                                                                      \
    "\"sms\": 100, \"peak\": {\"bf16\": " FACT("\"500TFLOP/s\"") "}, \"hbm\": " FACT(              \
        "\"64GiB\"") ", \"hbm_bandwidth\": " FACT("\"2TB/s\"") ", \"power\": " FACT("\"400W\"")

static void a_data_sheet_is_enough(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhDevice) own =
        parse("{\"name\": \"mine\", \"generation\": \"hopper\", " SHEET "}", &error);
    if (own == NULL)
        CU_FAIL_FATAL(error->message);
    g_autoptr(RhDevice) h100 = rh_device_load("h100-sxm", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(h100);
    CU_ASSERT_EQUAL(own->curves.tiles_count, h100->curves.tiles_count);
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++) {
        if (!rh_facts_of_generation(&rows[i]))
            continue;
        const RhFact *mine = (const RhFact *)(const void *)((const char *)own + rows[i].offset);
        const RhFact *its = (const RhFact *)(const void *)((const char *)h100 + rows[i].offset);
        bool few_rows = mine == &own->curves.gemm_few_rows_frac; /* of the generation alone */
        CU_ASSERT_TRUE(mine->value == its->value || (few_rows && mine->value > 0));
        CU_ASSERT_TRUE(its->tag == RH_TAG_NONE || mine->tag == RH_TAG_ASSUMED);
        CU_ASSERT_TRUE(its->tag == RH_TAG_NONE || strstr(mine->source, "h100-sxm") != NULL);
        CU_ASSERT_TRUE(mine->low == 0 && mine->high == 0);
    }
    /* Twice the FLOP/s, bytes and rates over, a large GEMM takes half as long. */
    own->peak_flops_per_s[RH_DTYPE_BF16].value = 2 * h100->peak_flops_per_s[RH_DTYPE_BF16].value;
    own->hbm_bytes_per_s.value = 2 * h100->hbm_bytes_per_s.value;
    own->sms_count = h100->sms_count;
    own->curves.gemm_launch_s.value = h100->curves.gemm_launch_s.value = 0;
    rh_device_refresh(own);
    rh_device_refresh(h100);
    RhKernel k = gemm(8192, 8192, 8192);
    RH_CHECK_CLOSE(rh_kernel_time_s(own, &k), rh_kernel_time_s(h100, &k) / 2, 1e-12);
}

static void what_a_data_sheet_says_itself_stands(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhDevice) own = parse(
        "{\"name\": \"mine\", \"generation\": \"ampere\", " SHEET
        ", \"sustained_clock\": " FACT("0.5") ", \"gemm\": {\"launch\": " FACT("\"9us\"") "}}",
        &error);
    if (own == NULL)
        CU_FAIL_FATAL(error->message);
    CU_ASSERT_EQUAL(own->curves.sustained_clock_frac.value, 0.5);
    CU_ASSERT_STRING_EQUAL(own->curves.sustained_clock_frac.source, "test");
    RH_CHECK_CLOSE(own->curves.gemm_launch_s.value, 9e-6, 1e-12);
    CU_ASSERT_TRUE(own->curves.gemm_k_half.value > 0 && own->curves.tiles_count > 0);
    /* Data sheets that lack a figure, or name an unknown generation. */
    static const char *const wrong[] = {
        "{\"name\": \"mine\", \"generation\": \"hooper\", " SHEET "}",
        "{\"name\": \"mine\", \"generation\": \"hopper\", \"sms\": 100}",
        "{\"name\": \"mine\", " SHEET "}",
        /* a reference has no other to ask */
        "{\"name\": \"h100-sxm\", \"generation\": \"hopper\", " SHEET "}",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) why = NULL;
        CU_ASSERT_PTR_NULL(parse(wrong[i], &why));
        CU_ASSERT_TRUE(g_error_matches(why, RH_ERROR, RH_ERROR_INPUT));
    }
}

/* Half of 700 W: the clock is the cube root of a half, compute waits for it and memory does not. */
static void a_power_limit_lowers_the_clock(void)
{
    g_autoptr(RhDevice) free_one = rh_device_load("h100-sxm", NULL);
    g_autoptr(RhDevice) limited = rh_device_load("h100-sxm", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(limited);
    CU_ASSERT_EQUAL(rh_device_limit_clock_frac(limited), 1);
    limited->power_limit_w.value = 350;
    rh_device_refresh(limited);
    RH_CHECK_CLOSE(rh_device_limit_clock_frac(limited), cbrt(0.5), 1e-12);
    CU_ASSERT_EQUAL(rh_device_power_w(limited), 350);
    RhKernel attend = attention(RH_KERNEL_ATTENTION, 8192, true);
    RhKernel stream = {.cls = RH_KERNEL_NORM, .bytes = 1e9};
    RH_CHECK_CLOSE(rh_kernel_time_s(limited, &attend),
                   rh_kernel_time_s(free_one, &attend) / cbrt(0.5), 1e-12);
    CU_ASSERT_EQUAL(rh_kernel_time_s(limited, &stream), rh_kernel_time_s(free_one, &stream));
    limited->power_limit_w.value = 900; /* no more than it draws */
    CU_ASSERT_EQUAL(rh_device_limit_clock_frac(limited), 1);
    CU_ASSERT_EQUAL(rh_device_power_w(limited), 700);
}

/* A V100 has matrix units for fp16 alone. */
static void a_dtype_without_units_is_slow(void)
{
    g_autoptr(RhDevice) d = rh_device_load("v100-sxm-32", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    RhKernel half = gemm(8192, 8192, 8192), brain = half;
    half.dtype = RH_DTYPE_FP16;
    CU_ASSERT_TRUE(rh_kernel_time_s(d, &brain) > 5 * rh_kernel_time_s(d, &half));
    half = brain = attention(RH_KERNEL_ATTENTION, 8192, true);
    half.dtype = RH_DTYPE_FP16;
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &brain), rh_kernel_time_s(d, &half) * 125 / 15.7, 1e-9);
}

/* Rows of the tables that were fitted (aiconfigurator 095f58a51), typical of training.
 * Source: aiconfigurator 095f58a51, gemm_perf.txt of an H100. */
static void typical_gemms_come_out_as_tabulated(void)
{
    static const struct {
        const char *device;
        int64_t m, n, k;
        double s, tolerance;
    } rows[] = {
        {"h100-sxm", 4096, 4096, 4096, 174.3e-6, 0.08},
        {"h100-sxm", 8192, 4096, 4096, 343.6e-6, 0.08},
        {"h100-sxm", 2048, 4096, 4096, 87.96e-6, 0.08},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhDevice) d = rh_device_load(rows[i].device, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(d);
        d->curves.sustained_clock_frac.value = 1; /* tables are timed at boost */
        rh_device_refresh(d);
        RhKernel k = gemm(rows[i].m, rows[i].n, rows[i].k);
        RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), rows[i].s, rows[i].tolerance);
    }
}

static void larger_kernels_never_take_less_time_per_whole_tile(void)
{
    g_autoptr(RhDevice) d = rh_device_load("a100-sxm-80", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    double before_s = 0;
    for (int64_t k = 256; k <= 65536; k *= 2) {
        RhKernel kernel = gemm(4096, 4096, k);
        CU_ASSERT_TRUE(rh_kernel_time_s(d, &kernel) > before_s);
        before_s = rh_kernel_time_s(d, &kernel);
    }
    before_s = 0;
    for (int64_t m = 256; m <= 65536; m += 256) {
        RhKernel kernel = gemm(m, 4096, 4096);
        CU_ASSERT_TRUE(rh_kernel_time_s(d, &kernel) >= before_s);
        before_s = rh_kernel_time_s(d, &kernel);
    }
}

static void copies_are_independent(void)
{
    g_autoptr(RhDevice) d = toy();
    g_autoptr(RhDevice) copy = rh_device_copy(d);
    CU_ASSERT_STRING_EQUAL(copy->hash, d->hash);
    copy->hbm_bytes_per_s.value = 2e12;
    rh_device_refresh(copy);
    RhKernel k = {.cls = RH_KERNEL_NORM, .bytes = 1e9};
    RH_CHECK_CLOSE(rh_kernel_time_s(d, &k), 2 * rh_kernel_time_s(copy, &k), 1e-9);
}

static void bad_devices_are_refused(void)
{
    g_autoptr(GError) unknown = NULL, odd = NULL, empty = NULL;
    CU_ASSERT_PTR_NULL(rh_device_load("h100-sxn", &unknown));
    CU_ASSERT_TRUE(g_error_matches(unknown, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(unknown->message, "h100-sxm"));
    CU_ASSERT_PTR_NULL(parse(TOY_HEAD "100" TOY_TAIL, &odd));
    CU_ASSERT_TRUE(g_error_matches(odd, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NULL(parse("{}", &empty));
    CU_ASSERT_TRUE(g_error_matches(empty, RH_ERROR, RH_ERROR_INPUT));
    g_autoptr(GError) missing = NULL;
    CU_ASSERT_PTR_NULL(rh_device_load("/nowhere/x.json", &missing));
    CU_ASSERT_TRUE(g_error_matches(missing, RH_ERROR, RH_ERROR_IO));
}

#define TEST(fn)                                                                                   \
    {                                                                                              \
#fn, fn                                                                                    \
    }
int main(void)
{
    return rh_test_main("device", (RhTest[]){
                                      TEST(a_data_sheet_is_enough),
                                      TEST(what_a_data_sheet_says_itself_stands),
                                      TEST(a_power_limit_lowers_the_clock),
                                      TEST(a_dtype_without_units_is_slow),
                                      TEST(whole_waves_run_at_peak),
                                      TEST(one_tile_more_costs_a_wave),
                                      TEST(a_wave_tail_of_zero_costs_only_its_tiles),
                                      TEST(gradients_of_narrow_activations_have_their_rate),
                                      TEST(few_rows_fill_no_tile),
                                      TEST(few_rows_are_of_the_generation),
                                      TEST(a_small_grid_is_split_along_k),
                                      TEST(batches_count_as_tiles),
                                      TEST(thin_gemms_are_bound_by_memory),
                                      TEST(no_kernel_beats_the_floor),
                                      TEST(attention_runs_at_its_rate_and_causal_at_half_the_work),
                                      TEST(values_may_have_another_head_size_than_keys),
                                      TEST(few_heads_leave_sms_idle),
                                      TEST(streaming_kernels_reach_half_rate_at_bytes_half),
                                      TEST(scans_reach_a_part_of_their_roof),
                                      TEST(the_clock_slows_compute_and_not_memory),
                                      TEST(a_device_without_fp8_runs_it_as_bf16),
                                      TEST(explanations_add_up_to_the_time),
                                      TEST(every_fact_of_the_catalogue_has_a_source),
                                      TEST(typical_gemms_come_out_as_tabulated),
                                      TEST(larger_kernels_never_take_less_time_per_whole_tile),
                                      TEST(copies_are_independent),
                                      TEST(bad_devices_are_refused),
                                      {0},
                                  });
}
