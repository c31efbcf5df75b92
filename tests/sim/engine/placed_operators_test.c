/* Two branches of operators on a GPU, on a processor, and on both at once, as DUET places them: docs/guide/founding-
 * systems/duet-*.program.json on a node of both. */
#include "platforms/devices/device.h"
#include "tests/kit/engine_kit.h"

/* Caller frees. */
static char *path_of(const char *name)
{
    return g_build_filename(g_getenv("REHEARSE_DATA"), "docs/guide/founding-systems", name, NULL);
}

static RhProgram *program_of(const char *name)
{
    g_autofree char *path = path_of(name);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_load(path, &error);
    RhProgram *p = doc ? rh_program_from_json(doc, &error) : NULL;
    g_assert_no_error(error);
    return p;
}

/* Seconds of the tasks with a label on a device. */
static double branch_s(const RhProgram *p, const char *label, const RhDevice *device)
{
    double seconds = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->bundle < 0 || g_strcmp0(g_ptr_array_index(p->labels, task->label), label) != 0)
            continue;
        const RhBundle *b = &g_array_index(p->bundles, RhBundle, task->bundle);
        for (int32_t k = b->first; k < b->first + b->count; k++)
            seconds += rh_kernel_time_s(device, &g_array_index(p->kernels, RhKernel, k));
    }
    return seconds;
}

/* Alone a device takes the sum of its branches; both together as long as the slower one, its answer's way to the other
 * and what joins them. Source of the idea: Zhang et al., IPDPS 2021 (DUET). */
static void branches_run_at_once_where_each_is_placed(void)
{
    g_autofree char *path = path_of("duet-node.json");
    g_autoptr(RhPlatform) node = rh_platform_load(path, NULL);
    g_autoptr(RhProgram) gpu = program_of("duet-gpu.program.json"),
                         cpu = program_of("duet-cpu.program.json"),
                         both = program_of("duet-both.program.json");
    const RhDevice *on[] = {rh_platform_device(node, 0), rh_platform_device(node, 1)};
    double texts_s[2], pictures_s[2], join_s[2];
    for (int d = 0; d < 2; d++) {
        texts_s[d] = branch_s(gpu, "texts", on[d]);
        pictures_s[d] = branch_s(gpu, "pictures", on[d]);
        join_s[d] = branch_s(gpu, "join", on[d]);
    }
    double alone_s[] = {kit_time_s(gpu, node, (RhEngineOptions){0}),
                        kit_time_s(cpu, node, (RhEngineOptions){0})},
           placed_s = kit_time_s(both, node, (RhEngineOptions){0});
    for (int d = 0; d < 2; d++)
        RH_CHECK_CLOSE(alone_s[d], texts_s[d] + pictures_s[d] + join_s[d], 1e-6);
    double message_s = placed_s - join_s[0] - MAX(texts_s[1], pictures_s[0]);
    CU_ASSERT_TRUE(message_s > 10e-6 && message_s < 20e-6);
    CU_ASSERT_TRUE(placed_s < alone_s[0] && placed_s < alone_s[1]);
}

/* Validation on the DPU hides behind the steps beside it, and its own work takes the DPU's time; on the processor it
 * is added to them. Source of the idea: Jain et al., HotI 2021. */
static void validation_on_a_dpu_hides_behind_steps(void)
{
    g_autofree char *path = path_of("dpu-node.json");
    g_autoptr(RhPlatform) node = rh_platform_load(path, NULL);
    g_autoptr(RhProgram) cpu = program_of("validation-cpu.program.json"),
                         dpu = program_of("validation-dpu.program.json");
    double steps_s = branch_s(cpu, "training step", rh_platform_device(node, 0)),
           pass_s = branch_s(cpu, "validation", rh_platform_device(node, 0)),
           slow_s = branch_s(cpu, "validation", rh_platform_device(node, 1));
    CU_ASSERT_TRUE(slow_s > 5 * pass_s && slow_s < steps_s);
    RH_CHECK_CLOSE(kit_time_s(cpu, node, (RhEngineOptions){0}), steps_s + pass_s, 1e-6);
    RH_CHECK_CLOSE(kit_time_s(dpu, node, (RhEngineOptions){0}), steps_s, 1e-6);
}

int main(void)
{
    return rh_test_main("placed_operators", (RhTest[]){{"branches_run_at_once_where_each_is_placed",
                                                        branches_run_at_once_where_each_is_placed},
                                                       {"validation_on_a_dpu_hides_behind_steps",
                                                        validation_on_a_dpu_hides_behind_steps},
                                                       {0}});
}
