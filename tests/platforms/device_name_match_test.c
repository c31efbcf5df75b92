/* Names that tools, vendors and people use, and the device or platform that each means. */
#include "platforms/device_name_match.h"

#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "platforms/catalogue.h"
#include "platforms/platform.h"
#include "tests/kit/testkit.h"

/* Calls `check` for each name in the files of a kind; returns how many files list one. */
static guint each_name(const char *kind, const char *const *files,
                       void (*check)(const char *file, const char *name))
{
    guint listing = 0;
    for (; *files; files++) {
        g_autofree char *path = rh_catalogue_path(kind, *files);
        g_autoptr(RhJson) doc = rh_json_load(path, NULL);
        g_assert_nonnull(doc);
        const RhJsonNode *names = rh_json_array_or_null(doc, rh_json_root(doc), "names");
        listing += names != NULL;
        for (const RhJsonNode *n = names ? rh_json_first(names) : NULL; n; n = rh_json_next(n))
            check(*files, rh_json_node_string(doc, n));
    }
    return listing;
}

static void check_device(const char *file, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_auto(RhDeviceName) match = {0};
    const char *found = rh_device_of_name(name, false, &error);
    g_assert_no_error(error);
    CU_ASSERT_STRING_EQUAL(found, file);
    CU_ASSERT_TRUE(rh_device_by_name(name, 0, &match, NULL));
    CU_ASSERT_EQUAL(match.other_gb, 0);
}

static void every_name_of_a_device_finds_it_alone(void)
{
    guint devices = g_strv_length((char **)rh_device_names());
    CU_ASSERT_TRUE(devices > 40);
    CU_ASSERT_EQUAL(each_name("devices", rh_device_names(), check_device), devices);
}

static void check_platform(const char *file, const char *name)
{
    const char *found = rh_platform_of_name(name);
    CU_ASSERT_STRING_EQUAL(found ? found : "none", file);
}

static void every_name_of_a_platform_finds_it_alone(void)
{
    CU_ASSERT_TRUE(each_name("clusters", rh_platform_names(), check_platform) > 40);
    CU_ASSERT_STRING_EQUAL(rh_platform_of_name("standard_nd96isr_h100_V5"), "azure-nd-h100");
    CU_ASSERT_STRING_EQUAL(rh_platform_of_name("DGX A100"), "dgx-a100");
    CU_ASSERT_PTR_NULL(rh_platform_of_name("p5.4xlarge"));
}

