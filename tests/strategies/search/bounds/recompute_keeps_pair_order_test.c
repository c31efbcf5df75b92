/* Pairs of passes whose layers recompute something: in which order their tasks run, and what takes least. */
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* A ring passes keys and values on inside attention's core, and tensor ranks pass rows on. */
#define RINGS "tp8,pp1,cp2,ep2,mb4,sp=on,tpoverlap=on,dispatch=deepep,epoverlap=pairs"

typedef struct {
    TrainKit k;
    RhBoundCache *cache;
    RhLayout layout;
} Case;

static Case case_of(const char *model, const char *platform, const char *stack, const char *layout)
{
    Case c = {.k = train_kit(model, platform, stack, 32, 4096)};
    c.layout = train_layout(&c.k, layout);
    return c;
}

static void case_clear(Case *c)
{
    rh_bound_free(c->cache);
    train_kit_clear(&c->k);
}

static RhShardCost *shard_of(Case *c, RhRecompute recompute)
{
    RhLayout l = c->layout;
    l.recompute = recompute;
    return rh_bound_shard(c->cache, &l);
}

static const RhLayerPassPair *pair_of(Case *c, RhRecompute recompute)
{
    return &rh_bound_layer_ops(shard_of(c, recompute))->pair[0][0];
}

/* Returns the seconds of all layers as a pair, on the only stage. */
static double pair_s(Case *c, RhRecompute recompute)
{
    RhLayout l = c->layout;
    l.recompute = recompute;
    RhTables tables = rh_bound_tables(c->cache, &l);
    return rh_bound_pairs(c->cache, &l, &tables)[0];
}

/* Kernels of norms are joined to those behind them; attention's core begins with a ring, beside which the other half
 * goes first. */
static void what_waits_changes_the_order(void)
{
    Case c = case_of("mixtral-8x7b", "dgx-h100:2", "megatron", RINGS);
    c.cache = rh_bound_new(&c.k.c);
    const RhLayerPassPair *none = pair_of(&c, RH_RECOMPUTE_NONE);
    CU_ASSERT_TRUE(rh_pair_keeps_order(none, none));
    CU_ASSERT_TRUE(rh_pair_keeps_order(none, pair_of(&c, RH_RECOMPUTE_NORM)));
    CU_ASSERT_TRUE(rh_pair_keeps_order(none, pair_of(&c, RH_RECOMPUTE_EXPERT_ACTIVATION)));
    CU_ASSERT_FALSE(rh_pair_keeps_order(pair_of(&c, RH_RECOMPUTE_NORM), none));
    CU_ASSERT_FALSE(rh_pair_keeps_order(none, pair_of(&c, RH_RECOMPUTE_CORE)));
    CU_ASSERT_TRUE(pair_s(&c, RH_RECOMPUTE_NONE) <= pair_s(&c, RH_RECOMPUTE_NORM));
    CU_ASSERT_TRUE(pair_s(&c, RH_RECOMPUTE_CORE) < 0.98 * pair_s(&c, RH_RECOMPUTE_NONE));
    case_clear(&c);
}

/* No set of modules takes less than the least over the sets with orders of their own; that is as tight as can be where
 * one of them takes it. */
static void the_least_order_bounds_all(void)
{
    static const struct {
        const char *model, *platform, *stack, *layout;
        guint orders;
    } rows[] = {
        {"mixtral-8x7b", "dgx-h100:2", "megatron", RINGS, 4},
        {"mixtral-8x7b", "dgx-h100:2", "megatron", "tp1,pp1,ep8,mb1,epoverlap=pairs", 2},
        {"deepseek-v3", "hgx-h800:1", "hai-llm", "tp1,pp1,ep8,mb1,epoverlap=pairs", 2},
        {"deepseek-v3", "hgx-h800:1", "bare", "tp2,pp1,ep8,etp1,sp=on,mb1,epoverlap=pairs", 4},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Case c = case_of(rows[i].model, rows[i].platform, rows[i].stack, rows[i].layout);
        c.cache = rh_bound_new(&c.k.c);
        uint32_t modules = (uint32_t)train_drawn_modules(c.k.model, ~0u);
        RhShardCost *plain = shard_of(&c, RH_RECOMPUTE_NONE);
        CU_ASSERT_EQUAL(rh_bound_pair_orders(c.cache, plain, modules)->len, rows[i].orders);
        RhTables tables = rh_bound_tables(c.cache, &c.layout);
        g_autofree double *open_s = rh_bound_open_pairs_new(c.cache, &c.layout, &tables, &modules);
        double least_s = pair_s(&c, RH_RECOMPUTE_NONE);
        for (uint32_t some = 0; some <= modules; some++) {
            RhLayout l = c.layout;
            l.recompute = (RhRecompute)some;
            if ((some & ~modules) == 0 && rh_train_legal(&c.k.c, &l, NULL))
                least_s = MIN(least_s, pair_s(&c, (RhRecompute)some));
        }
        CU_ASSERT_TRUE(open_s[0] <= least_s * (1 + 1e-12));
        CU_ASSERT_TRUE(open_s[0] >= 0.9 * least_s);
        case_clear(&c);
    }
}

/* Returns the seconds of all layers as a pair where any of the modules may be recomputed. */
static double open_pair_s(Case *c, uint32_t modules)
{
    RhTables tables = rh_bound_tables(c->cache, &c->layout);
    g_autofree double *open_s = rh_bound_open_pairs_new(c->cache, &c->layout, &tables, &modules);
    return open_s[0];
}

/* Micro-batches of so many sizes are more shards than are kept. */
#define SIZES 128

/* Times of open pairs are known after shards were dropped, of each set of modules, without the layers that
 * recompute some of them. */
static void open_pairs_outlive_shards(void)
{
    Case c = case_of("mixtral-8x7b", "dgx-h100:2", "megatron", RINGS);
    c.cache = rh_bound_new(&c.k.c);
    uint32_t all = (uint32_t)train_drawn_modules(c.k.model, ~0u);
    double all_s = open_pair_s(&c, all), core_s = open_pair_s(&c, RH_RECOMPUTE_CORE);
    CU_ASSERT_TRUE(all_s <= core_s);
    RhLayout l = c.layout;
    for (l.microbatch = 1; l.microbatch <= SIZES; l.microbatch++)
        rh_bound_shard(c.cache, &l);
    rh_bound_forget_shards(c.cache);
    int32_t made = c.cache->shards_made;
    CU_ASSERT_EQUAL(open_pair_s(&c, all), all_s);
    CU_ASSERT_EQUAL(open_pair_s(&c, RH_RECOMPUTE_CORE), core_s);
    CU_ASSERT_EQUAL(c.cache->shards_made, made + 1);
    case_clear(&c);
}

int main(void)
{
    return rh_test_main("pair_order",
                        (RhTest[]){{"what_waits_changes_the_order", what_waits_changes_the_order},
                                   {"the_least_order_bounds_all", the_least_order_bounds_all},
                                   {"open_pairs_outlive_shards", open_pairs_outlive_shards},
                                   {0}});
}
