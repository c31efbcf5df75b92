/* The funnel: what is ranked, what is told beside it, when it ends. */
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "strategies/search/memory_budget.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

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
        CU_ASSERT_TRUE(entry(roomy, i)->risk_frac <= RH_RISK_FRAC);
    CU_ASSERT_TRUE(roomy->proved && roomy->within_budget_count < roomy->fit_count);
    CU_ASSERT_PTR_NOT_NULL_FATAL(roomy->over_budget);
    CU_ASSERT_TRUE(roomy->over_budget->risk_frac > RH_RISK_FRAC &&
                   fullness(roomy->over_budget) <= 1);
    CU_ASSERT_TRUE(roomy->over_budget->step_time_s < entry(roomy, 0)->step_time_s);
    CU_ASSERT_TRUE(rh_layout_equal(&roomy->over_budget->layout, &entry(limited, 0)->layout));
    CU_ASSERT_PTR_NULL(limited->over_budget);
    CU_ASSERT_EQUAL(limited->within_budget_count, limited->fit_count);
    RhPlanOptions daring = {.gap_frac = 0.002, .risk_frac = 1};
    g_autoptr(RhPlan) dared = small_plan(&daring);
    CU_ASSERT_TRUE(rh_layout_equal(&entry(dared, 0)->layout, &entry(limited, 0)->layout));
}

/* Two GPUs hold the model only at 96 % of their memory. */
static void where_nothing_leaves_room_all_that_fits_is_ranked(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "h100-sxm:2x1", "megatron", 64, 8192);
    RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 0.001};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_TRUE_FATAL(plan->entries->len > 0);
    CU_ASSERT_TRUE(entry(plan, 0)->risk_frac > o.risk_frac && fullness(entry(plan, 0)) <= 1);
    CU_ASSERT_PTR_NULL(plan->over_budget);
    CU_ASSERT_EQUAL(plan->within_budget_count, plan->fit_count);
}

/* Two layers a stage, of which the first stages recompute both: a framework that is told one number for all stages
 * recomputes all. */
static void all_layers_are_recomputed_where_one_number_is_all(void)
{
    static const char *const fixed[] = {"tp=8", "pp=64", "mb=1", "vpp=1"};
    RhConstraint constraints[G_N_ELEMENTS(fixed)];
    for (size_t i = 0; i < G_N_ELEMENTS(fixed); i++)
        CU_ASSERT_TRUE(rh_constraint_parse(fixed[i], false, &constraints[i], NULL));
    RhPlanOptions o = {.gap_frac = 0.01,
                       .constraints = constraints,
                       .constraints_count = G_N_ELEMENTS(fixed),
                       .best_alone = true};
    g_auto(TrainKit) k = train_kit("gpt-1t", "selene:64", "megatron-2021", 512, 2048);
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_TRUE_FATAL(plan && plan->entries->len == 1);
    CU_ASSERT_EQUAL(entry(plan, 0)->layout.recompute, RH_RECOMPUTE_FULL);
    CU_ASSERT_EQUAL(entry(plan, 0)->layout.recomputed_layers_count, 0);
}

