/* Traces of a profiler: times put in come out, by class, and what no kernel hides. */
#include "validate/runs/gpu_trace.h"

#include <string.h>

#include "base/error.h"
#include "base/text/gzip_file.h"
#include "tests/kit/testkit.h"
#include "validate/runs/kernel_names.h"

static RhRunLog *read(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhRunLog *log = rh_gpu_trace_parse("trace.json", text, strlen(text), &error);
    g_assert_no_error(error);
    return log;
}

#define EVENT(cat, name, ts, dur, args)                                                            \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name "\", \"pid\": 0, \"tid\": 7, "       \
    "\"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
#define KERNEL(name, ts, dur) EVENT("kernel", name, ts, dur, "\"device\": 0, \"stream\": 7")
#define HEAD                                                                                          \
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"distributedInfo\": {\"backend\": " \
    "\"nccl\", \"rank\": 3, \"world_size\": 16}, \"traceEvents\": ["

/* Steps of 1,000 us: 400 of GEMM, 100 of which an all-gather hides; it runs 200 alone, then 100 of a
 * norm, and 300 nothing. */
#define STEP(n, t0, t1, t2, t3)                                                                    \
    EVENT("gpu_user_annotation", "ProfilerStep#" n, t0, "900", "\"device\": 0")                    \
    ", " KERNEL("nvjet_hsh_128x256", t0, "400") ", " KERNEL(                                       \
        "ncclDevKernel_AllGather_RING_LL", t1,                                                     \
        "300") ", " KERNEL("ln_fwd_tuned", t2, "100") ", " EVENT("gpu_memcpy", "Memcpy HtoD", t3,  \
                                                                 "50", "\"device\": 0")

static const char two_steps[] = HEAD STEP("7", "1000", "1300", "1600", "1620") ", " STEP(
    "8", "2000", "2300", "2600", "2620") "]}";

static void a_step_is_parted_into_what_runs(void)
{
    g_autoptr(RhRunLog) log = read(two_steps);
    const RhStepParts *p = log->parts;
    CU_ASSERT_EQUAL(log->samples->len, 2);
    CU_ASSERT_EQUAL(log->rank, 3);
    CU_ASSERT_EQUAL(log->said[RH_SAID_GPUS].value, 16);
    RH_CHECK_CLOSE(g_array_index(log->samples, RhRunSample, 0).seconds, 1e-3, 1e-9);
    CU_ASSERT_EQUAL(log->parts_step, 7);
    RH_CHECK_CLOSE(p->busy_s[RH_PART_GEMM], 400e-6, 1e-9);
    RH_CHECK_CLOSE(p->busy_s[RH_PART_ALL_GATHER], 300e-6, 1e-9);
    RH_CHECK_CLOSE(p->busy_s[RH_PART_MEMORY], 100e-6, 1e-9);
    RH_CHECK_CLOSE(p->busy_s[RH_PART_COPY], 50e-6, 1e-9);
    RH_CHECK_CLOSE(p->compute_s, 500e-6, 1e-9);
    RH_CHECK_CLOSE(p->exposed_s, 200e-6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(p->copies_s, 0, 1e-12);
    RH_CHECK_CLOSE(p->idle_s, 300e-6, 1e-9);
}

/* Kernels of a step that only the CPU marks run later than its call, so the last step is left out. */
static void steps_of_the_cpu_last_until_the_next(void)
{
    g_autoptr(RhRunLog) log =
        read(HEAD EVENT("user_annotation", "ProfilerStep#4", "0", "10", "") ", " EVENT(
            "user_annotation", "ProfilerStep#5", "500", "10",
            "") ", " EVENT("user_annotation", "ProfilerStep#6", "1000", "10",
                           "") ", " KERNEL("gemm", "100",
                                           "300") ", " KERNEL("gemm", "600",
                                                              "300") ", " KERNEL("gemm", "1100",
                                                                                 "300") "]}");
    CU_ASSERT_EQUAL(log->samples->len, 2);
    RH_CHECK_CLOSE(log->typical.seconds, 500e-6, 1e-9);
    RH_CHECK_CLOSE(log->parts->idle_s, 200e-6, 1e-9);
}

static void without_marks_the_whole_is_a_step(void)
{
    g_autoptr(RhRunLog) log = read(HEAD KERNEL("gemm", "100", "300") ", " EVENT(
        "kernel", "gemm", "100", "100", "\"device\": 1") ", " KERNEL("add", "500", "100") "]}");
    CU_ASSERT_TRUE(log->whole_trace);
    CU_ASSERT_EQUAL(log->devices, 2);
    RH_CHECK_CLOSE(log->typical.seconds, 500e-6, 1e-9);
    RH_CHECK_CLOSE(log->parts->busy_s[RH_PART_GEMM], 300e-6, 1e-9);
}

/* Kernels' names as libraries print them. */
static void kernels_are_told_by_their_names(void)
{
    static const struct {
        const char *name, *category, *collective;
        RhStepPart part;
    } rows[] = {
        {"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", "kernel", "", RH_PART_GEMM},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "kernel", "", RH_PART_GEMM},
        {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", "kernel", "", RH_PART_GEMM},
        {"Cijk_Alik_Bljk_BBS_BH_Bias_MT256x256x64", "kernel", "", RH_PART_GEMM},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", "kernel", "",
         RH_PART_ATTENTION},
        {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", "kernel", "",
         RH_PART_ATTENTION},
        {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", "kernel", "", RH_PART_ATTENTION},
        {"triton_poi_fused_add_mul_silu_3", "Kernel", "", RH_PART_MEMORY},
        {"multi_tensor_apply_kernel<AdamFunctor>", "kernel", "", RH_PART_MEMORY},
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)", "kernel", "",
         RH_PART_ALL_REDUCE},
        {"ncclDevKernel_ReduceScatter_Sum_f32_NVLS", "kernel", "", RH_PART_REDUCE_SCATTER},
        {"ncclDevKernel_SendRecv", "kernel", "", RH_PART_SEND_RECV},
        {"ncclDevKernel_SendRecv", "kernel", "all_to_allv", RH_PART_ALL_TO_ALL},
        {"ncclKernel_Broadcast_RING_LL_Sum_int8_t", "kernel", "", RH_PART_COLLECTIVE},
        {"void deep_ep::internode::dispatch<false, 7, true>", "kernel", "", RH_PART_ALL_TO_ALL},
        {"Memcpy DtoD (Device -> Device)", "gpu_memcpy", "", RH_PART_COPY}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        CU_ASSERT_EQUAL(rh_kernel_name_part(rows[i].name, rows[i].category, rows[i].collective),
                        rows[i].part);
}

