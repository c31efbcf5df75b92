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

int main(void)
{
    return rh_test_main(
        "checkpoint_beside",
        (RhTest[]){{"shared_links_slow_both", shared_links_slow_both},
                   {"a_network_of_its_own_costs_no_step", a_network_of_its_own_costs_no_step},
                   {"folded_is_unfolded", folded_is_unfolded},
                   {NULL, NULL}});
}
