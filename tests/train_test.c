/* The programs of every cut: wire volume and memory against the published formulas. */
#include <math.h>
#include <string.h>

#include "sim/collective/collective.h"
#include "sim/critical_path.h"
#include "strategies/train/memory.h"
#include "strategies/train/schedules/schedule.h"
#include "tests/testkit.h"
#include "tests/train_kit.h"

/* Bytes of a role's collectives on a lane, as buffers. */
static double buffers(const RhProgram *p, int32_t role, RhLane lane, RhOp op)
{
    const RhRole *r = rh_program_role(p, role);
    double sum = 0;
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++) {
        const RhTask *t = rh_program_task(p, i);
        if (t->kind == RH_TASK_COLLECTIVE && t->lane == lane && (RhOp)t->op == op)
            sum += t->bytes;
    }
    return sum;
}

static double kernel_flops(const RhProgram *p, RhKernelClass cls)
{
    double sum = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        const RhBundle *b = t->bundle >= 0 ? &g_array_index(p->bundles, RhBundle, t->bundle) : NULL;
        for (int32_t k = 0; b && k < b->count; k++) {
            const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, b->first + k);
            sum += kernel->cls == cls ? kernel->flops : 0;
        }
    }
    return sum;
}

/* Korthikanti et al. 2022, section 4.2: sequence parallelism moves what tensor parallelism alone
 * did; forward two all-gathers and two reduce-scatters of 2bsh bytes a layer, backward the same and
 * two more gathers of the inputs. */
static void tensor_parallel_volume_is_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 8, 2048);
    double L = k.model->layers_count, full = 2.0 * 2048 * (double)k.model->hidden, m = 8;
    double entropy = 12.0 * 2048 * m;
    g_autoptr(RhProgram) plain = train_build(&k, "tp8,sp=off");
    /* all-reduces: two forward and two backward a layer, one for the embedding, one for the head's
     * input gradient */
    RH_CHECK_CLOSE(buffers(plain, 0, RH_LANE_TP, RH_OP_ALL_REDUCE),
                   m * full * (4 * L + 2) + entropy, 1e-12);
    g_autoptr(RhProgram) sp = train_build(&k, "tp8,sp=on");
    RH_CHECK_CLOSE(buffers(sp, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER), m * full * (4 * L + 2), 1e-12);
    /* gathers: forward 2L + head; backward 2L gradients, 2L inputs, head's input, embedding's
     * gradient */
    RH_CHECK_CLOSE(buffers(sp, 0, RH_LANE_TP, RH_OP_ALL_GATHER), m * full * (6 * L + 3), 1e-12);
    g_autoptr(RhProgram) full_recompute = train_build(&k, "tp8,sp=on,recompute=full");
    RH_CHECK_CLOSE(buffers(full_recompute, 0, RH_LANE_TP, RH_OP_ALL_GATHER), m * full * (8 * L + 3),
                   1e-12);
    RH_CHECK_CLOSE(buffers(full_recompute, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER),
                   m * full * (5 * L + 2), 1e-12);
}

/* In steps as many bytes go as at once: of a layer two gathers forward and two of gradients as t - 1
 * shifts of a part, two sums as four scatters of a quarter; the inputs gathered again, the head and
 * the embedding as before. Recomputation replays all but the last sum. The work is the same. */
