/* Steps beside a checkpoint that is written: slower where links are shared, as long as alone where they are free. */
#include "strategies/search/colocation/checkpoint_interference.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define BYTES 4e12

typedef struct {
    const char *leaf;    /* oversubscription */
    const char *network; /* of the storage's own; NULL: that of the GPUs */
    bool unfolded;
    const char *layout;   /* NULL: tp8,mb1 */
    int64_t batch;        /* 0: 8 */
    int64_t microbatches; /* 0: all */
} Case;

static RhCheckpointInterferenceTimes together(Case what)
{
    g_auto(TrainKit) k = train_kit("llama-2-7b", "h100-sxm:8x8,ib:400Gb/s,leaf:2", "bare",
                                   what.batch ? what.batch : 8, 2048);
    RhPlatform *p = k.platform;
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "leaf.oversubscription", what.leaf, NULL));
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "storage.bandwidth", "10TB/s", NULL));
    if (what.network)
        CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "storage.network", what.network, NULL));
    RhLayout layout = train_layout(&k, what.layout ? what.layout : "tp8,mb1");
    RhCheckpointSetup setup = {.bytes = BYTES, .storage = p->storage, .async = true};
    RhCheckpointInterference ask = {.c = &k.c,
                                    .layout = &layout,
                                    .setup = &setup,
                                    .step_s = 1,
                                    .microbatches = what.microbatches
                                                        ? what.microbatches
                                                        : rh_train_microbatches(&k.c, &layout),
                                    .processes = 2};
    RhEngineOptions options = {.unfolded = what.unfolded};
    RhCheckpointInterferenceTimes t = {0};
    CU_ASSERT_TRUE_FATAL(rh_checkpoint_beside(&ask, &options, &t, NULL));
    /* closed form and rehearsal */
    RH_CHECK_CLOSE(t.alone_s, t.bytes / rh_platform_storage_bytes_per_s(p, 8, true), 1e-6);
    return t;
}

static void shared_links_slow_both(void)
{
    RhCheckpointInterferenceTimes narrow = together((Case){.leaf = "8"}),
                                  wide = together((Case){.leaf = "1"});
    CU_ASSERT_TRUE(narrow.step_beside_s > 1.05 * narrow.step_alone_s);
    CU_ASSERT_TRUE(narrow.beside_s > 1.01 * narrow.alone_s);
    CU_ASSERT_TRUE(wide.step_beside_s / wide.step_alone_s <
                   narrow.step_beside_s / narrow.step_alone_s);
}

static void a_network_of_its_own_costs_no_step(void)
{
    RhCheckpointInterferenceTimes t = together((Case){.leaf = "8", .network = "50GB/s"});
    RH_CHECK_CLOSE(t.step_beside_s, t.step_alone_s, 1e-9);
    RH_CHECK_CLOSE(t.beside_s, t.alone_s, 1e-9);
}

/* Two short steps tell that of all micro-batches, with a pipeline and without. */
static void a_part_of_a_step_tells_the_whole(void)
{
    static const char *const layouts[] = {"tp8,pp4,mb1,zero1", "tp4,mb1"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        Case what = {.leaf = "8", .layout = layouts[i], .batch = 512};
        RhCheckpointInterferenceTimes whole = together(what);
        what.microbatches = i ? 8 : 16; /* of 128 and 64 */
        RhCheckpointInterferenceTimes part = together(what);
        CU_ASSERT_TRUE(whole.step_beside_s > 1.01 * whole.step_alone_s);
        RH_CHECK_CLOSE(part.step_alone_s, whole.step_alone_s, 0.002);
        RH_CHECK_CLOSE(part.step_beside_s / part.step_alone_s,
                       whole.step_beside_s / whole.step_alone_s, 0.005);
    }
}

static void only_long_steps_are_taken_in_part(void)
{
    static const struct {
        const char *platform, *layout;
        int64_t batch;
    } longs[] = {{"dgx-h100:64", "pp16,ep32,mb1", 2048}, {"dgx-h100:256", "pp16,ep64,mb1", 15360}};
    for (size_t i = 0; i < G_N_ELEMENTS(longs); i++) {
        g_auto(TrainKit) k =
            train_kit("deepseek-v3", longs[i].platform, "megatron", longs[i].batch, 4096);
        RhLayout layout = train_layout(&k, longs[i].layout);
        int64_t all = rh_train_microbatches(&k.c, &layout),
                some = rh_checkpoint_beside_microbatches(&k.c, &layout);
        CU_ASSERT_TRUE(some >= 2 && some <= all / 2 && some % 2 == 0);
        k.c.job.global_batch = k.c.job.global_batch / all * some;
        CU_ASSERT_EQUAL(rh_checkpoint_beside_microbatches(&k.c, &layout), some);
    }
}

static void folded_is_unfolded(void)
{
    for (int i = 0; i < 2; i++) {
        Case what = {.leaf = i ? "4" : "1"};
        RhCheckpointInterferenceTimes few = together(what);
        what.unfolded = true;
        RhCheckpointInterferenceTimes every = together(what);
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

/* Twelve GPUs on nodes of eight wait for the first node, whose client eight share; a count of nodes knows one or two. */
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
                   {"a_part_of_a_step_tells_the_whole", a_part_of_a_step_tells_the_whole},
                   {"only_long_steps_are_taken_in_part", only_long_steps_are_taken_in_part},
                   {"folded_is_unfolded", folded_is_unfolded},
                   {"copies_alone_are_those_of_the_narrowest_link",
                    copies_alone_are_those_of_the_narrowest_link},
                   {"nodes_that_are_not_full_are_rehearsed", nodes_that_are_not_full_are_rehearsed},
                   {NULL, NULL}});
}