static bool differ_by_order_and_chunks_alone(const RhLayout *a, const RhLayout *b)
{
    RhLayout twin = *b;
    twin.vpp = a->vpp;
    twin.order = a->order;
    twin.partition = a->partition;
    if ((a->schedule == RH_PIPELINE_GPIPE) == (b->schedule == RH_PIPELINE_GPIPE))
        twin.schedule = a->schedule;
    return rh_layout_equal(a, &twin);
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

static bool has_family(const GPtrArray *list, const char *family)
{
    for (guint i = 0; i < list->len; i++) {
        const RhRehearsal *r = list->pdata[i];
        if (strcmp(rh_layout_family(&r->layout), family) == 0)
            return true;
    }
    return false;
}

static const RhPlanFamilyBound *bound_of(const RhPlan *plan, const char *family)
{
    for (guint i = 0; i < plan->family_bounds->len; i++) {
        const RhPlanFamilyBound *b = &g_array_index(plan->family_bounds, RhPlanFamilyBound, i);
        if (strcmp(b->family, family) == 0)
            return b;
    }
    return NULL;
}

/* Asked for alone, the family has no better layout. */
static void each_other_family_has_its_best_beside(void)
{
    static const char *const data_alone[] = {"tp=1", "pp=1", "cp=1", "zero<=1"};
    RhConstraint constraints[G_N_ELEMENTS(data_alone)];
    for (size_t i = 0; i < G_N_ELEMENTS(data_alone); i++)
        CU_ASSERT_TRUE(rh_constraint_parse(data_alone[i], true, &constraints[i], NULL));
    RhPlanOptions o = {.gap_frac = 0.002}, alone = {.gap_frac = 0.002,
                                                    .top = 1,
                                                    .constraints = constraints,
                                                    .constraints_count = G_N_ELEMENTS(data_alone)};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 128, 8192);
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL), data = rh_plan(&k.c, &alone, NULL);
    CU_ASSERT_TRUE_FATAL(plan->families->len + plan->family_bounds->len > 0 &&
                         data->entries->len == 1);
    const RhPlanFamilyBound *bound = bound_of(plan, "data");
    CU_ASSERT_TRUE(has_family(plan->families, "data") != (bound != NULL));
    CU_ASSERT_TRUE(!bound || (bound->step_least_s <= entry(data, 0)->step_time_s &&
                              bound->step_least_s >= 1.2 * entry(plan, 0)->step_time_s));
    for (guint i = 0; i < plan->families->len; i++) {
        const RhRehearsal *r = plan->families->pdata[i];
        CU_ASSERT_FALSE(has_family(plan->entries, rh_layout_family(&r->layout)));
        CU_ASSERT_TRUE(r->step_time_s >= 0.998 * entry(plan, 0)->step_time_s);
        if (strcmp(rh_layout_family(&r->layout), "data") == 0)
            CU_ASSERT_DOUBLE_EQUAL(r->step_time_s, entry(data, 0)->step_time_s,
                                   0.002 * r->step_time_s);
    }
    CU_ASSERT_EQUAL(plan->variants->len, plan->entries->len);
    for (guint i = 0; i < plan->variants->len; i++)
        CU_ASSERT_TRUE(g_array_index(plan->variants, RhPlanVariants, i).count >= 1);
}

/* A layout beside the rows is slower than each of them, and of no family that has a row. */
static void nothing_beside_the_rows_is_better_than_one(void)
{
    RhPlanOptions o = {.gap_frac = 0.01, .top = 7};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 128, 8192);
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_TRUE_FATAL(plan && plan->entries->len == 7 && plan->families->len > 0);
    for (guint i = 0; i < plan->families->len; i++) {
        const RhRehearsal *r = plan->families->pdata[i];
        CU_ASSERT_TRUE(r->step_time_s >= entry(plan, 6)->step_time_s);
        CU_ASSERT_FALSE(has_family(plan->entries, rh_layout_family(&r->layout)));
    }
    for (guint i = 1; i < plan->entries->len; i++)
        CU_ASSERT_TRUE(entry(plan, i)->step_time_s >= entry(plan, i - 1)->step_time_s);
}

/* Recomputation that saves no memory is no row of its own. */
static void recomputation_that_saves_nothing_is_folded(void)
{
    RhPlanOptions o = {.gap_frac = 0.002, .top = 12, .listed = true}, all = o;
    all.variants = true;
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 128, 8192);
    g_autoptr(RhPlan) kinds = rh_plan(&k.c, &o, NULL);
    g_autoptr(RhPlan) every = rh_plan(&k.c, &all, NULL);
    const RhPlan *plans[] = {kinds, every};
    int folded[2] = {0};
    for (int p = 0; p < 2; p++)
        for (guint i = 0; i < plans[p]->entries->len; i++)
            for (guint j = 0; j < i; j++) {
                const RhRehearsal *a = entry(plans[p], j), *b = entry(plans[p], i);
                RhLayout same = b->layout;
                same.recompute = a->layout.recompute;
                folded[p] += rh_layout_equal(&same, &a->layout) &&
                             b->memory.peak_bytes >= 0.99 * a->memory.peak_bytes;
            }
    CU_ASSERT_EQUAL(folded[0], 0);
    CU_ASSERT_TRUE(folded[1] > 0);
}

static bool chunks_are_alike(int32_t layers, const RhLayout *l)
{
    return l->partition == RH_PARTITION_EVEN && layers % (l->pp * l->vpp) == 0;
}

