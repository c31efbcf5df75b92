/* The space, the bounds and the funnel. */
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "sim/engine/apart.h"
#include "tests/testkit.h"
#include "tests/train_kit.h"

static RhLayout *at(GArray *space, guint i)
{
    return &g_array_index(space, RhLayout, i);
}

/* --- the space --- */

/* Every tuple of knobs that could be legal, kept when legal and canonical. */
static guint count_by_brute_force(const TrainKit *k)
{
    int32_t samples = (int32_t)k->c.job.global_batch, most_vpp = k->c.model->layers_count + 2;
    guint count = 0;
    RhLayout l = rh_layout_default();
    for (l.tp = 1; l.tp <= k->c.job.gpus; l.tp++)
        for (l.pp = 1; l.pp <= k->c.job.gpus; l.pp++)
            for (l.dp = 1; l.dp <= k->c.job.gpus; l.dp++)
                for (l.vpp = 1; l.vpp <= most_vpp; l.vpp++)
                    for (l.microbatch = 1; l.microbatch <= samples; l.microbatch++)
                        for (l.zero = 0; l.zero < 4; l.zero++)
                            for (int rest = 0; rest < 3 * 3 * 2 * 2; rest++) {
                                l.recompute = (RhRecompute)(rest % 3);
                                l.schedule = (RhScheduleKind)(1 + rest / 3 % 3);
                                l.sequence_parallel = rest / 9 % 2 != 0;
                                l.order = (RhOrder)(1 + rest / 18);
                                RhLayout canonical = rh_train_canonical(&k->c, &l);
                                count += rh_layout_equal(&canonical, &l) &&
                                         rh_train_legal(&k->c, &l, NULL);
                            }
    return count;
}

static void the_space_is_every_canonical_legal_layout(void)
{
    static const struct {
        const char *platform;
        int64_t batch;
    } rows[] = {{"dgx-h100:1", 16}, {"h100-sxm:2x1,nvlink:450GB/s", 90}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit("llama-3.2-1b", rows[i].platform, "megatron", rows[i].batch, 2048);
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        CU_ASSERT_EQUAL(space->len, count_by_brute_force(&k));
        CU_ASSERT_TRUE(space->len > 100);
    }
}

static void a_stack_without_sequence_parallelism_has_none(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron-2021", 16, 2048);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(space->len > 100);
    for (guint i = 0; i < space->len; i++)
        CU_ASSERT_FALSE(at(space, i)->sequence_parallel);
    RhLayout l = train_layout(&k, "tp4");
    CU_ASSERT_FALSE(l.sequence_parallel);
    l.sequence_parallel = true;
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
}

/* Megatron-FSDP knows no stages; without a stack everything runs. */
static void megatron_shards_gradients_without_stages_only(void)
{
    static const struct {
        const char *stack;
        bool staged;
    } rows[] = {{"megatron", false}, {"megatron-2021", false}, {"bare", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", rows[i].stack, 16, 2048);
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        bool staged = false, alone = false;
        for (guint l = 0; l < space->len; l++) {
            staged |= at(space, l)->zero >= 2 && at(space, l)->pp > 1;
            alone |= at(space, l)->zero >= 2 && at(space, l)->pp == 1;
        }
        CU_ASSERT_EQUAL(staged, rows[i].staged);
        CU_ASSERT_TRUE(alone);
    }
}

static void no_layout_is_listed_twice(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 4096);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < space->len; i++)
        CU_ASSERT_TRUE(g_hash_table_add(seen, rh_layout_format(at(space, i))));
}

