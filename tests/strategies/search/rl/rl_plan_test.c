/* Plans of post-training: bounds below simulated steps, what bounds leave out is no better, and the
 * forward passes of the trainer. */
#include "strategies/search/rl/rl_growth.h"

#include "base/error.h"
#include "strategies/rl/algorithms/algorithms.h"
#include "strategies/rl/placements/placements.h"
#include "strategies/serve/server_software.h"
#include "tests/kit/serve_kit.h"

#define SHARE_PERCENT 6 /* of a GPU: beside the weights 54,208 tokens on one, 64,288 on two */

typedef struct {
    RhModel *model;
    RhPlatform *hardware, *platform;
    RhProblem problem;
    RhRlJob job;
    RhRlPlanOptions options;
} Case;

static void open_case(Case *c)
{
    *c = (Case){.model = rh_model_load("llama-3.2-1b", NULL),
                .hardware = rh_platform_load("dgx-h100:1", NULL)};
    CU_ASSERT_FATAL(c->model && c->hardware);
    const RhStack *stack = rh_stack_by_name("megatron", NULL);
    c->platform = rh_stack_platform(stack, c->hardware);
    c->problem = (RhProblem){
        .model = c->model,
        .platform = c->platform,
        .stack = stack,
        .job = {.gpus = 8, .recipe = rh_recipe_by_name("bf16"), .global_batch = 1, .sequence = 1}};
    c->job = (RhRlJob){.algorithm = rh_rl_algorithm_by_name("grpo"),
                       .prompts = 32,
                       .samples = 8,
                       .epochs = 1,
                       .turns = 1,
                       .begun_frac = 1,
                       .useful_frac = 1,
                       .reference = true,
                       .prompt = {200, 200},
                       .answer = {.mean = 600, .sigma = 0.5, .most = 2000},
                       .seed = 1};
    c->options = (RhRlPlanOptions){.problem = &c->problem,
                                   .hardware = c->hardware,
                                   .server = rh_server_by_name("vllm", NULL),
                                   .given = rh_deployment_default(),
                                   .job = &c->job,
                                   .transport = rh_weight_transport_by_name("broadcast"),
                                   .top = 8,
                                   .jobs = 2};
    RhPool *pool = &c->options.given.pools[0];
    pool->tp = pool->pp = pool->ep = pool->dp = pool->replicas = 0;
}

static void close_case(Case *c)
{
    rh_model_free(c->model);
    rh_platform_free(c->hardware);
    rh_platform_free(c->platform);
}

static RhRlPlan *planned(const Case *c)
{
    GError *error = NULL;
    RhRlPlan *plan = rh_rl_plan(&c->options, &error);
    if (error)
        printf("%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    g_clear_error(&error);
    return plan;
}

/* Every step takes at least its bound, and all of a placement that was left out is no quicker. */
static void bounds_are_below_steps(void)
{
    Case c;
    open_case(&c);
    g_autoptr(RhRlPlan) plan = planned(&c);
    CU_ASSERT_TRUE(plan->entries->len > 5);
    CU_ASSERT_EQUAL(plan->simulated_count + plan->bounded_count, plan->candidates_count);
    CU_ASSERT_EQUAL(plan->entries->len, plan->simulated_count);
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRlEntry *e = &g_array_index(plan->entries, RhRlEntry, i);
        CU_ASSERT_TRUE(e->bound_s <= e->step.step_s * (1 + 1e-9));
        CU_ASSERT_TRUE(i == 0 || e->step.step_s >= e[-1].step.step_s);
        CU_ASSERT_TRUE(e->placement->shares_gpus || e->trainer.gpus + e->servers.gpus == 8);
    }
    close_case(&c);
}

