/* Questions of a layout's ranks that stacks answer differently. */
#include "strategies/train/rank_grid.h"

#include "tests/kit/train_kit.h"

/* Megatron of 2021 sends a share of the activations from each tensor rank, where there are tensor ranks and
 * a next stage, and no sequence parallelism, which has shares already. */
static void tensor_ranks_send_shares_to_a_next_stage(void)
{
    static const struct {
        const char *layout;
        bool scatters;
    } rows[] = {{"tp8,pp2,mb1,sp=off", true},
                {"tp8,pp1,dp2,mb1,sp=off", false},
                {"tp1,pp2,dp8,mb1,sp=off", false}};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron-2021", 16, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = train_layout(&k, rows[i].layout);
        CU_ASSERT_EQUAL(rh_train_scatters(&k.c, &l), rows[i].scatters);
        l.sequence_parallel = true;
        CU_ASSERT_FALSE(rh_train_scatters(&k.c, &l));
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"tensor_ranks_send_shares_to_a_next_stage", tensor_ranks_send_shares_to_a_next_stage},
        {NULL, NULL},
    };
    return rh_test_main("rank_grid", tests);
}
