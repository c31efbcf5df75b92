/* The programs of every cut: wire volume and memory against the published formulas. */
#include <math.h>
#include <string.h>

#include "sim/collective/collective.h"
#include "sim/uncontended_critical_path.h"
#include "strategies/train/memory/memory.h"
#include "strategies/train/schedules/schedule.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Korthikanti et al. 2022, section 4.2: sequence parallelism moves what tensor parallelism alone
 * did; forward two all-gathers and two reduce-scatters of 2bsh bytes a layer, backward the same and
 * two more gathers of the inputs.
 * Source: Korthikanti et al. 2022 (arXiv 2205.05198), section 4.2. */
static void tensor_parallel_volume_is_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 8, 2048);
    double L = k.model->layers_count, full = 2.0 * 2048 * (double)k.model->hidden, m = 8;
    double entropy = 12.0 * 2048 * m;
    g_autoptr(RhProgram) plain = train_build(&k, "tp8,sp=off");
    /* all-reduces: two forward and two backward a layer, one for the embedding, one for the head's
     * input gradient */
    RH_CHECK_CLOSE(train_buffers(plain, 0, RH_LANE_TP, RH_OP_ALL_REDUCE),
                   m * full * (4 * L + 2) + entropy, 1e-12);
    g_autoptr(RhProgram) sp = train_build(&k, "tp8,sp=on");
    RH_CHECK_CLOSE(train_buffers(sp, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER), m * full * (4 * L + 2),
                   1e-12);
    /* gathers: forward 2L + head; backward 2L gradients, 2L inputs, head's input, embedding's
     * gradient */
    RH_CHECK_CLOSE(train_buffers(sp, 0, RH_LANE_TP, RH_OP_ALL_GATHER), m * full * (6 * L + 3),
                   1e-12);
    g_autoptr(RhProgram) full_recompute = train_build(&k, "tp8,sp=on,recompute=full");
    RH_CHECK_CLOSE(train_buffers(full_recompute, 0, RH_LANE_TP, RH_OP_ALL_GATHER),
                   m * full * (8 * L + 3), 1e-12);
    RH_CHECK_CLOSE(train_buffers(full_recompute, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER),
                   m * full * (5 * L + 2), 1e-12);
}

/* Tensor collectives in steps move as many bytes: for a layer two gathers forward and two of
 * gradients as t - 1 shifts of a part, two sums as four scatters of a quarter; the inputs gathered
 * again, the head and the embedding as before. Recomputation replays all but the last sum. The work
 * is the same. */
static void tensor_collectives_in_steps_move_as_much(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 8, 2048);
    double L = k.model->layers_count, m = 8, t = 8;
    double full = 2.0 * 2048 * (double)k.model->hidden;
    g_autoptr(RhProgram) once = train_build(&k, "tp8,sp=on"),
                         steps = train_build(&k, "tp8,tpoverlap=on");
    RH_CHECK_CLOSE(train_buffers(steps, 0, RH_LANE_TP, RH_OP_SHIFT), m * full * 4 * L * (t - 1) / t,
                   1e-12);
    RH_CHECK_CLOSE(train_buffers(steps, 0, RH_LANE_TP, RH_OP_ALL_GATHER), m * full * (2 * L + 3),
                   1e-12);
    RH_CHECK_CLOSE(train_buffers(steps, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER),
                   m * full * (4 * L + 2), 1e-12);
    RH_CHECK_CLOSE(train_kernel_flops(steps, RH_KERNEL_GEMM),
                   train_kernel_flops(once, RH_KERNEL_GEMM), 1e-12);
    g_autoptr(RhProgram) again = train_build(&k, "tp8,recompute=full,tpoverlap=on");
    RH_CHECK_CLOSE(train_buffers(again, 0, RH_LANE_TP, RH_OP_SHIFT), m * full * 6 * L * (t - 1) / t,
                   1e-12);
    RH_CHECK_CLOSE(train_buffers(again, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER),
                   m * full * (5 * L + 2), 1e-12);
    RhLayout off = train_layout(&k, "tp8,sp=off,tpoverlap=on");
    CU_ASSERT_FALSE(off.tensor_overlap);
}

