/* Two copies of the model in one pipeline: memory, sums, folds and bounds of GEMS. */
#include "sim/memory_ledger.h"
#include "strategies/train/memory/memory.h"
#include "strategies/train/schedules/schedule.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static const char *const layouts[] = {"pp4,dp2,zero0,schedule=gems", "pp2,dp4,zero0,schedule=gems",
                                      "pp2,dp4,zero0,schedule=gems,order=tp-pp-dp"};

static TrainKit pictures(const char *platform, int64_t batch)
{
    TrainKit k = train_kit("amoebanet-d", platform, "bare", batch, 1);
    train_kit_runs_all(&k);
    return k;
}

/* Every stage's peak is its ledger's; each holds its part of both copies, and the activations of one
 * micro-batch of one of them. */
static void parameters_count_twice_and_activations_once(void)
{
    g_auto(TrainKit) k = pictures("h100-sxm:4x1", 8);
    RhLayout l = train_layout(&k, "pp4,dp1,schedule=gems");
    g_autoptr(RhProgram) p = train_build(&k, "pp4,dp1,schedule=gems");
    k.c.job.global_batch = 1;
    g_autoptr(RhProgram) single = train_build(&k, "pp4,dp1"); /* one copy, one micro-batch */
    k.c.job.global_batch = 8;
    RhLedger of[4];
    for (int32_t stage = 0; stage < l.pp; stage++)
        of[stage] = rh_ledger_walk(single, stage, RH_MEMORY_TIER_HBM);
    for (int32_t stage = 0; stage < l.pp; stage++) {
        RhLedger ledger = rh_ledger_walk(p, stage, RH_MEMORY_TIER_HBM);
        const double *own = of[stage].at_peak_bytes, *other = of[3 - stage].at_peak_bytes;
        const double *both = ledger.at_peak_bytes;
        RH_CHECK_CLOSE(both[RH_MEMORY_WEIGHTS], own[RH_MEMORY_WEIGHTS] + other[RH_MEMORY_WEIGHTS],
                       1e-12);
        RH_CHECK_CLOSE(both[RH_MEMORY_OPTIMIZER],
                       own[RH_MEMORY_OPTIMIZER] + other[RH_MEMORY_OPTIMIZER], 1e-12);
        double kept = both[RH_MEMORY_ACTIVATIONS] + both[RH_MEMORY_RECOMPUTE];
        RH_CHECK_CLOSE(kept,
                       MAX(own[RH_MEMORY_ACTIVATIONS] + own[RH_MEMORY_RECOMPUTE],
                           other[RH_MEMORY_ACTIVATIONS] + other[RH_MEMORY_RECOMPUTE]),
                       1e-12);
    }
    RhTrainMemory closed = rh_train_memory(&k.c, &l);
    RH_CHECK_CLOSE(closed.peak_bytes,
                   rh_ledger_walk(p, closed.stage, RH_MEMORY_TIER_HBM).peak_bytes, 1e-12);
    k.c.job.global_batch = 32; /* more micro-batches take no more */
    RH_CHECK_CLOSE(rh_train_memory(&k.c, &l).peak_bytes, closed.peak_bytes, 1e-12);
}

/* Ranks s and p-1-s sum both their parts, an all-reduce each over both and all replicas; the middle
 * one of five is alone with its two copies. */
static void twins_sum_their_parts(void)
{
    g_auto(TrainKit) k = pictures("h100-sxm:4x2", 8);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        g_autoptr(RhProgram) p = train_build(&k, layouts[i]);
        RhGrid grid = rh_grid(&l);
        int32_t groups = 0, members[16];
        for (guint g = 0; g < p->groups->len; g++) {
            const RhGroup *group = rh_program_group(p, (int32_t)g);
            const char *label = g_ptr_array_index(p->labels, (guint)group->label);
            if (strcmp(label, "mirrored") != 0)
                continue;
            int32_t rank = rh_grid_rank(&grid, groups, 0);
            CU_ASSERT_EQUAL(group->size, 2 * l.dp);
            CU_ASSERT_TRUE(rh_group_members(group, rank, members) >= 0);
            for (int32_t m = 0; m < group->size; m++) {
                int32_t stage = members[m] / grid.stride[RH_DIM_PP] % l.pp;
                CU_ASSERT_TRUE(stage == groups || stage == l.pp - 1 - groups);
            }
            for (int32_t stage = 0; stage < l.pp; stage++) {
                bool theirs = stage == groups || stage == l.pp - 1 - groups;
                int32_t place = rh_group_members(group, rh_grid_rank(&grid, stage, 0), members);
                CU_ASSERT_EQUAL(place >= 0, theirs);
            }
            groups++;
        }
        CU_ASSERT_EQUAL(groups, l.pp / 2);
    }
    g_auto(TrainKit) five = pictures("h100-sxm:5x1", 4);
    g_autoptr(RhProgram) p = train_build(&five, "pp5,dp1,schedule=gems");
    RH_CHECK_CLOSE(train_buffers(p, 2, RH_LANE_DP, RH_OP_ALL_REDUCE), 0, 0);
    RH_CHECK_CLOSE(train_buffers(p, 0, RH_LANE_DP, RH_OP_ALL_REDUCE),
                   train_buffers(p, 4, RH_LANE_DP, RH_OP_ALL_REDUCE), 1e-12);
    CU_ASSERT_TRUE(train_buffers(p, 1, RH_LANE_DP, RH_OP_ALL_REDUCE) > 0);
}

