/* The whole space: its bounds are bounds, and nothing drawn from it beats a plan. */
#include "strategies/search/bounds/recompute_bound.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define GAP_FRAC 0.002

/* Layouts of the whole space, every n-th of them. */
typedef struct {
    RhSpace *space;
    GArray *layouts;
    int64_t seen, every;
    GArray *parents; /* RhLayout: the cut, and the chunks, of each */
    RhLayout cut, chunks;
} Drawn;

static bool draw_recompute(const RhLayout *shares, void *user)
{
    Drawn *d = user;
    const GArray *choices = rh_space_recompute_choices(d->space);
    for (guint i = 0; i < choices->len; i++) {
        RhRecomputeChoice choice = g_array_index(choices, RhRecomputeChoice, i);
        RhLayout l = *shares;
        l.recompute = choice.recompute;
        if (choice.layers_count != 0 || !rh_space_admits(d->space, &l) || d->seen++ % d->every != 0)
            continue;
        g_array_append_val(d->layouts, l);
        g_array_append_val(d->parents, d->cut);
        g_array_append_val(d->parents, d->chunks);
    }
    return true;
}

static bool draw_shares(const RhLayout *chunks, void *user)
{
    ((Drawn *)user)->chunks = *chunks;
    rh_space_walk_shares(((Drawn *)user)->space, chunks, draw_recompute, user);
    return true;
}

static bool draw_chunks(const RhLayout *cut, void *user)
{
    ((Drawn *)user)->cut = *cut;
    rh_space_walk_chunks(((Drawn *)user)->space, cut, draw_shares, user);
    return true;
}

static void drawn_clear(Drawn *d)
{
    rh_space_free(d->space);
    g_array_unref(d->layouts);
    g_array_unref(d->parents);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Drawn, drawn_clear)

static Drawn draw(const TrainKit *k, int64_t every)
{
    Drawn d = {.space = rh_space_new(&k->c, NULL, 0, (RhDeadline){0}),
               .layouts = g_array_new(FALSE, TRUE, sizeof(RhLayout)),
               .parents = g_array_new(FALSE, TRUE, sizeof(RhLayout)),
               .every = every};
    rh_space_walk_cuts(d.space, draw_chunks, &d);
    return d;
}

static const struct {
    const char *model, *platform, *stack;
    int64_t batch, sequence, every;
} jobs[] = {{"llama-3.2-1b", "dgx-h100:1", "megatron", 32, 4096, 397},
            {"llama-3.1-8b", "dgx-a100:1", "bare", 64, 4096, 4999},
            {"qwen3-30b-a3b", "dgx-h100:1", "megatron", 32, 4096, 1999},
            {"mixtral-8x7b", "dgx-h100:2", "megatron", 32, 4096, 61},
            /* 40 layers, which 16 stages do not divide */
            {"llama-2-13b", "dgx-h100:2", "megatron", 64, 4096, 1999}};

/* Returns the layout with its recomputation open. */
static RhLayout open_recompute(const RhLayout *l)
{
    RhLayout open = *l;
    open.recompute = RH_RECOMPUTE_NONE;
    open.recomputed_layers_count = open.offload = 0;
    return open;
}

/* Communication that layers add to their stages is below what stage programs say.
 * Returns whether it is anything. */
static bool comm_is_bounded(RhBoundCache *cache, const RhLayout *l)
{
    g_autofree RhStageCommTime *open = rh_layer_comm_sums_new(cache, l);
    RhCommSteps *const *all = rh_bound_comm_steps(cache, l);
    bool any = false;
    for (int32_t stage = 0, row = 0, last = 0; stage < l->pp; stage++) {
        if (stage == last + open[row].alike_count) {
            last = stage;
            row++;
        }
        const RhStageCommTime *some = &open[row], *whole = &all[stage]->sums;
        CU_ASSERT_TRUE(some->last_s <= whole->last_s);
        CU_ASSERT_TRUE(some->step.gathers_s <= whole->step.gathers_s);
        CU_ASSERT_TRUE(some->step_each.gathers_s <= whole->step_each.gathers_s);
        CU_ASSERT_TRUE(some->step_each.gradients_s <= whole->step_each.gradients_s);
        CU_ASSERT_TRUE(!some->each || whole->each);
        CU_ASSERT_TRUE(some->step.gradients_s <= whole->step.gradients_s);
        any |= some->last_s > 0;
    }
    return any;
}

