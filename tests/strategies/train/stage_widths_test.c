/* Pipelines of which only the first stages are cut into tiles: ranks, groups, joins, memory, folds and
 * bounds. */
#include <math.h>

#include "sim/memory_ledger.h"
#include "strategies/layer_partition.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static TrainKit pictures(const char *model, const char *platform, int64_t batch)
{
    TrainKit k = train_kit(model, platform, "bare", batch, 1);
    g_assert(rh_model_set(k.model, "height", "1024", NULL));
    g_assert(rh_model_set(k.model, "width", "1024", NULL));
    train_kit_runs_all(&k);
    return k;
}

/* Source: github.com/OSU-Nowlab/MPI4DL 998d9ad, src/torchgems/comm.py (MPIComm): a replica has
 * split_size + the sum of num_spatial_parts - spatial_size ranks, and local_DP - 1 for each split behind. */
static void a_replica_has_the_ranks_of_mpi4dl(void)
{
    for (int32_t split = 2; split < 9; split++)
        for (int32_t spatial = 1; spatial < split; spatial++)
            for (int32_t n = 0; n < 15 * 4; n++) {
                int32_t parts = 2 + n / 4, local = 1 + n % 4;
                RhLayout l = rh_layout_default();
                l.pp = split;
                l.cp = parts;
                l.cp_stages = spatial;
                l.local_dp = local;
                int64_t sum = 0;
                for (int32_t i = 0; i < spatial; i++)
                    sum += parts;
                CU_ASSERT_EQUAL(rh_layout_replica_ranks(&l),
                                split + sum - spatial + (split - spatial) * (local - 1));
            }
}

/* Every rank is in one stage; a stage's groups hold ranks of its own alone; a join holds the ranks of a
 * replica's two stages; gradients are summed over all replicas and tiles. */
static void groups_keep_to_their_stages(void)
{
    g_auto(TrainKit) k = pictures("amoebanet-d", "h100-sxm:8x2", 8);
    k.c.job.gpus = 14; /* two replicas of 2 x 3 + 1 ranks: no power of two */
    g_assert(rh_model_set(k.model, "height", "1536", NULL));
    g_autoptr(RhProgram) p =
        train_build(&k, "pp3,cp3,dp2,cpstages=2,slice=horizontal,zero0,stages=8-8-7");
    g_autofree int32_t *stage_of = rh_program_role_of_rank(p);
    static const int32_t stages[] = {0, 0, 0, 1, 1, 1, 2};
    for (int32_t rank = 0; rank < 14; rank++)
        CU_ASSERT_EQUAL(stage_of[rank], stages[rank % 7]);
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        if (t->kind != RH_TASK_COLLECTIVE)
            continue;
        const RhGroup *g = rh_program_group(p, t->group);
        const RhRole *role = rh_program_role(p, t->role);
        bool join = t->op == RH_OP_ALL_TO_ALL, sum = t->lane == RH_LANE_DP;
        int32_t members[8], rank = rh_role_rank(role, role->ranks_count - 1), outside = 0;
        CU_ASSERT_TRUE(rh_group_members(g, rank, members) >= 0);
        for (int32_t m = 0; m < g->size; m++) {
            outside += stage_of[members[m]] != t->role;
            CU_ASSERT_TRUE(sum || members[m] / 7 == rank / 7); /* of one replica */
        }
        CU_ASSERT_EQUAL(outside, join ? g->size - (t->role == 2 ? 1 : 3) : 0);
        CU_ASSERT_EQUAL(g->size, join ? 4 : !sum ? 3 : t->role == 2 ? 2 : 6);
    }
}

/* Each tile sends its part of what the stages hand over; the rank behind them gets all of it, and
 * sends as much back. */