static void constraints_hold(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 4096);
    RhConstraint c[3];
    CU_ASSERT_TRUE(rh_constraint_parse("tp=4", false, &c[0], NULL));
    CU_ASSERT_TRUE(rh_constraint_parse("pp<=2", true, &c[1], NULL));
    CU_ASSERT_TRUE(rh_constraint_parse("recompute=full", false, &c[2], NULL));
    g_autoptr(GArray) space = rh_space_list(&k.c, c, 3);
    CU_ASSERT_TRUE(space->len > 0);
    for (guint i = 0; i < space->len; i++)
        CU_ASSERT_TRUE(at(space, i)->tp == 4 && at(space, i)->pp <= 2 &&
                       at(space, i)->recompute == RH_RECOMPUTE_FULL);
    static const char *const wrong[] = {"tp",    "tp<4", "qq=1", "tp=x",        "memory=90%",
                                        "tp>=2", "=",    "",     "recompute=9", "tp=2,pp=2"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_constraint_parse(wrong[i], false, &c[0], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

static void memory_has_only_an_upper_limit(void)
{
    RhConstraint c = {0};
    CU_ASSERT_TRUE(rh_constraint_parse("memory<=90%", true, &c, NULL));
    CU_ASSERT_TRUE(c.relation == -1 && c.value == 0.9);
    static const char *const wrong[] = {"memory>=10%", "memory=50%"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_constraint_parse(wrong[i], true, &c, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

/* --- the bounds --- */

static double rehearsed_s(const TrainKit *k, const RhLayout *l)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) p = rh_train_build(&k->c, l, &error);
    g_assert_no_error(error);
    RhEngineOptions options = {0};
    g_autoptr(RhRun) run = rh_rehearse_apart(p, k->platform, &options, &error);
    g_assert_no_error(error);
    return run->step_time_s;
}

#define TOLERANCE 1e-9

static double bound_over_rehearsed(const TrainKit *k, RhScreen *screen, const RhLayout *l)
{
    double real = rehearsed_s(k, l), closed = rh_screen_bound_s(screen, l),
           segment = rh_screen_segment_s(screen, l);
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
        g_autoptr(RhScreen) screen = rh_screen_new(&k.c);
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        for (int i = 0; i < 60; i++) {
            const RhLayout *l = at(space, (guint)gsl_rng_uniform_int(rng, space->len));
            CU_ASSERT_TRUE(bound_over_rehearsed(&k, screen, l) <= 1 + TOLERANCE);
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
        g_autoptr(RhScreen) screen = rh_screen_new(&k.c);
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        const RhLayout *here = at(space, (guint)gsl_rng_uniform_int(rng, space->len));
        double best = bound_over_rehearsed(&k, screen, here);
        for (int i = 0; i < 40; i++) {
            const RhLayout *next = neighbour(space, here, rng);
            double ratio = bound_over_rehearsed(&k, screen, next);
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

/* --- the funnel --- */

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
    g_auto(TrainKit) k = train_kit("gpt2", "dgx-a100:1", "megatron", 32, 1024);
    train_kit_runs_all(&k);
    Ratios ratios = {g_array_new(FALSE, FALSE, sizeof(double)),
                     g_array_new(FALSE, FALSE, sizeof(double))};
    RhPlanOptions everything = {
        .exhaustive = true, .gap_frac = 0.002, .seen = note_ratio, .user = &ratios};
    RhPlanOptions funnel = {.gap_frac = 0.002};
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

static void the_plan_does_not_depend_on_the_number_of_jobs(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 32, 2048);
    RhPlanOptions one = {.jobs = 1, .gap_frac = 0.002}, three = {.jobs = 3, .gap_frac = 0.002};
    g_autoptr(RhPlan) a = rh_plan(&k.c, &one, NULL), b = rh_plan(&k.c, &three, NULL);
    CU_ASSERT_EQUAL(a->rehearsed_count, b->rehearsed_count);
    CU_ASSERT_EQUAL(a->entries->len, b->entries->len);
    for (guint i = 0; i < a->entries->len; i++) {
        const RhRehearsal *x = a->entries->pdata[i], *y = b->entries->pdata[i];
        CU_ASSERT_TRUE(rh_layout_equal(&x->layout, &y->layout));
        CU_ASSERT_EQUAL(x->step_time_s, y->step_time_s);
        CU_ASSERT_TRUE(rh_cost_check(x->costs, 1e-9));
    }
}

/* Llama-3.1-8B on one node: its quickest layout fills 97 % of the memory. */
static RhPlan *small_plan(const RhPlanOptions *o)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 64, 8192);
    GError *error = NULL;
    RhPlan *plan = rh_plan(&k.c, o, &error);
    g_assert_no_error(error);
    return plan;
}

static const RhRehearsal *entry(const RhPlan *plan, guint i)
{
    return g_ptr_array_index(plan->entries, i);
}

static double fullness(const RhRehearsal *r)
{
    return r->memory.peak_bytes / r->memory_capacity_bytes;
}

static void what_is_ranked_leaves_room_and_the_fuller_stands_apart(void)
{
    RhConstraint all;
    CU_ASSERT_TRUE(rh_constraint_parse("memory<=100%", true, &all, NULL));
    RhPlanOptions o = {.gap_frac = 0.002}, full = {.gap_frac = 0.002, .constraints = &all};
    full.constraints_count = 1;
    g_autoptr(RhPlan) roomy = small_plan(&o);
    g_autoptr(RhPlan) limited = small_plan(&full);
    for (guint i = 0; i < roomy->entries->len; i++)
        CU_ASSERT_TRUE(fullness(entry(roomy, i)) <= 0.92);
    CU_ASSERT_TRUE(roomy->proved && roomy->roomy_count < roomy->fit_count);
    CU_ASSERT_PTR_NOT_NULL_FATAL(roomy->fuller);
    CU_ASSERT_TRUE(fullness(roomy->fuller) > 0.92 && fullness(roomy->fuller) <= 1);
    CU_ASSERT_TRUE(roomy->fuller->step_time_s < entry(roomy, 0)->step_time_s);
    CU_ASSERT_TRUE(rh_layout_equal(&roomy->fuller->layout, &entry(limited, 0)->layout));
    CU_ASSERT_PTR_NULL(limited->fuller);
    CU_ASSERT_EQUAL(limited->roomy_count, limited->fit_count);
}

/* Two GPUs hold the model only at 96 % of their memory. */
static void where_nothing_leaves_room_all_that_fits_is_ranked(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "h100-sxm:2x1", "megatron", 64, 8192);
    RhPlanOptions o = {.gap_frac = 0.002};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_TRUE_FATAL(plan->entries->len > 0);
    CU_ASSERT_TRUE(fullness(entry(plan, 0)) > 0.92 && fullness(entry(plan, 0)) <= 1);
    CU_ASSERT_PTR_NULL(plan->fuller);
}

static bool differ_by_order_and_chunks_alone(const RhLayout *a, const RhLayout *b)
{
    return a->tp == b->tp && a->pp == b->pp && a->microbatch == b->microbatch &&
           a->zero == b->zero && a->recompute == b->recompute &&
           a->sequence_parallel == b->sequence_parallel &&
           (a->schedule == RH_SCHEDULE_GPIPE) == (b->schedule == RH_SCHEDULE_GPIPE);
}

static int32_t twins(const RhPlan *plan)
{
    int32_t count = 0;
    for (guint i = 0; i < plan->entries->len; i++)
        for (guint k = 0; k < i; k++)
            count +=
                differ_by_order_and_chunks_alone(&entry(plan, i)->layout, &entry(plan, k)->layout);
    return count;
}

static void each_row_is_the_best_of_its_kind(void)
{
    RhPlanOptions o = {.gap_frac = 0.002}, variants = {.gap_frac = 0.002, .variants = true};
    g_autoptr(RhPlan) kinds = small_plan(&o);
    g_autoptr(RhPlan) all = small_plan(&variants);
    CU_ASSERT_EQUAL(kinds->entries->len, 5);
    CU_ASSERT_EQUAL(twins(kinds), 0);
    CU_ASSERT_TRUE(twins(all) > 0);
    CU_ASSERT_TRUE(rh_layout_equal(&entry(kinds, 0)->layout, &entry(all, 0)->layout));
}

static void a_near_miss_is_near(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "megatron", 128, 8192);
    train_kit_runs_all(&k);
    RhPlanOptions o = {.gap_frac = 0.002, .quick = true};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    double capacity = rh_train_memory_capacity(&k.c);
    CU_ASSERT_TRUE(plan->near_misses->len > 0);
    for (guint i = 0; i < plan->near_misses->len; i++) {
        const RhNearMiss *miss = plan->near_misses->pdata[i];
        CU_ASSERT_TRUE(miss->memory.peak_bytes > capacity);
        CU_ASSERT_TRUE(miss->memory.peak_bytes <= 1.05 * capacity);
    }
}

/* What was rehearsed comes first; the rest are bounds, and known as such. */
static void a_quick_plan_rehearses_its_first_few(void)
{
    RhPlanOptions o = {.quick = true, .top = 40};
    g_autoptr(RhPlan) plan = small_plan(&o);
    CU_ASSERT_EQUAL(plan->entries->len, 40);
    CU_ASSERT_TRUE(plan->rehearsed_count > 0 && plan->rehearsed_count <= 8);
    CU_ASSERT_FALSE(plan->proved);
    CU_ASSERT_TRUE(entry(plan, 0)->events_count > 0);
    CU_ASSERT_EQUAL(entry(plan, 39)->events_count, 0);
    for (guint i = 1; i < plan->entries->len; i++)
        CU_ASSERT_TRUE(entry(plan, i - 1)->events_count > 0 || entry(plan, i)->events_count == 0);
    CU_ASSERT_EQUAL(twins(plan), 0);
}

static void what_does_not_fit_names_the_smallest_change(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-405b", "dgx-h100:2", "megatron", 128, 8192);
    RhPlanOptions o = {.gap_frac = 0.002};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_EQUAL(plan->fit_count, 0);
    CU_ASSERT_EQUAL(plan->entries->len, 0);
    CU_ASSERT_TRUE_FATAL(plan->changes->len > 0);
    CU_ASSERT_TRUE(plan->states_bytes > 16 * 80e9);
}

/* "--gpus 56" for a question of 32 GPUs: log2(56 / 32). */
static double doublings(const char *change, const RhJob *job)
{
    const struct {
        const char *option;
        double old;
    } rows[] = {{"--gpus ", job->gpus},
                {"--global-batch ", (double)job->global_batch},
                {"--seq ", (double)job->sequence}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_str_has_prefix(change, rows[i].option))
            return fabs(log2(g_ascii_strtod(change + strlen(rows[i].option), NULL) / rows[i].old));
    return 0;
}

static void changes_come_smallest_first(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:4", "megatron", 4, 524288);
    RhPlanOptions o = {.gap_frac = 0.002};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    double last = 0;
    CU_ASSERT_TRUE_FATAL(plan->changes->len >= 2);
    for (guint i = 0; i < plan->changes->len; i++) {
        const RhSmallestChange *change = plan->changes->pdata[i];
        double size = doublings(change->change, &k.c.job);
        CU_ASSERT_TRUE(size > 0 && size >= last);
        last = size;
    }
    const RhSmallestChange *first = plan->changes->pdata[0];
    CU_ASSERT_STRING_EQUAL(first->change, "--seq 458752"); /* not 262144: the nearest that fits */
}

static void a_change_keeps_the_limits_it_does_not_name(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 8, 8192);
    RhConstraint both[2];
    CU_ASSERT_TRUE(rh_constraint_parse("memory<=20%", true, &both[0], NULL));
    CU_ASSERT_TRUE(rh_constraint_parse("tp=2", false, &both[1], NULL));
    RhPlanOptions o = {.gap_frac = 0.002, .constraints = both, .constraints_count = 2};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_TRUE_FATAL(plan->changes->len >= 2);
    const RhSmallestChange *first = plan->changes->pdata[0];
    CU_ASSERT_STRING_EQUAL(first->change, "without --limit memory<=20%");
    for (guint i = 1; i < plan->changes->len; i++) {
        const RhSmallestChange *change = plan->changes->pdata[i];
        CU_ASSERT_TRUE(change->peak_bytes <= 0.2 * rh_train_memory_capacity(&k.c));
    }
}

