/* The catalogue's profiles: each is laid over its device, and says where it is from. */
#include "platforms/profile.h"

#include <string.h>
#include <unistd.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "platforms/platform_constants.h"
#include "tests/kit/testkit.h"

static RhJson *load(const char *name)
{
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    g_autofree char *path =
        g_build_filename(rh_data_dir(), "platforms", "data", "profiles", file, NULL);
    return rh_json_load(path, NULL);
}

/* The platform that the profile's device stands in. */
static RhPlatform *platform_of(const char *name)
{
    g_autoptr(RhJson) doc = load(name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    const char *device = rh_profile_device(doc);
    g_autofree char *spec = g_strconcat(device, ":1x1", NULL);
    CU_ASSERT_TRUE(*device != 0 && g_str_has_prefix(name, device));
    return rh_platform_load(spec, NULL);
}

/* Does a profile bring the forms, too? One engine's does, where the device has tables of its own. */
static bool has_forms(const char *name)
{
    return strstr(name, "trtllm") != NULL && !g_str_has_prefix(name, "b300") &&
           !g_str_has_prefix(name, "gb");
}

static void check_facts(const RhPlatform *p)
{
    size_t count = 0;
    int fitted = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++) {
        const RhFact *fact = rh_facts_seen(p, &rows[i]);
        if (!rows[i].device || fact->tag != RH_TAG_FITTED || fact->high <= 0)
            continue;
        CU_ASSERT_TRUE(fact->low <= fact->value && fact->value <= fact->high);
        CU_ASSERT_TRUE(strlen(fact->source) > 20 && strlen(fact->date) == 7);
        fitted++;
    }
    CU_ASSERT_TRUE(fitted >= 8);
}

static void check_surfaces(const RhDevice *d)
{
    CU_ASSERT_TRUE_FATAL(d->surfaces && d->surfaces->len >= 3);
    for (guint i = 0; i < d->surfaces->len; i++) {
        const RhSurface *s = g_ptr_array_index(d->surfaces, i);
        CU_ASSERT_TRUE(s->error_mean_frac > 0 && s->error_p90_frac > s->error_mean_frac);
        CU_ASSERT_TRUE(strstr(s->source, "aiconfigurator-095f58a51/") ||
                       strstr(s->source, "aiconfigurator-095f58a51-"));
    }
}

