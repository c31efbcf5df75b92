/* A platform as processes see it that share its GPUs. */
#include "platforms/shared_gpus.h"

#include <string.h>

#include "tests/kit/train_kit.h"

static const RhGpuClients FOUR = {4, RH_CLIENTS_MPS};

static RhPlatform *shared(const char *spec)
{
    RhPlatform *p = rh_platform_load(spec, NULL);
    CU_ASSERT_TRUE_FATAL(p != NULL && rh_platform_can_share(p, &FOUR, NULL));
    rh_platform_share(p, &FOUR);
    return p;
}

static void a_gpu_is_four_places_with_a_fourth_of_it_each(void)
{
    g_autoptr(RhPlatform) alone = rh_platform_load("dgx-a100:2", NULL);
    g_autoptr(RhPlatform) p = shared("dgx-a100:2");
    CU_ASSERT_EQUAL(rh_platform_gpus(p), 4 * rh_platform_gpus(alone));
    RH_CHECK_CLOSE(4 * p->device->hbm_bytes.value, alone->device->hbm_bytes.value, 1e-12);
    RH_CHECK_CLOSE(4 * rh_device_power_w(p->device), rh_device_power_w(alone->device), 1e-12);
    CU_ASSERT_EQUAL(p->nics_per_node, alone->nics_per_node);
    RhPlatform *untouched = rh_platform_copy(alone);
    rh_platform_share(untouched, &(RhGpuClients){1, RH_CLIENTS_MPS});
    CU_ASSERT_EQUAL(rh_platform_gpus(untouched), rh_platform_gpus(alone));
    CU_ASSERT_PTR_NULL(untouched->inside);
    rh_platform_free(untouched);
}

static double narrowest(const RhPlatform *p, int32_t src, int32_t dst)
{
    RhLink links[RH_ROUTE_MAX];
    int count = rh_platform_route(p, src, dst, links);
    double least = 1e30;
    for (int i = 0; i < count; i++)
        least = MIN(least, rh_platform_link_bytes_per_s(p, links[i]));
    return least;
}

static void processes_of_a_gpu_exchange_through_its_memory(void)
{
    g_autoptr(RhPlatform) p = shared("dgx-a100");
    RH_CHECK_CLOSE(narrowest(p, 0, 3), p->device->hbm_bytes_per_s.value / 8, 1e-9);
    RhLink inside[RH_ROUTE_MAX], across[RH_ROUTE_MAX];
    int few = rh_platform_route(p, 0, 3, inside), many = rh_platform_route(p, 0, 4, across);
    CU_ASSERT_EQUAL(many, few + 2); /* the ports of both GPUs */
}

static void processes_of_a_gpu_share_its_port_and_its_nic(void)
{
    g_autoptr(RhPlatform) p = shared("dgx-a100:2");
    RhLink first[RH_ROUTE_MAX], last[RH_ROUTE_MAX];
    int count = rh_platform_route(p, 0, 32, first), same = 0;
    CU_ASSERT_EQUAL(rh_platform_route(p, 3, 35, last), count);
    for (int i = 0; i < count; i++)
        same += first[i] == last[i];
    CU_ASSERT_TRUE(same >= 2);
    CU_ASSERT_EQUAL(rh_platform_host_link(p, 0, true), rh_platform_host_link(p, 3, true));
}

/* Source: NVIDIA MIG User Guide, "Supported MIG Profiles": A100 3g.40gb, 2g.20gb, 1g.20gb, 1g.10gb;
 * A30 1g.6gb. */
static void an_instance_is_a_device_of_its_slices(void)
{
    static const struct {
        const char *spec;
        int32_t count, sms;
        double memory;
    } rows[] = {{"a100-sxm-80:1x1", 2, 108 * 3 / 7, 4.0 / 8},
                {"a100-sxm-80:1x1", 3, 108 * 2 / 7, 2.0 / 8},
                {"a100-sxm-80:1x1", 4, 108 / 7, 2.0 / 8},
                {"a100-sxm-80:1x1", 7, 108 / 7, 1.0 / 8},
                {"a30:1x1", 3, 56 / 4, 1.0 / 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhGpuClients clients = {rows[i].count, RH_CLIENTS_MIG};
        g_autoptr(RhPlatform) whole = rh_platform_load(rows[i].spec, NULL);
        g_autoptr(RhPlatform) p = rh_platform_copy(whole);
        CU_ASSERT_TRUE_FATAL(rh_platform_can_share(p, &clients, NULL));
        rh_platform_share(p, &clients);
        CU_ASSERT_EQUAL(p->device->sms_count, rows[i].sms);
        RH_CHECK_CLOSE(p->device->hbm_bytes.value, rows[i].memory * whole->device->hbm_bytes.value,
                       1e-12);
        RH_CHECK_CLOSE(p->device->hbm_bytes_per_s.value,
                       rows[i].memory * whole->device->hbm_bytes_per_s.value, 1e-12);
        RhKernel pass = {.cls = RH_KERNEL_ADD, .dtype = RH_DTYPE_BF16, .bytes = 4e9};
        RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &pass) * rows[i].memory,
                       rh_kernel_time_s(whole->device, &pass), 0.01);
        RhClientWork work = {2, 2, 1};
        CU_ASSERT_EQUAL(rh_clients_time(&clients, &work).seconds, 3); /* nobody beside it */
    }
}

static bool refused(const char *spec, RhGpuClients clients)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) p = rh_platform_load(spec, NULL);
    return !rh_platform_can_share(p, &clients, &error) && error->message[0];
}