static void a_join_moves_the_whole_picture(void)
{
    g_auto(TrainKit) k = pictures("resnet-50", "h100-sxm:5x1", 1);
    g_auto(TrainKit) two = pictures("resnet-50", "h100-sxm:2x1", 1);
    g_autoptr(RhProgram) p = train_build(&k, "pp2,cp4,cpstages=1,dp1,zero0");
    g_autoptr(RhProgram) whole = train_build(&two, "pp2,dp1");
    double message = 0;
    for (guint i = 0; i < whole->tasks->len; i++)
        if (rh_program_task(whole, (int32_t)i)->kind == RH_TASK_SEND)
            message = rh_program_task(whole, (int32_t)i)->bytes;
    int32_t joins = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        if (t->kind != RH_TASK_COLLECTIVE || t->op != RH_OP_ALL_TO_ALL)
            continue;
        int32_t count;
        const double *shares = rh_task_shares(p, t, &count);
        double back = t->phase == RH_PHASE_BACKWARD;
        RH_CHECK_CLOSE(t->bytes, message, 1e-12);
        CU_ASSERT_EQUAL(count, 25);
        for (int32_t at = 0; at < 25; at++) {
            bool sends = back ? at / 5 == 4 && at % 5 < 4 : at % 5 == 4 && at / 5 < 4;
            RH_CHECK_CLOSE(shares[at], sends ? 0.25 : 0, 1e-12);
        }
        joins++;
    }
    CU_ASSERT_EQUAL(joins, 4); /* forward and back, of both stages */
}

static const char *const layouts[] = {"pp2,cp4,cpstages=1,zero0",
                                      "pp2,cp4,cpstages=1,slice=vertical,zero0,schedule=gpipe",
                                      "pp4,cp2,cpstages=1,zero0",
                                      "pp3,cp2,cpstages=2,slice=horizontal,zero0,mb2",
                                      "pp2,cp8,cpstages=1,localdp=2,slice=vertical,zero0,mb4",
                                      "pp4,cp4,cpstages=1,localdp=2,zero0,mb2"};
static const int32_t replicas[] = {2, 2, 2, 2, 1, 1}, ranks[] = {5, 5, 5, 5, 10, 10};

static void ledger_is_the_closed_form(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = pictures("amoebanet-d", "h100-sxm:5x2", 16);
        RhLayout l = train_layout(&k, layouts[i]);
        g_autoptr(RhProgram) p = train_build(&k, layouts[i]);
        RhTrainMemory m = rh_train_memory(&k.c, &l);
        double most = 0;
        CU_ASSERT_EQUAL(l.dp, replicas[i]);
        CU_ASSERT_EQUAL(rh_layout_replica_ranks(&l), ranks[i]);
        for (int32_t stage = 0; stage < l.pp; stage++)
            most = fmax(most, rh_ledger_walk(p, stage, RH_MEMORY_TIER_HBM).peak_bytes);
        RH_CHECK_CLOSE(m.peak_bytes, most, 1e-12);
        RH_CHECK_CLOSE(m.peak_bytes, rh_ledger_walk(p, m.stage, RH_MEMORY_TIER_HBM).peak_bytes,
                       1e-12);
    }
}

/* Four tiles of two pictures meet two ranks with a picture each: an eighth of the whole goes from every
 * tile to every rank, and gradients behind are summed over the two. */
static void ranks_behind_share_out_pictures(void)
{
    g_auto(TrainKit) k = pictures("resnet-50", "h100-sxm:6x1", 2);
    g_autoptr(RhProgram) p = train_build(&k, "pp2,cp4,cpstages=1,localdp=2,dp1,mb2,zero0");
    int32_t joins = 0, count;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        if (t->kind == RH_TASK_COLLECTIVE && t->lane == RH_LANE_DP)
            CU_ASSERT_EQUAL(rh_program_group(p, t->group)->size, t->role == 0 ? 4 : 2);
        if (t->kind != RH_TASK_COLLECTIVE || t->op != RH_OP_ALL_TO_ALL)
            continue;
        const double *shares = rh_task_shares(p, t, &count);
        bool back = t->phase == RH_PHASE_BACKWARD;
        joins++;
        CU_ASSERT_EQUAL(count, 36);
        for (int32_t at = 0; at < 36; at++) {
            int32_t tile = back ? at % 6 : at / 6, rank = back ? at / 6 : at % 6;
            RH_CHECK_CLOSE(shares[at], tile < 4 && rank >= 4 ? 0.125 : 0, 1e-12);
        }
    }
    CU_ASSERT_EQUAL(joins, 4);
}

static double flops_of(const RhProgram *p)
{
    double sum = 0;
    for (guint r = 0; r < p->roles->len; r++) {
        const RhRole *role = rh_program_role(p, (int32_t)r);
        for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
            const RhTask *t = rh_program_task(p, i);
            const RhBundle *b =
                t->kind == RH_TASK_KERNEL ? &g_array_index(p->bundles, RhBundle, t->bundle) : NULL;
            for (int32_t n = 0; b && n < b->count; n++) {
                const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, b->first + n);
                sum += kernel->cls == RH_KERNEL_GEMM ? role->ranks_count * kernel->flops : 0;
            }
        }
    }
    return sum;
}