static void what_is_wrong_is_said_with_its_place(void)
{
    static const struct {
        const char *text, *part;
    } rows[] = {{"{\"traceEvents\": [1]}", "t:1:18: an event"},
                {"{\"traceEvents\": [{\"ph\": \"X\", \"ts\":\n -1}]}", "t:2:2: a time"},
                {"{\"traceEvents\": [{\"ph\": \"X\"", "ends inside a value"},
                {"{\"traceEvents\": [,]}", "t:1:18:"},
                {"{\"traceEvents\": []}", "no kernel of a GPU"},
                {"{\"traceEvents\": []} x", "behind the document"},
                {"[]", "an object"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_gpu_trace_parse("t", rows[i].text, strlen(rows[i].text), &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, rows[i].part));
    }
}

/* A gzipped file, and its beginning, are read as the plain one. */
static void gzip_changes_nothing(void)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "gpu_trace_test.json.gz", NULL);
    g_autoptr(GBytes) packed = rh_bytes_pack(two_steps, strlen(two_steps));
    gsize length = 0;
    const char *bytes = g_bytes_get_data(packed, &length);
    CU_ASSERT_TRUE(g_file_set_contents(path, bytes, (gssize)length, NULL));
    CU_ASSERT_TRUE(rh_gpu_trace_is(path));
    g_autoptr(RhRunLog) log = rh_run_log_load(path, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    RH_CHECK_CLOSE(log->parts->exposed_s, 200e-6, 1e-9);
    CU_ASSERT_FALSE(rh_gpu_trace_begins("{\"schema\": \"rehearse.plan/1\"}"));
    CU_ASSERT_EQUAL(remove(path), 0);
}

int main(void)
{
    return rh_test_main(
        "gpu_trace",
        (RhTest[]){{"a_step_is_parted_into_what_runs", a_step_is_parted_into_what_runs},
                   {"steps_of_the_cpu_last_until_the_next", steps_of_the_cpu_last_until_the_next},
                   {"without_marks_the_whole_is_a_step", without_marks_the_whole_is_a_step},
                   {"kernels_are_told_by_their_names", kernels_are_told_by_their_names},
                   {"what_is_wrong_is_said_with_its_place", what_is_wrong_is_said_with_its_place},
                   {"gzip_changes_nothing", gzip_changes_nothing},
                   {0}});
}