/* Bounds of cuts and chunks are below all layouts that come of them, and so are bounds of
 * recomputation that a memory limit requires. */
static void open_candidates_are_bounded(void)
{
    for (size_t j = 0; j < G_N_ELEMENTS(jobs); j++) {
        g_auto(TrainKit) k = train_kit(jobs[j].model, jobs[j].platform, jobs[j].stack,
                                       jobs[j].batch, jobs[j].sequence);
        g_auto(Drawn) d = draw(&k, jobs[j].every);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        int32_t bounded = 0, gained = 0;
        CU_ASSERT_TRUE(d.layouts->len >= 20);
        for (guint i = 0; i < d.layouts->len; i++) {
            const RhLayout *l = &g_array_index(d.layouts, RhLayout, i);
            RhLayout cut = g_array_index(d.parents, RhLayout, 2 * i);
            RhLayout chunks = g_array_index(d.parents, RhLayout, 2 * i + 1);
            double step_s = rh_segment_graph_s(cache, l) * (1 + 1e-9);
            RhRecomputeQuestion question = {.modules = rh_space_recompute_modules(d.space, &cut),
                                            .uneven = rh_space_recomputes_unevenly(d.space),
                                            .shares_open = true,
                                            .most_bytes = rh_bound_memory(cache, l).peak_bytes};
            double kernels_s = rh_cut_bound_kernels_s(cache, &cut);
            CU_ASSERT_TRUE(0 < kernels_s && kernels_s <= rh_cut_bound_s(cache, &cut) * (1 + 1e-9));
            CU_ASSERT_TRUE(rh_cut_bound_s(cache, &cut) <= step_s);
            RhLayout shares = open_recompute(l);
            CU_ASSERT_TRUE(rh_bound_open_work_s(cache, &chunks) <= step_s);
            RhMemoryExcess excess = rh_bound_memory_excess(cache, &chunks, &question);
            double chunks_s = rh_bound_recomputed_s(cache, &chunks, &question, excess);
            CU_ASSERT_TRUE(chunks_s <= step_s);
            question.shares_open = false;
            excess = rh_bound_memory_excess(cache, &shares, &question);
            double shares_s = rh_bound_recomputed_s(cache, &shares, &question, excess);
            CU_ASSERT_TRUE(shares_s <= step_s);
            gained += shares_s > chunks_s * 1.001;
            bounded += comm_is_bounded(cache, l);
        }
        CU_ASSERT_TRUE(bounded >= 10);
        CU_ASSERT_TRUE(gained >= 10);
    }
}

/* Stages hold whole layers: some of 16 has three of 40, and is busy with them for every micro-batch. */
static void stages_hold_whole_layers(void)
{
    g_auto(TrainKit) k = train_kit("llama-2-13b", "dgx-h100:2", "megatron", 512, 4096);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    RhLayout l = rh_train_default(&k.c);
    g_assert_true(rh_layout_parse("tp1,pp16,dp1,mb1,vpp2,schedule=interleaved", &l, NULL));
    double m = (double)rh_train_microbatches(&k.c, &l);
    RhLayerWork layer = rh_bound_layer_work(cache, &l, rh_bound_network(cache, &l), 0, 0);
    double bound_s = rh_cut_bound_s(cache, &l);
    CU_ASSERT_TRUE(bound_s >= 3 * m * layer.all_s * (1 - 1e-9));
    CU_ASSERT_TRUE(rh_cut_bound_kernels_s(cache, &l) > 2.9 * m * layer.all_s);
    CU_ASSERT_TRUE(bound_s <= rh_closed_form_s(cache, &l));
}

/* A set of modules needs at least the memory of all modules but one that it leaves out: so where these do not fit,
 * the search leaves out every set without that one. */
