/* Nodes of several devices: files, kernels by the device they run on, memory by the device a stage stands
 * on, bounds, and layers dealt out by how quick stages are. */
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/engine/workers/isolated_run.h"
#include "sim/memory_ledger.h"
#include "strategies/layer_partition.h"
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* A file that derives from dgx-h100; `rest` with single quotes for double ones. */
static char *file_of(const char *rest)
{
    g_autofree char *folder = g_dir_make_tmp("rehearse-mixed-XXXXXX", NULL);
    g_autofree char *json = g_strdup_printf("{'name': 'mixed', 'derives': 'dgx-h100', %s}", rest);
    char *path = g_build_filename(folder, "mixed.json", NULL);
    g_strdelimit(json, "'", '"');
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, json, -1, NULL));
    return path;
}

static void remove_file(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_unlink(path);
    g_rmdir(folder);
}

static RhPlatform *platform_of(const char *rest, GError **error)
{
    g_autofree char *path = file_of(rest);
    RhPlatform *p = rh_platform_load(path, error);
    remove_file(path);
    return p;
}

#define NODE(count, device) "{'nodes': " #count ", 'device': '" device "'}"
#define DEVICES(...)        "'devices': [" __VA_ARGS__ "]"
#define H100_A100           DEVICES(NODE(1, "h100-sxm") ", " NODE(1, "a100-sxm-80"))
#define A100_H100           DEVICES(NODE(1, "a100-sxm-80") ", " NODE(1, "h100-sxm"))

static TrainKit kit_of(const char *model, const char *rest, int64_t batch)
{
    g_autofree char *path = file_of(rest);
    TrainKit kit = train_kit(model, path, "bare", batch, 1024);
    remove_file(path);
    return kit;
}

static void a_file_lists_devices_node_by_node(void)
{
    g_autoptr(RhPlatform) p =
        platform_of(DEVICES(NODE(2, "h100-sxm") ", " NODE(1, "a100-sxm-80")), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->nodes_count, 3);
    CU_ASSERT_EQUAL(rh_platform_devices_count(p), 2);
    CU_ASSERT_EQUAL(rh_platform_device_of(p, 15), 0);
    CU_ASSERT_EQUAL(rh_platform_device_of(p, 16), 1);
    CU_ASSERT_STRING_EQUAL(rh_platform_device(p, 1)->name, "a100-sxm-80");
    g_autoptr(RhPlatform) copy = rh_platform_copy(p);
    CU_ASSERT_PTR_NOT_EQUAL(rh_platform_device(copy, 1), rh_platform_device(p, 1));
    g_autofree char *text = rh_platform_devices_text(p);
    CU_ASSERT_STRING_EQUAL(text, "h100-sxm; of a100-sxm-80 from node 2 on");
}

static void lists_that_cannot_be_are_refused(void)
{
    static const char *const rows[][2] = {
        {"'nodes': 4, " H100_A100, "\"nodes\" says 4, \"devices\" lists 2"},
        {DEVICES(NODE(1, "h100-sxn")), "unknown device"},
        {DEVICES(""), "lists no nodes"},
        {DEVICES("{'nodes': 1}"), "device"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlatform) p = platform_of(rows[i][0], &error);
        CU_ASSERT_PTR_NULL(p);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, rows[i][1]));
    }
}

static double step_s(const RhProblem *c, const char *text, bool unfolded, bool bounded)
{
    g_autoptr(GError) error = NULL;
    RhLayout said = rh_train_default(c);
    CU_ASSERT_TRUE_FATAL(rh_layout_parse(text, &said, NULL));
    RhLayout l = rh_train_canonical(c, &said);
    CU_ASSERT_TRUE_FATAL(rh_train_legal(c, &l, &error));
    g_autoptr(RhProgram) p = rh_train_build(c, &l, &error);
    g_assert_no_error(error);
    RhEngineOptions options = {.unfolded = unfolded};
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, c->platform, &options, &error);
    g_assert_no_error(error);
    if (!bounded)
        return run->step_time_s;
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    double closed = rh_closed_form_s(cache, &l), segment = rh_segment_graph_s(cache, &l);
    bool holds = closed <= segment * (1 + 1e-9) && segment <= run->step_time_s * (1 + 1e-9);
    CU_ASSERT_TRUE(holds && closed > 0);
    if (!holds)
        g_printerr("  %s: %.9g, %.9g, %.9g\n", text, closed, segment, run->step_time_s);
    return run->step_time_s;
}

/* Stages on one device each, stages across both, replicas across both. */
static const char *const LAYOUTS[] = {"tp8,pp2,mb1", "tp8,pp2,mb1,partition=work",
                                      "tp4,dp4,mb1,zero1", "tp2,pp4,mb1,order=tp-pp-dp",
                                      "tp2,pp2,mb2,recompute=full"};

