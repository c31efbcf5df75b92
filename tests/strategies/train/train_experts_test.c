/* The programs of models with experts: what is sent where, what is computed there, and what a rank holds. */
#include <string.h>

#include "sim/uncontended_critical_path.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

typedef struct {
    int32_t products, casts; /* kernels of one forward and backward of the first stage */
    double flops, bytes;
} Counted;

/* Counts the kernels of the program's bundles, each once. */
static Counted count_kernels(const TrainKit *k, const char *layout)
{
    Counted n = {0};
    g_autoptr(RhProgram) p = train_build(k, layout);
    for (guint i = 0; i < p->kernels->len; i++) {
        const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, i);
        n.products += kernel->cls == RH_KERNEL_GEMM;
        n.casts += kernel->cls == RH_KERNEL_CAST;
        n.flops += kernel->flops;
        n.bytes += kernel->bytes;
    }
    return n;
}

/* A rank's 128 / 8 experts: six products (two forward, four backward) are sixteen kernels each, that do and
 * move as much; so are the casts of what they read. */
static void experts_apart_do_as_much_in_more_kernels(void)
{
    g_auto(TrainKit) k = train_kit("qwen3-30b-a3b", "dgx-b200:1", "bare", 8, 2048);
    train_kit_runs_all(&k);
    k.c.job.recipe = rh_recipe_by_name("mxfp8");
    const char *layout = "dp8,ep8,zero1,recompute=none";
    Counted one = count_kernels(&k, layout);
    k.stack->experts_apart = true;
    Counted apart = count_kernels(&k, layout);
    CU_ASSERT_TRUE(apart.products > one.products);
    CU_ASSERT_EQUAL((apart.products - one.products) % (6 * 15), 0);
    CU_ASSERT_EQUAL((apart.casts - one.casts) % 15, 0);
    CU_ASSERT_TRUE(apart.casts > one.casts);
    RH_CHECK_CLOSE(apart.flops, one.flops, 1e-12);
    RH_CHECK_CLOSE(apart.bytes, one.bytes, 1e-12);
}

/* Megatron-Core's all-to-all dispatcher: every rank sends each token of its sequence part to k
 * experts and has it back, and so again backward; what full recomputation replays too. Ranks that
 * share an expert gather, and sum, what etp of them were sent. Common parameters are summed over
 * tp's replicas, those of experts over the ranks that have the same ones. */
static void experts_are_sent_their_tokens(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "bare", 32, 2048);
    const RhLayerKind *kind = &k.model->kinds[0];
    double m = 32.0 / 8, L = k.model->layers_count, h = (double)k.model->hidden;
    double sent = 2.0 * (2048.0 / 2) * kind->experts_per_token * h;
    g_autoptr(RhProgram) p = train_build(&k, "tp2,dp8,ep4,etp1,zero0");
    RH_CHECK_CLOSE(train_buffers(p, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), m * L * 4 * sent, 1e-12);
    g_autoptr(RhProgram) replayed = train_build(&k, "tp2,dp8,ep4,etp1,zero0,recompute=full");
    RH_CHECK_CLOSE(train_buffers(replayed, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), m * L * 6 * sent,
                   1e-12);
    CU_ASSERT_EQUAL(train_buffers(p, 0, RH_LANE_EP, RH_OP_ALL_GATHER), 0);
    g_autoptr(RhProgram) shared = train_build(&k, "tp2,dp8,ep4,zero0");
    RH_CHECK_CLOSE(train_buffers(shared, 0, RH_LANE_EP, RH_OP_ALL_GATHER), m * L * 2 * 2 * sent,
                   1e-12);
    RH_CHECK_CLOSE(train_buffers(shared, 0, RH_LANE_EP, RH_OP_REDUCE_SCATTER), m * L * 2 * 2 * sent,
                   1e-12);
    /* gradients, 4 bytes each: of a quarter of all experts, and of the rest halved but for norms
     * and routers */
    double experts = L * 8 / 4 * 3 * h * (double)kind->ffn_width;
    double whole = L * (2 * h + 8 * h) + h;
    double rest = ((double)rh_model_params(k.model) - 4 * experts - whole) / 2 + whole;
    RH_CHECK_CLOSE(train_buffers(p, 0, RH_LANE_DP, RH_OP_ALL_REDUCE), 4 * (experts + rest), 1e-12);
    RH_CHECK_CLOSE(train_buffers(shared, 0, RH_LANE_DP, RH_OP_ALL_REDUCE), 4 * (experts / 2 + rest),
                   1e-12);
    RhLayout l = train_layout(&k, "tp2,dp8,ep4,etp1,zero0");
    CU_ASSERT_EQUAL(rh_params_replicas(&l, RH_PARAMS_EXPERTS), 16 / 4);
    CU_ASSERT_EQUAL(rh_params_replicas(&l, RH_PARAMS_COMMON), 8);
}