static void every_profile_is_of_its_device_and_cites_its_source(void)
{
    int count = 0;
    for (const char *const *name = rh_kernels_profile_names(); *name; name++, count++) {
        g_autoptr(RhPlatform) p = platform_of(*name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_TRUE_FATAL(rh_platform_apply_profile(p, *name, NULL));
        CU_ASSERT_TRUE(strstr(p->profile, *name) != NULL);
        check_surfaces(p->device);
        if (!has_forms(*name))
            continue;
        CU_ASSERT_EQUAL(p->device->correction.dtype, RH_DTYPE_BF16);
        CU_ASSERT_TRUE(p->device->correction.spread_frac > 0);
        check_facts(p);
    }
    CU_ASSERT_TRUE(count >= 12);
}

/* Seconds of one GEMM, and of decoding, of a 70B model on four GPUs. */
static double gemm_s(const RhDevice *d, RhDtype dtype, int64_t m)
{
    RhKernel k = {
        .cls = RH_KERNEL_GEMM, .dtype = (uint8_t)dtype, .batch = 1, .m = m, .n = 14336, .k = 8192};
    return rh_kernel_time_s(d, &k);
}

static double decode_s(const RhDevice *d, RhDtype cache, int64_t batch, int64_t keys)
{
    RhKernel k = {.cls = RH_KERNEL_ATTENTION,
                  .dtype = RH_DTYPE_BF16,
                  .kv_dtype = (uint8_t)cache,
                  .heads = 16,
                  .kv_heads = 2,
                  .batch = batch,
                  .m = 1,
                  .n = keys,
                  .k = 128};
    return rh_kernel_time_s(d, &k);
}

/* Kernels of every engine read their weights and caches no faster than memory allows, take longer
 * for more work, and gain by narrower formats. */
static void serving_times_are_such_as_hardware_allows(void)
{
    for (const char *const *name = rh_kernels_profile_names(); *name; name++) {
        g_autoptr(RhPlatform) p = platform_of(*name);
        CU_ASSERT_TRUE_FATAL(p && rh_platform_apply_profile(p, *name, NULL));
        const RhDevice *d = p->device;
        bool fp8 = rh_device_use_surfaces(p->device, "fp8_block");
        double hbm = d->hbm_bytes_per_s.value, weights_s = 2.0 * 14336 * 8192 / hbm;
        CU_ASSERT_TRUE(gemm_s(d, RH_DTYPE_BF16, 1) > weights_s);
        CU_ASSERT_TRUE(gemm_s(d, RH_DTYPE_BF16, 1) < 2 * weights_s + 5e-6);
        CU_ASSERT_TRUE(gemm_s(d, RH_DTYPE_BF16, 8192) > 4 * gemm_s(d, RH_DTYPE_BF16, 512));
        double cache_s = 64.0 * 2 * 2 * 128 * 2 * 8192 / hbm;
        CU_ASSERT_TRUE(decode_s(d, RH_DTYPE_BF16, 64, 8192) > cache_s);
        CU_ASSERT_TRUE(decode_s(d, RH_DTYPE_BF16, 64, 8192) < 3 * cache_s);
        for (int64_t n = 1024; n < 131072; n *= 2)
            CU_ASSERT_TRUE(decode_s(d, RH_DTYPE_BF16, 64, 2 * n) >
                           1.2 * decode_s(d, RH_DTYPE_BF16, 64, n));
        CU_ASSERT_EQUAL(fp8, strncmp(*name, "a100", 4) != 0);
        if (!fp8)
            continue;
        CU_ASSERT_TRUE(gemm_s(d, RH_DTYPE_FP8, 8192) < 0.75 * gemm_s(d, RH_DTYPE_BF16, 8192));
        CU_ASSERT_TRUE(decode_s(d, RH_DTYPE_FP8, 64, 8192) < decode_s(d, RH_DTYPE_BF16, 64, 8192));
    }
}

static RhPlatform *derived_from(const char *times, GError **error)
{
    g_autofree char *text = g_strdup_printf(
        "{\"schema\": \"rehearse.profile/1\", \"device\": \"b300-sxm\", \"derives\": "
        "\"b200-sxm-vllm-0.24.0\", \"times\": {%s}, \"facts\": {}}",
        times);
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), error);
    g_autoptr(RhPlatform) p = rh_platform_load("b300-sxm:1x1", NULL);
    return doc && rh_platform_apply_profile_json(p, doc, error) ? g_steal_pointer(&p) : NULL;
}

/* A derived profile has the other device's times, whatever the data sheets of the two, times its fraction of
 * that kind of kernel, and the other's all-reduce. */
static void a_derived_profile_is_a_fraction_of_its_base(void)
{
    g_autoptr(RhPlatform) base = rh_platform_load("b200-sxm:1x1", NULL);
    g_autoptr(RhPlatform) same = derived_from("", NULL);
    g_autoptr(RhPlatform) less = derived_from(
        "\"gemm\": {\"value\": 0.9, \"tag\": \"measured\", \"source\": \"a test\"}", NULL);
    CU_ASSERT_TRUE_FATAL(base && same && less);
    CU_ASSERT_TRUE_FATAL(rh_platform_apply_profile(base, "b200-sxm-vllm-0.24.0", NULL));
    rh_device_use_surfaces(base->device, "fp8_block");
    rh_device_use_surfaces(same->device, "fp8_block");
    rh_device_use_surfaces(less->device, "fp8_block");
    for (int64_t m = 1; m <= 8192; m *= 8) {
        double bf16_s = gemm_s(base->device, RH_DTYPE_BF16, m),
               fp8_s = gemm_s(base->device, RH_DTYPE_FP8, m);
        RH_CHECK_CLOSE(gemm_s(same->device, RH_DTYPE_BF16, m), bf16_s, 1e-9);
        RH_CHECK_CLOSE(gemm_s(same->device, RH_DTYPE_FP8, m), fp8_s, 1e-9);
        RH_CHECK_CLOSE(gemm_s(less->device, RH_DTYPE_BF16, m), 0.9 * bf16_s, 1e-9);
        RH_CHECK_CLOSE(gemm_s(less->device, RH_DTYPE_FP8, m), 0.9 * fp8_s, 1e-9);
    }
    RH_CHECK_CLOSE(decode_s(less->device, RH_DTYPE_BF16, 64, 8192),
                   decode_s(base->device, RH_DTYPE_BF16, 64, 8192), 1e-9);
    CU_ASSERT_EQUAL(rh_peer_reduce_s(less->device, 8, 65536),
                    rh_peer_reduce_s(base->device, 8, 65536));
}