static void names_as_people_write_them(void)
{
    static const struct {
        const char *name, *device;
    } rows[] = {
        {"NVIDIA H100 80GB HBM3", "h100-sxm"},
        {"H100 SXM", "h100-sxm"},
        {"h100-sxm5-80gb", "h100-sxm"},
        {"8xH100", "h100-sxm"},
        {"8 x H100 80GB", "h100-sxm"},
        {"HGX H100", "h100-sxm"},
        {"H100PCIe", "h100-pcie"},
        {"H100 NVL 94GB HBM3", "h100-nvl"},
        {"A100 80GB", "a100-sxm-80"},
        {"A100-80G", "a100-sxm-80"},
        {"a100_40gb_sxm4", "a100-sxm-40"},
        {"A100-PCIE-40GB", "a100-pcie-40"},
        {"A100 PCIe 80 GB", "a100-pcie-80"},
        {"RTX4090", "rtx-4090"},
        {"GeForce RTX 3090", "rtx-3090"},
        {"NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)", "rtx-3090"},
        {"NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)", "h100-sxm"},
        {"MI300X-192GB", "mi300x"},
        {"AMD Instinct MI300X OAM", "mi300x"},
        {"TPU v6e (Trillium)", "tpu-v6e"},
        {"GB200 NVL72", "gb200"},
        {"NVIDIA GH200 120GB", "gh200-96"},
        {"Tesla V100-SXM2-32GB", "v100-sxm-32"},
        {"L40S 48GB", "l40s"},
        {"L40", "l40"},
        {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        const char *found = rh_device_of_name(rows[i].name, false, &error);
        g_assert_no_error(error);
        CU_ASSERT_STRING_EQUAL(found, rows[i].device);
    }
}

static void another_form_factor_or_model_is_refused(void)
{
    static const char *const names[] = {"Tesla V100-PCIE-16GB",
                                        "NVIDIA H800 PCIe",
                                        "Tesla P100-PCIE-16GB",
                                        "RTX 3090 Ti",
                                        "RTX 4090 D",
                                        "NVIDIA Graphics Device",
                                        "RTX 4090 Laptop GPU",
                                        "MI250",
                                        "A100-SXM-64GB",
                                        "NVIDIA",
                                        "",
                                        "[",
                                        "80GB"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_device_of_name(names[i], false, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

static void a_memory_that_none_has_is_said(void)
{
    g_auto(RhDeviceName) match = {0};
    CU_ASSERT_TRUE(rh_device_by_name("NVIDIA A100-SXM-64GB", 0, &match, NULL));
    CU_ASSERT_STRING_EQUAL(match.device, "a100-sxm-80");
    CU_ASSERT_EQUAL(match.other_gb, 64);
    CU_ASSERT_EQUAL(match.known_gb, 80);
}

static void a_driver_s_memory_chooses_among_devices(void)
{
    static const struct {
        const char *name;
        double mib;
        const char *device;
    } rows[] = {{"Tesla V100-SXM2", 16160, "v100-sxm-16"},
                {"Tesla V100-SXM2", 32510, "v100-sxm-32"},
                {"NVIDIA A100-SXM4", 40536, "a100-sxm-40"},
                {"NVIDIA A100-SXM4", 81251, "a100-sxm-80"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(RhDeviceName) match = {0};
        CU_ASSERT_TRUE(rh_device_by_name(rows[i].name, rows[i].mib * 1048576, &match, NULL));
        CU_ASSERT_STRING_EQUAL(match.device, rows[i].device);
    }
}

static void other_devices_of_a_short_name_are_listed(void)
{
    g_auto(RhDeviceName) match = {0};
    CU_ASSERT_TRUE(rh_device_by_name("A100 80GB", 0, &match, NULL));
    CU_ASSERT_STRING_EQUAL(match.device, "a100-sxm-80");
    CU_ASSERT_STRING_EQUAL(match.also, "a100-pcie-80");
    CU_ASSERT_FALSE(match.bare);
    CU_ASSERT_STRING_EQUAL(rh_device_of_name("A100", false, NULL), "a100-sxm-80");
    CU_ASSERT_PTR_NULL(rh_device_of_name("A100", true, NULL)); /* of four devices */
}

static void names_stand_for_devices_and_platforms(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) line = rh_platform_load("NVIDIA A100 80GB PCIe:4x2", &error);
    g_assert_no_error(error);
    CU_ASSERT_STRING_EQUAL(line->device->name, "a100-pcie-80");
    g_autoptr(RhPlatform) instance = rh_platform_load("p5.48xlarge:4", &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(instance->nodes_count, 4);
    CU_ASSERT_STRING_EQUAL(instance->device->name, "h100-sxm");
}

int main(void)
{
    return rh_test_main(
        "catalogue_names",
        (RhTest[]){
            {"every_name_of_a_device_finds_it_alone", every_name_of_a_device_finds_it_alone},
            {"every_name_of_a_platform_finds_it_alone", every_name_of_a_platform_finds_it_alone},
            {"names_as_people_write_them", names_as_people_write_them},
            {"another_form_factor_or_model_is_refused", another_form_factor_or_model_is_refused},
            {"a_memory_that_none_has_is_said", a_memory_that_none_has_is_said},
            {"a_driver_s_memory_chooses_among_devices", a_driver_s_memory_chooses_among_devices},
            {"other_devices_of_a_short_name_are_listed", other_devices_of_a_short_name_are_listed},
            {"names_stand_for_devices_and_platforms", names_stand_for_devices_and_platforms},
            {0}});
}