/* PyTorch's symmetric memory: besides a layer's four gathers its two sums go as t - 1 copies of a part, too,
 * and one kernel each adds up t parts. A rank copies its own part before each of the gathers. */
static void rows_that_are_pulled_move_as_much(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 8, 2048);
    double L = k.model->layers_count, m = 8, t = 8;
    double full = 2.0 * 2048 * (double)k.model->hidden;
    train_kit_runs_all(&k);
    g_autoptr(RhProgram) once = train_build(&k, "tp8,sp=on");
    k.stack->pulls_rows = true;
    g_autoptr(RhProgram) plain = train_build(&k, "tp8,sp=on"),
                         pulled = train_build(&k, "tp8,tpoverlap=on"),
                         again = train_build(&k, "tp8,recompute=full,tpoverlap=on");
    RH_CHECK_CLOSE(train_buffers(pulled, 0, RH_LANE_TP, RH_OP_SHIFT),
                   m * full * 6 * L * (t - 1) / t, 1e-12);
    RH_CHECK_CLOSE(train_buffers(pulled, 0, RH_LANE_TP, RH_OP_REDUCE_SCATTER),
                   m * full * (2 * L + 2), 1e-12);
    RH_CHECK_CLOSE(train_kernel_flops(pulled, RH_KERNEL_GEMM),
                   train_kernel_flops(once, RH_KERNEL_GEMM), 1e-12);
    double added =
        train_kernel_bytes(pulled, RH_KERNEL_REDUCE) - train_kernel_bytes(plain, RH_KERNEL_REDUCE);
    RH_CHECK_CLOSE(added, m * full * 2 * L * (t + 1) / t, 1e-9);
    double copied =
        train_kernel_bytes(pulled, RH_KERNEL_ADD) - train_kernel_bytes(plain, RH_KERNEL_ADD);
    RH_CHECK_CLOSE(copied, m * full * 4 * L * 2 / t, 1e-9);
    RH_CHECK_CLOSE(train_buffers(again, 0, RH_LANE_TP, RH_OP_SHIFT), m * full * 9 * L * (t - 1) / t,
                   1e-12);
}

/* Liu et al. 2023, section 3: around a ring of c ranks the keys and values of a rank take c - 1
 * steps forward and as many backward, there with their gradients; nothing is computed twice.
 * Source: Liu et al. 2023 (arXiv 2310.01889), section 3. */
static void ring_attention_moves_and_computes_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 8, 32768);
    double L = k.model->layers_count, c = 4, m = 4;
    const RhLayerKind *kind = &k.model->kinds[0];
    double keys = 2 * 2.0 * (32768 / c) * kind->kv_heads * kind->head_size;
    g_autoptr(RhProgram) whole = train_build(&k, "tp1,dp8"), ring = train_build(&k, "tp1,cp4,dp2");
    RH_CHECK_CLOSE(train_buffers(ring, 0, RH_LANE_CP, RH_OP_SHIFT),
                   m * L * (c - 1) * keys * (1 + 2), 1e-12);
    RH_CHECK_CLOSE(m * train_kernel_flops(whole, RH_KERNEL_ATTENTION),
                   c * train_kernel_flops(ring, RH_KERNEL_ATTENTION), 1e-12);
    RH_CHECK_CLOSE(m * train_kernel_flops(whole, RH_KERNEL_ATTENTION_BACKWARD),
                   c * train_kernel_flops(ring, RH_KERNEL_ATTENTION_BACKWARD), 1e-12);
    /* replicas and ranks of a ring sum their gradients together */
    RH_CHECK_CLOSE(train_buffers(ring, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER),
                   4.0 * (double)rh_model_params(k.model), 1e-3);
}