static void what_derives_wrongly_is_refused(void)
{
    static const struct {
        const char *times, *says;
    } wrong[] = {
        {"\"gemms\": {\"value\": 0.9, \"tag\": \"measured\", \"source\": \"a test\"}",
         "is no kind of kernel"},
        {"\"gemm\": {\"value\": 9, \"tag\": \"measured\", \"source\": \"a test\"}",
         "must be from 0.250 to 4.00"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlatform) p = derived_from(wrong[i].times, &error);
        CU_ASSERT_PTR_NULL(p);
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        if (!strstr(error->message, wrong[i].says))
            printf("\n%s\n", error->message);
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, wrong[i].says));
    }
}

/* A correction is of a form: both come from one file, and bounds hold whatever they are. */
static void a_profile_moves_gemms_and_nothing_turns_absurd(void)
{
    for (const char *const *name = rh_kernels_profile_names(); *name; name++) {
        g_autoptr(RhPlatform) before = platform_of(*name);
        g_autoptr(RhPlatform) after = platform_of(*name);
        CU_ASSERT_TRUE_FATAL(before && after && rh_platform_apply_profile(after, *name, NULL));
        int moved = 0;
        for (int64_t m = 1; m <= 1 << 16; m *= 4)
            for (int64_t n = 128; n <= 1 << 15; n *= 4) {
                RhKernel k = {.cls = RH_KERNEL_GEMM,
                              .dtype = RH_DTYPE_BF16,
                              .batch = 1,
                              .m = m,
                              .n = n,
                              .k = 4096};
                k.bytes = 2.0 * (double)(m * k.k + k.k * n + m * n);
                double ratio =
                    rh_kernel_time_s(after->device, &k) / rh_kernel_time_s(before->device, &k);
                CU_ASSERT_TRUE(ratio > 0.5 && ratio < 2);
                moved += ratio != 1;
            }
        CU_ASSERT_EQUAL(moved > 20, has_forms(*name));
    }
}

/* A profile of the catalogue is read once: it equals the file, shares its surfaces, and applies to
 * its device alone. */
