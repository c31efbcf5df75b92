/* Some layers of a stage are recomputed: what that keeps and replays, and how few of them fit. */
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/train/recompute_fewest_layers.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static double peak_of_stage(const TrainKit *k, const RhLayout *l, int32_t stage)
{
    g_autoptr(RhProgram) p = rh_train_build(&k->c, l, NULL);
    return rh_ledger_walk(p, stage, RH_MEMORY_TIER_HBM).peak_bytes;
}

static double replayed_s(const TrainKit *k, const RhLayout *l, int32_t stage)
{
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k->c, l);
    g_autoptr(RhLayerOps) items = rh_layer_ops_new(l, model_cost);
    g_autoptr(RhStageProgram) stage_program = rh_stage_program_new(model_cost, l, stage);
    RhKernelSums sums = {0};
    rh_stage_program_add_kernels(stage_program, items, &sums);
    return sums.seconds[RH_PHASE_RECOMPUTE];
}

/* Each layer that is recomputed keeps its input in place of all; with 1f1b stage i holds p - i of them. */
static void a_layer_more_keeps_so_much_less(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 32, 4096);
    RhLayout all = train_layout(&k, "tp2,pp4,recompute=full"), none = train_layout(&k, "tp2,pp4"),
             some = train_layout(&k, "tp2,pp4,recompute=full,relayers=8-5-2-0");
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &some);
    double less = rh_layer_bytes(model_cost, rh_op_kind_of_layer(k.model, 0, false)).kept -
                  rh_layer_bytes(model_cost, rh_op_kind_of_layer(k.model, 0, true)).kept;
    static const int32_t again[] = {8, 5, 2, 0};
    for (int32_t stage = 0; stage < 4; stage++) {
        double held = 4 - stage, here = again[stage] / 8.0;
        RH_CHECK_CLOSE(replayed_s(&k, &some, stage), here * replayed_s(&k, &all, stage), 1e-12);
        if (again[stage] > 0 &&
            again[stage] < 8) { /* a layer that is not, is at work when fullest */
            double dropped = peak_of_stage(&k, &none, stage) - peak_of_stage(&k, &some, stage);
            RH_CHECK_CLOSE(dropped, held * again[stage] * less, 0.02);
        }
    }
    RH_CHECK_CLOSE(peak_of_stage(&k, &some, 0), peak_of_stage(&k, &all, 0), 1e-12);
    RH_CHECK_CLOSE(peak_of_stage(&k, &some, 3), peak_of_stage(&k, &none, 3), 1e-12);
}

/* The fewest recomputed layers of every stage fit, and one less of any does not; later stages but
 * the last hold less and recompute no more. */
static void least_is_what_fits_and_one_less_does_not(void)
{
    static const char *const layouts[] = {
        "tp2,pp4,recompute=full,relayers=least", "tp2,pp4,vpp2,recompute=full,relayers=least",
        "tp1,pp4,dp2,zero1,recompute=layernorm+mlp,relayers=least"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 32, 8192);
        RhLayout l = train_layout(&k, layouts[i]), whole = l;
        whole.recomputed_layers_count = 0;
        double high = peak_of_stage(&k, &whole, 0);
        whole.recompute = RH_RECOMPUTE_NONE;
        double room = high + 0.4 * (peak_of_stage(&k, &whole, 0) - high);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        rh_recompute_fewest_layers(rh_bound_shard(cache, &l)->model_cost,
                                   rh_bound_pipeline_profile(cache, &l), room, &l);
        CU_ASSERT_EQUAL_FATAL(l.recomputed_layers_count, l.pp * l.vpp);
        CU_ASSERT_TRUE(rh_train_legal(&k.c, &l, NULL));
        CU_ASSERT_TRUE(l.recomputed_layers[0] > 0 && l.recomputed_layers[0] <= 32 / (l.pp * l.vpp));
        for (int32_t stage = 0; stage < l.pp; stage++) {
            CU_ASSERT_TRUE(peak_of_stage(&k, &l, stage) <= room);
            CU_ASSERT_TRUE(stage == 0 || stage == l.pp - 1 || /* logits */
                           l.recomputed_layers[stage] <= l.recomputed_layers[stage - 1]);
            RhLayout fewer = l;
            for (int32_t c = 0; c < l.vpp; c++)
                fewer.recomputed_layers[c * l.pp + stage]--;
            if (l.recomputed_layers[stage] > 0)
                CU_ASSERT_TRUE(peak_of_stage(&k, &fewer, stage) > room);
        }
    }
}

