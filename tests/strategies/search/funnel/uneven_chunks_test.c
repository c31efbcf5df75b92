/* Layouts whose chunks are not alike must gain 1 % on others of their kind. */
#include "strategies/search/funnel/funnel.h"
#include "tests/kit/train_kit.h"

static void uneven_chunks_have_a_handicap(void)
{
    static const struct {
        const char *layout; /* of 32 layers */
        bool uneven;
    } rows[] = {{"tp4,pp2,vpp2,mb1", false},
                {"tp4,pp2,vpp2,mb1,partition=work", true},
                {"tp2,pp4,vpp3,mb1", true},
                {"tp4,pp2,mb1", false}};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 16, 2048);
    RhPlanOptions options = {.top = 1};
    RhFunnel f = {.c = &k.c, .o = &options};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = rh_layout_default();
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        RH_CHECK_CLOSE(rh_funnel_handicap(&f, &l), rows[i].uneven ? 1 / 0.99 : 1, 1e-12);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"uneven_chunks_have_a_handicap", uneven_chunks_have_a_handicap},
        {NULL, NULL},
    };
    return rh_test_main("uneven_chunks", tests);
}
