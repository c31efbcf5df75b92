/* Folds that programs share: taken where programs send alike, and then of no effect on any time. */
#include "sim/engine/apart.h"
#include "sim/engine/folded.h"
#include "strategies/search/screen.h"
#include "tests/testkit.h"
#include "tests/train_kit.h"

static double step_s(const TrainKit *k, const RhProgram *p, const RhFoldedTable *folded,
                     bool collapse)
{
    RhEngineOptions options = {.folded = folded, .collapse_disabled = !collapse};
    g_autoptr(RhRun) run = rh_rehearse_apart(p, k->platform, &options, NULL);
    return run ? run->step_time_s : 0;
}

/* Is there a fold for the layout's program? Then steps take the same time with it as without. */
static bool is_shared(const TrainKit *k, const RhFoldedTable *folded, const char *text)
{
    RhLayout l = train_layout(k, text);
    g_autoptr(RhProgram) p = rh_train_build(&k->c, &l, NULL);
    RhTraffic *traffic = NULL;
    const RhFolded *found = rh_folded_find(folded, p, NULL, &traffic);
    rh_traffic_free(traffic);
    for (int collapse = 0; found && collapse < 2; collapse++) {
        double own_s = step_s(k, p, NULL, collapse);
        CU_ASSERT_TRUE(own_s > 0);
        RH_CHECK_CLOSE(step_s(k, p, folded, collapse), own_s, 1e-12);
    }
    return found != NULL;
}

/* All of the table in another, as a child is told. */
static RhFoldedTable *tell(const TrainKit *k, RhFoldedTable *folded)
{
    RhFoldedTable *other = rh_folded_table_new();
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    rh_folded_give(folded, bytes);
    rh_folded_take(other, k->platform, bytes->data, bytes->len);
    return other;
}

/* What the bounds folded, rehearsals of the same grid take over: exact folds and merged ones. */
static void rehearsals_take_the_bounds_folds(void)
{
    static const struct {
        const char *platform, *screened, *alike, *other;
    } rows[] = {{"dgx-h100:4", "tp2,pp4,dp4,zero1", "tp2,pp4,dp4,zero1,mb2,recompute=full",
                 "tp2,pp4,dp4,zero1,order=tp-pp-dp"},
                {"h100-sxm:8x12,ib:400Gb/s,leaf:3,oversub:2", "tp8,pp4,dp3,zero1,order=tp-pp-dp",
                 "tp8,pp4,dp3,zero1,order=tp-pp-dp,recompute=selective", "tp8,pp4,dp3,zero3"},
                {"h100-sxm:4x6,ib:400Gb/s,leaf:2,oversub:3", "tp2,pp4,dp3,zero0",
                 "tp2,pp4,dp3,zero0,recompute=full", "tp2,pp4,dp3,zero0,vpp2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", rows[i].platform, "megatron", 48, 1024);
        train_kit_runs_all(&k);
        g_autoptr(RhScreen) s = rh_screen_new(&k.c);
        RhLayout l = train_layout(&k, rows[i].screened);
        CU_ASSERT_FALSE(is_shared(&k, s->folded, rows[i].screened));
        CU_ASSERT_TRUE(rh_screen_segment_s(s, &l) > 0);
        for (int told = 0; told < 2; told++) {
            g_autoptr(RhFoldedTable) other = told ? tell(&k, s->folded) : NULL;
            const RhFoldedTable *folded = told ? other : s->folded;
            CU_ASSERT_TRUE(is_shared(&k, folded, rows[i].screened));
            CU_ASSERT_TRUE(is_shared(&k, folded, rows[i].alike));
            CU_ASSERT_FALSE(is_shared(&k, folded, rows[i].other));
        }
    }
}

/* Ranks that all differ are merged, by the bounds as by rehearsals. */
static void merged_folds_are_shared_too(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:1x1100,ib:400Gb/s,leaf:31,oversub:7",
                                   "megatron", 550, 128);
    train_kit_runs_all(&k);
    g_autoptr(RhScreen) s = rh_screen_new(&k.c);
    RhLayout l = train_layout(&k, "tp1,pp2,dp550,zero1");
    rh_screen_segment_s(s, &l);
    rh_screen_end_fold(s, &l);
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    RhTraffic *traffic = NULL;
    const RhFolded *found = rh_folded_find(s->folded, p, NULL, &traffic);
    rh_traffic_free(traffic);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_PTR_NOT_NULL(found->fold->approximate_why);
    CU_ASSERT_TRUE(is_shared(&k, s->folded, "tp1,pp2,dp550,zero1"));
    g_autoptr(RhFoldedTable) other = tell(&k, s->folded);
    CU_ASSERT_TRUE(is_shared(&k, other, "tp1,pp2,dp550,zero1"));
}

/* Alike but for how many micro-batches there are: the bounds' program is short enough for every kind of rank, this one
 * is not, and is merged as it is without a table. */
static void long_programs_share_no_exact_fold(void)
{
    static const char layout[] = "tp8,pp4,dp3,zero1,order=tp-pp-dp";
    for (int is_long = 0; is_long < 2; is_long++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x12,ib:400Gb/s,leaf:3,oversub:2",
                                       "megatron", is_long ? 60000 : 60, 128);
        train_kit_runs_all(&k);
        g_autoptr(RhScreen) s = rh_screen_new(&k.c);
        RhLayout l = train_layout(&k, layout);
        CU_ASSERT_TRUE(rh_screen_segment_s(s, &l) > 0);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        RhTraffic *traffic = NULL;
        const RhFolded *found = rh_folded_find(s->folded, p, NULL, &traffic);
        rh_traffic_free(traffic);
        CU_ASSERT_EQUAL(found != NULL, !is_long);
        g_autoptr(RhTraffic) own = rh_traffic_new(p, k.platform, false, NULL, NULL);
        g_autoptr(RhFold) fold = rh_fold_new(own, false, NULL);
        CU_ASSERT_EQUAL(fold->approximate_why != NULL, is_long);
    }
}

int main(void)
{
    return rh_test_main(
        "folded",
        (RhTest[]){{"rehearsals_take_the_bounds_folds", rehearsals_take_the_bounds_folds},
                   {"merged_folds_are_shared_too", merged_folds_are_shared_too},
                   {"long_programs_share_no_exact_fold", long_programs_share_no_exact_fold},
                   {0}});
}