static void a_step_lies_between_those_of_its_devices(void)
{
    TrainKit quick = kit_of("gpt-1.7b", "'nodes': 2", 32),
             mixed = kit_of("gpt-1.7b", H100_A100, 32),
             slow = kit_of("gpt-1.7b", "'nodes': 2, 'device': 'a100-sxm-80'", 32);
    for (size_t i = 0; i < G_N_ELEMENTS(LAYOUTS); i++) {
        double best = step_s(&quick.c, LAYOUTS[i], false, false),
               worst = step_s(&slow.c, LAYOUTS[i], false, false),
               here = step_s(&mixed.c, LAYOUTS[i], false, true);
        CU_ASSERT_TRUE(best < here && (here < worst * (1 + 1e-9) || i == 1));
        RH_CHECK_CLOSE(step_s(&mixed.c, LAYOUTS[i], true, false), here, 1e-9);
    }
    train_kit_clear(&quick);
    train_kit_clear(&mixed);
    train_kit_clear(&slow);
}

static void a_list_of_one_device_changes_nothing(void)
{
    TrainKit plain = kit_of("gpt-1.7b", "'nodes': 2", 32),
             listed = kit_of("gpt-1.7b", DEVICES(NODE(1, "h100-sxm") ", " NODE(1, "h100-sxm")), 32);
    for (size_t i = 0; i < G_N_ELEMENTS(LAYOUTS); i++)
        RH_CHECK_CLOSE(step_s(&listed.c, LAYOUTS[i], false, true),
                       step_s(&plain.c, LAYOUTS[i], false, false), 1e-12);
    train_kit_clear(&plain);
    train_kit_clear(&listed);
}

/* GPT of 1.7 G has 24 layers; an A100 multiplies at less than half an H100's rate. */
static void slow_stages_have_fewer_layers(void)
{
    const char *const orders[] = {H100_A100, A100_H100};
    for (int i = 0; i < 2; i++) {
        TrainKit kit = kit_of("gpt-1.7b", orders[i], 32);
        RhLayout l = rh_train_default(&kit.c);
        int32_t layers[2];
        CU_ASSERT_TRUE_FATAL(rh_layout_parse("tp8,pp2,mb1,partition=work", &l, NULL));
        rh_partition_layers(&kit.c, &l, layers);
        CU_ASSERT_EQUAL(layers[0] + layers[1], 24);
        CU_ASSERT_TRUE(layers[i] > 14);
        CU_ASSERT_TRUE(layers[1 - i] > 2);
        train_kit_clear(&kit);
    }
}

/* A stage has the memory of the device it stands on: many layers fit on 80 GB and not on 40. */
static void memory_is_that_of_the_stage_s_device(void)
{
    TrainKit kit =
        kit_of("llama-3.1-8b", DEVICES(NODE(1, "h100-sxm") ", " NODE(1, "a100-sxm-40")), 16);
    static const struct {
        const char *text;
        bool fits;
    } rows[] = {{"tp2,pp2,mb1,zero0,recompute=full,stages=26-6", true},
                {"tp2,pp2,mb1,zero0,recompute=full,stages=6-26", false}};
    double of_h100 = kit.c.platform->device->hbm_bytes.value,
           of_a100 = rh_platform_device(kit.c.platform, 1)->hbm_bytes.value;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = rh_train_default(&kit.c);
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].text, &l, NULL));
        l = rh_train_canonical(&kit.c, &l);
        CU_ASSERT_EQUAL(rh_train_stage_capacity(&kit.c, &l, 0), of_h100);
        CU_ASSERT_EQUAL(rh_train_stage_capacity(&kit.c, &l, 1), of_a100);
        RhTrainMemory m = rh_train_memory(&kit.c, &l);
        bool fits = m.peak_bytes <= rh_train_stage_capacity(&kit.c, &l, m.stage);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&kit.c);
        RhTrainMemory same = {0};
        CU_ASSERT_EQUAL(fits, rows[i].fits);
        CU_ASSERT_EQUAL(rh_bound_memory_within(cache, &l, of_h100, &same), fits);
        CU_ASSERT_EQUAL(rh_bound_memory(cache, &l).stage, m.stage);
        l.order = RH_ORDER_TP_PP_DP; /* every stage has ranks on both nodes */
        CU_ASSERT_EQUAL(rh_train_stage_capacity(&kit.c, &l, 0), of_a100);
    }
    train_kit_clear(&kit);
}

int main(void)
{
    return rh_test_main(
        "mixed_devices",
        (RhTest[]){
            {"a_file_lists_devices_node_by_node", a_file_lists_devices_node_by_node},
            {"lists_that_cannot_be_are_refused", lists_that_cannot_be_are_refused},
            {"a_step_lies_between_those_of_its_devices", a_step_lies_between_those_of_its_devices},
            {"a_list_of_one_device_changes_nothing", a_list_of_one_device_changes_nothing},
            {"slow_stages_have_fewer_layers", slow_stages_have_fewer_layers},
            {"memory_is_that_of_the_stage_s_device", memory_is_that_of_the_stage_s_device},
            {0}});
}
