/* Samples that the host loads: closed forms of the step, of cores and of a DPU. */
#include "strategies/sample_loading.h"

#include <math.h>
#include <string.h>

#include "tests/kit/train_kit.h"

/* A step of eight A100, 32 pictures each, of which one takes a core sample_s. */
static double step_s(RhSampleLoader loader, bool unfolded)
{
    g_auto(TrainKit) k = train_kit("resnet-18", "dgx-a100", "horovod", 256, 1);
    k.c.job.loader = loader;
    RhLayout l = train_layout(&k, "zero0,mb32");
    double s = train_step_s(&k.c, &l, unfolded);
    CU_ASSERT_TRUE(train_segment_s(&k.c, &l) <= s * (1 + 1e-9));
    return s;
}

static double copied_s(void)
{
    g_auto(TrainKit) k = train_kit("resnet-18", "dgx-a100", "horovod", 256, 1);
    return 32 * 4.0 * 224 * 224 * 3 / k.platform->host_bytes_per_s.value;
}

static void workers_load_the_next_step_beside_this_one(void)
{
    double device_s = step_s((RhSampleLoader){0}, false) + copied_s();
    RH_CHECK_CLOSE(step_s((RhSampleLoader){1e-6, 4, RH_LOADER_HOST}, false), device_s, 1e-9);
    RH_CHECK_CLOSE(step_s((RhSampleLoader){8e-3, 4, RH_LOADER_HOST}, false), 32 * 8e-3 / 4, 1e-9);
    RH_CHECK_CLOSE(step_s((RhSampleLoader){8e-3, 8, RH_LOADER_HOST}, false), 32 * 8e-3 / 8, 1e-9);
}

/* Source: PyTorch's torch.utils.data.DataLoader, num_workers: 0 loads in the main process. */
static void without_workers_a_rank_loads_before_its_step(void)
{
    double device_s = step_s((RhSampleLoader){0}, false) + copied_s();
    RH_CHECK_CLOSE(step_s((RhSampleLoader){1e-3, 0, RH_LOADER_HOST}, false), device_s + 32e-3,
                   1e-9);
}

static void a_folded_step_that_loads_is_the_unfolded_one(void)
{
    RhSampleLoader loaders[] = {{2e-3, 0, RH_LOADER_HOST}, {2e-3, 2, RH_LOADER_HOST}};
    for (size_t i = 0; i < G_N_ELEMENTS(loaders); i++)
        RH_CHECK_CLOSE(step_s(loaders[i], false), step_s(loaders[i], true), 1e-9);
}

static double loading_s(const RhPlatform *p, RhSampleLoader loader, RhLoaderWork work)
{
    return rh_loading_s(&loader, p, &work);
}

static void workers_of_a_node_share_its_cores(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-a100", NULL);
    RhLoaderWork work = {8, 100, 0};
    RH_CHECK_CLOSE(loading_s(p, (RhSampleLoader){1, 16, RH_LOADER_HOST}, work), 100.0 / 16, 1e-12);
    RH_CHECK_CLOSE(loading_s(p, (RhSampleLoader){1, 64, RH_LOADER_HOST}, work), 100.0 / 16, 1e-12);
    p->host_cores.value = 0; /* unknown */
    RH_CHECK_CLOSE(loading_s(p, (RhSampleLoader){1, 64, RH_LOADER_HOST}, work), 100.0 / 64, 1e-12);
}

static void a_dpu_loads_with_its_cores_and_sends_through_the_nic(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("xeon-bluefield-2", NULL);
    RhLoaderWork work = {2, 100, 0};
    RhSampleLoader loader = {1, 0, RH_LOADER_DPU};
    RH_CHECK_CLOSE(loading_s(p, loader, work), 100 / (0.4 * 4), 1e-12);
    loader.workers = 1;
    RH_CHECK_CLOSE(loading_s(p, loader, work), 100 / 0.4, 1e-12);
    work.sample_bytes = 12e12; /* a second of the NIC */
    RH_CHECK_CLOSE(loading_s(p, loader, work),
                   200 * 12e12 / (p->nic_bytes_per_s.value * p->nic_efficiency_frac.value), 1e-12);
}

