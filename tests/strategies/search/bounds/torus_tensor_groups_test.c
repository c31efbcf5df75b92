/* Tensor groups along an axis of a torus of chips: searched, and bounded from below. */
#include <math.h>

#include "tests/kit/bounds_kit.h"
#include "tests/kit/train_kit.h"

static void groups_along_an_axis_are_searched(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "tpu-v6e", "maxtext", 256, 8192);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    int32_t widest = 1;
    for (guint i = 0; i < space->len; i++)
        widest = MAX(widest, g_array_index(space, RhLayout, i).tp);
    CU_ASSERT_EQUAL(k.platform->gpus_per_node, 1);
    CU_ASSERT_TRUE(k.platform->torus[0] >= 8);
    CU_ASSERT_EQUAL(widest, 8); /* its key-value heads, which MaxText cuts evenly */
}

/* The space has none of more than a node where there is no torus. */
static void other_nodes_are_not_crossed(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "maxtext", 256, 8192);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    for (guint i = 0; i < space->len; i++)
        CU_ASSERT_TRUE(g_array_index(space, RhLayout, i).tp <= 8);
}

static void steps_are_not_below_their_bounds(void)
{
    static const char *const layouts[] = {"tp2,zero3,mb1,recompute=full", "tp4,zero3,mb1",
                                          "tp16,zero3,mb1", "tp8,zero1,mb1,recompute=full",
                                          "tp4,cp2,zero3,mb1,recompute=full"};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "tpu-v6e", "maxtext", 256, 8192);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        CU_ASSERT_TRUE_FATAL(rh_train_legal(&k.c, &l, NULL));
        BoundsRatio ratio = bounds_check_within(&k.c, layouts[i], &l, 60);
        CU_ASSERT_TRUE(ratio.closed <= ratio.segment && ratio.segment <= 1 + 1e-6);
    }
}

int main(void)
{
    return rh_test_main(
        "torus_tensor_groups",
        (RhTest[]){{"groups_along_an_axis_are_searched", groups_along_an_axis_are_searched},
                   {"other_nodes_are_not_crossed", other_nodes_are_not_crossed},
                   {"steps_are_not_below_their_bounds", steps_are_not_below_their_bounds},
                   {0}});
}
