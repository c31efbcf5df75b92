/* Groups of a stage, of which few stand for all, and what is known of blocks. */
#include <math.h>

#include "strategies/search/bounds/collective_time_cache_merge.h"
#include "strategies/search/bounds/stage_comm_groups.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Returns the seconds of the group that holds `rank`, alone. */
static double alone_s(const RhProblem *c, const RhGroupNetwork *net, RhGroupKind kind, int32_t rank)
{
    const RhGroup *g = rh_program_group(net->skeleton, net->groups[kind]);
    g_autofree int32_t *gpus = g_new(int32_t, g->size);
    rh_group_members(g, rank, gpus);
    return rh_collective_alone_s(RH_OP_ALL_GATHER, RH_ALGO_RING, g->size, gpus, 1e8, c->platform);
}

static bool stands_for_one(const RhProblem *c, const RhGroupNetwork *net, RhGroupKind kind,
                           const GArray *apart, int32_t rank)
{
    double seconds = alone_s(c, net, kind, rank);
    for (guint i = 0; i < apart->len; i++)
        if (fabs(alone_s(c, net, kind, g_array_index(apart, int32_t, i)) / seconds - 1) < 1e-12)
            return true;
    return false;
}

/* Every group takes as long as one of those that stand apart, which are fewer. */
static void groups_moved_over_the_fabric_take_as_long(void)
{
    static const struct {
        const char *platform, *layout;
        guint most; /* that stand apart in a stage */
    } rows[] = {
        {"dgx-h100:8", "tp2,pp2,dp16,zero1,shard=4", 4},
        {"h100-sxm:8x4,nvlink:200GB/s,ib:100Gb/s,nics:2,leaf:2,oversub:4",
         "tp2,pp2,dp8,zero1,shard=4", 4},
        {"h100-sxm:6x4,nvlink:200GB/s,ib:100Gb/s,leaf:4,oversub:2", "tp4,pp3,dp2,zero1", 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", rows[i].platform, "megatron", 64, 512);
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        const RhGroupNetwork *net = rh_bound_network(cache, &l);
        RhGroupKind kind = rh_params_shard_group(&l, RH_PARAMS_COMMON);
        for (int32_t stage = 0; stage < l.pp; stage++) {
            const GArray *apart = rh_bound_groups_apart(cache, net, stage, kind);
            CU_ASSERT_TRUE(apart->len <= rows[i].most);
            for (int32_t at = 0; at < rh_grid_stage_ranks(&net->grid); at++)
                CU_ASSERT_TRUE(
                    stands_for_one(&k.c, net, kind, apart, rh_grid_rank(&net->grid, stage, at)));
        }
    }
}

/* Replicas of tp4 are joined as those of tp2, cp2 are that hold the same share; those of tp2 are not. */
static void layouts_share_sets(void)
{
    static const struct {
        const char *layout;
        RhGroupKind kind;
    } rows[] = {{"tp4,pp2,dp4,zero0", RH_GROUP_DATA},
                {"tp2,cp2,pp2,dp4,zero1,shard=2", RH_GROUP_SAME_SHARE},
                {"tp2,pp2,dp8,zero0", RH_GROUP_DATA}};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:4", "megatron", 64, 512);
    train_kit_runs_all(&k);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    const RhStageGroups *sets[G_N_ELEMENTS(rows)];
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = train_layout(&k, rows[i].layout);
        sets[i] = rh_bound_stage_groups(cache, rh_bound_network(cache, &l), 1, rows[i].kind);
    }
    CU_ASSERT_PTR_EQUAL(sets[0], sets[1]);
    CU_ASSERT_PTR_NOT_EQUAL(sets[0], sets[2]);
}

/* Collectives that were timed for all bytes. */
static int32_t timed(const RhBoundCache *s)
{
    GHashTableIter iter;
    gpointer key;
    int32_t count = 0;
    g_hash_table_iter_init(&iter, s->collectives);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        count += ((const RhCollectiveKey *)key)->bytes <= 0;
    return count;
}

/* Times of blocks that one process finds another learns: the same bounds, and nothing is timed
 * again. */
static void times_of_blocks_are_learned(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:4", "megatron", 64, 512);
    train_kit_runs_all(&k);
    RhLayout l = train_layout(&k, "tp4,pp2,dp4,zero1");
    g_autoptr(RhBoundCache) first = rh_bound_new(&k.c), second = rh_bound_new(&k.c);
    rh_bound_begin_learning(first);
    double bound_s = rh_cut_bound_s(first, &l);
    g_autoptr(GByteArray) told = rh_bound_end_learning(first);
    RhUnpack in = {told->data, told->data + told->len, true};
    rh_bound_learn(second, &in);
    CU_ASSERT_TRUE(in.whole && in.at == in.end);
    int32_t known = timed(second);
    CU_ASSERT_TRUE(known > 0);
    CU_ASSERT_EQUAL(rh_cut_bound_s(second, &l), bound_s);
    CU_ASSERT_EQUAL(timed(second), known);
}

/* Seconds of an all-to-all of the layout's blocks among experts, by the given cache. */
static double exchange_s(RhBoundCache *cache, const RhLayout *l)
{
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    CU_ASSERT_TRUE(net->uniform);
    RhLayerOp task = {.op = RH_OP_ALL_TO_ALL, .group = RH_GROUP_EXPERT, .bytes = 1e7};
    return rh_bound_block_s(cache, net, net->placement[0], &task);
}

/* Eight expert ranks side by side are timed once, whether or not some of them are context ranks too; every
 * second rank is timed again. */
static void groups_of_blocks_share_times(void)
{
    static const struct {
        const char *layout;
        int32_t timed; /* so far */
    } rows[] = {{"tp1,dp16,ep8,zero1", 1},
                {"tp1,cp2,dp8,ep8,zero1", 1},
                {"tp2,pp2,dp4,ep4,etp1,zero1", 2},
                {"tp2,dp8,ep8,etp2,zero1", 3}};
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "megatron", 64, 4096);
    train_kit_runs_all(&k);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhBoundCache) own = rh_bound_new(&k.c);
        CU_ASSERT_EQUAL(exchange_s(cache, &l), exchange_s(own, &l));
        CU_ASSERT_EQUAL(timed(cache), rows[i].timed);
    }
}

int main(void)
{
    return rh_test_main("stage_groups",
                        (RhTest[]){{"groups_moved_over_the_fabric_take_as_long",
                                    groups_moved_over_the_fabric_take_as_long},
                                   {"layouts_share_sets", layouts_share_sets},
                                   {"times_of_blocks_are_learned", times_of_blocks_are_learned},
                                   {"groups_of_blocks_share_times", groups_of_blocks_share_times},
                                   {0}});
}
