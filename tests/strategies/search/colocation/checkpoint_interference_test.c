/* Steps beside a checkpoint that is written: slower where links are shared, as long as alone where they are free. */
#include "strategies/search/colocation/checkpoint_interference.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define BYTES 4e12

typedef struct {
    const char *leaf;    /* oversubscription */
    const char *network; /* of the storage's own; NULL: that of the GPUs */
    bool unfolded;
} Case;

static RhCheckpointBesideTimes together(Case what)
{
    g_auto(TrainKit) k = train_kit("llama-2-7b", "h100-sxm:8x8,ib:400Gb/s,leaf:2", "bare", 8, 2048);
    RhPlatform *p = k.platform;
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "leaf.oversubscription", what.leaf, NULL));
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "storage.bandwidth", "10TB/s", NULL));
    if (what.network)
        CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "storage.network", what.network, NULL));
    RhLayout layout = train_layout(&k, "tp8,mb1");
    RhCheckpointSetup setup = {.bytes = BYTES, .storage = p->storage, .async = true};
    RhCheckpointBeside ask = {
        .c = &k.c, .layout = &layout, .setup = &setup, .step_s = 1, .processes = 2};
    RhEngineOptions options = {.unfolded = what.unfolded};
    RhCheckpointBesideTimes t = {0};
    CU_ASSERT_TRUE_FATAL(rh_checkpoint_beside(&ask, &options, &t, NULL));
    /* closed form and rehearsal */
    RH_CHECK_CLOSE(t.alone_s, t.bytes / rh_platform_storage_bytes_per_s(p, 8, true), 1e-6);
    return t;
}

static void shared_links_slow_both(void)
{
    RhCheckpointBesideTimes narrow = together((Case){.leaf = "8"}),
                            wide = together((Case){.leaf = "1"});
    CU_ASSERT_TRUE(narrow.step_beside_s > 1.05 * narrow.step_alone_s);
    CU_ASSERT_TRUE(narrow.beside_s > 1.01 * narrow.alone_s);
    CU_ASSERT_TRUE(wide.step_beside_s / wide.step_alone_s <
                   narrow.step_beside_s / narrow.step_alone_s);
}

static void a_network_of_its_own_costs_no_step(void)
{
    RhCheckpointBesideTimes t = together((Case){.leaf = "8", .network = "50GB/s"});
    RH_CHECK_CLOSE(t.step_beside_s, t.step_alone_s, 1e-9);
    RH_CHECK_CLOSE(t.beside_s, t.alone_s, 1e-9);
}

static void folded_is_unfolded(void)
{
    for (int i = 0; i < 2; i++) {
        Case what = {.leaf = i ? "4" : "1"};
        RhCheckpointBesideTimes few = together(what);
        what.unfolded = true;
        RhCheckpointBesideTimes every = together(what);
        RH_CHECK_CLOSE(few.step_beside_s, every.step_beside_s, 1e-6);
        RH_CHECK_CLOSE(few.beside_s, every.beside_s, 1e-6);
    }
}

/* Times of a checkpoint's copies on so many GPUs, by closed form and rehearsed. */
static void times_of(int32_t gpus, RhCheckpointSetup what, RhCheckpointTimes *closed,
                     RhCheckpointTimes *rehearsed)
{
    g_auto(TrainKit) k = train_kit("llama-2-7b", "h100-sxm:8x4,ib:400Gb/s,leaf:2", "bare", 8, 2048);
    RhPlatform *p = k.platform;
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "storage.bandwidth", "300GB/s", NULL));
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "storage.client_bandwidth", "40GB/s", NULL));
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "host.gpus_per_link", "2", NULL));
    k.c.job.gpus = gpus;
    what.bytes = BYTES;
    what.storage = p->storage;
    what.drain_times = 2;
    RhEngineOptions options = {0};
    *closed = *rehearsed = rh_checkpoint_times(&what, p, gpus / 8);
    rehearsed->write_s = rehearsed->read_s = -1;
    CU_ASSERT_TRUE_FATAL(rh_checkpoint_alone(&k.c, &what, &options, rehearsed, NULL));
}

/* Device to host, drives, storage and the way back: on nodes that are alike, flows take what the narrowest link does. */
static void copies_alone_are_those_of_the_narrowest_link(void)
{
    static const RhCheckpointSetup kinds[] = {{.async = false},
                                              {.async = true},
                                              {.nvme_bytes_per_s = 14e9},
                                              {.async = true, .nvme_bytes_per_s = 14e9}};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        RhCheckpointTimes closed, rehearsed;
        times_of(32, kinds[i], &closed, &rehearsed);
        RH_CHECK_CLOSE(rehearsed.write_s, closed.write_s, 1e-6);
        RH_CHECK_CLOSE(rehearsed.read_s, closed.read_s, 1e-6);
        RH_CHECK_CLOSE(rehearsed.drain_s, closed.drain_s, 1e-6);
        RH_CHECK_CLOSE(rehearsed.local_read_s, closed.local_read_s, 1e-6);
    }
}

/* Of twelve GPUs eight share the first node's client, which is what all wait for; a count of nodes knows one or two. */
static void nodes_that_are_not_full_are_rehearsed(void)
{
    RhCheckpointTimes closed, rehearsed;
    times_of(12, (RhCheckpointSetup){.async = true}, &closed, &rehearsed);
    RH_CHECK_CLOSE(rehearsed.read_s, BYTES * 8 / 12 / 40e9, 1e-6);
    RH_CHECK_CLOSE(rehearsed.drain_s, 2 * BYTES * 8 / 12 / 40e9, 1e-6);
    RH_CHECK_CLOSE(closed.read_s, BYTES / 40e9, 1e-6);
}

int main(void)
{
    return rh_test_main(
        "checkpoint_beside",
        (RhTest[]){{"shared_links_slow_both", shared_links_slow_both},
                   {"a_network_of_its_own_costs_no_step", a_network_of_its_own_costs_no_step},
                   {"folded_is_unfolded", folded_is_unfolded},
                   {"copies_alone_are_those_of_the_narrowest_link",
                    copies_alone_are_those_of_the_narrowest_link},
                   {"nodes_that_are_not_full_are_rehearsed", nodes_that_are_not_full_are_rehearsed},
                   {NULL, NULL}});
}
