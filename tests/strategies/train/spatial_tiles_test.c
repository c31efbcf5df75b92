/* Pictures cut into tiles, one for each context rank: edges, FLOPs, memory, folds and bounds. */
#include <math.h>

#include "sim/memory_ledger.h"
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

/* Bytes of the n-th shift of rank 0's program, in the order of its tasks; its group's label too. */
static double shift_bytes(const RhProgram *p, int32_t n, const char **label)
{
    for (int32_t i = 0; i < (int32_t)p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, i);
        if (t->kind != RH_TASK_COLLECTIVE || t->op != RH_OP_SHIFT || n-- > 0)
            continue;
        *label = g_ptr_array_index(p->labels, (guint)rh_program_group(p, t->group)->label);
        return t->bytes;
    }
    return 0;
}

/* ResNet-50's first windows on 1024 x 1024 in bf16: 7 x 7 of three channels reach 3 places over an edge,
 * the 3 x 3 pool behind it one, of 512 x 512 of 64 channels. */
static void edges_have_the_bytes_that_windows_reach_over(void)
{
    static const struct {
        const char *layout;
        struct {
            const char *group;
            double bytes;
        } shifts[4];
    } rows[] = {
        {"cp4,slice=vertical,zero0",
         {{"tiles across", 3 * 1024 * 3 * 2},
          {"tiles across", 3 * 1024 * 3 * 2}, /* to the left */
          {"tiles across", 512 * 64 * 2},
          {"tiles across", 512 * 64 * 2}}},
        {"cp4,slice=horizontal,zero0",
         {{"tiles down", 3 * 1024 * 3 * 2},
          {"tiles down", 3 * 1024 * 3 * 2},
          {"tiles down", 512 * 64 * 2},
          {"tiles down", 512 * 64 * 2}}},
        {"cp4,slice=square,zero0",
         {{"tiles across", 3 * 512 * 3 * 2},
          {"tiles down", 3 * (512 + 6) * 3 * 2}, /* with the corners that came from beside */
          {"tiles across", 256 * 64 * 2},
          {"tiles down", (256 + 2) * 64 * 2}}},
    };
    g_auto(TrainKit) k = pictures("resnet-50", "h100-sxm:4x1", 1);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhProgram) p = train_build(&k, rows[i].layout);
        for (int32_t n = 0; n < 4; n++) {
            const char *label = "";
            RH_CHECK_CLOSE(shift_bytes(p, n, &label), rows[i].shifts[n].bytes, 1e-12);
            CU_ASSERT_STRING_EQUAL(label, rows[i].shifts[n].group);
        }
    }
}

/* ResNet-18's first layer is a 7 x 7 window of stride 2 and a 3 x 3 pool: a place of its output sees
 * 2 x 1 + 3 beyond the tile; its blocks are two 3 x 3 windows, of which the first makes a place more
 * on either side. Edges come once a layer. */
static void edges_of_a_layer_come_once(void)
{
    static const char layout[] = "cp4,slice=vertical,halo=layer,zero0";
    g_auto(TrainKit) k = pictures("resnet-18", "h100-sxm:4x1", 1);
    g_autoptr(RhProgram) p = train_build(&k, layout);
    g_autoptr(RhProgram) each = train_build(&k, "cp4,slice=vertical,zero0");
    const char *label;
    RH_CHECK_CLOSE(shift_bytes(p, 0, &label), 5 * 1024 * 3 * 2, 1e-12);
    RH_CHECK_CLOSE(shift_bytes(p, 2, &label), 2 * 256 * 64 * 2, 1e-12);
    double wide = 0; /* forward, backward of both kinds; the pictures have no gradient */
    wide += 2 * (2.0 * 512 * 2 * 64) * 3 * 49;
    for (int32_t stage = 0; stage < 4; stage++) {
        double side = 256 >> stage, out = 64 << stage, in = stage > 0 ? out / 2 : out;
        wide += 3 * (2.0 * side * 2 * out) * 9 * (in + out); /* of both blocks' first windows */
    }
    RH_CHECK_CLOSE(train_kernel_flops(p, RH_KERNEL_GEMM),
                   train_kernel_flops(each, RH_KERNEL_GEMM) + wide, 1e-9);
    RhLayout l = train_layout(&k, layout);
    RH_CHECK_CLOSE(rh_train_memory(&k.c, &l).peak_bytes,
                   rh_ledger_walk(p, 0, RH_MEMORY_TIER_HBM).peak_bytes, 1e-12);
    RH_CHECK_CLOSE(train_step_s(&k.c, &l, false), train_step_s(&k.c, &l, true), 1e-9);
}