/* All ranks together do the products of the whole model, each once. */
static void all_ranks_do_the_work_once(void)
{
    g_auto(TrainKit) one = pictures("resnet-50", "h100-sxm:2x1", 4);
    g_autoptr(RhProgram) whole = train_build(&one, "pp2,dp1");
    g_auto(TrainKit) k = pictures("resnet-50", "h100-sxm:5x1", 4);
    g_autoptr(RhProgram) p = train_build(&k, "pp2,cp4,cpstages=1,dp1,zero0");
    RH_CHECK_CLOSE(flops_of(p), flops_of(whole), 1e-9);
    g_auto(TrainKit) six = pictures("resnet-50", "h100-sxm:6x1", 4);
    g_autoptr(RhProgram) more = train_build(&six, "pp2,cp4,cpstages=1,localdp=2,dp1,mb2,zero0");
    RH_CHECK_CLOSE(flops_of(more), flops_of(whole), 1e-9);
}

static void folded_is_unfolded_and_no_bound_is_above(void)
{
    static const char *const platforms[] = {"h100-sxm:5x2,nvlink:450GB/s,ib:100Gb/s",
                                            "h100-sxm:4x5,nvlink:450GB/s,ib:100Gb/s"};
    for (size_t n = 0; n < G_N_ELEMENTS(platforms); n++)
        for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
            g_auto(TrainKit) k = pictures("amoebanet-d", platforms[n], 16);
            RhLayout l = train_layout(&k, layouts[i]);
            g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
            double step_s = train_step_s(&k.c, &l, false), graph_s = train_segment_s(&k.c, &l);
            double closed_s = rh_closed_form_s(cache, &l);
            RH_CHECK_CLOSE(step_s, train_step_s(&k.c, &l, true), 1e-9);
            /* the path does not count that two ranks behind share their node's NIC */
            double tight = l.local_dp > 1 ? 0.65 : 0.8;
            CU_ASSERT_TRUE(graph_s <= step_s * (1 + 1e-9) && graph_s > tight * step_s);
            CU_ASSERT_TRUE(closed_s <= graph_s * (1 + 1e-9) && closed_s > 0);
            if (graph_s <= tight * step_s || graph_s > step_s || closed_s > graph_s)
                fprintf(stderr, "    %s: closed %g, graph %g, step %g\n", layouts[i], closed_s,
                        graph_s, step_s);
        }
}

/* No bound that a search goes by is above a step, wherever the first stages end, of whatever tiles. */
static void no_bound_of_a_search_is_above(void)
{
    static const char *const more[] = {"",
                                       ",slice=vertical,halo=layer",
                                       ",slice=horizontal,partition=work",
                                       ",schedule=gpipe,partition=parameters,mb2",
                                       ",localdp=2,slice=vertical,halo=layer,mb2",
                                       ",localdp=4,slice=vertical,halo=layer,mb4"};
    g_auto(TrainKit) k = pictures("resnet-18", "h100-sxm:4x5,nvlink:450GB/s,ib:100Gb/s", 16);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    int32_t seen = 0;
    for (int32_t pp = 2; pp < 6; pp++)
        for (int32_t cut = 1; cut < pp; cut++)
            for (int32_t i = 0; i < 4 * 6; i++) {
                static const int32_t tiles[] = {2, 4, 8, 16};
                g_autofree char *text = g_strdup_printf("pp%d,cp%d,cpstages=%d,zero0%s", pp,
                                                        tiles[i % 4], cut, more[i / 4]);
                RhLayout l = rh_train_default(&k.c);
                g_assert(rh_layout_parse(text, &l, NULL));
                l = rh_train_canonical(&k.c, &l);
                if (!rh_train_legal(&k.c, &l, NULL))
                    continue;
                double step_s = train_step_s(&k.c, &l, false) * (1 + 1e-9);
                CU_ASSERT_TRUE(rh_cut_bound_kernels_s(cache, &l) <= step_s);
                CU_ASSERT_TRUE(rh_cut_bound_s(cache, &l) <= step_s);
                CU_ASSERT_TRUE(rh_bound_open_work_s(cache, &l) <= step_s);
                CU_ASSERT_TRUE(rh_closed_form_s(cache, &l) <= step_s);
                CU_ASSERT_TRUE(rh_segment_graph_s(cache, &l) <= step_s);
                if (rh_segment_graph_s(cache, &l) > step_s)
                    fprintf(stderr, "    %s: graph %g, step %g\n", text,
                            rh_segment_graph_s(cache, &l), step_s);
                seen++;
            }
    CU_ASSERT_TRUE(seen > 10);
}

