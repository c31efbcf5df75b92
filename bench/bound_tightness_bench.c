/* How tight the bounds are where tensor groups straddle nodes, what bounds find hardest: of layouts drawn from
 * every legal one, most of which nobody would choose, and of the quickest.
 *   bound_tightness_bench [COUNT] [SEED]     of each row below; 40 of seed 1 by default */
#include <gsl/gsl_rng.h>
#include <stdlib.h>

#include "bench/bench_job.h"
#include "sim/engine/workers/isolated_run.h"
#include "strategies/train/program/program_build.h"

/* Longer rehearsals are left out. */
#define PATIENCE_S 20.0
#define QUICKEST   200

typedef struct {
    const char *platform, *stack;
    int32_t tp;
} Row;

static const Row rows[] = {
    {"dgx-h100:3", "megatron", 6},
    {"dgx-h100:3", "megatron", 3},
    {"dgx-h100:3", "bare", 6},
    {"dgx-h100:3", "bare", 3},
};

typedef struct {
    double closed, segment; /* over the rehearsal */
    RhLayout layout;
} Drawn;

static gint by_segment(const void *a, const void *b)
{
    const Drawn *x = a, *y = b;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

static gint by_closed(const void *a, const void *b)
{
    const Drawn *x = a, *y = b;
    return (x->closed > y->closed) - (x->closed < y->closed);
}

static const Drawn *quantile(const GArray *drawn, double q)
{
    return &g_array_index(drawn, Drawn, (guint)(q * (drawn->len - 1)));
}

/* False where it takes too long, or where a bound is above, which is said. */
static bool measure(const RhProblem *c, RhBoundCache *cache, Drawn *d)
{
    RhEngineOptions options = {.timeout_s = PATIENCE_S};
    g_autoptr(RhProgram) program = rh_train_build(c, &d->layout, NULL);
    g_autoptr(RhRun) run =
        program ? rh_rehearse_isolated(program, c->platform, &options, NULL) : NULL;
    if (!run)
        return false;
    d->closed = rh_closed_form_s(cache, &d->layout) / run->step_time_s;
    d->segment = rh_segment_graph_s(cache, &d->layout) / run->step_time_s;
    if (d->closed <= d->segment * (1 + 1e-9) && d->segment <= 1 + 1e-9)
        return true;
    g_autofree char *text = rh_layout_format(&d->layout);
    printf("NO BOUND: %s: closed form %.9g, segment graph %.9g of the rehearsal\n", text, d->closed,
           d->segment);
    return false;
}

static GArray *draw(const RhProblem *c, int32_t tp, guint count, gsl_rng *rng)
{
    g_autoptr(GArray) space = rh_space_list(c, NULL, 0);
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    GArray *drawn = g_array_new(FALSE, FALSE, sizeof(Drawn));
    for (guint tries = 0; space->len > 0 && drawn->len < count && tries < 1000 * count; tries++) {
        Drawn d = {
            .layout = g_array_index(space, RhLayout, gsl_rng_uniform_int(rng, space->len)),
        };
        if (d.layout.tp == tp && measure(c, cache, &d))
            g_array_append_val(drawn, d);
    }
    return drawn;
}

static void tell(const Row *row, const char *which, GArray *drawn)
{
    printf("%s, stack %s, tp%d: %u %s\n", row->platform, row->stack, row->tp, drawn->len, which);
    if (drawn->len == 0)
        return;
    g_array_sort(drawn, by_closed);
    bench_line("  closed form / rehearsed, median", quantile(drawn, 0.5)->closed, "", "");
    g_array_sort(drawn, by_segment);
    bench_line("  segment graph / rehearsed, median", quantile(drawn, 0.5)->segment, "", ">= 0.9");
    bench_line("  segment graph / rehearsed, first tenth", quantile(drawn, 0.1)->segment, "", "");
    bench_line("  segment graph / rehearsed, worst", quantile(drawn, 0)->segment, "", "");
    for (guint i = 0; i < MIN(drawn->len, 4); i++) {
        const Drawn *d = &g_array_index(drawn, Drawn, i);
        g_autofree char *text = rh_layout_format(&d->layout);
        printf("    %.3f %.3f %s\n", d->closed, d->segment, text);
    }
}

/* The quickest of one tensor size, as plan_speed_bench looks at. */
static GArray *quickest(const RhProblem *c, int32_t tp)
{
    g_autofree char *text = g_strdup_printf("tp=%d", tp);
    RhConstraint only;
    GError *error = NULL;
    bool read = rh_constraint_parse(text, false, &only, &error);
    g_assert_no_error(error);
    g_assert(read);
    RhPlanOptions options = {.gap_frac = 0.002,
                             .top = QUICKEST,
                             .variants = true,
                             .best_alone = true,
                             .constraints = &only,
                             .constraints_count = 1};
    g_autoptr(RhPlan) plan = rh_plan(c, &options, &error);
    g_assert_no_error(error);
    GArray *found = g_array_new(FALSE, FALSE, sizeof(Drawn));
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = plan->entries->pdata[i];
        Drawn d = {r->bound_closed_s / r->step_time_s, r->bound_segment_s / r->step_time_s,
                   r->layout};
        g_array_append_val(found, d);
    }
    return found;
}

int main(int argc, char **argv)
{
    guint count = argc > 1 ? (guint)atoi(argv[1]) : 40;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    setvbuf(stdout, NULL, _IONBF, 0); /* rehearsals are forked */
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) model = rh_model_gpt("wide", 24, 6144, 48, 0, 51200, 2048);
        g_autoptr(RhPlatform) bare = rh_platform_load(rows[i].platform, NULL);
        const RhStack *stack = rh_stack_by_name(rows[i].stack, NULL);
        g_autoptr(RhPlatform) platform = rh_stack_platform(stack, bare);
        RhJob job = {.global_batch = 48,
                     .sequence = 1536,
                     .gpus = rh_platform_gpus(bare),
                     .recipe = &rh_recipe_bf16};
        RhProblem c = {model, platform, stack, job};
        gsl_rng_set(rng, argc > 2 ? (unsigned long)atol(argv[2]) : 1);
        GArray *drawn = draw(&c, rows[i].tp, count, rng), *best = quickest(&c, rows[i].tp);
        tell(&rows[i], "drawn", drawn);
        tell(&rows[i], "quickest", best);
        g_array_unref(drawn);
        g_array_unref(best);
    }
    gsl_rng_free(rng);
    return 0;
}