static double flops_of(const TrainKit *k, const char *layout)
{
    g_autoptr(RhProgram) p = train_build(k, layout);
    return train_kernel_flops(p, RH_KERNEL_GEMM);
}

/* Tiles do the work of the whole picture between them: all but the classifier, which each runs. */
static void tiles_do_the_work_of_the_picture(void)
{
    static const char *const slices[] = {"cp4,slice=square,zero0", "cp4,slice=vertical,zero0",
                                         "cp4,slice=horizontal,zero0", "cp2,pp2,zero0"};
    g_auto(TrainKit) k = pictures("resnet-50", "h100-sxm:4x1", 4);
    double whole = flops_of(&k, "dp4,zero0"); /* one picture each */
    double classifier = 3 * 2.0 * 2048 * 1000;
    RH_CHECK_CLOSE(flops_of(&k, "cp4,slice=square,zero0"), whole + 3 * classifier, 1e-9);
    for (size_t i = 0; i < G_N_ELEMENTS(slices); i++) {
        g_autoptr(RhProgram) p = train_build(&k, slices[i]);
        RhLayout l = train_layout(&k, slices[i]);
        for (int32_t stage = 0; stage < l.pp; stage++) {
            RhTrainMemory m = rh_train_memory(&k.c, &l);
            RH_CHECK_CLOSE(m.peak_bytes, rh_ledger_walk(p, m.stage, RH_MEMORY_TIER_HBM).peak_bytes,
                           1e-12);
        }
    }
}

/* A quarter of the picture keeps a quarter of the activations, whatever the slice; parameters are
 * whole. */
static void a_tile_keeps_its_part_of_activations(void)
{
    g_auto(TrainKit) k = pictures("amoebanet-d", "h100-sxm:4x1", 4);
    RhLayout whole = train_layout(&k, "dp4,zero0"), tile = train_layout(&k, "cp4,zero0");
    RhTrainMemory a = rh_train_memory(&k.c, &whole), b = rh_train_memory(&k.c, &tile);
    CU_ASSERT_EQUAL(tile.slice, RH_SLICE_SQUARE);
    RH_CHECK_CLOSE(4 * b.at_peak_bytes[RH_MEMORY_ACTIVATIONS],
                   a.at_peak_bytes[RH_MEMORY_ACTIVATIONS], 0.01);
    RH_CHECK_CLOSE(b.at_peak_bytes[RH_MEMORY_WEIGHTS], a.at_peak_bytes[RH_MEMORY_WEIGHTS], 1e-12);
    RH_CHECK_CLOSE(b.at_peak_bytes[RH_MEMORY_OPTIMIZER], a.at_peak_bytes[RH_MEMORY_OPTIMIZER],
                   1e-12);
}

static void folded_is_unfolded_and_no_bound_is_above(void)
{
    static const char *const layouts[] = {
        "cp4,dp2,zero0", "cp4,dp2,zero1,slice=vertical", "cp2,pp2,dp2,zero0,order=tp-pp-dp",
        "cp4,pp2,dp1,zero0,slice=horizontal", "cp2,pp2,dp2,zero0,schedule=gems"};
    static const char *const platforms[] = {"h100-sxm:4x2,nvlink:450GB/s,ib:100Gb/s",
                                            "h100-sxm:2x4,nvlink:450GB/s,ib:100Gb/s"};
    for (size_t n = 0; n < G_N_ELEMENTS(platforms); n++) {
        g_auto(TrainKit) k = pictures("amoebanet-d", platforms[n], 16);
        for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
            RhLayout l = train_layout(&k, layouts[i]);
            g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
            double step_s = train_step_s(&k.c, &l, false), graph_s = train_segment_s(&k.c, &l);
            RH_CHECK_CLOSE(step_s, train_step_s(&k.c, &l, true), 1e-9);
            CU_ASSERT_TRUE(graph_s <= step_s * (1 + 1e-9) && graph_s > 0.8 * step_s);
            CU_ASSERT_TRUE(rh_closed_form_s(cache, &l) <= step_s * (1 + 1e-9));
        }
    }
}

