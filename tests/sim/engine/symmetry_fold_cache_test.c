/* Folds that programs share: taken where programs send alike, and then of no effect on any time. */
#include <math.h>

#include "sim/engine/symmetry_fold_cache.h"
#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/bounds/message_times.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static double step_s(const TrainKit *k, const RhProgram *p, const RhFoldedTable *folded,
                     bool collapse)
{
    RhEngineOptions options = {.folded = folded, .collapse_disabled = !collapse};
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, k->platform, &options, NULL);
    return run ? run->step_time_s : 0;
}

/* Is there a fold for the layout's program? Then steps take the same time with it as without. */
static bool is_shared(const TrainKit *k, const RhFoldedTable *folded, const char *text)
{
    RhLayout l = train_layout(k, text);
    g_autoptr(RhProgram) p = rh_train_build(&k->c, &l, NULL);
    RhTraffic *traffic = NULL;
    const RhCachedFold *found = rh_fold_cache_find(folded, p, NULL, &traffic);
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
    RhFoldedTable *other = rh_fold_cache_new();
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    rh_fold_cache_give(folded, bytes);
    rh_fold_cache_take(other, k->platform, bytes->data, bytes->len);
    return other;
}

/* Rehearsals of the same grid take over the folds of the bounds, exact and merged ones. */
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
        g_autoptr(RhBoundCache) s = rh_bound_new(&k.c);
        RhLayout l = train_layout(&k, rows[i].screened);
        CU_ASSERT_FALSE(is_shared(&k, s->folded, rows[i].screened));
        CU_ASSERT_TRUE(rh_segment_graph_s(s, &l) > 0);
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
    g_autoptr(RhBoundCache) s = rh_bound_new(&k.c);
    RhLayout l = train_layout(&k, "tp1,pp2,dp550,zero1");
    rh_segment_graph_s(s, &l);
    rh_bound_end_fold(s, &l);
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    RhTraffic *traffic = NULL;
    const RhCachedFold *found = rh_fold_cache_find(s->folded, p, NULL, &traffic);
    rh_traffic_free(traffic);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_PTR_NOT_NULL(found->fold->approximate_why);
    CU_ASSERT_TRUE(is_shared(&k, s->folded, "tp1,pp2,dp550,zero1"));
    g_autoptr(RhFoldedTable) other = tell(&k, s->folded);
    CU_ASSERT_TRUE(is_shared(&k, other, "tp1,pp2,dp550,zero1"));
}

/* Messages of merged ranks are bounded before their collectives are asked for, by no more than
 * the quotient says later, and by hardly less: for weights beyond 512, which are rounded, and
 * for few. */