/* DeepSeek-V3: of 64 ranks a token goes to 7.36 in the mean, of 8 nodes, four at most of which have its
 * experts, to 3.63; the dispatch in fp8 with a scale for 128 columns, the way back in bf16. */
static void tokens_are_sent_once(void)
{
    g_auto(TrainKit) k = train_kit("deepseek-v3", "hgx-h800:8", "bare", 64, 2048);
    k.c.job.recipe = &rh_recipe_fp8_block;
    RhRouting routing = {256, 8, 8, 4, 0, 0};
    double row = (double)k.model->hidden * (1 + 4.0 / 128 + 2) * 2;
    g_autoptr(RhProgram) copies = train_build(&k, "dp64,ep64"),
                         once = train_build(&k, "dp64,ep64,dispatch=deepep");
    double rows = 58.0 * 2048;
    RH_CHECK_CLOSE(train_buffers(copies, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), rows * 8 * row, 1e-12);
    RH_CHECK_CLOSE(train_buffers(once, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
                   rows * rh_routing_parts(&routing, 64) * row, 1e-12);
    RH_CHECK_CLOSE(train_kernel_flops(once, RH_KERNEL_GEMM),
                   train_kernel_flops(copies, RH_KERNEL_GEMM), 1e-12);
    for (guint i = 0; i < once->tasks->len; i++) {
        const RhTask *t = rh_program_task(once, (int32_t)i);
        if (t->lane == RH_LANE_EP)
            CU_ASSERT_EQUAL(t->algo, RH_ALGO_FORWARDING);
    }
}

/* A shared expert has the same kernels, some of them between a dispatch and its end. */
static void a_shared_expert_runs_beside_the_exchange(void)
{
    g_auto(TrainKit) k = train_kit("deepseek-v3", "dgx-h100:2", "bare", 32, 2048);
    g_assert(rh_model_set(k.model, "layers", "6", NULL));
    g_autoptr(RhProgram) apart = train_build(&k, "tp2,dp8,ep8,etp1");
    g_autoptr(RhProgram) beside = train_build(&k, "tp2,dp8,ep8,etp1,epoverlap=shared");
    RH_CHECK_CLOSE(train_kernel_flops(beside, RH_KERNEL_GEMM),
                   train_kernel_flops(apart, RH_KERNEL_GEMM), 1e-12);
    CU_ASSERT_EQUAL(train_buffers(beside, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
                    train_buffers(apart, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL));
    double apart_s, beside_s;
    CU_ASSERT_TRUE(rh_critical_path_s(apart, k.c.platform, &apart_s, NULL));
    CU_ASSERT_TRUE(rh_critical_path_s(beside, k.c.platform, &beside_s, NULL));
    CU_ASSERT_TRUE(beside_s < 0.998 * apart_s);
}

/* Twice as many tokens at the busiest rank: twice its experts' GEMMs, and an exchange twice as long. */
static void the_busiest_ranks_experts_set_the_pace(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "bare", 32, 2048);
    g_autoptr(RhProgram) even = train_build(&k, "dp16,ep8");
    CU_ASSERT_TRUE(rh_expert_load_parse("histogram:2-1x6-0", &k.c.job.load, NULL));
    g_autoptr(RhProgram) uneven = train_build(&k, "dp16,ep8");
    RH_CHECK_CLOSE(train_buffers(uneven, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
                   2 * train_buffers(even, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), 1e-12);
    const RhLayerKind *kind = &k.model->kinds[0];
    double experts = 3 * 2.0 * 2 * 3 * (double)k.model->hidden * (double)kind->ffn_width *
                     (32 / 16) * 2048 * k.model->layers_count;
    RH_CHECK_CLOSE(train_kernel_flops(uneven, RH_KERNEL_GEMM) -
                       train_kernel_flops(even, RH_KERNEL_GEMM),
                   experts, 1e-9);
    g_autoptr(RhProgram) whole = train_build(&k, "tp8,dp2"); /* every rank has all */
    CU_ASSERT_TRUE(rh_expert_load_parse("balanced", &k.c.job.load, NULL));
    g_autoptr(RhProgram) same = train_build(&k, "tp8,dp2");
    CU_ASSERT_EQUAL(train_kernel_flops(whole, RH_KERNEL_GEMM),
                    train_kernel_flops(same, RH_KERNEL_GEMM));
    CU_ASSERT_TRUE(rh_expert_load_parse("histogram:1x7", &k.c.job.load, NULL));
    CU_ASSERT_FALSE(rh_train_job_legal(&k.c, NULL));
}

/* Two halves of a micro-batch of two are two micro-batches of one, woven: the same kernels, and shorter. */
static void halves_take_turns(void)
{
    g_auto(TrainKit) k = train_kit("deepseek-v3", "dgx-h100:2", "bare", 32, 2048);
    g_assert(rh_model_set(k.model, "layers", "6", NULL));
    g_autoptr(RhProgram) wide = train_build(&k, "dp16,ep16,mb2");
    g_autoptr(RhProgram) halves = train_build(&k, "dp16,ep16,mb2,epoverlap=batches");
    for (RhLane lane = RH_LANE_COMPUTE + 1; lane < RH_LANE_LAST; lane++)
        RH_CHECK_CLOSE(train_buffers(halves, 0, lane, RH_OP_ALL_TO_ALL),
                       train_buffers(wide, 0, lane, RH_OP_ALL_TO_ALL), 1e-12);
    RH_CHECK_CLOSE(train_kernel_flops(halves, RH_KERNEL_GEMM),
                   train_kernel_flops(wide, RH_KERNEL_GEMM), 1e-9);
    double wide_s, halves_s;
    CU_ASSERT_TRUE(rh_critical_path_s(wide, k.c.platform, &wide_s, NULL));
    CU_ASSERT_TRUE(rh_critical_path_s(halves, k.c.platform, &halves_s, NULL));
    CU_ASSERT_TRUE(halves_s < 0.9 * wide_s);
}

/* ZeRO-3 with spread experts: a layer's parameters are gathered before its forward and its backward, over
 * the ranks that have the same ones; their gradients are scattered there, in two bytes; a rank holds
 * its share of each. */
static void zero_3_gathers_each_class_where_it_lies(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "dp16,ep4,zero3"), whole = train_layout(&k, "dp16,ep4,zero0");
    g_autoptr(RhProgram) p = train_build(&k, "dp16,ep4,zero3");
    g_autoptr(RhModelCost) a = rh_model_cost_new(&k.c, &l), b = rh_model_cost_new(&k.c, &whole);
    RhStageMemory shared = rh_stage_memory(a, &l, 0), all = rh_stage_memory(b, &whole, 0);
    const RhParamCounts *params = &all.params;
    double common = params->of[RH_PARAMS_COMMON], experts = params->of[RH_PARAMS_EXPERTS], m = 2;
    CU_ASSERT_TRUE(experts > common);
    RH_CHECK_CLOSE(train_buffers(p, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER),
                   m * 2 * 2 * (common + experts), 1e-12);
    RH_CHECK_CLOSE(train_buffers(p, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER),
                   m * 2 * (common + experts), 1e-12);
    RH_CHECK_CLOSE(shared.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * (common / 16 + experts / 4), 1e-12);
    RH_CHECK_CLOSE(shared.fixed_bytes[RH_MEMORY_OPTIMIZER], 12 * (common / 16 + experts / 4),
                   1e-12);
}

/* Spreading experts keeps the FLOPs and the total of parameters. */
static void spreading_experts_keeps_their_work(void)
{
    g_auto(TrainKit) k = train_kit("deepseek-v3", "dgx-h100:2", "bare", 32, 2048);
    RhStageMemory apart, together;
    g_autoptr(RhProgram) all = train_build(&k, "tp2,dp8"),
                         some = train_build(&k, "tp2,dp8,ep8,etp1");
    RH_CHECK_CLOSE(train_kernel_flops(some, RH_KERNEL_GEMM),
                   train_kernel_flops(all, RH_KERNEL_GEMM), 1e-9);
    RhLayout a = train_layout(&k, "tp2,dp8"), b = train_layout(&k, "tp2,dp8,ep8,etp1");
    g_autoptr(RhModelCost) x = rh_model_cost_new(&k.c, &a), y = rh_model_cost_new(&k.c, &b);
    together = rh_stage_memory(x, &a, 0);
    apart = rh_stage_memory(y, &b, 0);
    double common = apart.params.of[RH_PARAMS_COMMON], experts = apart.params.of[RH_PARAMS_EXPERTS];
    CU_ASSERT_EQUAL(together.params.of[RH_PARAMS_EXPERTS], 0);
    RH_CHECK_CLOSE(2 * (together.params.of[RH_PARAMS_COMMON] - common), 8 * experts, 1e-12);
}

/* Copies of weights stand beside them, and are cast anew with every step; tokens on their way to
 * experts are narrow where the recipe says so, and on their way back are not. */
static void a_recipe_is_accounted_for(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "dp16,ep8,zero0");
    RhStageMemory plain, narrow;
    g_autoptr(RhModelCost) a = rh_model_cost_new(&k.c, &l);
    g_autoptr(RhProgram) before = train_build(&k, "dp16,ep8,zero0");
    plain = rh_stage_memory(a, &l, 0);
    k.c.job.recipe = &rh_recipe_fp8_block;
    g_autoptr(RhModelCost) b = rh_model_cost_new(&k.c, &l);
    g_autoptr(RhProgram) after = train_build(&k, "dp16,ep8,zero0");
    narrow = rh_stage_memory(b, &l, 0);
    double ends = 2 * (double)(k.model->vocab * k.model->hidden) + (double)k.model->hidden;
    double linear = rh_param_counts_sum(&plain.params) - ends;
    RH_CHECK_CLOSE(narrow.fixed_bytes[RH_MEMORY_WEIGHTS] - plain.fixed_bytes[RH_MEMORY_WEIGHTS],
                   2 * linear, 1e-3); /* the vocabulary is padded */
    double sent = train_buffers(before, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL);
    RH_CHECK_CLOSE(train_buffers(after, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
                   sent / 2 * (1 + (1 + 4.0 / 128) / 2), 1e-12);
    k.c.job.recipe = &rh_recipe_fp8;
    g_auto(TrainKit) old = train_kit("mixtral-8x7b", "dgx-a100:2", "bare", 32, 2048);
    old.c.job.recipe = &rh_recipe_fp8;
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_train_job_legal(&old.c, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "no units for fp8"));
}