/* Layers cut over four GPUs are a quarter of the work: so more of them go to the cut stage. */
static void work_is_dealt_out_by_ranks(void)
{
    g_auto(TrainKit) k = pictures("amoebanet-d", "v100-sxm-32:5x1", 4);
    k.c.job.recipe = &rh_recipe_fp16;
    RhLayout l = train_layout(&k, "pp2,cp4,cpstages=1,zero0,partition=work");
    RhLayout even = train_layout(&k, "pp2,cp4,cpstages=1,zero0");
    g_autoptr(RhProgram) p = train_build(&k, "pp2,cp4,cpstages=1,zero0,partition=work");
    int32_t layers[2], last = 0;
    rh_partition_layers(&k.c, &l, layers);
    for (guint i = 0; i < p->tasks->len; i++)
        if (rh_program_task(p, (int32_t)i)->role == 0)
            last = MAX(last, rh_program_task(p, (int32_t)i)->layer);
    CU_ASSERT_EQUAL(last, layers[0] - 1); /* the program deals them out alike */
    CU_ASSERT_TRUE(layers[0] > 12);
    CU_ASSERT_TRUE(train_step_s(&k.c, &l, false) < train_step_s(&k.c, &even, false));
}

static void places_are_kept_in_files(void)
{
    g_auto(TrainKit) k = pictures("amoebanet-d", "h100-sxm:5x2", 16);
    g_autoptr(RhProgram) p = train_build(&k, layouts[0]);
    g_autofree char *text = rh_program_to_json(p);
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), NULL);
    g_autoptr(RhProgram) q = rh_program_from_json(doc, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    CU_ASSERT_TRUE(rh_program_same_places(p, q));
    g_autofree char *again = rh_program_to_json(q);
    CU_ASSERT_STRING_EQUAL(text, again);
}

static void what_cannot_be_joined_is_refused(void)
{
    static const struct {
        const char *layout, *why;
    } rows[] = {{"pp2,cp4,cpstages=1,dp2,zero1", "no states are shared out"},
                {"pp2,cp4,cpstages=1,dp2,zero0,schedule=gems", "schedule=1f1b and gpipe"},
                {"pp2,cp4,cpstages=1,dp2,zero0,slice=vertical,stages=17-1", "do not divide"},
                {"pp2,cp3,cpstages=1,zero0,slice=horizontal", "has 4 ranks"},
                {"pp2,cp8,cpstages=1,localdp=2,slice=vertical,zero0,mb1", "localdp=2 does not"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = pictures("amoebanet-d", "h100-sxm:5x2", 16);
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        g_assert(i != 2 || rh_model_set(k.model, "width", "224", NULL));
        g_assert(i != 3 || rh_model_set(k.model, "height", "1536", NULL));
        g_assert(rh_layout_parse(rows[i].layout, &l, NULL));
        l = rh_train_canonical(&k.c, &l);
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
        CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, rows[i].why));
    }
}

int main(void)
{
    return rh_test_main(
        "stage_widths",
        (RhTest[]){
            {"a_replica_has_the_ranks_of_mpi4dl", a_replica_has_the_ranks_of_mpi4dl},
            {"groups_keep_to_their_stages", groups_keep_to_their_stages},
            {"a_join_moves_the_whole_picture", a_join_moves_the_whole_picture},
            {"ranks_behind_share_out_pictures", ranks_behind_share_out_pictures},
            {"ledger_is_the_closed_form", ledger_is_the_closed_form},
            {"all_ranks_do_the_work_once", all_ranks_do_the_work_once},
            {"folded_is_unfolded_and_no_bound_is_above", folded_is_unfolded_and_no_bound_is_above},
            {"no_bound_of_a_search_is_above", no_bound_of_a_search_is_above},
            {"work_is_dealt_out_by_ranks", work_is_dealt_out_by_ranks},
            {"places_are_kept_in_files", places_are_kept_in_files},
            {"what_cannot_be_joined_is_refused", what_cannot_be_joined_is_refused},
            {0}});
}