static void a_profile_of_the_catalogue_is_read_once(void)
{
    for (const char *const *name = rh_kernels_profile_names(); *name; name++) {
        g_autoptr(RhJson) doc = load(*name);
        g_autoptr(RhPlatform) anew = platform_of(*name), first = platform_of(*name),
                              again = platform_of(*name);
        CU_ASSERT_TRUE_FATAL(doc && rh_platform_apply_profile_json(anew, doc, NULL));
        CU_ASSERT_TRUE_FATAL(rh_platform_apply_profile(first, *name, NULL));
        CU_ASSERT_TRUE_FATAL(rh_platform_apply_profile(again, *name, NULL));
        CU_ASSERT_PTR_EQUAL(first->device->surfaces, again->device->surfaces);
        CU_ASSERT_PTR_NOT_EQUAL(anew->device->surfaces, again->device->surfaces);
        CU_ASSERT_STRING_EQUAL(anew->profile, again->profile);
        CU_ASSERT_STRING_EQUAL(anew->hash, again->hash);
        RhKernel k = {.cls = RH_KERNEL_GEMM, .dtype = RH_DTYPE_BF16, .batch = 1, .m = 96};
        k.n = k.k = 4096;
        k.bytes = 2.0 * (double)(2 * k.m * k.k + k.k * k.n);
        rh_device_use_surfaces(anew->device, "bf16");
        rh_device_use_surfaces(again->device, "bf16");
        CU_ASSERT_EQUAL(rh_kernel_time_s(anew->device, &k), rh_kernel_time_s(again->device, &k));
        CU_ASSERT_EQUAL(rh_peer_reduce_of_s(&anew->device->peers, 2, 1 << 20),
                        rh_peer_reduce_of_s(&again->device->peers, 2, 1 << 20));
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlatform) other = rh_platform_load("rtx-4090:1x1", NULL);
        CU_ASSERT_FALSE(rh_platform_apply_profile(other, *name, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

static void a_file_of_the_users_is_read_each_time(void)
{
    g_autofree char *path = NULL;
    close(g_file_open_tmp("rehearse-profile-XXXXXX.json", &path, NULL));
    for (int us = 3; us < 5; us++) {
        g_autofree char *text =
            g_strdup_printf("{\"schema\": \"rehearse.profile/1\", \"platform\": \"x\", \"facts\": {"
                            "\"nic.latency\": {\"value\": \"%dus\", \"tag\": \"measured\", "
                            "\"source\": \"a test\", \"date\": \"2026-11\"}}}",
                            us);
        CU_ASSERT_TRUE_FATAL(rh_file_write(path, text, strlen(text), NULL));
        g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:2", NULL);
        CU_ASSERT_TRUE(rh_platform_apply_profile(p, path, NULL));
        CU_ASSERT_DOUBLE_EQUAL(p->nic_latency_s.value, us * 1e-6, 1e-12);
    }
    CU_ASSERT_EQUAL(unlink(path), 0);
}

/* Two files in a list: the later one has the last word, and both are named. */
static void profiles_of_a_list_lie_over_each_other(void)
{
    g_autofree char *folder = g_dir_make_tmp("profiles-XXXXXX", NULL);
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    static const char *const facts[] = {"\"nvlink.efficiency\": {\"value\": 0.5, ",
                                        "\"nvlink.efficiency\": {\"value\": 0.25, ",
                                        "\"device.sustained_clock\": {\"value\": 0.5, "};
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++) {
        char *path = g_strdup_printf("%s/%zu.json", folder, i);
        g_autofree char *text = g_strdup_printf(
            "{\"schema\": \"rehearse.profile/1\", \"device\": \"h100-sxm\", \"facts\": "
            "{%s\"tag\": \"measured\", \"source\": \"a test\", \"date\": "
            "\"2026-11\"}}}",
            facts[i]);
        CU_ASSERT_TRUE_FATAL(rh_file_write(path, text, strlen(text), NULL));
        g_ptr_array_add(paths, path);
    }
    g_autofree char *list = g_strdup_printf("%s,%s,%s", (char *)paths->pdata[0],
                                            (char *)paths->pdata[1], (char *)paths->pdata[2]);
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:2", NULL),
                          a100 = rh_platform_load("dgx-a100:1", NULL);
    CU_ASSERT_TRUE(rh_platform_apply_profile(p, list, NULL));
    CU_ASSERT_DOUBLE_EQUAL(p->nvlink_efficiency_frac.value, 0.25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(p->device->curves.sustained_clock_frac.value, 0.5, 1e-12);
    CU_ASSERT_STRING_EQUAL(p->profile, "0.json; 1.json; 2.json");
    CU_ASSERT_FALSE(p->kernels_profiled);
    CU_ASSERT_TRUE(rh_profile_has_links(list) && rh_profile_has_links(paths->pdata[0]));
    CU_ASSERT_FALSE(rh_profile_has_links(paths->pdata[2]));
    CU_ASSERT_TRUE(rh_profile_is_of(list, p) && !rh_profile_is_of(list, a100));
    for (guint i = 0; i < paths->len; i++)
        CU_ASSERT_EQUAL(unlink(paths->pdata[i]), 0);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

static void an_unknown_profile_is_refused_by_name(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:1x1", NULL);
    CU_ASSERT_FALSE(rh_platform_apply_profile(p, "h100-sxm-trtllm", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(error && strstr(error->message, "nearest: h100-sxm-") != NULL);
    CU_ASSERT_TRUE(error && strstr(error->message, "a100-sxm-80-") != NULL);
}

int main(void)
{
    static const RhTest tests[] = {
        {"every profile is of its device and cites its source",
         every_profile_is_of_its_device_and_cites_its_source},
        {"serving times are such as hardware allows", serving_times_are_such_as_hardware_allows},
        {"a profile moves GEMMs and nothing turns absurd",
         a_profile_moves_gemms_and_nothing_turns_absurd},
        {"a derived profile is a fraction of its base",
         a_derived_profile_is_a_fraction_of_its_base},
        {"what derives wrongly is refused", what_derives_wrongly_is_refused},
        {"a profile of the catalogue is read once", a_profile_of_the_catalogue_is_read_once},
        {"a file of the user's is read each time", a_file_of_the_users_is_read_each_time},
        {"profiles of a list lie over each other", profiles_of_a_list_lie_over_each_other},
        {"an unknown profile is refused by name", an_unknown_profile_is_refused_by_name},
        {NULL, NULL}};
    return rh_test_main("profile", tests);
}