/* 30 layers in chunks of unlike size must gain 1 % on chunks alike. */
static void chunks_alike_win_a_near_tie(void)
{
    RhPlanOptions o = {.gap_frac = 0.002, .top = 3}, all = {.gap_frac = 0.002, .top = 60};
    all.variants = true;
    RhConstraint fixed;
    CU_ASSERT_TRUE(rh_constraint_parse("pp=2", false, &fixed, NULL));
    o.constraints = all.constraints = &fixed;
    o.constraints_count = all.constraints_count = 1;
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 64, 4096);
    g_autoptr(RhPlan) kinds = rh_plan(&k.c, &o, NULL), every = rh_plan(&k.c, &all, NULL);
    int32_t layers = k.c.model->layers_count;
    for (guint i = 0; i < kinds->entries->len; i++) {
        const RhLayout *l = &entry(kinds, i)->layout;
        bool uneven = l->vpp > 1 && !chunks_are_alike(layers, l);
        for (guint j = 0; j < every->entries->len; j++) {
            const RhRehearsal *r = entry(every, j);
            if (r->layout.vpp > 1 && chunks_are_alike(layers, &r->layout) && uneven &&
                differ_by_order_and_chunks_alone(l, &r->layout))
                CU_ASSERT_TRUE(entry(kinds, i)->step_time_s <= 0.99 * r->step_time_s * 1.002);
        }
    }
}

static void a_near_miss_is_near(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:4", "megatron", 32, 8192);
    train_kit_runs_all(&k);
    RhConstraint eight;
    CU_ASSERT_TRUE(rh_constraint_parse("tp=8", false, &eight, NULL));
    RhPlanOptions o = {
        .gap_frac = 0.002, .quick = true, .constraints = &eight, .constraints_count = 1};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    double capacity = rh_train_memory_capacity(&k.c);
    CU_ASSERT_TRUE(plan->near_misses->len > 0);
    for (guint i = 0; i < plan->near_misses->len; i++) {
        const RhNearMiss *miss = plan->near_misses->pdata[i];
        CU_ASSERT_TRUE(miss->memory.peak_bytes > capacity);
        CU_ASSERT_TRUE(miss->memory.peak_bytes <= 1.05 * capacity);
    }
}

/* Rehearsed rows of a quick plan come first; the rest are bounds and marked as such. */
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

/* 126 layers in 384 GPUs: the quickest has chunks that are not alike, and what is as uneven and no better by its
 * bound is not rehearsed for the 1 % that even chunks may lose on it. The first batch proves it. */
static void uneven_chunks_are_no_reason_to_rehearse_others(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-405b", "dgx-b200:12", "megatron", 96, 4096);
    RhPlanOptions o = {.gap_frac = 0.01, .top = 1, .best_alone = true};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_TRUE_FATAL(plan != NULL && plan->entries->len == 1);
    const RhLayout *l = &entry(plan, 0)->layout;
    CU_ASSERT_TRUE(l->vpp > 1 && k.c.model->layers_count % (l->pp * l->vpp) != 0);
    CU_ASSERT_TRUE(plan->proved && plan->rehearsed_count <= 8);
}

/* A row is what was performed for it: of the best with every byte as a flow, which takes as long as with idle
 * communication as timers, in more events; of others with these. */
static void the_best_counts_the_run_with_every_byte_as_a_flow(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 8192);
    RhPlanOptions o = {.gap_frac = 0.002, .top = 2};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_EQUAL(plan->entries->len, 2);
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *row = entry(plan, i);
        RhEngineOptions timers = {0}, flows = {.collapse_disabled = true};
        g_autoptr(RhRehearsal) as_timers =
            rh_rehearse(&k.c, &row->layout, &timers, NULL, NULL, NULL);
        g_autoptr(RhRehearsal) as_flows = rh_rehearse(&k.c, &row->layout, &flows, NULL, NULL, NULL);
        const RhRehearsal *own = i == 0 ? as_flows : as_timers;
        CU_ASSERT_EQUAL(row->events_count, own->events_count);
        CU_ASSERT_EQUAL(row->bytes_as_flows, own->bytes_as_flows);
        CU_ASSERT_TRUE(as_timers->events_count < as_flows->events_count);
        CU_ASSERT_TRUE(as_timers->bytes_as_flows < as_flows->bytes_as_flows);
        RH_CHECK_CLOSE(row->step_time_s, as_timers->step_time_s, 1e-9);
    }
}

/* The last word of each stage. */
typedef struct {
    int64_t rehearsed, performed_of;
} Heard;

static void hear(const char *stage, int64_t done, int64_t total, double best_s, void *user)
{
    Heard *heard = user;
    CU_ASSERT_TRUE(best_s >= 0);
    if (g_str_equal(stage, "layouts simulated:"))
        heard->rehearsed = done;
    if (g_str_equal(stage, "simulating messages"))
        heard->performed_of = total;
}