/* Recomputation is none where nothing must be recomputed, and full where even that is too little;
 * fixed values stay. */
static void ends_have_names_of_their_own(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 32, 8192);
    RhLayout open = train_layout(&k, "tp2,pp4,recompute=full,relayers=least"), l = open;
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    const RhModelCost *model_cost = rh_bound_shard(cache, &l)->model_cost;
    const RhPipelineProfile *shape = rh_bound_pipeline_profile(cache, &l);
    rh_recompute_fewest_layers(model_cost, shape, 1e15, &l);
    CU_ASSERT_TRUE(l.recompute == RH_RECOMPUTE_NONE && l.recomputed_layers_count == 0);
    l = open;
    rh_recompute_fewest_layers(model_cost, shape, 1, &l);
    CU_ASSERT_TRUE(l.recompute == RH_RECOMPUTE_FULL && l.recomputed_layers_count == 0);
    l = train_layout(&k, "tp2,pp4,recompute=full,relayers=3");
    RhLayout named = l;
    rh_train_settle(&k.c, &l);
    CU_ASSERT_TRUE(rh_layout_equal(&l, &named));
    l.recompute = RH_RECOMPUTE_NONE;
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, NULL)); /* three layers of nothing */
    l = train_layout(&k, "tp2,pp4,recompute=full,relayers=0x4");
    CU_ASSERT_TRUE(l.recompute == RH_RECOMPUTE_NONE && l.recomputed_layers_count == 0);
}

/* Planned with it, a layout needs no more than there is, and no plan is slower than with all or nothing. */
static void a_plan_recomputes_as_few_as_fit(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 32, 8192);
    RhConstraint least = {0};
    CU_ASSERT_TRUE_FATAL(rh_constraint_parse("relayers=least", false, &least, NULL));
    CU_ASSERT_FALSE(rh_constraint_parse("relayers=3", false, &least, NULL));
    RhPlanOptions options = {.top = 1, .jobs = 1, .risk_frac = 0.1};
    g_autoptr(RhPlan) plain = rh_plan(&k.c, &options, NULL);
    CU_ASSERT_TRUE_FATAL(rh_constraint_parse("relayers=least", false, &least, NULL));
    options.constraints = &least;
    options.constraints_count = 1;
    g_autoptr(RhPlan) with = rh_plan(&k.c, &options, NULL);
    CU_ASSERT_TRUE_FATAL(plain && with && plain->entries->len > 0 && with->entries->len > 0);
    const RhRehearsal *a = plain->entries->pdata[0], *b = with->entries->pdata[0];
    CU_ASSERT_TRUE(b->fits && b->step_time_s <= a->step_time_s);
    CU_ASSERT_TRUE(b->layout.recomputed_layers_count >= 0);
}

int main(void)
{
    return rh_test_main(
        "recompute_layers",
        (RhTest[]){
            {"a_layer_more_keeps_so_much_less", a_layer_more_keeps_so_much_less},
            {"least_is_what_fits_and_one_less_does_not", least_is_what_fits_and_one_less_does_not},
            {"ends_have_names_of_their_own", ends_have_names_of_their_own},
            {"a_plan_recomputes_as_few_as_fit", a_plan_recomputes_as_few_as_fit},
            {0}});
}