/* Llama 3, section 3.3.2: keys and values gathered before attention forward, and backward again, their
 * gradients scattered. Jacobs et al. 2023, section 3.3: queries, keys, values and the output all to all,
 * and the gradients of each; a key-value head for every rank at least. Between the two: u ranks
 * exchange heads, and around rings of c / u of them goes what one then has.
 * Source: Llama 3 report (arXiv 2407.21783), section 3.3.2; Jacobs et al. 2023 (arXiv
 * 2309.14509), section 3.3. */
static void context_kinds_move_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "bare", 8, 32768);
    const RhLayerKind *kind = &k.model->kinds[0];
    double L = k.model->layers_count, c = 4, m = 8 / 4, d = kind->head_size;
    double n = 2.0 * (32768 / c), keys = n * 2 * kind->kv_heads * d, queries = n * kind->heads * d;
    g_autoptr(RhProgram) gather = train_build(&k, "tp1,cp4,dp4,kv=gather");
    RH_CHECK_CLOSE(train_buffers(gather, 0, RH_LANE_CP, RH_OP_ALL_GATHER), m * L * 2 * c * keys,
                   1e-12);
    RH_CHECK_CLOSE(train_buffers(gather, 0, RH_LANE_CP, RH_OP_REDUCE_SCATTER), m * L * c * keys,
                   1e-12);
    CU_ASSERT_EQUAL(train_buffers(gather, 0, RH_LANE_CP, RH_OP_SHIFT), 0);
    g_autoptr(RhProgram) heads = train_build(&k, "tp1,cp4,dp4,ulysses4");
    RH_CHECK_CLOSE(train_buffers(heads, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL),
                   m * L * 2 * (2 * queries + keys), 1e-12);
    g_autoptr(RhProgram) replayed = train_build(&k, "tp1,cp4,dp4,ulysses4,recompute=full");
    RH_CHECK_CLOSE(train_buffers(replayed, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL),
                   m * L * 3 * (2 * queries + keys), 1e-12);
    g_autoptr(RhProgram) few = train_build(&k, "tp1,cp16,ulysses16"); /* 8 key-value heads */
    RH_CHECK_CLOSE(train_buffers(few, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL),
                   8 * L * 2 * (2 * queries + 2 * keys) / 4, 1e-12);
    g_autoptr(RhProgram) both = train_build(&k, "tp1,cp4,dp4,ulysses2");
    RH_CHECK_CLOSE(train_buffers(both, 0, RH_LANE_CP, RH_OP_ALL_TO_ALL),
                   m * L * 2 * (2 * queries + keys), 1e-12);
    RH_CHECK_CLOSE(train_buffers(both, 0, RH_LANE_CP, RH_OP_SHIFT), m * L * 3 * keys, 1e-12);
    g_autoptr(RhProgram) ring = train_build(&k, "tp1,cp4,dp4");
    const RhProgram *all[] = {gather, heads, both};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        RH_CHECK_CLOSE(train_kernel_flops(all[i], RH_KERNEL_ATTENTION_BACKWARD),
                       train_kernel_flops(ring, RH_KERNEL_ATTENTION_BACKWARD), 1e-12);
}