static void tensor_collectives_in_steps_move_as_much(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 8, 2048);
    double L = k.model->layers_count, m = 8, t = 8;
    double full = 2.0 * 2048 * (double)k.model->hidden;
    g_autoptr(RhProgram) once = train_build(&k, "tp8,sp=on"),
                         steps = train_build(&k, "tp8,tpoverlap=on");
    RH_CHECK_CLOSE(buffers(steps, 0, RH_LANE_TP, RH_OP_SHIFT), m * full * 4 * L * (t - 1) / t,
                   1e-12);
    RH_CHECK_CLOSE(buffers(steps, 0, RH_LANE_TP, RH_OP_ALL_GATHER), m * full * (2 * L + 3), 1e-12);
    RH_CHECK_CLOSE(buffers(steps, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER), m * full * (4 * L + 2),
                   1e-12);
    RH_CHECK_CLOSE(kernel_flops(steps, RH_KERNEL_GEMM), kernel_flops(once, RH_KERNEL_GEMM), 1e-12);
    g_autoptr(RhProgram) again = train_build(&k, "tp8,recompute=full,tpoverlap=on");
    RH_CHECK_CLOSE(buffers(again, 0, RH_LANE_TP, RH_OP_SHIFT), m * full * 6 * L * (t - 1) / t,
                   1e-12);
    RH_CHECK_CLOSE(buffers(again, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER), m * full * (5 * L + 2),
                   1e-12);
    RhLayout off = train_layout(&k, "tp8,sp=off,tpoverlap=on");
    CU_ASSERT_FALSE(off.tensor_overlap);
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
    RH_CHECK_CLOSE(buffers(p, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), m * L * 4 * sent, 1e-12);
    g_autoptr(RhProgram) replayed = train_build(&k, "tp2,dp8,ep4,etp1,zero0,recompute=full");
    RH_CHECK_CLOSE(buffers(replayed, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), m * L * 6 * sent, 1e-12);
    CU_ASSERT_EQUAL(buffers(p, 0, RH_LANE_EP, RH_OP_ALL_GATHER), 0);
    g_autoptr(RhProgram) shared = train_build(&k, "tp2,dp8,ep4,zero0");
    RH_CHECK_CLOSE(buffers(shared, 0, RH_LANE_EP, RH_OP_ALL_GATHER), m * L * 2 * 2 * sent, 1e-12);
    RH_CHECK_CLOSE(buffers(shared, 0, RH_LANE_EP, RH_OP_REDUCE_SCATTER), m * L * 2 * 2 * sent,
                   1e-12);
    /* gradients, 4 bytes each: of a quarter of all experts, and of the rest halved but for norms
     * and routers */
    double experts = L * 8 / 4 * 3 * h * (double)kind->ffn_width;
    double whole = L * (2 * h + 8 * h) + h;
    double rest = ((double)rh_model_params(k.model) - 4 * experts - whole) / 2 + whole;
    RH_CHECK_CLOSE(buffers(p, 0, RH_LANE_DP, RH_OP_ALL_REDUCE), 4 * (experts + rest), 1e-12);
    RH_CHECK_CLOSE(buffers(shared, 0, RH_LANE_DP, RH_OP_ALL_REDUCE), 4 * (experts / 2 + rest),
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
    RH_CHECK_CLOSE(buffers(copies, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), rows * 8 * row, 1e-12);
    RH_CHECK_CLOSE(buffers(once, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
                   rows * rh_routing_parts(&routing, 64) * row, 1e-12);
    RH_CHECK_CLOSE(kernel_flops(once, RH_KERNEL_GEMM), kernel_flops(copies, RH_KERNEL_GEMM), 1e-12);
    for (guint i = 0; i < once->tasks->len; i++) {
        const RhTask *t = rh_program_task(once, (int32_t)i);
        if (t->lane == RH_LANE_EP)
            CU_ASSERT_EQUAL(t->algo, RH_ALGO_FORWARDING);
    }
}

/* The same kernels, and some of them between a dispatch and what waits for it. */
static void a_shared_expert_runs_beside_the_exchange(void)
{
    g_auto(TrainKit) k = train_kit("deepseek-v3", "dgx-h100:2", "bare", 32, 2048);
    g_assert(rh_model_set(k.model, "layers", "6", NULL));
    g_autoptr(RhProgram) apart = train_build(&k, "tp2,dp8,ep8,etp1");
    g_autoptr(RhProgram) beside = train_build(&k, "tp2,dp8,ep8,etp1,epoverlap=shared");
    RH_CHECK_CLOSE(kernel_flops(beside, RH_KERNEL_GEMM), kernel_flops(apart, RH_KERNEL_GEMM),
                   1e-12);
    CU_ASSERT_EQUAL(buffers(beside, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
                    buffers(apart, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL));
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
    RH_CHECK_CLOSE(buffers(uneven, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
                   2 * buffers(even, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL), 1e-12);
    const RhLayerKind *kind = &k.model->kinds[0];
    double experts = 3 * 2.0 * 2 * 3 * (double)k.model->hidden * (double)kind->ffn_width *
                     (32 / 16) * 2048 * k.model->layers_count;
    RH_CHECK_CLOSE(kernel_flops(uneven, RH_KERNEL_GEMM) - kernel_flops(even, RH_KERNEL_GEMM),
                   experts, 1e-9);
    g_autoptr(RhProgram) whole = train_build(&k, "tp8,dp2"); /* every rank has all */
    CU_ASSERT_TRUE(rh_expert_load_parse("balanced", &k.c.job.load, NULL));
    g_autoptr(RhProgram) same = train_build(&k, "tp8,dp2");
    CU_ASSERT_EQUAL(kernel_flops(whole, RH_KERNEL_GEMM), kernel_flops(same, RH_KERNEL_GEMM));
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
        RH_CHECK_CLOSE(buffers(halves, 0, lane, RH_OP_ALL_TO_ALL),
                       buffers(wide, 0, lane, RH_OP_ALL_TO_ALL), 1e-12);
    RH_CHECK_CLOSE(kernel_flops(halves, RH_KERNEL_GEMM), kernel_flops(wide, RH_KERNEL_GEMM), 1e-9);
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
    g_autoptr(RhPieces) a = rh_pieces_new(&k.c, &l), b = rh_pieces_new(&k.c, &whole);
    RhStageMemory shared = rh_stage_memory(a, &l, 0), all = rh_stage_memory(b, &whole, 0);
    const RhHeld *params = &all.params;
    double common = params->of[RH_PARAMS_COMMON], experts = params->of[RH_PARAMS_EXPERTS], m = 2;
    CU_ASSERT_TRUE(experts > common);
    RH_CHECK_CLOSE(buffers(p, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), m * 2 * 2 * (common + experts),
                   1e-12);
    RH_CHECK_CLOSE(buffers(p, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER), m * 2 * (common + experts),
                   1e-12);
    RH_CHECK_CLOSE(shared.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * (common / 16 + experts / 4), 1e-12);
    RH_CHECK_CLOSE(shared.fixed_bytes[RH_MEMORY_OPTIMIZER], 12 * (common / 16 + experts / 4),
                   1e-12);
}

/* As many FLOPs as without, and as many parameters in all. */
static void spreading_experts_keeps_their_work(void)
{
    g_auto(TrainKit) k = train_kit("deepseek-v3", "dgx-h100:2", "bare", 32, 2048);
    RhStageMemory apart, together;
    g_autoptr(RhProgram) all = train_build(&k, "tp2,dp8"),
                         some = train_build(&k, "tp2,dp8,ep8,etp1");
    RH_CHECK_CLOSE(kernel_flops(some, RH_KERNEL_GEMM), kernel_flops(all, RH_KERNEL_GEMM), 1e-9);
    RhLayout a = train_layout(&k, "tp2,dp8"), b = train_layout(&k, "tp2,dp8,ep8,etp1");
    g_autoptr(RhPieces) x = rh_pieces_new(&k.c, &a), y = rh_pieces_new(&k.c, &b);
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
    g_autoptr(RhPieces) a = rh_pieces_new(&k.c, &l);
    g_autoptr(RhProgram) before = train_build(&k, "dp16,ep8,zero0");
    plain = rh_stage_memory(a, &l, 0);
    k.c.job.recipe = &rh_recipe_fp8_block;
    g_autoptr(RhPieces) b = rh_pieces_new(&k.c, &l);
    g_autoptr(RhProgram) after = train_build(&k, "dp16,ep8,zero0");
    narrow = rh_stage_memory(b, &l, 0);
    double ends = 2 * (double)(k.model->vocab * k.model->hidden) + (double)k.model->hidden;
    double linear = rh_held_sum(&plain.params) - ends;
    RH_CHECK_CLOSE(narrow.fixed_bytes[RH_MEMORY_WEIGHTS] - plain.fixed_bytes[RH_MEMORY_WEIGHTS],
                   2 * linear, 1e-3); /* the vocabulary is padded */
    double sent = buffers(before, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL);
    RH_CHECK_CLOSE(buffers(after, 0, RH_LANE_EP, RH_OP_ALL_TO_ALL),
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
    static const struct {
        const char *model, *layout, *why;
    } rows[] = {{"llama-3.2-1b", "dp16,ep2", "has no experts"},
                {"mixtral-8x7b", "dp16,ep3", "does not divide 8 experts"},
                {"qwen3-30b-a3b", "dp16,ep32", "does not fit into"},
                {"qwen3-30b-a3b", "tp2,dp8,ep8,sp=off", "needs sp=on"},
                {"qwen3-30b-a3b", "tp4,dp4,etp3", "does not fit into"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:2", "bare", 48, 2048);
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        rh_train_complete(&k.c, &l);
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        bool said = strstr(error->message, rows[i].why) != NULL;
        CU_ASSERT_TRUE(said);
        if (!said)
            g_printerr("  %s: %s\n", rows[i].layout, error->message);
    }
}

/* Liu et al. 2023, section 3: around a ring of c ranks the keys and values of a rank take c - 1
 * steps forward and as many backward, there with their gradients; nothing is computed twice. */
static void ring_attention_moves_and_computes_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 8, 32768);
    double L = k.model->layers_count, c = 4, m = 4;
    const RhLayerKind *kind = &k.model->kinds[0];
    double keys = 2 * 2.0 * (32768 / c) * kind->kv_heads * kind->head_size;
    g_autoptr(RhProgram) whole = train_build(&k, "tp1,dp8"), ring = train_build(&k, "tp1,cp4,dp2");
    RH_CHECK_CLOSE(buffers(ring, 0, RH_LANE_CP, RH_OP_SHIFT), m * L * (c - 1) * keys * (1 + 2),
                   1e-12);
    RH_CHECK_CLOSE(m * kernel_flops(whole, RH_KERNEL_ATTENTION),
                   c * kernel_flops(ring, RH_KERNEL_ATTENTION), 1e-12);
    RH_CHECK_CLOSE(m * kernel_flops(whole, RH_KERNEL_ATTENTION_BACKWARD),
                   c * kernel_flops(ring, RH_KERNEL_ATTENTION_BACKWARD), 1e-12);
    /* replicas and ranks of a ring sum their gradients together */
    RH_CHECK_CLOSE(buffers(ring, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER),
                   4.0 * (double)rh_model_params(k.model), 1e-3);
}

/* Llama 3, section 3.3.2: keys and values gathered before attention forward, and backward again, their
 * gradients scattered. Jacobs et al. 2023, section 3.3: queries, keys, values and the output all to all,
 * and the gradients of each; a key-value head for every rank at least. Between the two: u ranks
 * exchange heads, and around rings of c / u of them goes what one then has. */
static void context_kinds_move_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "bare", 8, 32768);
    const RhLayerKind *kind = &k.model->kinds[0];
    double L = k.model->layers_count, c = 4, m = 8 / 4, d = kind->head_size;
    double n = 2.0 * (32768 / c), keys = n * 2 * kind->kv_heads * d, queries = n * kind->heads * d;
    g_autoptr(RhProgram) gather = train_build(&k, "tp1,cp4,dp4,kv=gather");
    RH_CHECK_CLOSE(buffers(gather, 0, RH_LANE_CP, RH_OP_ALL_GATHER), m * L * 2 * c * keys, 1e-12);
    RH_CHECK_CLOSE(buffers(gather, 0, RH_LANE_CP, RH_OP_REDUCE_SCATTER), m * L * c * keys, 1e-12);
    CU_ASSERT_EQUAL(buffers(gather, 0, RH_LANE_CP, RH_OP_SHIFT), 0);
    g_autoptr(RhProgram) heads = train_build(&k, "tp1,cp4,dp4,ulysses4");
    RH_CHECK_CLOSE(buffers(heads, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL),
                   m * L * 2 * (2 * queries + keys), 1e-12);
    g_autoptr(RhProgram) replayed = train_build(&k, "tp1,cp4,dp4,ulysses4,recompute=full");
    RH_CHECK_CLOSE(buffers(replayed, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL),
                   m * L * 3 * (2 * queries + keys), 1e-12);
    g_autoptr(RhProgram) few = train_build(&k, "tp1,cp16,ulysses16"); /* 8 key-value heads */
    RH_CHECK_CLOSE(buffers(few, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL),
                   8 * L * 2 * (2 * queries + 2 * keys) / 4, 1e-12);
    g_autoptr(RhProgram) both = train_build(&k, "tp1,cp4,dp4,ulysses2");
    RH_CHECK_CLOSE(buffers(both, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL), m * L * 2 * (2 * queries + keys),
                   1e-12);
    RH_CHECK_CLOSE(buffers(both, 0, RH_LANE_CP, RH_OP_SHIFT), m * L * 3 * keys, 1e-12);
    g_autoptr(RhProgram) ring = train_build(&k, "tp1,cp4,dp4");
    const RhProgram *all[] = {gather, heads, both};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        RH_CHECK_CLOSE(kernel_flops(all[i], RH_KERNEL_ATTENTION_BACKWARD),
                       kernel_flops(ring, RH_KERNEL_ATTENTION_BACKWARD), 1e-12);
}

static void context_kinds_fit_into_the_heads(void)
{
    static const struct {
        const char *model, *layout, *why;
    } rows[] = {
        {"llama-3.2-1b", "cp4,ulysses3", "does not divide cp=4"},
        {"llama-3.2-1b", "ulysses2", "does not divide cp=1"},
        {"llama-3.2-1b", "tp4,cp4,dp1,ulysses4,kv=gather", NULL}, /* 2 kv heads of 4 ranks */
        {"qwen2.5-7b", "tp1,cp8,ulysses8", "28 heads of a rank"},
        {"qwen2.5-7b", "tp4,cp4,dp1,ulysses4", "7 heads of a rank"},
        {"mistral-7b", "cp4,kv=gather", "sliding window"},
        {"mistral-7b", "cp8,ulysses4", "sliding window"},
        {"mistral-7b", "cp8,ulysses8", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:2", "bare", 48, 2048);
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        rh_train_complete(&k.c, &l);
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), rows[i].why == NULL);
        bool said = !rows[i].why == !error && (!error || strstr(error->message, rows[i].why));
        CU_ASSERT_TRUE(said);
        if (!said)
            g_printerr("  %s: %s\n", rows[i].layout, error ? error->message : "legal");
    }
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "bare", 48, 2048);
    RhLayout l = train_layout(&k, "cp4,ulysses4,kv=gather"); /* nothing is left to gather */
    CU_ASSERT_EQUAL(l.kv, RH_CONTEXT_RING);
}