/* Two nodes are split in parts, too: the best split of such a job is not 8 of 16 GPUs. */
static void few_nodes_are_split_in_parts(void)
{
    Case c;
    open_case(&c);
    rh_platform_free(c.hardware);
    rh_platform_free(c.platform);
    c.hardware = rh_platform_load("dgx-h100:2", NULL);
    c.options.hardware = c.hardware;
    c.problem.platform = c.platform = rh_stack_platform(c.problem.stack, c.hardware);
    c.problem.job.gpus = 16;
    c.options.only = rh_rl_placement_by_name("apart");
    g_autoptr(RhRlPlan) plan = planned(&c);
    int32_t tried = 0;
    CU_ASSERT_EQUAL(plan->split_gpus, 2);
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRlEntry *e = &g_array_index(plan->entries, RhRlEntry, i);
        CU_ASSERT_EQUAL(e->trainer.gpus % 2, 0);
        tried |= 1 << (e->trainer.gpus / 2);
    }
    CU_ASSERT_TRUE(plan->trainers_count >= 5 && tried != 1 << 4);
    close_case(&c);
}

/* Servers that are asked to be wider than a node are, and only they. */
static void servers_are_as_wide_as_asked(void)
{
    Case c;
    open_case(&c);
    rh_platform_free(c.hardware);
    c.hardware = rh_platform_load("dgx-h100:2", NULL);
    c.options.hardware = c.hardware;
    g_autoptr(RhRequests) drawn = rh_rl_requests(&c.job, c.job.prompts);
    RhRlTokens tokens = rh_rl_tokens(drawn, 256);
    for (int32_t tp = 0; tp <= 16; tp += 16) {
        g_autoptr(GArray) servers = g_array_new(FALSE, FALSE, sizeof(RhRlServers));
        c.options.given.pools[0].tp = tp;
        rh_rl_servers_list(&c.options, &tokens, 16, servers, NULL);
        CU_ASSERT_TRUE(servers->len > 0);
        for (guint i = 0; i < servers->len; i++) {
            const RhPool *pool = &g_array_index(servers, RhRlServers, i).deployment.pools[0];
            CU_ASSERT_TRUE(tp > 0 ? pool->tp == tp : pool->tp <= 8);
        }
    }
    close_case(&c);
}

/* Other models stay beside the policy where they fit; where they do not, or servers need the GPUs, they come from host
 * memory, a critic in turns with the policy. */
static void other_models_need_room(void)
{
    Case c;
    open_case(&c);
    const double states = 12e9, weights = 2e9, pageable_per_s = 6e9;
    RhRlEntry e = {.placement = rh_rl_placement_by_name("apart"),
                   .trainer = {.gpus = 4,
                               .layout = rh_layout_default(),
                               .weights_bytes = weights,
                               .states_bytes = states,
                               .peak_bytes = 60e9,
                               .capacity_bytes = 63e9},
                   .servers = {.gpus = 4}};
    e.trainer.layout.dp = 4;
    CU_ASSERT_TRUE(rh_rl_entry_settle(&c.options, &e));
    CU_ASSERT_EQUAL(e.models_bytes, weights);
    CU_ASSERT_EQUAL(e.models_copy_s, 0);
    e.trainer.capacity_bytes = 61e9;
    CU_ASSERT_TRUE(rh_rl_entry_settle(&c.options, &e));
    RH_CHECK_CLOSE(e.models_copy_s, weights / pageable_per_s, 1e-9);
    CU_ASSERT_EQUAL(e.times.to_train_s, e.models_copy_s);
    c.job.algorithm = rh_rl_algorithm_by_name("ppo");
    CU_ASSERT_TRUE(rh_rl_entry_settle(&c.options, &e));
    RH_CHECK_CLOSE(e.models_bytes, states + 2 * weights, 1e-9);
    RH_CHECK_CLOSE(e.models_copy_s, (2 * weights + 4 * states) / pageable_per_s, 1e-9);
    e.placement = rh_rl_placement_by_name("colocated");
    CU_ASSERT_TRUE(rh_rl_entry_settle(&c.options, &e));
    RH_CHECK_CLOSE(e.models_copy_s, 2 * weights / pageable_per_s, 1e-9);
    RH_CHECK_CLOSE(e.states_copy_s, 2 * states / pageable_per_s, 1e-9);
    close_case(&c);
}