static void more_recomputed_needs_no_more_memory(void)
{
    for (size_t j = 0; j < G_N_ELEMENTS(jobs); j++) {
        g_auto(TrainKit) k = train_kit(jobs[j].model, jobs[j].platform, jobs[j].stack,
                                       jobs[j].batch, jobs[j].sequence);
        g_auto(Drawn) d = draw(&k, jobs[j].every);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        const GArray *choices = rh_space_recompute_choices(d.space);
        uint32_t all = 0;
        int32_t less = 0;
        for (guint i = 0; i < choices->len; i++)
            all |= (uint32_t)g_array_index(choices, RhRecomputeChoice, i).recompute;
        all &= ~(uint32_t)RH_RECOMPUTE_FULL;
        for (guint i = 0; i < d.layouts->len; i++) {
            RhLayout l = g_array_index(d.layouts, RhLayout, i);
            uint32_t set = (uint32_t)l.recompute;
            double peak = rh_bound_memory(cache, &l).peak_bytes;
            for (uint32_t left = set & RH_RECOMPUTE_FULL ? 0 : all & ~set; left; left &= left - 1) {
                l.recompute = (RhRecompute)(all & ~(left & -left));
                double more = rh_bound_memory(cache, &l).peak_bytes;
                CU_ASSERT_TRUE(more <= peak);
                less += more < peak;
            }
        }
        CU_ASSERT_TRUE(less >= 10);
    }
}

/* Both orders of ranks take the same time where they are said not to differ, and such layouts are
 * not rare. */
static void orders_of_alike_nodes_take_as_long(void)
{
    static const struct {
        const char *platform, *layout;
        bool differ;
    } rows[] = {{"dgx-h100:4", "tp4,pp2,dp2,cp2,mb1", false},
                {"dgx-h100:4", "tp8,pp2,dp2,mb1,zero1", false},
                {"dgx-h100:8", "tp8,pp4,dp2,mb1,vpp2,zero1,schedule=interleaved", false},
                {"dgx-h100:8", "tp8,pp2,dp2,cp2,mb1,zero1", false},
                {"dgx-h100:4", "tp4,pp2,dp4,mb1", true},
                {"dgx-h100:64", "tp8,pp4,dp16,mb1", true}, /* two units of nodes */
                {"dgx-h100:4", "tp8,pp1,dp4,mb1", false},
                {"dgx-h100:4", "tp8,pp4,dp1,mb1", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", rows[i].platform, "megatron", 64, 4096);
        double step_s[2];
        RhLayout l = rh_train_default(&k.c);
        g_assert_true(rh_layout_parse(rows[i].layout, &l, NULL));
        CU_ASSERT_EQUAL(rh_train_orders_differ(&k.c, &l), rows[i].differ);
        for (int order = 0; order < 2 && !rows[i].differ; order++) {
            l.order = order ? RH_ORDER_TP_PP_DP : RH_ORDER_TP_DP_PP;
            g_autoptr(GError) error = NULL;
            g_autoptr(RhRehearsal) r =
                rh_rehearse(&k.c, &l, &(RhEngineOptions){0}, NULL, NULL, &error);
            g_assert_no_error(error);
            step_s[order] = r->step_time_s;
        }
        if (!rows[i].differ)
            RH_CHECK_CLOSE(step_s[1], step_s[0], 1e-9);
    }
}

/* The search misses no quicker layout, by its bounds or by what it leaves out. */
static void nothing_drawn_beats_a_plan(void)
{
    for (size_t j = 0; j < G_N_ELEMENTS(jobs); j++) {
        g_auto(TrainKit) k = train_kit(jobs[j].model, jobs[j].platform, jobs[j].stack,
                                       jobs[j].batch, jobs[j].sequence);
        RhPlanOptions o = {.gap_frac = GAP_FRAC, .best_alone = true, .jobs = 2};
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, &error);
        g_assert_no_error(error);
        CU_ASSERT_TRUE_FATAL(plan->entries->len > 0);
        CU_ASSERT_TRUE(plan->proved);
        const RhRehearsal *best = plan->entries->pdata[0];
        g_auto(Drawn) d = draw(&k, jobs[j].every);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        for (guint i = 0; i < d.layouts->len; i++) {
            const RhLayout *l = &g_array_index(d.layouts, RhLayout, i);
            if (rh_bound_memory(cache, l).peak_bytes > plan->ranked_bytes ||
                rh_segment_graph_s(cache, l) >= best->step_time_s)
                continue;
            g_autoptr(RhRehearsal) r =
                rh_rehearse(&k.c, l, &(RhEngineOptions){0}, NULL, NULL, &error);
            g_assert_no_error(error);
            CU_ASSERT_TRUE(r->step_time_s >= (1 - GAP_FRAC) * best->step_time_s);
        }
    }
}

/* Returns the step of the quickest set of recomputed modules that fits; *none_s: of recomputing
 * nothing. */