static void merged_messages_bound_the_quotients(void)
{
    static const struct {
        const char *platform, *layout;
        int32_t replicas;
    } rows[] = {{"h100-sxm:1x1100,ib:400Gb/s,leaf:31,oversub:7", "tp1,pp2,dp550,zero1", 550},
                {"h100-sxm:1x2103,ib:400Gb/s,leaf:1301,oversub:20", "tp1,pp3,dp701,zero1", 701},
                {"h100-sxm:1x1800,ib:400Gb/s,leaf:31,oversub:7", "tp1,pp4,dp450,zero1", 450}};
    bool rounded = false;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit("llama-3.2-1b", rows[i].platform, "megatron", rows[i].replicas, 128);
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        g_autoptr(RhTraffic) t =
            rh_traffic_new(p, k.platform, false, NULL, rh_deadline_in(0), NULL);
        g_autoptr(RhFold) fold = rh_fold_ranks(t, rh_deadline_in(0));
        CU_ASSERT_PTR_NOT_NULL_FATAL(fold->steps);
        int32_t distance[8] = {0};
        for (int32_t s = 0; s < l.pp; s++) {
            distance[2 * s] = s + 1 < l.pp ? l.dp : 0;
            distance[2 * s + 1] = s > 0 ? -l.dp : 0;
        }
        RhMessageTimes to = {l.pp, distance};
        g_autofree RhLinkCost *merged = rh_message_times_of_merged(&to, t, fold);
        rh_fold_end(fold);
        g_autoptr(RhFoldedNetwork) q = rh_folded_network_new(t, fold);
        g_autofree RhLinkCost *performed = rh_message_times_of_quotient(&to, t, q);
        rounded |= q->weights_rounded;
        for (int32_t h = 0; h < 2 * l.pp; h++) {
            bool some = distance[h] != 0;
            CU_ASSERT_EQUAL(isfinite(merged[h].s_per_byte), some);
            CU_ASSERT_EQUAL(isfinite(performed[h].s_per_byte), some);
            if (!some)
                continue;
            CU_ASSERT_EQUAL(merged[h].latency_s, performed[h].latency_s);
            CU_ASSERT_TRUE(merged[h].s_per_byte <= performed[h].s_per_byte * (1 + 1e-12));
            CU_ASSERT_TRUE(merged[h].s_per_byte >= performed[h].s_per_byte * 0.98);
        }
    }
    CU_ASSERT_TRUE(rounded);
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
        g_autoptr(RhBoundCache) s = rh_bound_new(&k.c);
        RhLayout l = train_layout(&k, layout);
        CU_ASSERT_TRUE(rh_segment_graph_s(s, &l) > 0);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        RhTraffic *traffic = NULL;
        const RhCachedFold *found = rh_fold_cache_find(s->folded, p, NULL, &traffic);
        rh_traffic_free(traffic);
        CU_ASSERT_EQUAL(found != NULL, !is_long);
        g_autoptr(RhTraffic) own =
            rh_traffic_new(p, k.platform, false, NULL, rh_deadline_in(0), NULL);
        g_autoptr(RhFold) fold = rh_fold_new(own, false, NULL);
        CU_ASSERT_EQUAL(fold->approximate_why != NULL, is_long);
    }
}

/* Folded beside the search, exactly and merged: the same bounds, and rehearsals take the folds over as ever. What is
 * asked for before it is not waited for, and what nobody asks for is let go. */
static void expected_folds_are_those_asked_for(void)
{
    static const char *const layouts[] = {"tp1,pp2,dp550,zero1", "tp1,pp4,dp275,zero1",
                                          "tp1,pp4,dp275,zero1,order=tp-pp-dp"};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:1x1100,ib:400Gb/s,leaf:31,oversub:7",
                                   "megatron", 550, 128);
    train_kit_runs_all(&k);
    g_autoptr(RhBoundCache) own = rh_bound_new(&k.c);
    g_autoptr(RhBoundCache) ahead = rh_bound_new(&k.c);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        RhLayout next = train_layout(&k, layouts[(i + 1) % G_N_ELEMENTS(layouts)]);
        rh_bound_expect_messages(ahead, &l);
        CU_ASSERT_EQUAL(ahead->ahead != NULL, i == 0); /* the others were asked for as the next */
        double other_s = rh_segment_graph_s(ahead, &next);
        CU_ASSERT_EQUAL(rh_segment_graph_s(ahead, &l), rh_segment_graph_s(own, &l));
        CU_ASSERT_PTR_NULL(ahead->ahead);
        CU_ASSERT_EQUAL(other_s, rh_segment_graph_s(own, &next));
        rh_bound_end_fold(ahead, &l);
    }
    CU_ASSERT_TRUE(is_shared(&k, ahead->folded, layouts[0]));
    g_autoptr(RhBoundCache) left = rh_bound_new(&k.c);
    RhLayout l = train_layout(&k, layouts[0]);
    rh_bound_expect_messages(left, &l);
    CU_ASSERT_PTR_NOT_NULL(left->ahead);
}

int main(void)
{
    return rh_test_main(
        "fold_cache",
        (RhTest[]){{"rehearsals_take_the_bounds_folds", rehearsals_take_the_bounds_folds},
                   {"merged_folds_are_shared_too", merged_folds_are_shared_too},
                   {"merged_messages_bound_the_quotients", merged_messages_bound_the_quotients},
                   {"long_programs_share_no_exact_fold", long_programs_share_no_exact_fold},
                   {"expected_folds_are_those_asked_for", expected_folds_are_those_asked_for},
                   {0}});
}