/* Of this process: what others do meanwhile does not count. */
static double processor_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Half a million micro-batches in the listing, in the memory of one layout, and where nothing fits
 * in the search for the smallest change. */
static void a_deadline_holds_in_every_stage(void)
{
    static const struct {
        const char *model, *platform, *stack;
        int64_t global_batch, sequence;
    } jobs[] = {{"llama-3.1-405b", "lab-2x4", "lab", 9512, 60},
                {"gpt-1t", "selene:3", "megatron-2021", 2304, 1},
                {"llama-3.1-405b", "dgx-h100:2", "megatron", 128, 8192},
                {"llama-3.1-70b", "dgx-h100:8", "megatron", 512, 8192}};
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++) {
        g_auto(TrainKit) k = train_kit(jobs[i].model, jobs[i].platform, jobs[i].stack,
                                       jobs[i].global_batch, jobs[i].sequence);
        for (double timeout_s = 0.05; timeout_s < 4; timeout_s *= 4) {
            RhPlanOptions o = {.gap_frac = 0.002, .timeout_s = timeout_s};
            double before_s = processor_s();
            g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
            CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
            CU_ASSERT_TRUE(plan->timed_out || plan->wall_s <= timeout_s);
            CU_ASSERT_TRUE(processor_s() - before_s <= timeout_s + 0.5);
        }
    }
}