static double quickest_set_s(const TrainKit *k, const char *layout, double most_bytes,
                             double *none_s)
{
    g_autoptr(RhSpace) space = rh_space_new(&k->c, NULL, 0, (RhDeadline){0});
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k->c);
    const GArray *choices = rh_space_recompute_choices(space);
    RhLayout l = rh_train_default(&k->c);
    g_assert_true(rh_layout_parse(layout, &l, NULL));
    double least_s = (double)INFINITY;
    for (guint i = 0; i < choices->len; i++) {
        RhRecomputeChoice choice = g_array_index(choices, RhRecomputeChoice, i);
        l.recompute = choice.recompute;
        if (choice.layers_count != 0 || !rh_space_admits(space, &l) ||
            rh_bound_memory(cache, &l).peak_bytes > most_bytes)
            continue;
        g_autoptr(RhRehearsal) r = rh_rehearse(&k->c, &l, &(RhEngineOptions){0}, NULL, NULL, NULL);
        g_assert_nonnull(r);
        least_s = fmin(least_s, r->step_time_s);
        if (l.recompute == RH_RECOMPUTE_NONE)
            *none_s = r->step_time_s;
    }
    return least_s;
}

/* Where two micro-batches run as a pair, a module that is recomputed may let the other one go first.
 * A plan finds such a set although nothing need be recomputed. */
static void pairs_may_gain_by_recomputing(void)
{
    static const char *const knobs[] = {"tp=2",
                                        "pp=1",
                                        "dp=4",
                                        "cp=2",
                                        "mb=2",
                                        "ulysses=2",
                                        "ep=8",
                                        "etp=1",
                                        "zero=3",
                                        "tpoverlap=on",
                                        "epoverlap=pairs",
                                        "dispatch=deepep"};
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "megatron", 32, 4096);
    RhConstraint fixed[G_N_ELEMENTS(knobs)];
    for (size_t i = 0; i < G_N_ELEMENTS(knobs); i++)
        g_assert_true(rh_constraint_parse(knobs[i], false, &fixed[i], NULL));
    RhPlanOptions o = {.constraints = fixed,
                       .constraints_count = G_N_ELEMENTS(knobs),
                       .gap_frac = GAP_FRAC,
                       .best_alone = true,
                       .jobs = 2};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    g_assert_true(plan && plan->entries->len > 0);
    const RhRehearsal *best = plan->entries->pdata[0];
    double
        none_s = 0,
        least_s = quickest_set_s(
            &k,
            "tp2,dp4,cp2,ulysses2,ep8,etp1,dispatch=deepep,epoverlap=pairs,mb2,zero3,tpoverlap=on",
            plan->ranked_bytes, &none_s);
    CU_ASSERT_TRUE(least_s < 0.97 * none_s);
    CU_ASSERT_TRUE(best->step_time_s <= least_s * (1 + GAP_FRAC));
}

/* A line through two steps of few micro-batches meets the step of many. */
static void long_steps_are_told_by_short_ones(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 512, 4096);
    RhPlanOptions o = {.gap_frac = GAP_FRAC, .best_alone = true, .jobs = 2};
    RhConstraint fixed[3];
    const char *const texts[] = {"pp=4", "tp=2", "mb=1"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_true(rh_constraint_parse(texts[i], false, &fixed[i], NULL));
    o.constraints = fixed;
    o.constraints_count = G_N_ELEMENTS(texts);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, &error);
    g_assert_no_error(error);
    CU_ASSERT_TRUE(plan->steady_count > 0);
    CU_ASSERT_FALSE(plan->steady_disagrees);
    CU_ASSERT_TRUE(plan->proved);
}

int main(void)
{
    return rh_test_main(
        "whole_space",
        (RhTest[]){{"open_candidates_are_bounded", open_candidates_are_bounded},
                   {"stages_hold_whole_layers", stages_hold_whole_layers},
                   {"more_recomputed_needs_no_more_memory", more_recomputed_needs_no_more_memory},
                   {"orders_of_alike_nodes_take_as_long", orders_of_alike_nodes_take_as_long},
                   {"nothing_drawn_beats_a_plan", nothing_drawn_beats_a_plan},
                   {"pairs_may_gain_by_recomputing", pairs_may_gain_by_recomputing},
                   {"long_steps_are_told_by_short_ones", long_steps_are_told_by_short_ones},
                   {0}});
}