/* A forward pass is a part of an update, and its kernels are a third of the FLOPs. */
static void forward_is_a_part_of_an_update(void)
{
    Case c;
    open_case(&c);
    g_autoptr(RhRequests) drawn = rh_rl_requests(&c.job, c.job.prompts);
    RhRlTokens tokens = rh_rl_tokens(drawn, 256);
    static const char *const layouts[] = {"tp1",        "tp2",    "tp1,pp2,mb1", "tp1,pp2,vpp2,mb1",
                                          "tp1,zero=3", "tp1,cp2"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhRlTrainer t;
        GError *error = NULL;
        c.options.layout = layouts[i];
        bool found = rh_rl_trainer_find(&c.options, &tokens, 4, &t, &error);
        if (error)
            printf("%s: %s\n", layouts[i], error->message);
        g_clear_error(&error);
        CU_ASSERT_TRUE_FATAL(found);
        CU_ASSERT_TRUE(t.forward_s > 0.2 * t.update_s && t.forward_s < 0.45 * t.update_s);
    }
    close_case(&c);
}

/* A critic doubles the updates, and answers do not change. */
static void a_critic_is_trained_too(void)
{
    Case c;
    open_case(&c);
    c.options.only = rh_rl_placement_by_name("apart");
    c.options.train_gpus = 4;
    c.options.given.pools[0].tp = 1;
    g_autoptr(RhRlPlan) grpo = planned(&c);
    c.job.algorithm = rh_rl_algorithm_by_name("ppo");
    g_autoptr(RhRlPlan) ppo = planned(&c);
    const RhRlEntry *a = &g_array_index(grpo->entries, RhRlEntry, 0),
                    *b = &g_array_index(ppo->entries, RhRlEntry, 0);
    RH_CHECK_CLOSE(b->times.update_s, 2 * a->times.update_s, 1e-9);
    RH_CHECK_CLOSE(b->times.forward_s, 2 * a->times.forward_s, 1e-9);
    RH_CHECK_CLOSE(b->step.batch_s, a->step.batch_s, 1e-9);
    close_case(&c);
}

