/* All-reduce by an engine's own kernels: the curve, what is unknown, its table and its file. */
#include "platforms/devices/custom_allreduce.h"

#include <math.h>
#include <string.h>

#include "calibrate/kernels/kernels_fit.h"
#include "platforms/profile.h"
#include "tests/kit/testkit.h"

#define OWN_HEADER                                                                                 \
    "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,latency\n"
#define NCCL_HEADER                                                                                \
    "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"

static void times_lie_on_lines_between_knots_and_ranks(void)
{
    const RhPeerReduce peers = {
        .curves_count = 2,
        .curves = {{2, 3, {1e3, 2e3, 4e3}, {1e-6, 2e-6, 6e-6}}, {8, 2, {1e3, 2e3}, {7e-6, 14e-6}}}};
    RH_CHECK_CLOSE(rh_peer_reduce_of_s(&peers, 2, 10), 1e-6, 1e-12);
    RH_CHECK_CLOSE(rh_peer_reduce_of_s(&peers, 2, 3e3), 4e-6, 1e-12);
    RH_CHECK_CLOSE(rh_peer_reduce_of_s(&peers, 2, 6e3), 10e-6, 1e-12);
    RH_CHECK_CLOSE(rh_peer_reduce_of_s(&peers, 4, 1e3), 3e-6, 1e-12); /* a third of the way */
    CU_ASSERT_EQUAL(rh_peer_reduce_of_s(&peers, 1, 1e9), 0);
    CU_ASSERT_EQUAL(rh_peer_reduce_of_s(&peers, 16, 1e3), HUGE_VAL);
    CU_ASSERT_EQUAL(rh_peer_reduce_of_s(&(RhPeerReduce){0}, 2, 1e3), HUGE_VAL);
}

static const RhPeerCurve *fit(RhSurfacesFit **fit, const char *own, const char *nccl)
{
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)rh_tables_free);
    g_autoptr(RhDevice) device = rh_device_load("h200-sxm", NULL);
    const char *const texts[] = {own, nccl};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        RhKernelTables *t = rh_tables_parse("t.csv", texts[i], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(t);
        g_ptr_array_add(tables, t);
    }
    *fit = rh_surfaces_fit(tables, device, 0.2, "2026-11", 0, NULL);
    CU_ASSERT_TRUE_FATAL(*fit && (*fit)->peers.curves_count == 1);
    return &(*fit)->peers.curves[0];
}

/* Elements are two bytes each; of eager launches, and of other formats, nothing is taken; NCCL counts
 * where it is quicker, and a slow size takes the time of a larger one. */
static void a_table_becomes_a_curve_that_ascends(void)
{
    g_autoptr(RhSurfacesFit) made = NULL;
    const RhPeerCurve *c =
        fit(&made,
            OWN_HEADER "vLLM,1,NVIDIA H200,all_reduce,graph,bfloat16,8,128,0.004\n"
                       "vLLM,1,NVIDIA H200,all_reduce,eager,bfloat16,8,128,0.001\n"
                       "vLLM,1,NVIDIA H200,all_reduce,graph,bfloat16,8,256,0.025\n"
                       "vLLM,1,NVIDIA H200,all_reduce,graph,bfloat16,8,512,0.017\n"
                       "vLLM,1,NVIDIA H200,all_reduce,graph,bfloat16,8,1024,0.9\n",
            NCCL_HEADER "TRTLLM,2,NVIDIA H200,all_reduce,NCCL,half,8,1024,0.03\n"
                        "TRTLLM,2,NVIDIA H200,all_gather,NCCL,half,8,128,0.001\n"
                        "TRTLLM,2,NVIDIA H200,all_reduce,NCCL,int8,8,128,0.001\n");
    static const double bytes[] = {256, 512, 1024, 2048}, us[] = {4, 17, 17, 30};
    CU_ASSERT_TRUE_FATAL(c->ranks == 8 && c->count == 4);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(c->bytes[i], bytes[i]);
        RH_CHECK_CLOSE(c->seconds[i], 1e-6 * us[i], 1e-9);
    }
}

static void a_profile_brings_its_curves_to_the_device(void)
{
    g_autoptr(RhSurfacesFit) made = NULL;
    const RhPeerCurve *c =
        fit(&made,
            OWN_HEADER "vLLM,1,NVIDIA H200,all_reduce,graph,bfloat16,4,128,0.004\n"
                       "vLLM,1,NVIDIA H200,all_reduce,graph,bfloat16,4,1024,0.008\n",
            NCCL_HEADER);
    g_autofree char *text = rh_kernels_fit_profile(NULL, "h200-sxm", made);
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), NULL);
    g_autoptr(RhPlatform) p = rh_platform_load("h200-sxm:1x1", NULL);
    CU_ASSERT_EQUAL(rh_peer_reduce_s(p->device, 4, 1e3), HUGE_VAL);
    CU_ASSERT_TRUE_FATAL(doc && rh_platform_apply_profile_json(p, doc, NULL));
    RH_CHECK_CLOSE(rh_peer_reduce_s(p->device, 4, 1e3), rh_peer_curve_s(c, 1e3), 1e-9);
}

/* More bytes take no less, and none travel faster than NVLink's 900 GB/s of a B200. */
static void shipped_curves_ascend(void)
{
    for (const char *const *name = rh_kernels_profile_names(); *name; name++) {
        g_auto(GStrv) words = g_strsplit(*name, "-", 3);
        bool rack = g_str_has_prefix(*name, "gb"); /* its name has one word */
        g_autofree char *spec =
            rack ? g_strdup_printf("%s:1x1", words[0])
                 : g_strdup_printf("%s-%s%s:1x1", words[0], words[1],
                                   g_str_has_prefix(words[2], "80-") ? "-80" : "");
        g_autoptr(RhPlatform) p = rh_platform_load(spec, NULL);
        CU_ASSERT_TRUE_FATAL(p && rh_platform_apply_profile(p, *name, NULL));
        for (int32_t ranks = 2; ranks <= 8; ranks++)
            for (double bytes = 256; bytes < 1e9; bytes *= 1.5) {
                double s = rh_peer_reduce_s(p->device, ranks, bytes);
                CU_ASSERT_TRUE(s > 1e-6 && s <= rh_peer_reduce_s(p->device, ranks, 2 * bytes));
                CU_ASSERT_TRUE(bytes / s < 900e9);
            }
        CU_ASSERT_EQUAL(rh_peer_reduce_s(p->device, 72, 1e6), HUGE_VAL);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"times lie on lines between knots and ranks", times_lie_on_lines_between_knots_and_ranks},
        {"a table becomes a curve that ascends", a_table_becomes_a_curve_that_ascends},
        {"a profile brings its curves to the device", a_profile_brings_its_curves_to_the_device},
        {"shipped curves ascend", shipped_curves_ascend},
        {NULL, NULL}};
    return rh_test_main("peer_reduce", tests);
}