/* The space of a stack that runs all of them has tiles, GEMS, both together and with replicas (Hy-Fi);
 * no bound is above its rehearsal anywhere in it. A stack that cuts no pictures has none. */
static void all_five_dimensions_are_searched(void)
{
    g_auto(TrainKit) k =
        train_kit("amoebanet-d", "v100-sxm-32:4x2,nvlink:75GB/s,ib:100Gb/s", "mpi4dl", 16, 1);
    g_assert(rh_model_set(k.model, "height", "1024", NULL));
    g_assert(rh_model_set(k.model, "width", "1024", NULL));
    k.c.job.recipe = &rh_recipe_fp16;
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    int32_t tiles = 0, copies = 0, all = 0, whole = 0;
    for (guint i = 0; i < space->len; i++) {
        const RhLayout *l = &g_array_index(space, RhLayout, i);
        bool cut = l->cp > 1, gems = l->schedule == RH_PIPELINE_GEMS;
        tiles += cut;
        copies += gems;
        all += cut && gems && l->dp > 1;
        whole += !cut && !gems;
        if (i % RH_TRIES(1, 7) != 0)
            continue;
        double step_s = train_step_s(&k.c, l, false);
        double bound_s = fmax(rh_closed_form_s(cache, l), rh_segment_graph_s(cache, l));
        CU_ASSERT_TRUE(bound_s <= step_s * (1 + 1e-9));
        if (bound_s > step_s * (1 + 1e-9)) {
            g_autofree char *text = rh_layout_format(l);
            fprintf(stderr, "    %s: bound %g, step %g\n", text, bound_s, step_s);
        }
    }
    CU_ASSERT_TRUE(tiles > 10 && copies > 5 && all > 0 && whole > 0);
    g_auto(TrainKit) nets =
        train_kit("amoebanet-d", "v100-sxm-32:4x2,nvlink:75GB/s,ib:100Gb/s", "convnets", 16, 1);
    g_autoptr(GArray) plain = rh_space_list(&nets.c, NULL, 0);
    for (guint i = 0; i < plain->len; i++)
        CU_ASSERT_EQUAL(g_array_index(plain, RhLayout, i).cp, 1);
}

static void what_cannot_be_cut_is_refused(void)
{
    static const struct {
        const char *model, *side, *layout, *why;
    } rows[] = {{"gpt2", NULL, "cp4,slice=square,zero0", "sees no pictures"},
                {"amoebanet-d", "224", "cp4,slice=vertical,zero0", "do not divide the 14 columns"},
                {"amoebanet-d", "1024", "cp2,dp2,slice=square,zero0", "2 tiles are no square"},
                {"amoebanet-d", "1024", "cp4,ulysses4,zero0", "no heads to exchange"},
                {"amoebanet-d", "64", "cp4,slice=horizontal,zero0", "sees more than a neighbour"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit(rows[i].model, "h100-sxm:4x1", "bare", 8, rows[i].side ? 1 : 1024);
        g_assert(!rows[i].side || (rh_model_set(k.model, "height", rows[i].side, NULL) &&
                                   rh_model_set(k.model, "width", rows[i].side, NULL)));
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        g_assert(rh_layout_parse(rows[i].layout, &l, NULL));
        rh_train_complete(&k.c, &l);
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, rows[i].why));
        if (!strstr(error->message, rows[i].why))
            fprintf(stderr, "    %s: %s\n", rows[i].layout, error->message);
    }
}

int main(void)
{
    return rh_test_main(
        "spatial_tiles",
        (RhTest[]){
            {"edges_have_the_bytes_that_windows_reach_over",
             edges_have_the_bytes_that_windows_reach_over},
            {"edges_of_a_layer_come_once", edges_of_a_layer_come_once},
            {"tiles_do_the_work_of_the_picture", tiles_do_the_work_of_the_picture},
            {"a_tile_keeps_its_part_of_activations", a_tile_keeps_its_part_of_activations},
            {"folded_is_unfolded_and_no_bound_is_above", folded_is_unfolded_and_no_bound_is_above},
            {"all_five_dimensions_are_searched", all_five_dimensions_are_searched},
            {"what_cannot_be_cut_is_refused", what_cannot_be_cut_is_refused},
            {0}});
}