/* Pairs of inner stages count from a rank of their own, in files too. */
static void pairs_are_kept_in_files(void)
{
    g_auto(TrainKit) k = pictures("h100-sxm:4x2", 8);
    g_autoptr(RhProgram) p = train_build(&k, layouts[0]);
    g_autofree char *text = rh_program_to_json(p);
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), NULL);
    g_autoptr(RhProgram) q = rh_program_from_json(doc, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"origin\":2"));
    CU_ASSERT_TRUE(rh_program_same_places(p, q));
    g_autofree char *again = rh_program_to_json(q);
    CU_ASSERT_STRING_EQUAL(text, again);
}

static void folded_is_unfolded_and_no_bound_is_above(void)
{
    static const char *const platforms[] = {"h100-sxm:4x2,nvlink:450GB/s,ib:100Gb/s",
                                            "h100-sxm:2x4,nvlink:450GB/s,ib:100Gb/s"};
    static const char *const more[] = {"pp4,dp2,zero0,schedule=gems", "pp8,dp1,schedule=gems",
                                       "pp4,dp2,zero0,schedule=gems,order=tp-pp-dp",
                                       "pp2,dp4,zero0,schedule=gems,mb2"};
    for (size_t n = 0; n < G_N_ELEMENTS(platforms); n++)
        for (size_t i = 0; i < G_N_ELEMENTS(more); i++) {
            g_auto(TrainKit) k = pictures(platforms[n], 32);
            RhLayout l = train_layout(&k, more[i]);
            double step_s = train_step_s(&k.c, &l, false);
            g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
            RH_CHECK_CLOSE(step_s, train_step_s(&k.c, &l, true), 1e-9);
            double graph_s = train_segment_s(&k.c, &l);
            CU_ASSERT_TRUE(graph_s <= step_s * (1 + 1e-9));
            CU_ASSERT_TRUE(graph_s > 0.95 * step_s);
            CU_ASSERT_TRUE(rh_closed_form_s(cache, &l) <= step_s * (1 + 1e-9));
        }
}

static void what_it_cannot_is_refused(void)
{
    static const struct {
        const char *model, *layout, *why;
        int64_t batch;
    } rows[] = {{"amoebanet-d", "pp2,dp2,zero1,schedule=gems", "sum whole gradients", 8},
                {"amoebanet-d", "pp1,dp4,zero0,schedule=gems", "needs a pipeline", 8},
                {"amoebanet-d", "pp2,dp2,zero0,schedule=gems", "do not divide", 6},
                {"gpt2", "pp2,dp4,zero0,schedule=gems", "tied embeddings", 8},
                {"mixtral-8x7b", "pp2,dp4,zero0,schedule=gems", "experts", 8}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "h100-sxm:4x1", "bare", rows[i].batch, 1024);
        g_autoptr(GError) error = NULL;
        RhLayout l = rh_train_default(&k.c);
        g_assert(rh_layout_parse(rows[i].layout, &l, NULL));
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, rows[i].why));
        if (!strstr(error->message, rows[i].why))
            fprintf(stderr, "    %s: %s\n", rows[i].layout, error->message);
    }
}

int main(void)
{
    return rh_test_main("mirrored_copies",
                        (RhTest[]){{"parameters_count_twice_and_activations_once",
                                    parameters_count_twice_and_activations_once},
                                   {"twins_sum_their_parts", twins_sum_their_parts},
                                   {"pairs_are_kept_in_files", pairs_are_kept_in_files},
                                   {"folded_is_unfolded_and_no_bound_is_above",
                                    folded_is_unfolded_and_no_bound_is_above},
                                   {"what_it_cannot_is_refused", what_it_cannot_is_refused},
                                   {0}});
}