/* Rajbhandari et al. 2020, section 7: ZeRO-0 to 2 move 2 psi, ZeRO-3 3 psi (here with 4-byte main
 * gradients for 0 and 1). */
static void zero_volume_is_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "tp1,dp8,zero0,mb2");
    g_autoptr(RhPieces) pieces = rh_pieces_new(&k.c, &l);
    RhStageMemory stage = rh_stage_memory(pieces, &l, 0);
    double psi = rh_held_sum(&stage.params), m = 2;
    RH_CHECK_CLOSE(psi, (double)rh_model_params(k.model), 1e-3);
    g_autoptr(RhProgram) z0 = train_build(&k, "tp1,dp8,zero0,mb2");
    RH_CHECK_CLOSE(buffers(z0, 0, RH_LANE_DP, RH_OP_ALL_REDUCE), 4 * psi, 1e-12);
    g_autoptr(RhProgram) z1 = train_build(&k, "tp1,dp8,zero1,mb2");
    RH_CHECK_CLOSE(buffers(z1, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER), 4 * psi, 1e-12);
    RH_CHECK_CLOSE(buffers(z1, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), 2 * psi, 1e-12);
    g_autoptr(RhProgram) z2 = train_build(&k, "tp1,dp8,zero2,mb2");
    RH_CHECK_CLOSE(buffers(z2, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-12);
    RH_CHECK_CLOSE(buffers(z2, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), 2 * psi, 1e-12);
    g_autoptr(RhProgram) z3 = train_build(&k, "tp1,dp8,zero3,mb2");
    RH_CHECK_CLOSE(buffers(z3, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-12);
    RH_CHECK_CLOSE(buffers(z3, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), 2 * 2 * psi * m, 1e-12);
}

/* Collectives of one kind of group. */
static double group_bytes(const RhProgram *p, const char *label, RhOp op)
{
    double sum = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        if (t->kind != RH_TASK_COLLECTIVE || t->op != op)
            continue;
        int32_t of = rh_program_group(p, t->group)->label;
        if (strcmp(p->labels->pdata[of], label) == 0)
            sum += t->bytes;
    }
    return sum;
}

