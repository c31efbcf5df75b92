/* Times of checkpoints from the rates of links, servers and clients. */
#include "strategies/run/checkpoint_times.h"

#include "tests/kit/testkit.h"

/* 1 TB of 64 nodes: over the storage, and over drives first. Lablup: 60 nodes reach 16 % of a store's 250 GB/s, which
 * clients of 0.667 GB/s explain. Source: arXiv:2605.09370. */
static void checkpoints_pass_through_tiers(void)
{
    RhPlatform p = {.gpus_per_node = 8,
                    .nodes_count = 64,
                    .nics_per_node = 8,
                    .nic_bytes_per_s = {.value = 50e9},
                    .nic_efficiency_frac = {.value = 1},
                    .link_changes = g_array_new(FALSE, FALSE, sizeof(RhLinkChange)),
                    .host_bytes_per_s = {.value = 55e9}};
    RhCheckpointSetup setup = {.bytes = 1e12, .storage = {.bytes_per_s = {.value = 250e9}}};
    setup.storage.client_bytes_per_s.value = 0.667e9;
    setup.storage.read_bytes_per_s.value = 700e9;
    CU_ASSERT_DOUBLE_EQUAL(1e12 / rh_checkpoint_times(&setup, &p, 60).write_s / 250e9, 0.16, 0.001);
    CU_ASSERT_FALSE(rh_checkpoint_drains(&setup));
    setup.storage.client_bytes_per_s.value = 2.508e9; /* and what they read: 21.5 % of 700 GB/s */
    CU_ASSERT_DOUBLE_EQUAL(1e12 / rh_checkpoint_times(&setup, &p, 60).read_s / 700e9, 0.215, 0.001);
    setup.storage.client_bytes_per_s.value = setup.storage.read_bytes_per_s.value = 0;
    CU_ASSERT_DOUBLE_EQUAL(rh_checkpoint_times(&setup, &p, 64).write_s, 4, 1e-9);
    setup.storage.servers.value = 10; /* of 10 GB/s each */
    setup.storage.server_bytes_per_s.value = 10e9;
    CU_ASSERT_DOUBLE_EQUAL(rh_checkpoint_times(&setup, &p, 64).write_s, 10, 1e-9);
    setup.storage.servers.value = 0;
    setup.nvme_bytes_per_s = 10e9;
    setup.slow_frac = 0.02;
    RhCheckpointTimes t = rh_checkpoint_times(&setup, &p, 64);
    CU_ASSERT_DOUBLE_EQUAL(t.write_s, 1e12 / 640e9, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(t.drain_s, 4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(t.local_read_s, t.write_s, 1e-9);
    setup.async = true; /* host memory takes it at the links' rate */
    setup.drain_times = 1.5;
    CU_ASSERT_DOUBLE_EQUAL(rh_checkpoint_times(&setup, &p, 64).write_s, 1e12 / (64 * 440e9), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rh_checkpoint_times(&setup, &p, 64).drain_s, 6, 1e-9);
    g_array_unref(p.link_changes);
}

int main(void)
{
    static const RhTest tests[] = {
        {"checkpoints_pass_through_tiers", checkpoints_pass_through_tiers}, {NULL, NULL}};
    return rh_test_main("checkpoint", tests);
}