static void no_legal_layout_is_an_error_with_a_reason(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "megatron", 512, 8192);
    RhConstraint six;
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_constraint_parse("tp=6", false, &six, NULL));
    RhPlanOptions o = {.constraints = &six, .constraints_count = 1};
    CU_ASSERT_PTR_NULL(rh_plan(&k.c, &o, &error));
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "1, 2, 4, 8"));
}

static void a_sequence_without_positions_is_the_reason(void)
{
    g_auto(TrainKit) k = train_kit("gpt2", "dgx-h100:1", "megatron", 64, 1025);
    RhPlanOptions o = {0};
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_plan(&k.c, &o, &error));
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "1024 learned positions"));
}

int main(void)
{
    return rh_test_main(
        "search",
        (RhTest[]){{"the_space_is_every_canonical_legal_layout",
                    the_space_is_every_canonical_legal_layout},
                   {"a_stack_without_sequence_parallelism_has_none",
                    a_stack_without_sequence_parallelism_has_none},
                   {"megatron_shards_gradients_without_stages_only",
                    megatron_shards_gradients_without_stages_only},
                   {"no_layout_is_listed_twice", no_layout_is_listed_twice},
                   {"constraints_hold", constraints_hold},
                   {"memory_has_only_an_upper_limit", memory_has_only_an_upper_limit},
                   {"no_bound_exceeds_its_rehearsal", no_bound_exceeds_its_rehearsal},
                   {"a_hill_climber_finds_no_bound_above_its_rehearsal",
                    a_hill_climber_finds_no_bound_above_its_rehearsal},
                   {"the_funnel_finds_what_rehearsing_everything_finds",
                    the_funnel_finds_what_rehearsing_everything_finds},
                   {"the_plan_does_not_depend_on_the_number_of_jobs",
                    the_plan_does_not_depend_on_the_number_of_jobs},
                   {"what_is_ranked_leaves_room_and_the_fuller_stands_apart",
                    what_is_ranked_leaves_room_and_the_fuller_stands_apart},
                   {"where_nothing_leaves_room_all_that_fits_is_ranked",
                    where_nothing_leaves_room_all_that_fits_is_ranked},
                   {"each_row_is_the_best_of_its_kind", each_row_is_the_best_of_its_kind},
                   {"a_near_miss_is_near", a_near_miss_is_near},
                   {"a_quick_plan_rehearses_its_first_few", a_quick_plan_rehearses_its_first_few},
                   {"what_does_not_fit_names_the_smallest_change",
                    what_does_not_fit_names_the_smallest_change},
                   {"changes_come_smallest_first", changes_come_smallest_first},
                   {"a_change_keeps_the_limits_it_does_not_name",
                    a_change_keeps_the_limits_it_does_not_name},
                   {"a_deadline_holds_in_every_stage", a_deadline_holds_in_every_stage},
                   {"no_legal_layout_is_an_error_with_a_reason",
                    no_legal_layout_is_an_error_with_a_reason},
                   {"a_sequence_without_positions_is_the_reason",
                    a_sequence_without_positions_is_the_reason},
                   {0}});
}
