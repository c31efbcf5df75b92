/* ZeRO's shares in groups of replicas where experts are spread over ranks: experts are shared out among the
 * ranks of a group that have the same ones. */
#include "sim/engine/workers/isolated_run.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define MODEL "qwen3-30b-a3b" /* 128 experts */

static RhParamCounts held(const TrainKit *k, const char *layout)
{
    RhLayout l = train_layout(k, layout);
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k->c, &l);
    return rh_stage_memory(model_cost, &l, 0).params;
}

/* Groups of eight have each expert of ep4 twice: gathered for forward and backward between the two, gradients
 * scattered in every micro-batch, and once a step what is left of them, half, all-reduced over both groups. */
static void experts_of_a_group_are_shared_out_in_it(void)
{
    g_auto(TrainKit) k = train_kit(MODEL, "dgx-h100:2", "bare", 32, 2048);
    g_autoptr(RhProgram) p = train_build(&k, "dp16,ep4,zero3,shard8");
    double m = 2, psi = held(&k, "dp16,ep4,zero3,shard8").of[RH_PARAMS_EXPERTS];
    RH_CHECK_CLOSE(train_group_bytes(p, "expert shard", RH_OP_ALL_GATHER), 2 * 2 * psi * m, 1e-9);
    RH_CHECK_CLOSE(train_group_bytes(p, "expert shard", RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-9);
    RH_CHECK_CLOSE(train_group_bytes(p, "same expert share", RH_OP_ALL_REDUCE), 4 * psi / 2, 1e-9);
    CU_ASSERT_EQUAL(train_group_bytes(p, "edp", RH_OP_ALL_REDUCE), 0);
}

/* A group of eight with ep8 has each expert once: whole, and all-reduced over the groups once a
 * step. */
static void experts_that_a_group_has_once_are_whole(void)
{
    g_auto(TrainKit) k = train_kit(MODEL, "dgx-h100:2", "bare", 32, 2048);
    g_autoptr(RhProgram) p = train_build(&k, "dp16,ep8,zero3,shard8");
    double m = 2;
    RhParamCounts psi = held(&k, "dp16,ep8,zero3,shard8");
    RH_CHECK_CLOSE(train_group_bytes(p, "edp", RH_OP_ALL_REDUCE), 4 * psi.of[RH_PARAMS_EXPERTS],
                   1e-9);
    RH_CHECK_CLOSE(train_group_bytes(p, "shard", RH_OP_ALL_GATHER),
                   2 * 2 * psi.of[RH_PARAMS_COMMON] * m, 1e-9);
    CU_ASSERT_EQUAL(train_group_bytes(p, "expert shard", RH_OP_ALL_GATHER), 0);
}

/* 2 bytes of weights, 4 of gradients, 12 of states: what each degree shares out, among how many. */
static void states_are_shared_out_class_by_class(void)
{
    static const struct {
        const char *layout;
        double common, experts; /* bytes a parameter */
    } rows[] = {{"dp16,ep4,zero1,shard8", 6 + 12.0 / 8, 6 + 12.0 / 2},
                {"dp16,ep4,zero3,shard8", 18.0 / 8, 18.0 / 2},
                {"dp16,ep8,zero3,shard8", 18.0 / 8, 18},
                {"tp2,dp8,ep4,etp1,zero3,shard4", 18.0 / 4, 18.0 / 2},
                {"dp16,ep4,zero3", 18.0 / 16, 18.0 / 4}};
    g_auto(TrainKit) k = train_kit(MODEL, "dgx-h100:2", "bare", 32, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
        double states = s.fixed_bytes[RH_MEMORY_WEIGHTS] + s.fixed_bytes[RH_MEMORY_GRADIENTS] +
                        s.fixed_bytes[RH_MEMORY_OPTIMIZER];
        RH_CHECK_CLOSE(states,
                       rows[i].common * s.params.of[RH_PARAMS_COMMON] +
                           rows[i].experts * s.params.of[RH_PARAMS_EXPERTS],
                       1e-9);
    }
}

static void folded_is_unfolded(void)
{
    static const char *const layouts[] = {"dp16,ep4,zero3,shard8", "dp16,ep8,zero3,shard8",
                                          "dp16,ep2,zero2,shard4", "tp2,dp8,ep4,etp1,zero1,shard4",
                                          "pp2,dp8,ep2,zero3,shard4"};
    g_auto(TrainKit) k = train_kit(MODEL, "dgx-h100:2", "megatron", 32, 2048);
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_autoptr(RhProgram) p = train_build(&k, layouts[i]);
        g_autoptr(GError) error = NULL;
        RhEngineOptions folded = {0}, unfolded = {.unfolded = true};
        g_autoptr(RhRun) a = rh_rehearse_isolated(p, k.platform, &folded, &error);
        g_assert_no_error(error);
        g_autoptr(RhRun) b = rh_rehearse_isolated(p, k.platform, &unfolded, &error);
        g_assert_no_error(error);
        RH_CHECK_CLOSE(a->step_time_s, b->step_time_s, 1e-3);
    }
}

int main(void)
{
    return rh_test_main(
        "zero_expert_shares",
        (RhTest[]){
            {"experts_of_a_group_are_shared_out_in_it", experts_of_a_group_are_shared_out_in_it},
            {"experts_that_a_group_has_once_are_whole", experts_that_a_group_has_once_are_whole},
            {"states_are_shared_out_class_by_class", states_are_shared_out_class_by_class},
            {"folded_is_unfolded", folded_is_unfolded},
            {0}});
}