/* Progress is reported while the best row is simulated again, which may take a good part of the
 * time. */
static void every_stage_that_takes_long_is_heard_of(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 8192);
    Heard heard = {0};
    RhPlanOptions o = {.gap_frac = 0.002, .top = 2, .progress = hear, .user = &heard};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_EQUAL(plan->entries->len, 2);
    CU_ASSERT_TRUE(heard.rehearsed >= 2);
    CU_ASSERT_EQUAL(heard.performed_of, 1);
}

static void what_does_not_fit_names_the_smallest_change(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:1", "megatron", 8, 8192);
    RhPlanOptions o = {.gap_frac = 0.002};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_EQUAL(plan->fit_count, 0);
    CU_ASSERT_EQUAL(plan->entries->len, 0);
    CU_ASSERT_TRUE_FATAL(plan->changes->len > 0);
    CU_ASSERT_TRUE(rh_training_states_bytes(&plan->states) > 8 * 80e9);
}

/* 56 GPUs for a question of 32: log2(56 / 32). */
static double doublings(const RhSmallestChange *change, const RhJob *job)
{
    const double old[] = {[RH_CHANGE_GPUS] = job->gpus,
                          [RH_CHANGE_BATCH] = (double)job->global_batch,
                          [RH_CHANGE_SEQUENCE] = (double)job->sequence};
    if (change->kind == RH_CHANGE_GRADIENTS)
        return log2(4.0 / (double)change->value);
    return change->kind >= RH_CHANGE_GPUS ? fabs(log2((double)change->value / old[change->kind]))
                                          : 0;
}

static void changes_come_smallest_first(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 1, 524288);
    RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 1};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    double last = 0;
    CU_ASSERT_TRUE_FATAL(plan->changes->len >= 2);
    for (guint i = 0; i < plan->changes->len; i++) {
        const RhSmallestChange *change = plan->changes->pdata[i];
        double size = doublings(change, &k.c.job);
        CU_ASSERT_TRUE(size > 0 && size >= last);
        last = size;
    }
    const RhSmallestChange *first = plan->changes->pdata[0];
    CU_ASSERT_EQUAL(first->kind, RH_CHANGE_SEQUENCE);
    CU_ASSERT_EQUAL(first->value, 294912); /* not 262144: the nearest that fits */
}

/* Advised changes are as safe as ranked rows, whether nothing fits or all that fits is too full. */
static void changes_are_safe(void)
{
    static const struct {
        int32_t gpus;
        bool fits;
    } cases[] = {{1, false}, {2, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 64, 8192);
        k.c.job.gpus = cases[i].gpus;
        RhPlanOptions o = {.gap_frac = 0.002, .risk_frac = 0.001}; /* two GPUs are 96 % full */
        g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
        double safe = rh_memory_budget(&k.c, NULL, 0, o.risk_frac).ranked_bytes;
        CU_ASSERT_EQUAL(plan->fit_count > 0, cases[i].fits);
        CU_ASSERT_EQUAL(plan->unsafe, cases[i].fits);
        CU_ASSERT_TRUE_FATAL(plan->changes->len > 0);
        for (guint n = 0; n < plan->changes->len; n++)
            CU_ASSERT_TRUE(((RhSmallestChange *)plan->changes->pdata[n])->peak_bytes <= safe);
        for (guint n = 0; n < plan->entries->len; n++)
            CU_ASSERT_TRUE(entry(plan, n)->memory.peak_bytes > safe);
    }
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
    CU_ASSERT_EQUAL(first->kind, RH_CHANGE_CONSTRAINT);
    CU_ASSERT_PTR_NULL(first->constraint.knob); /* the memory's */
    for (guint i = 1; i < plan->changes->len; i++) {
        const RhSmallestChange *change = plan->changes->pdata[i];
        CU_ASSERT_TRUE(change->peak_bytes <= 0.2 * rh_train_memory_capacity(&k.c));
    }
}

