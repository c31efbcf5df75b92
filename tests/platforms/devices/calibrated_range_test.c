/* Which shapes a device's constants are of, and what of a step lies beyond. */
#include "platforms/devices/calibrated_range.h"

#include <string.h>

#include "platforms/profile.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static const RhKernel gemm = {.cls = RH_KERNEL_GEMM, .m = 100, .n = 200, .k = 300};

static void what_is_not_known_is_not_claimed(void)
{
    RhCalibratedRange none = {0};
    CU_ASSERT_EQUAL(rh_calibrated_range_beyond(&none, RH_CALIBRATED_RANGE_GEMM, &gemm), -1);
    CU_ASSERT_EQUAL(rh_calibrated_range_kind(&(RhKernel){.cls = RH_KERNEL_NORM}),
                    RH_CALIBRATED_RANGE_LAST);
}

static void shapes_hold_what_they_were_given(void)
{
    RhCalibratedRange s = {.source = "test", .date = ""};
    RhKernel smaller = gemm, larger = gemm;
    smaller.m = 50;
    larger.k = 900;
    rh_calibrated_range_hold(&s, RH_CALIBRATED_RANGE_GEMM, &smaller);
    rh_calibrated_range_hold(&s, RH_CALIBRATED_RANGE_GEMM, &larger);
    CU_ASSERT_EQUAL(rh_calibrated_range_beyond(&s, RH_CALIBRATED_RANGE_GEMM, &gemm), -1);
    smaller.m = 49;
    larger.k = 901;
    CU_ASSERT_EQUAL(rh_calibrated_range_beyond(&s, RH_CALIBRATED_RANGE_GEMM, &smaller), 0);
    CU_ASSERT_EQUAL(rh_calibrated_range_beyond(&s, RH_CALIBRATED_RANGE_GEMM, &larger), 2);
}

static bool read_text(const char *text, RhCalibratedRange *out)
{
    g_autoptr(RhJson) doc = rh_json_parse("shapes.json", text, strlen(text), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    rh_calibrated_range_read(doc, rh_json_root(doc), RH_CALIBRATED_RANGE_GEMM, out);
    return rh_json_finish(doc, NULL);
}

static void ranges_are_two_numbers_the_least_first(void)
{
    RhCalibratedRange s = {0};
    CU_ASSERT_TRUE(
        read_text("{\"m\": [1, 8], \"n\": [2, 9], \"k\": [3, 3], \"source\": \"x\"}", &s));
    CU_ASSERT_EQUAL(s.high[1], 9);
    CU_ASSERT_FALSE(
        read_text("{\"m\": [8, 1], \"n\": [2, 9], \"k\": [3, 3], \"source\": \"x\"}", &s));
    CU_ASSERT_FALSE(read_text("{\"m\": [1], \"n\": [2, 9], \"k\": [3, 3], \"source\": \"x\"}", &s));
    CU_ASSERT_FALSE(read_text("{\"m\": [1, 8], \"n\": [2, 9], \"k\": [3, 3]}", &s));
}

static void what_is_written_reads_back(void)
{
    static const RhCalibratedRange ranges[RH_CALIBRATED_RANGE_LAST] = {
        [RH_CALIBRATED_RANGE_GEMM] = {{1, 2, 3}, {8, 9, 10}, "tables", "2026-11"},
        [RH_CALIBRATED_RANGE_ATTENTION] = {{16}, {4096}, "tables", "2026-11"}};
    for (RhCalibratedKind kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++) {
        g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
        rh_json_begin_object(w, NULL);
        rh_calibrated_range_write(w, "shapes", kind, &ranges[kind]);
        rh_json_end_object(w);
        g_autofree char *text = rh_json_writer_steal(w);
        g_autoptr(RhJson) doc = rh_json_parse("written.json", text, strlen(text), NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
        RhCalibratedRange back = {0};
        rh_calibrated_range_read(doc, rh_json_object_or_null(doc, rh_json_root(doc), "shapes"),
                                 kind, &back);
        CU_ASSERT_TRUE(rh_json_finish(doc, NULL));
        for (int axis = 0; axis < RH_CALIBRATED_RANGE_AXES; axis++) {
            CU_ASSERT_EQUAL(back.low[axis], ranges[kind].low[axis]);
            CU_ASSERT_EQUAL(back.high[axis], ranges[kind].high[axis]);
        }
        CU_ASSERT_STRING_EQUAL(back.source, "tables");
        CU_ASSERT_STRING_EQUAL(back.date, "2026-11");
    }
}

static double share(TrainKit *k, const char *layout, RhCalibratedKind kind)
{
    RhExtrapolated beyond[RH_CALIBRATED_RANGE_LAST];
    RhLayout l = train_layout(k, layout);
    rh_run_metrics_extrapolated(&k->c, &l, beyond);
    return beyond[kind].share_frac;
}

/* The H100's tables of attention end at 16,384 keys, those of GEMMs at 32,768 rows. */
static void long_sequences_leave_the_tables(void)
{
    g_auto(TrainKit) usual = train_kit("llama-3.1-8b", "h100-sxm:8x1", "megatron", 8, 8192);
    CU_ASSERT_EQUAL(share(&usual, "tp8", RH_CALIBRATED_RANGE_ATTENTION), 0);
    CU_ASSERT_EQUAL(share(&usual, "tp8", RH_CALIBRATED_RANGE_GEMM), 0);
    g_auto(TrainKit) longer = train_kit("llama-3.1-8b", "h100-sxm:8x1", "megatron", 8, 65536);
    CU_ASSERT_TRUE(share(&longer, "tp8", RH_CALIBRATED_RANGE_ATTENTION) > 0.5);
    CU_ASSERT_TRUE(share(&longer, "tp8", RH_CALIBRATED_RANGE_ATTENTION) < 1);
    double gemms = share(&longer, "tp8", RH_CALIBRATED_RANGE_GEMM);
    CU_ASSERT_TRUE(gemms > 0.1 && gemms < 0.5);
}

/* Constants of its own, of shapes that it does not say: the device's are not theirs. */
static void a_profile_without_shapes_takes_them_away(void)
{
    static const char text[] =
        "{\"schema\": \"rehearse.profile/1\", \"device\": \"h100-sxm\", \"facts\": "
        "{\"device.gemm.k_half\": {\"value\": 90, \"tag\": \"fitted\", \"source\": \"x\", "
        "\"date\": \"2026-11\"}}}";
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:8x1", NULL);
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), NULL);
    CU_ASSERT_TRUE_FATAL(p && doc && p->device->curves.shapes[RH_CALIBRATED_RANGE_GEMM].source);
    CU_ASSERT_TRUE(rh_platform_apply_profile_json(p, doc, NULL));
    CU_ASSERT_PTR_NULL(p->device->curves.shapes[RH_CALIBRATED_RANGE_GEMM].source);
    CU_ASSERT_PTR_NOT_NULL(p->device->curves.shapes[RH_CALIBRATED_RANGE_ATTENTION].source);
}

int main(void)
{
    return rh_test_main(
        "calibrated_range",
        (RhTest[]){
            {"what_is_not_known_is_not_claimed", what_is_not_known_is_not_claimed},
            {"shapes_hold_what_they_were_given", shapes_hold_what_they_were_given},
            {"ranges_are_two_numbers_the_least_first", ranges_are_two_numbers_the_least_first},
            {"what_is_written_reads_back", what_is_written_reads_back},
            {"long_sequences_leave_the_tables", long_sequences_leave_the_tables},
            {"a_profile_without_shapes_takes_them_away", a_profile_without_shapes_takes_them_away},
            {0}});
}