/* Zhao et al. 2023, section 3.2.2: gathers and scatters inside a group of S ranks, and a share of the
 * gradients all-reduced over the groups, once a step: 4 psi / S. Wang et al. 2023, section 3.2: backward
 * gathers among few. States are 18 psi over S, and 2 psi over those few. */
static void shares_in_groups_move_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "bare", 32, 2048);
    double psi = (double)rh_model_params(k.model), m = 2;
    g_autoptr(RhProgram) one = train_build(&k, "dp16,zero1,shard8");
    RH_CHECK_CLOSE(group_bytes(one, "shard", RH_OP_REDUCE_SCATTER), 4 * psi, 1e-3);
    RH_CHECK_CLOSE(group_bytes(one, "shard", RH_OP_ALL_GATHER), 2 * psi, 1e-3);
    RH_CHECK_CLOSE(group_bytes(one, "same share", RH_OP_ALL_REDUCE), 4 * psi / 8, 1e-3);
    g_autoptr(RhProgram) three = train_build(&k, "dp16,zero3,shard8");
    RH_CHECK_CLOSE(group_bytes(three, "shard", RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(group_bytes(three, "shard", RH_OP_ALL_GATHER), 2 * 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(group_bytes(three, "same share", RH_OP_ALL_REDUCE), 4 * psi / 8, 1e-3);
    g_autoptr(RhProgram) again = train_build(&k, "dp16,zero3,hpz8");
    RH_CHECK_CLOSE(group_bytes(again, "dp", RH_OP_ALL_GATHER), 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(group_bytes(again, "hpz", RH_OP_ALL_GATHER), 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(group_bytes(again, "dp", RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-3);
    static const struct {
        const char *layout;
        double states; /* bytes a parameter */
    } rows[] = {{"dp16,zero1,shard8", 2 + 4 + 12.0 / 8},
                {"dp16,zero2,shard4", 2 + 16.0 / 4},
                {"dp16,zero3,shard8", 18.0 / 8},
                {"dp16,zero3,hpz8", 18.0 / 16 + 2.0 / 8},
                {"cp4,dp4,zero3,shard8,hpz4", 18.0 / 8 + 2.0 / 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhPieces) pieces = rh_pieces_new(&k.c, &l);
        RhStageMemory s = rh_stage_memory(pieces, &l, 0);
        double states = s.fixed_bytes[RH_MEMORY_WEIGHTS] + s.fixed_bytes[RH_MEMORY_GRADIENTS] +
                        s.fixed_bytes[RH_MEMORY_OPTIMIZER];
        RH_CHECK_CLOSE(states, rows[i].states * rh_held_sum(&s.params), 1e-12);
    }
}

static void shares_fit_into_the_replicas(void)
{
    static const struct {
        const char *model, *stack, *layout, *why;
    } rows[] = {{"llama-3.2-1b", "bare", "dp16,zero3,shard3", "does not fit into the 16 ranks"},
                {"llama-3.2-1b", "bare", "cp4,dp4,zero3,shard6", "it must divide cp"},
                {"llama-3.2-1b", "bare", "dp16,zero3,shard8,hpz16", "groups of shard=8"},
                {"llama-3.2-1b", "bare", "dp16,zero3,hpz1", "shares nothing out"},
                {"llama-3.2-1b", "megatron", "dp16,zero3,hpz8", "the stack megatron"},
                {"qwen3-30b-a3b", "bare", "dp16,ep16,zero1,shard8", "do not fit into groups of 8"},
                {"qwen3-30b-a3b", "bare", "dp16,ep8,zero3,hpz8", "not in this version"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:2", rows[i].stack, 48, 2048);
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        rh_train_complete(&k.c, &l);
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        bool said = strstr(error->message, rows[i].why) != NULL;
        CU_ASSERT_TRUE(said);
        if (!said)
            g_printerr("  %s: %s\n", rows[i].layout, error->message);
    }
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "bare", 48, 2048);
    RhLayout all = train_layout(&k, "dp16,zero3,shard16,hpz16"), none = train_layout(&k, "zero0"),
             alone = train_layout(&k, "dp16,zero3,shard1");
    CU_ASSERT_TRUE(all.shard == 0 && all.hpz == 0);
    CU_ASSERT_TRUE(rh_layout_equal(&alone, &none));
}

static double message_bytes(const RhProgram *p, int32_t role, RhLane lane)
{
    const RhRole *r = rh_program_role(p, role);
    double sum = 0;
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++)
        if (rh_program_task(p, i)->lane == lane)
            sum += rh_program_task(p, i)->bytes;
    return sum;
}

/* A stage sends 2bsh bytes a micro-batch and chunk (1/t of it with sequence parallelism),
 * interleaving v times as much. */
static void pipeline_volume_is_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 16, 2048);
    double full = 2.0 * 2048 * (double)k.model->hidden;
    g_autoptr(RhProgram) one = train_build(&k, "tp1,pp4,dp2");
    RH_CHECK_CLOSE(message_bytes(one, 1, RH_LANE_SEND_NEXT), 8 * full, 1e-12);
    RH_CHECK_CLOSE(message_bytes(one, 1, RH_LANE_SEND_PREV), 8 * full, 1e-12);
    CU_ASSERT_EQUAL(message_bytes(one, 3, RH_LANE_SEND_NEXT), 0);
    g_autoptr(RhProgram) interleaved = train_build(&k, "tp1,pp4,dp2,vpp4");
    RH_CHECK_CLOSE(message_bytes(interleaved, 1, RH_LANE_SEND_NEXT), 4 * 8 * full, 1e-12);
    RH_CHECK_CLOSE(message_bytes(interleaved, 3, RH_LANE_SEND_NEXT), 3 * 8 * full, 1e-12);
    g_autoptr(RhProgram) sharded = train_build(&k, "tp2,pp4,dp1,sp=on");
    RH_CHECK_CLOSE(message_bytes(sharded, 1, RH_LANE_SEND_NEXT), 16 * full / 2, 1e-12);
}

/* Tasks of a role with this label, and what each brings together. */
static int32_t gathers(const RhProgram *p, int32_t role, const char *label, double bytes)
{
    const RhRole *r = rh_program_role(p, role);
    int32_t count = 0;
    for (int32_t i = 0; i < r->tasks_count; i++) {
        const RhTask *task = rh_program_task(p, r->tasks_first + i);
        if (!g_str_equal(g_ptr_array_index(p->labels, task->label), label))
            continue;
        CU_ASSERT_EQUAL(task->lane, RH_LANE_TP);
        RH_CHECK_CLOSE(task->bytes, bytes, 1e-12);
        count++;
    }
    return count;
}

/* Narayanan et al. 2021, section 4.1: each of t ranks sends 1/t, and all gather the whole, once for each
 * message; nothing where there is no stage before. */
static void messages_are_scattered_and_gathered(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron-2021", 16, 2048);
    double full = 2.0 * 2048 * (double)k.model->hidden;
    g_autoptr(RhProgram) p = train_build(&k, "tp2,pp4,dp1,vpp2,mb1,sp=off");
    RH_CHECK_CLOSE(message_bytes(p, 1, RH_LANE_SEND_NEXT), 2 * 16 * full / 2, 1e-12);
    RH_CHECK_CLOSE(message_bytes(p, 1, RH_LANE_SEND_PREV), 2 * 16 * full / 2, 1e-12);
    CU_ASSERT_EQUAL(gathers(p, 0, "gather activations received", full), 16);
    CU_ASSERT_EQUAL(gathers(p, 1, "gather activations received", full), 2 * 16);
    CU_ASSERT_EQUAL(gathers(p, 1, "gather gradients received", full), 2 * 16);
    CU_ASSERT_EQUAL(gathers(p, 3, "gather gradients received", full), 16);
    g_autoptr(RhProgram) alone = train_build(&k, "tp1,pp4,dp2,vpp2,mb1");
    CU_ASSERT_EQUAL(gathers(alone, 1, "gather activations received", full), 0);
}

/* Rajbhandari et al. 2020, figure 1, with K = 12 and 4-byte gradients. */
static void zero_states_are_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    static const double expected[4] = {18, 6 + 12.0 / 8, 2 + 16.0 / 8, 18.0 / 8};
    for (int zero = 0; zero <= 3; zero++) {
        g_autofree char *text = g_strdup_printf("tp1,dp8,zero%d", zero);
        RhLayout l = train_layout(&k, text);
        g_autoptr(RhPieces) pieces = rh_pieces_new(&k.c, &l);
        RhStageMemory s = rh_stage_memory(pieces, &l, 0);
        double states = s.fixed_bytes[RH_MEMORY_WEIGHTS] + s.fixed_bytes[RH_MEMORY_GRADIENTS] +
                        s.fixed_bytes[RH_MEMORY_OPTIMIZER];
        RH_CHECK_CLOSE(states, expected[zero] * rh_held_sum(&s.params), 1e-12);
    }
}

/* Adam runs over the parameters of its own stage, not of the first one that was built. */
static void every_stage_runs_its_own_optimizer(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h200:1", "megatron", 4, 512);
    k.c.job.gpus = 2;
    RhLayout l = train_layout(&k, "pp2,stages=2-30");
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    g_autoptr(RhPieces) pieces = rh_pieces_new(&k.c, &l);
    for (int32_t stage = 0; stage < 2; stage++) {
        const RhRole *role = rh_program_role(p, stage);
        const RhTask *last = rh_program_task(p, role->tasks_first + role->tasks_count - 1);
        CU_ASSERT_EQUAL_FATAL(last->phase, RH_PHASE_OPTIMIZER);
        const RhBundle *bundle = &g_array_index(p->bundles, RhBundle, last->bundle);
        const RhKernel *adam = &g_array_index(p->kernels, RhKernel, bundle->first);
        RhStageMemory memory = rh_stage_memory(pieces, &l, stage);
        double params = rh_held_sum(&memory.params);
        RH_CHECK_CLOSE(adam->bytes, k.c.stack->optimizer_bytes.value * params, 1e-12);
    }
}

int main(void)
{
    return rh_test_main(
        "training programs",
        (RhTest[]){
            {"tensor_parallel_volume_is_as_published", tensor_parallel_volume_is_as_published},
            {"ring_attention_moves_and_computes_as_published",
             ring_attention_moves_and_computes_as_published},
            {"context_kinds_move_as_published", context_kinds_move_as_published},
            {"context_kinds_fit_into_the_heads", context_kinds_fit_into_the_heads},
            {"shares_in_groups_move_as_published", shares_in_groups_move_as_published},
            {"shares_fit_into_the_replicas", shares_fit_into_the_replicas},
            {"zero_volume_is_as_published", zero_volume_is_as_published},
            {"pipeline_volume_is_as_published", pipeline_volume_is_as_published},
            {"messages_are_scattered_and_gathered", messages_are_scattered_and_gathered},
            {"zero_states_are_as_published", zero_states_are_as_published},
            {"every_stage_runs_its_own_optimizer", every_stage_runs_its_own_optimizer},
            {"tensor_collectives_in_steps_move_as_much", tensor_collectives_in_steps_move_as_much},
            {"experts_are_sent_their_tokens", experts_are_sent_their_tokens},
            {"zero_3_gathers_each_class_where_it_lies", zero_3_gathers_each_class_where_it_lies},
            {"halves_take_turns", halves_take_turns},
            {"the_busiest_ranks_experts_set_the_pace", the_busiest_ranks_experts_set_the_pace},
            {"tokens_are_sent_once", tokens_are_sent_once},
            {"a_shared_expert_runs_beside_the_exchange", a_shared_expert_runs_beside_the_exchange},
            {"spreading_experts_keeps_their_work", spreading_experts_keeps_their_work},
            {"a_recipe_is_accounted_for", a_recipe_is_accounted_for},
            {"experts_fit_into_the_ranks_of_a_stage", experts_fit_into_the_ranks_of_a_stage},
            {0}});
}