static void what_does_not_fit_is_said(void)
{
    Case c;
    open_case(&c);
    RhModel *large = rh_model_load("llama-3.1-405b", NULL);
    c.problem.model = large;
    GError *error = NULL;
    CU_ASSERT_PTR_NULL(rh_rl_plan(&c.options, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
    g_clear_error(&error);
    rh_model_free(large);
    close_case(&c);
}

/* One GPU has no split, and neither part of twelve on nodes of eight is left without any. */
static void splits_leave_both_a_gpu(void)
{
    Case c;
    open_case(&c);
    c.problem.job.gpus = 1;
    g_autoptr(RhRlPlan) one = planned(&c);
    for (guint i = 0; i < one->entries->len; i++)
        CU_ASSERT_TRUE(g_array_index(one->entries, RhRlEntry, i).placement->shares_gpus);
    close_case(&c);
    open_case(&c);
    rh_platform_free(c.hardware);
    rh_platform_free(c.platform);
    c.hardware = rh_platform_load("dgx-h100:2", NULL);
    c.problem.platform = c.platform = rh_stack_platform(c.problem.stack, c.hardware);
    c.options.hardware = c.hardware;
    c.options.only = rh_rl_placement_by_name("apart");
    c.options.given.pools[0].tp = 1;
    c.problem.job.gpus = 12;
    g_autoptr(RhRlPlan) twelve = planned(&c);
    CU_ASSERT_TRUE(twelve->entries->len > 0);
    for (guint i = 0; i < twelve->entries->len; i++) {
        const RhRlEntry *e = &g_array_index(twelve->entries, RhRlEntry, i);
        CU_ASSERT_TRUE(e->trainer.gpus > 0 && e->servers.gpus > 0);
        CU_ASSERT_EQUAL(e->trainer.gpus + e->servers.gpus, 12);
    }
    close_case(&c);
}

/* A sample of a later step, longer than all of the first, is too long for the cache of one GPU. */
static void a_cache_too_small_for_later_steps_is_left_out(void)
{
    Case c;
    open_case(&c);
    g_autoptr(RhRequests) lengths = rh_requests_new("lengths");
    for (int32_t i = 0; i < 24; i++) {
        RhRequest q = {.input_tokens = 100, .output_tokens = i == 0 ? 60000 : 100};
        g_array_append_val(lengths->list, q);
    }
    c.job.prompts = c.job.samples = 4;
    c.job.lengths = lengths;
    c.options.only = rh_rl_placement_by_name("apart");
    c.options.train_gpus = 4;
    c.options.given.pools[0].memory = SHARE_PERCENT;
    int tried = 0;
    for (c.job.seed = 0; c.job.seed < 40; c.job.seed++) {
        g_autoptr(RhRequests) first = rh_rl_requests(&c.job, 4);
        g_autoptr(RhRequests) all = rh_rl_requests(&c.job, 16);
        if (rh_rl_tokens(first, 16).longest > 1000 || rh_rl_tokens(all, 16).longest < 1000)
            continue;
        g_autoptr(RhRlPlan) plan = planned(&c);
        CU_ASSERT_TRUE(plan->entries->len > 0);
        CU_ASSERT_TRUE(plan->simulated_count + plan->bounded_count < plan->candidates_count);
        for (guint i = 0; i < plan->entries->len; i++)
            CU_ASSERT_TRUE(
                rh_pool_gpus(
                    &g_array_index(plan->entries, RhRlEntry, i).servers.deployment.pools[0]) > 1);
        tried++;
        break;
    }
    CU_ASSERT_EQUAL(tried, 1);
    close_case(&c);
}

static double first_step_s(const RhRlPlan *plan)
{
    return g_array_index(plan->entries, RhRlEntry, 0).step.step_s;
}

/* Answers that do not grow leave all three plans alike; longer ones take longer with any placement,
 * and the run's best takes no longer than the first step's. */
static void growing_answers_take_longer(void)
{
    Case c;
    open_case(&c);
    c.options.only = rh_rl_placement_by_name("apart");
    c.options.given.pools[0].tp = 1;
    g_autoptr(RhRlPlan) first = planned(&c);
    for (int grows = 0; grows <= 1; grows++) {
        RhRlGrowthSpec spec = {.to_tokens = grows ? 1500 : c.job.answer.mean, .steps = 60};
        RhRlGrowth growth;
        GError *error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_rl_growth(&c.options, &spec, first, &growth, &error));
        CU_ASSERT_EQUAL(growth.points[1].answer_tokens, (600 + spec.to_tokens) / 2);
        for (int k = 0; k < RH_RL_GROWTH_POINTS; k++) {
            const RhRlGrowthPoint *p = growth.points;
            CU_ASSERT_TRUE(p[k].step_s[k] <= p[k].step_s[0] * (1 + 1e-9));
            CU_ASSERT_TRUE(growth.run_s[growth.best] <= growth.run_s[k]);
            CU_ASSERT_TRUE(!grows ||
                           (p[0].step_s[k] < p[1].step_s[k] && p[1].step_s[k] < p[2].step_s[k]));
            CU_ASSERT_TRUE(grows || growth.run_s[k] == growth.run_s[0]);
        }
        if (!grows)
            RH_CHECK_CLOSE(growth.run_s[0], 60 * first_step_s(first), 1e-9);
        rh_rl_growth_clear(&growth);
    }
    RhRlGrowth none;
    CU_ASSERT_FALSE(rh_rl_growth(&c.options, &(RhRlGrowthSpec){3000, 60}, first, &none, NULL));
    close_case(&c);
}

int main(void)
{
    static const RhTest tests[] = {
        {"bounds_are_below_steps", bounds_are_below_steps},
        {"few_nodes_are_split_in_parts", few_nodes_are_split_in_parts},
        {"other_models_need_room", other_models_need_room},
        {"servers_are_as_wide_as_asked", servers_are_as_wide_as_asked},
        {"forward_is_a_part_of_an_update", forward_is_a_part_of_an_update},
        {"a_critic_is_trained_too", a_critic_is_trained_too},
        {"growing_answers_take_longer", growing_answers_take_longer},
        {"what_does_not_fit_is_said", what_does_not_fit_is_said},
        {"splits_leave_both_a_gpu", splits_leave_both_a_gpu},
        {"a_cache_too_small_for_later_steps_is_left_out",
         a_cache_too_small_for_later_steps_is_left_out},
        {NULL, NULL},
    };
    return rh_test_main("rl_plan", tests);
}
