/* The bounds and the funnel beside thousands of rehearsals: whole spaces, and a climber that looks for
 * the tightest bound. */
#include <gsl/gsl_rng.h>
#include <math.h>

#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhLayout *at(GArray *space, guint i)
{
    return &g_array_index(space, RhLayout, i);
}

/* --- the bounds --- */

#define TOLERANCE 1e-9

static double bound_over_rehearsed(const TrainKit *k, RhBoundCache *cache, const RhLayout *l)
{
    double real = train_step_s(&k->c, l, false), closed = rh_closed_form_s(cache, l),
           segment = rh_segment_graph_s(cache, l);
    if (fmax(closed, segment) > real * (1 + TOLERANCE)) {
        g_autofree char *text = rh_layout_format(l);
        g_printerr("  %s: closed form %.12g, segment graph %.12g, rehearsed %.12g\n", text, closed,
                   segment, real);
    }
    return fmax(closed, segment) / real;
}

typedef struct {
    const char *model, *platform;
    int64_t batch, sequence;
} Question;

static const Question questions[] = {
    {"llama-3.2-1b", "dgx-h100:2", 64, 2048},
    {"llama-3.1-8b", "h100-sxm:8x4,nvlink:450GB/s,ib:50Gb/s,nics:2", 32, 4096},
    {"gpt2", "h100-sxm:4x8,nvlink:450GB/s,ib:200Gb/s,leaf:2,oversub:4", 64, 1024},
    {"qwen2.5-7b", "dgx-a100:4", 48, 2048},
};

static void no_bound_exceeds_its_rehearsal(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 20261121);
    for (size_t q = 0; q < G_N_ELEMENTS(questions); q++) {
        const Question *ask = &questions[q];
        g_auto(TrainKit) k =
            train_kit(ask->model, ask->platform, "megatron", ask->batch, ask->sequence);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        for (int i = 0; i < 60; i++) {
            const RhLayout *l = at(space, (guint)gsl_rng_uniform_int(rng, space->len));
            CU_ASSERT_TRUE(bound_over_rehearsed(&k, cache, l) <= 1 + TOLERANCE);
        }
    }
    gsl_rng_free(rng);
}

/* One knob of the layout changed: a layout of the space that differs in few places. */
static const RhLayout *neighbour(GArray *space, const RhLayout *l, gsl_rng *rng)
{
    const RhLayout *best = l;
    int least = 100;
    for (int i = 0; i < 40; i++) {
        const RhLayout *other = at(space, (guint)gsl_rng_uniform_int(rng, space->len));
        int differs = (other->tp != l->tp) + (other->pp != l->pp) + (other->vpp != l->vpp) +
                      (other->zero != l->zero) + (other->microbatch != l->microbatch) +
                      (other->recompute != l->recompute) +
                      (other->sequence_parallel != l->sequence_parallel) +
                      (other->order != l->order);
        if (differs > 0 && differs < least) {
            least = differs;
            best = other;
        }
    }
    return best;
}

static void a_hill_climber_finds_no_bound_above_its_rehearsal(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 7);
    for (size_t q = 0; q < G_N_ELEMENTS(questions); q++) {
        const Question *ask = &questions[q];
        g_auto(TrainKit) k =
            train_kit(ask->model, ask->platform, "megatron", ask->batch, ask->sequence);
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        const RhLayout *here = at(space, (guint)gsl_rng_uniform_int(rng, space->len));
        double best = bound_over_rehearsed(&k, cache, here);
        for (int i = 0; i < 40; i++) {
            const RhLayout *next = neighbour(space, here, rng);
            double ratio = bound_over_rehearsed(&k, cache, next);
            if (ratio >= best) {
                best = ratio;
                here = next;
            }
        }
        CU_ASSERT_TRUE(best <= 1 + TOLERANCE);
        CU_ASSERT_TRUE(best > 0.97); /* it does climb */
    }
    gsl_rng_free(rng);
}

/* --- the funnel, beside rehearsing everything --- */

typedef struct {
    GArray *segment, *closed;
} Ratios;

static void note_ratio(const RhRehearsal *r, void *user)
{
    Ratios *ratios = user;
    double segment = r->bound_segment_s / r->step_time_s,
           closed = r->bound_closed_s / r->step_time_s;
    CU_ASSERT_TRUE(segment <= 1 + TOLERANCE && closed <= segment + TOLERANCE);
    g_array_append_val(ratios->segment, segment);
    g_array_append_val(ratios->closed, closed);
}

static void check_top(const RhPlan *all, const RhPlan *quickly)
{
    CU_ASSERT_EQUAL(all->entries->len, quickly->entries->len);
    for (guint i = 0; i < all->entries->len; i++) {
        const RhRehearsal *a = all->entries->pdata[i], *b = quickly->entries->pdata[i];
        CU_ASSERT_TRUE(b->step_time_s <= a->step_time_s * 1.002); /* the gap of the proof */
    }
    const RhRehearsal *a = all->entries->pdata[0], *b = quickly->entries->pdata[0];
    CU_ASSERT_TRUE(rh_layout_equal(&a->layout, &b->layout));
}

static void the_funnel_finds_what_rehearsing_everything_finds(void)
{
    g_auto(TrainKit) k = train_kit("gpt2", "a100-sxm-80:4x1,nvlink:240GB/s", "megatron", 16, 1024);
    train_kit_runs_all(&k);
    Ratios ratios = {g_array_new(FALSE, FALSE, sizeof(double)),
                     g_array_new(FALSE, FALSE, sizeof(double))};
    RhPlanOptions everything = {
        .listed = true, .exhaustive = true, .gap_frac = 0.002, .seen = note_ratio, .user = &ratios};
    RhPlanOptions funnel = {.listed = true, .gap_frac = 0.002};
    g_autoptr(RhPlan) all = rh_plan(&k.c, &everything, NULL);
    g_autoptr(RhPlan) quickly = rh_plan(&k.c, &funnel, NULL);
    CU_ASSERT_TRUE(all->fit_count >= 2000);
    CU_ASSERT_EQUAL(all->rehearsed_count, all->fit_count);
    CU_ASSERT_TRUE(quickly->proved && quickly->rehearsed_count < all->fit_count / 10);
    CU_ASSERT_TRUE(
        quickly->proof_bound_s >=
        0.998 *
            ((const RhRehearsal *)quickly->entries->pdata[quickly->entries->len - 1])->step_time_s);
    check_top(all, quickly);
    g_array_unref(ratios.segment);
    g_array_unref(ratios.closed);
}

int main(void)
{
    return rh_test_main(
        "exhaustive", (RhTest[]){{"no_bound_exceeds_its_rehearsal", no_bound_exceeds_its_rehearsal},
                                 {"a_hill_climber_finds_no_bound_above_its_rehearsal",
                                  a_hill_climber_finds_no_bound_above_its_rehearsal},
                                 {"the_funnel_finds_what_rehearsing_everything_finds",
                                  the_funnel_finds_what_rehearsing_everything_finds},
                                 {0}});
}