static void what_cannot_be_shared_is_refused(void)
{
    CU_ASSERT_TRUE(refused("dgx-a100", (RhGpuClients){49, RH_CLIENTS_MPS}));
    CU_ASSERT_FALSE(refused("dgx-a100", (RhGpuClients){48, RH_CLIENTS_MPS}));
    CU_ASSERT_FALSE(refused("dgx-a100", (RhGpuClients){49, RH_CLIENTS_TIME}));
    CU_ASSERT_TRUE(refused("dgx-a100", (RhGpuClients){8, RH_CLIENTS_MIG}));
    CU_ASSERT_TRUE(refused("v100-edr", (RhGpuClients){2, RH_CLIENTS_MIG}));
    CU_ASSERT_TRUE(refused("dgx-1", FOUR)); /* a mesh */
    CU_ASSERT_FALSE(refused("dgx-1", (RhGpuClients){1, RH_CLIENTS_MPS}));
}

/* --- training --- */

static void share(TrainKit *k, RhGpuClients clients)
{
    rh_platform_share(k->platform, &clients);
    k->c.job.clients = clients;
    k->c.job.gpus *= clients.count;
}

static double step_s(const char *model, int64_t batch, RhGpuClients clients, bool unfolded)
{
    g_auto(TrainKit) k = train_kit(model, "dgx-a100", "horovod", batch, 1);
    share(&k, clients);
    g_autofree char *text = g_strdup_printf("zero0,mb%d", (int)(batch / k.c.job.gpus));
    RhLayout l = train_layout(&k, text);
    return train_step_s(&k.c, &l, unfolded);
}

static void a_folded_step_of_shared_gpus_is_the_unfolded_one(void)
{
    RH_CHECK_CLOSE(step_s("resnet-18", 1024, FOUR, false), step_s("resnet-18", 1024, FOUR, true),
                   1e-9);
}

/* 4 processes of 8 samples gain on one of 32; those of 256 samples on one of 1,024 do not: each
 * fills the GPU. In turns (no MPS) they gain less. */
static void the_gain_vanishes_where_one_process_fills_the_gpu(void)
{
    RhGpuClients one = {1, RH_CLIENTS_MPS}, turns = {4, RH_CLIENTS_TIME};
    RhGpuClients instances = {4, RH_CLIENTS_MIG};
    double small =
        step_s("shufflenet-v2", 64, one, false) / step_s("shufflenet-v2", 4 * 64, FOUR, false) * 4;
    double large = step_s("resnet-50", 8 * 256, one, false) /
                   step_s("resnet-50", 4 * 8 * 256, FOUR, false) * 4;
    double queued =
        step_s("shufflenet-v2", 64, one, false) / step_s("shufflenet-v2", 4 * 64, turns, false) * 4;
    double cut = step_s("shufflenet-v2", 64, one, false) /
                 step_s("shufflenet-v2", 4 * 64, instances, false) * 4;
    CU_ASSERT_TRUE(cut > 1 && cut < small); /* three of seven slices are idle */
    CU_ASSERT_TRUE(small > 1.5);
    CU_ASSERT_TRUE(large < 1.1);
    CU_ASSERT_TRUE(queued < small && queued >= 1);
}

static void replicas_alone_share_a_gpu(void)
{
    g_auto(TrainKit) k = train_kit("gpt-1.7b", "dgx-a100", "megatron", 64, 2048);
    share(&k, FOUR);
    g_autoptr(GError) error = NULL;
    RhLayout l = rh_train_default(&k.c);
    CU_ASSERT_TRUE(rh_layout_parse("tp2,dp16", &l, NULL));
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "clients=4"));
}

/* Every process has weights, states and a context of its own. */
static void each_process_has_copies_of_all(void)
{
    g_auto(TrainKit) alone = train_kit("resnet-50", "dgx-a100", "horovod", 256, 1);
    g_auto(TrainKit) k = train_kit("resnet-50", "dgx-a100", "horovod", 1024, 1);
    share(&k, FOUR);
    RhLayout one = train_layout(&alone, "zero0,mb32"), four = train_layout(&k, "zero0,mb32");
    RhTrainMemory a = rh_train_memory(&alone.c, &one), b = rh_train_memory(&k.c, &four);
    RH_CHECK_CLOSE(a.peak_bytes, b.peak_bytes, 1e-9); /* of a process; four of them on a GPU */
    RH_CHECK_CLOSE(4 * rh_train_memory_capacity(&k.c), rh_train_memory_capacity(&alone.c), 1e-12);
}

int main(void)
{
    return rh_test_main(
        "shared_gpus",
        (RhTest[]){{"a_gpu_is_four_places_with_a_fourth_of_it_each",
                    a_gpu_is_four_places_with_a_fourth_of_it_each},
                   {"processes_of_a_gpu_exchange_through_its_memory",
                    processes_of_a_gpu_exchange_through_its_memory},
                   {"processes_of_a_gpu_share_its_port_and_its_nic",
                    processes_of_a_gpu_share_its_port_and_its_nic},
                   {"an_instance_is_a_device_of_its_slices", an_instance_is_a_device_of_its_slices},
                   {"what_cannot_be_shared_is_refused", what_cannot_be_shared_is_refused},
                   {"a_folded_step_of_shared_gpus_is_the_unfolded_one",
                    a_folded_step_of_shared_gpus_is_the_unfolded_one},
                   {"the_gain_vanishes_where_one_process_fills_the_gpu",
                    the_gain_vanishes_where_one_process_fills_the_gpu},
                   {"replicas_alone_share_a_gpu", replicas_alone_share_a_gpu},
                   {"each_process_has_copies_of_all", each_process_has_copies_of_all},
                   {0}});
}