/* A node that trains on its cores augments pictures before each step, or on its DPU beside it: what
 * is gained is that time, where the DPU keeps up. */
static void a_dpu_hides_what_a_rank_did_before_its_step(void)
{
    g_auto(TrainKit) k = train_kit("resnet-18", "xeon-bluefield-2", "bare", 64, 1);
    k.c.job.recipe = rh_recipe_by_name("fp32");
    RhLayout l = train_layout(&k, "zero0,mb32");
    k.c.job.loader = (RhSampleLoader){1e-9, 0, RH_LOADER_DPU};
    double device_s = train_step_s(&k.c, &l, false), sample_s = 0.15 * device_s / 32;
    k.c.job.loader = (RhSampleLoader){sample_s, 0, RH_LOADER_HOST};
    double serial_s = train_step_s(&k.c, &l, false);
    k.c.job.loader.place = RH_LOADER_DPU;
    double beside_s = train_step_s(&k.c, &l, false);
    RH_CHECK_CLOSE(serial_s / beside_s, 1.15, 1e-6);
    k.platform->dpu_core_frac.value = 0.01; /* too slow: 32 samples on four cores */
    RH_CHECK_CLOSE(train_step_s(&k.c, &l, false), 32 * sample_s / 4 / 0.01, 1e-9);
}

static bool refused(const char *platform, RhSampleLoader loader, const char *why)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) p = rh_platform_load(platform, NULL);
    return !rh_loader_check(&loader, p, &error) && strstr(error->message, why);
}

static void what_cannot_load_is_refused(void)
{
    CU_ASSERT_TRUE(refused("dgx-a100", (RhSampleLoader){0, 4, RH_LOADER_HOST}, "loader.sample"));
    CU_ASSERT_TRUE(refused("dgx-a100", (RhSampleLoader){1, 0, RH_LOADER_DPU}, "dpu.cores"));
    CU_ASSERT_TRUE(refused("frontera", (RhSampleLoader){1, 4, RH_LOADER_HOST}, "train"));
    CU_ASSERT_FALSE(refused("frontera", (RhSampleLoader){1, 0, RH_LOADER_HOST}, ""));
}

static void tasks_are_counted(void)
{
    g_auto(TrainKit) k = train_kit("resnet-18", "dgx-a100", "horovod", 256, 1);
    for (int32_t workers = 0; workers < 2; workers++) {
        k.c.job.loader = (RhSampleLoader){1e-3, workers, RH_LOADER_HOST};
        RhLayout l = train_layout(&k, "zero0,mb32");
        g_autoptr(RhProgram) p = train_build(&k, "zero0,mb32");
        CU_ASSERT_EQUAL(rh_train_tasks(&k.c, &l), p->tasks->len);
    }
}

int main(void)
{
    return rh_test_main(
        "sample_loading",
        (RhTest[]){{"workers_load_the_next_step_beside_this_one",
                    workers_load_the_next_step_beside_this_one},
                   {"without_workers_a_rank_loads_before_its_step",
                    without_workers_a_rank_loads_before_its_step},
                   {"a_folded_step_that_loads_is_the_unfolded_one",
                    a_folded_step_that_loads_is_the_unfolded_one},
                   {"workers_of_a_node_share_its_cores", workers_of_a_node_share_its_cores},
                   {"a_dpu_loads_with_its_cores_and_sends_through_the_nic",
                    a_dpu_loads_with_its_cores_and_sends_through_the_nic},
                   {"a_dpu_hides_what_a_rank_did_before_its_step",
                    a_dpu_hides_what_a_rank_did_before_its_step},
                   {"what_cannot_load_is_refused", what_cannot_load_is_refused},
                   {"tasks_are_counted", tasks_are_counted},
                   {0}});
}