static void context_kinds_fit_into_the_heads(void)
{
    static const TrainJudged rows[] = {
        {"llama-3.2-1b", "bare", "cp4,ulysses3", "does not divide cp=4"},
        {"llama-3.2-1b", "bare", "ulysses2", "does not divide cp=1"},
        {"llama-3.2-1b", "bare", "tp4,cp4,dp1,ulysses4,kv=gather",
         NULL}, /* 2 kv heads of 4 ranks */
        {"qwen2.5-7b", "bare", "tp1,cp8,ulysses8", "28 heads of a rank"},
        {"qwen2.5-7b", "bare", "tp4,cp4,dp1,ulysses4", "7 heads of a rank"},
        {"mistral-7b", "bare", "cp4,kv=gather", "sliding window"},
        {"mistral-7b", "bare", "cp8,ulysses4", "sliding window"},
        {"mistral-7b", "bare", "cp8,ulysses8", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        train_check_judged(&rows[i]);
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "bare", 48, 2048);
    RhLayout l = train_layout(&k, "cp4,ulysses4,kv=gather"); /* nothing is left to gather */
    CU_ASSERT_EQUAL(l.kv, RH_CONTEXT_RING);
}

/* Rajbhandari et al. 2020, section 7: ZeRO-0 to 2 move 2 psi, ZeRO-3 3 psi (here with 4-byte main
 * gradients for 0 and 1).
 * Source: Rajbhandari et al. 2020 (arXiv 1910.02054), section 7. */
static void zero_volume_is_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "tp1,dp8,zero0,mb2");
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhStageMemory stage = rh_stage_memory(model_cost, &l, 0);
    double psi = rh_param_counts_sum(&stage.params), m = 2;
    RH_CHECK_CLOSE(psi, (double)rh_model_params(k.model), 1e-3);
    g_autoptr(RhProgram) z0 = train_build(&k, "tp1,dp8,zero0,mb2");
    RH_CHECK_CLOSE(train_buffers(z0, 0, RH_LANE_DP, RH_OP_ALL_REDUCE), 4 * psi, 1e-12);
    g_autoptr(RhProgram) z1 = train_build(&k, "tp1,dp8,zero1,mb2");
    RH_CHECK_CLOSE(train_buffers(z1, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER), 4 * psi, 1e-12);
    RH_CHECK_CLOSE(train_buffers(z1, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), 2 * psi, 1e-12);
    g_autoptr(RhProgram) z2 = train_build(&k, "tp1,dp8,zero2,mb2");
    RH_CHECK_CLOSE(train_buffers(z2, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-12);
    RH_CHECK_CLOSE(train_buffers(z2, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), 2 * psi, 1e-12);
    g_autoptr(RhProgram) z3 = train_build(&k, "tp1,dp8,zero3,mb2");
    RH_CHECK_CLOSE(train_buffers(z3, 0, RH_LANE_DP, RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-12);
    RH_CHECK_CLOSE(train_buffers(z3, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), 2 * 2 * psi * m, 1e-12);
}

/* Zhao et al. 2023, section 3.2.2: gathers and scatters inside a group of S ranks, and a share of the
 * gradients all-reduced over the groups, once a step: 4 psi / S. Wang et al. 2023, section 3.2: backward
 * gathers among few. States are 18 psi over S, and 2 psi over those few.
 * Source: Zhao et al. 2023 (arXiv 2304.11277), section 3.2.2; Wang et al. 2023 (arXiv
 * 2306.10209), section 3.2. */
static void shares_in_groups_move_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "bare", 32, 2048);
    double psi = (double)rh_model_params(k.model), m = 2;
    g_autoptr(RhProgram) one = train_build(&k, "dp16,zero1,shard8");
    RH_CHECK_CLOSE(train_group_bytes(one, "shard", RH_OP_REDUCE_SCATTER), 4 * psi, 1e-3);
    RH_CHECK_CLOSE(train_group_bytes(one, "shard", RH_OP_ALL_GATHER), 2 * psi, 1e-3);
    RH_CHECK_CLOSE(train_group_bytes(one, "same share", RH_OP_ALL_REDUCE), 4 * psi / 8, 1e-3);
    g_autoptr(RhProgram) three = train_build(&k, "dp16,zero3,shard8");
    RH_CHECK_CLOSE(train_group_bytes(three, "shard", RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(train_group_bytes(three, "shard", RH_OP_ALL_GATHER), 2 * 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(train_group_bytes(three, "same share", RH_OP_ALL_REDUCE), 4 * psi / 8, 1e-3);
    g_autoptr(RhProgram) again = train_build(&k, "dp16,zero3,hpz8");
    RH_CHECK_CLOSE(train_group_bytes(again, "dp", RH_OP_ALL_GATHER), 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(train_group_bytes(again, "hpz", RH_OP_ALL_GATHER), 2 * psi * m, 1e-3);
    RH_CHECK_CLOSE(train_group_bytes(again, "dp", RH_OP_REDUCE_SCATTER), 2 * psi * m, 1e-3);
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
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
        double states = s.fixed_bytes[RH_MEMORY_WEIGHTS] + s.fixed_bytes[RH_MEMORY_GRADIENTS] +
                        s.fixed_bytes[RH_MEMORY_OPTIMIZER];
        RH_CHECK_CLOSE(states, rows[i].states * rh_param_counts_sum(&s.params), 1e-12);
    }
}

static void shares_fit_into_the_replicas(void)
{
    static const TrainJudged rows[] = {
        {"llama-3.2-1b", "bare", "dp16,zero3,shard3", "does not fit into the 16 ranks"},
        {"llama-3.2-1b", "bare", "cp4,dp4,zero3,shard6", "it must divide cp"},
        {"llama-3.2-1b", "bare", "dp16,zero3,shard8,hpz16", "groups of shard=8"},
        {"llama-3.2-1b", "bare", "dp16,zero3,hpz1", "shares nothing out"},
        {"llama-3.2-1b", "megatron", "dp16,zero3,hpz8", "the stack megatron"},
        {"qwen3-30b-a3b", "bare", "dp16,ep16,zero1,shard8", "do not fit into groups of 8"},
        {"qwen3-30b-a3b", "bare", "dp16,ep16,zero3,hpz8", "do not fit into groups of 8"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        train_check_judged(&rows[i]);
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
 * message; nothing where there is no stage before.
 * Source: Narayanan et al. 2021 (arXiv 2104.04473), section 4.1. */
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

/* Rajbhandari et al. 2020, figure 1, with K = 12 and 4-byte gradients.
 * Source: Rajbhandari et al. 2020 (arXiv 1910.02054), figure 1. */
static void zero_states_are_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    static const double expected[4] = {18, 6 + 12.0 / 8, 2 + 16.0 / 8, 18.0 / 8};
    for (int zero = 0; zero <= 3; zero++) {
        g_autofree char *text = g_strdup_printf("tp1,dp8,zero%d", zero);
        RhLayout l = train_layout(&k, text);
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
        double states = s.fixed_bytes[RH_MEMORY_WEIGHTS] + s.fixed_bytes[RH_MEMORY_GRADIENTS] +
                        s.fixed_bytes[RH_MEMORY_OPTIMIZER];
        RH_CHECK_CLOSE(states, expected[zero] * rh_param_counts_sum(&s.params), 1e-12);
    }
}

/* Adam runs over the parameters of its own stage, not of the first one that was built. */
static void every_stage_runs_its_own_optimizer(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h200:1", "megatron", 4, 512);
    k.c.job.gpus = 2;
    RhLayout l = train_layout(&k, "pp2,stages=2-30");
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    for (int32_t stage = 0; stage < 2; stage++) {
        const RhRole *role = rh_program_role(p, stage);
        const RhTask *last = rh_program_task(p, role->tasks_first + role->tasks_count - 1);
        CU_ASSERT_EQUAL_FATAL(last->phase, RH_PHASE_OPTIMIZER);
        const RhBundle *bundle = &g_array_index(p->bundles, RhBundle, last->bundle);
        const RhKernel *adam = &g_array_index(p->kernels, RhKernel, bundle->first);
        RhStageMemory memory = rh_stage_memory(model_cost, &l, stage);
        double params = rh_param_counts_sum(&memory.params);
        RH_CHECK_CLOSE(adam->bytes, k.c.stack->optimizer_bytes.value * params, 1e-12);
    }
}

int main(void)
{
    return rh_test_main(
        "train",
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
            {"rows_that_are_pulled_move_as_much", rows_that_are_pulled_move_as_much},
            {0}});
}