static void experts_fit_into_the_ranks_of_a_stage(void)
{
    static const TrainJudged rows[] = {
        {"llama-3.2-1b", "bare", "dp16,ep2", "has no experts"},
        {"mixtral-8x7b", "bare", "dp16,ep3", "does not divide 8 experts"},
        {"qwen3-30b-a3b", "bare", "dp16,ep32", "does not fit into"},
        {"qwen3-30b-a3b", "bare", "tp2,dp8,ep8,sp=off", "needs sp=on"},
        {"qwen3-30b-a3b", "bare", "tp4,dp4,etp3", "does not fit into"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        train_check_judged(&rows[i]);
}

/* hpZ among those of a group that have the same experts; where a group has each expert once, a rank's second share of them is
 * all, and backward gathers none. States: 18 bytes a parameter over all, and 2 bytes over the second shares. */
static void second_shares_hold_experts_apart(void)
{
    static const struct {
        const char *layout;
        double gathered;        /* times that experts are, backward */
        double common, experts; /* bytes a parameter */
    } rows[] = {{"dp16,ep4,zero3,hpz8", 1, 18.0 / 16 + 2.0 / 8, 18.0 / 4 + 2.0 / 2},
                {"dp16,ep8,zero3,hpz8", 0, 18.0 / 16 + 2.0 / 8, 18.0 / 2 + 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("qwen3-30b-a3b", "dgx-h100:2", "bare", 16, 2048);
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
        double states = s.fixed_bytes[RH_MEMORY_WEIGHTS] + s.fixed_bytes[RH_MEMORY_GRADIENTS] +
                        s.fixed_bytes[RH_MEMORY_OPTIMIZER];
        RH_CHECK_CLOSE(states,
                       rows[i].common * s.params.of[RH_PARAMS_COMMON] +
                           rows[i].experts * s.params.of[RH_PARAMS_EXPERTS],
                       1e-12);
        g_autoptr(RhProgram) p = train_build(&k, rows[i].layout);
        double experts = 2 * s.params.of[RH_PARAMS_EXPERTS];
        RH_CHECK_CLOSE(train_group_bytes(p, "edp", RH_OP_ALL_GATHER), experts, 1e-12);
        RH_CHECK_CLOSE(train_group_bytes(p, "expert hpz", RH_OP_ALL_GATHER),
                       rows[i].gathered * experts, 1e-12);
        RH_CHECK_CLOSE(train_group_bytes(p, "hpz", RH_OP_ALL_GATHER),
                       2 * s.params.of[RH_PARAMS_COMMON], 1e-12);
    }
}

int main(void)
{
    return rh_test_main(
        "train_experts",
        (RhTest[]){
            {"experts_are_sent_their_tokens", experts_are_sent_their_tokens},
            {"experts_apart_do_as_much_in_more_kernels", experts_apart_do_as_much_in_more_kernels},
            {"tokens_are_sent_once", tokens_are_sent_once},
            {"a_shared_expert_runs_beside_the_exchange", a_shared_expert_runs_beside_the_exchange},
            {"the_busiest_ranks_experts_set_the_pace", the_busiest_ranks_experts_set_the_pace},
            {"halves_take_turns", halves_take_turns},
            {"zero_3_gathers_each_class_where_it_lies", zero_3_gathers_each_class_where_it_lies},
            {"second_shares_hold_experts_apart", second_shares_hold_experts_apart},
            {"spreading_experts_keeps_their_work", spreading_experts_keeps_their_work},
            {"a_recipe_is_accounted_for", a_recipe_is_accounted_for},
            {"experts_fit_into_the_ranks_of_a_stage", experts_fit_into_the_ranks_of_a_stage},
            {0}});
}