/* Returns the processor time of this process; that of others does not count. */
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
                {"llama-3.1-70b", "dgx-h100:8", "megatron", 512, 8192},
                {"deepseek-v3", "hgx-h800:256", "megatron", 15360, 4096}};
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++) {
        g_auto(TrainKit) k = train_kit(jobs[i].model, jobs[i].platform, jobs[i].stack,
                                       jobs[i].global_batch, jobs[i].sequence);
        for (double timeout_s = 0.05; timeout_s < RH_TRIES(4.0, 0.5); timeout_s *= 4) {
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

#ifndef RH_SANITIZED /* a sanitizer reserves terabytes */
/* Limits the address space to so much more than the process has now. */
static void allow_mb(int64_t mb, struct rlimit *before)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
    rlim_t pages = (rlim_t)g_ascii_strtoll(text, NULL, 10);
    g_assert_cmpint(getrlimit(RLIMIT_AS, before), ==, 0);
    struct rlimit less = *before;
    less.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)mb * 1048576;
    g_assert_cmpint(setrlimit(RLIMIT_AS, &less), ==, 0);
}

/* Rehearsals of 16,384 micro-batches find no room, those of a few do. */
static void what_memory_runs_out_for_is_left_out(void)
{
    g_auto(TrainKit) k = train_kit("gpt2", "h100-sxm:1x1", "bare", 16384, 1);
    struct rlimit before;
    RhPlanOptions o = {.top = 100, .variants = true, .jobs = 1, .gap_frac = 0.002, .listed = true};
    allow_mb(64, &before);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, &error);
    g_assert_cmpint(setrlimit(RLIMIT_AS, &before), ==, 0);
    g_assert_no_error(error);
    CU_ASSERT_TRUE(plan->lost_count > 0);
    CU_ASSERT_TRUE(plan->entries->len > 0);
    CU_ASSERT_EQUAL(plan->lost_count + plan->rehearsed_count, plan->fit_count);
    CU_ASSERT_TRUE(isfinite(plan->lost_bound_s));
    CU_ASSERT_FALSE(plan->proved);
    const RhRehearsal *best = plan->entries->pdata[0];
    CU_ASSERT_EQUAL(plan->lost_may_win, plan->lost_bound_s < best->step_time_s * (1 - o.gap_frac));
}
#else
static void what_memory_runs_out_for_is_left_out(void)
{
    printf("skipped: ");
}
#endif

int main(void)
{
    return rh_test_main(
        "funnel",
        (RhTest[]){
            {"the_plan_does_not_depend_on_the_number_of_jobs",
             the_plan_does_not_depend_on_the_number_of_jobs},
            {"what_is_ranked_leaves_room_and_the_fuller_stands_apart",
             what_is_ranked_leaves_room_and_the_fuller_stands_apart},
            {"where_nothing_leaves_room_all_that_fits_is_ranked",
             where_nothing_leaves_room_all_that_fits_is_ranked},
            {"all_layers_are_recomputed_where_one_number_is_all",
             all_layers_are_recomputed_where_one_number_is_all},
            {"each_row_is_the_best_of_its_kind", each_row_is_the_best_of_its_kind},
            {"each_other_family_has_its_best_beside", each_other_family_has_its_best_beside},
            {"nothing_beside_the_rows_is_better_than_one",
             nothing_beside_the_rows_is_better_than_one},
            {"recomputation_that_saves_nothing_is_folded",
             recomputation_that_saves_nothing_is_folded},
            {"chunks_alike_win_a_near_tie", chunks_alike_win_a_near_tie},
            {"a_near_miss_is_near", a_near_miss_is_near},
            {"a_quick_plan_rehearses_its_first_few", a_quick_plan_rehearses_its_first_few},
            {"the_best_counts_the_run_with_every_byte_as_a_flow",
             the_best_counts_the_run_with_every_byte_as_a_flow},
            {"every_stage_that_takes_long_is_heard_of", every_stage_that_takes_long_is_heard_of},
            {"what_does_not_fit_names_the_smallest_change",
             what_does_not_fit_names_the_smallest_change},
            {"changes_come_smallest_first", changes_come_smallest_first},
            {"changes_are_safe", changes_are_safe},
            {"uneven_chunks_are_no_reason_to_rehearse_others",
             uneven_chunks_are_no_reason_to_rehearse_others},
            {"a_change_keeps_the_limits_it_does_not_name",
             a_change_keeps_the_limits_it_does_not_name},
            {"what_memory_runs_out_for_is_left_out", what_memory_runs_out_for_is_left_out},
            {"a_deadline_holds_in_every_stage", a_deadline_holds_in_every_stage},
            {"no_legal_layout_is_an_error_with_a_reason",
             no_legal_layout_is_an_error_with_a_reason},
            {"a_sequence_without_positions_is_the_reason",
             a_sequence_without_positions_is_the_reason},
            {0}});
}
