/* Habits of a stack: what they do to a step. */
#include <string.h>

#include "base/interned_strings.h"
#include "sim/collective/collective.h"
#include "sim/engine/program_flows.h"
#include "strategies/layer_partition.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"
#include "workloads/operator_costs.h"

/* All exchanges of a lane in role 0, one after another, nothing else under way; their bytes. */
static double exchanges_s(const TrainKit *k, const RhProgram *p, RhLane lane, RhOp op,
                          double *bytes)
{
    double sum_s = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind != RH_TASK_COLLECTIVE || task->lane != lane)
            continue;
        CU_ASSERT_EQUAL(task->op, op);
        *bytes += task->bytes;
        g_autofree int32_t *gpus = rh_group_gpus(p, task->group, 0);
        g_autoptr(RhSchedule) steps = rh_schedule_of_task(p, task, k->c.platform, gpus, NULL);
        sum_s += rh_schedule_time_s(steps, p, k->c.platform, task->group, -1);
    }
    return sum_s;
}

/* A late exchange hides behind nothing: a step of one stage is longer by all of it. Gradients travel as
 * fp32, also where they are kept in 2 bytes, and whole, also where the optimizer is shared out. */
static void a_late_exchange_is_borne_whole(void)
{
    static const char *const layouts[] = {"dp16,zero0,mb2", "dp16,zero1,mb2"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-a100:2", "bare", 64, 1024);
        train_kit_runs_all(&k);
        k.stack->late_exchange = true;
        k.stack->gradient_bytes = 2;
        RhLayout l = train_layout(&k, layouts[i]);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        RhStageMemory held = rh_stage_memory(model_cost, &l, 0);
        double psi = rh_param_counts_sum(&held.params), sent = 0, brought = 0;
        double exchange_s = exchanges_s(&k, p, RH_LANE_DP, RH_OP_ALL_REDUCE, &sent);
        exchange_s += exchanges_s(&k, p, RH_LANE_GATHER, RH_OP_ALL_GATHER, &brought);
        RH_CHECK_CLOSE(sent, 4 * psi, 1e-12);
        RH_CHECK_CLOSE(brought, l.zero * 2 * psi, 1e-12);
        double late_s = train_step_s(&k.c, &l, false);
        RH_CHECK_CLOSE(late_s, train_step_s(&k.c, &l, true), 1e-6);
        g_autoptr(RhPlatform) quick = rh_platform_copy(k.platform);
        CU_ASSERT_TRUE(rh_platform_set(quick, "nic.bandwidth", "1000TB/s", NULL));
        CU_ASSERT_TRUE(rh_platform_set(quick, "nvlink.bandwidth", "1000TB/s", NULL));
        CU_ASSERT_TRUE(rh_platform_set(quick, "nic.latency", "0s", NULL));
        CU_ASSERT_TRUE(rh_platform_set(quick, "nvlink.latency", "0s", NULL));
        k.c.platform = quick;
        double rest_s = exchanges_s(&k, p, RH_LANE_DP, RH_OP_ALL_REDUCE, &sent) +
                        exchanges_s(&k, p, RH_LANE_GATHER, RH_OP_ALL_GATHER, &brought);
        RH_CHECK_CLOSE(late_s - train_step_s(&k.c, &l, false), exchange_s - rest_s, 1e-6);
        k.c.platform = k.platform;
        k.stack->late_exchange = false;
        CU_ASSERT_TRUE(train_step_s(&k.c, &l, false) < late_s - exchange_s / 4);
    }
}

/* A step of one stage that only accumulates gradients is shorter by a late exchange. */
static void what_only_accumulates_exchanges_nothing(void)
{
    static const char *const layouts[] = {"dp16,zero0,mb2", "dp16,zero1,mb2"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-a100:2", "bare", 64, 1024);
        train_kit_runs_all(&k);
        k.stack->late_exchange = true;
        RhLayout l = train_layout(&k, layouts[i]);
        g_autoptr(RhProgram) whole = rh_train_build(&k.c, &l, NULL);
        double sent = 0, brought = 0, whole_s = train_step_s(&k.c, &l, false);
        double exchange_s = exchanges_s(&k, whole, RH_LANE_DP, RH_OP_ALL_REDUCE, &sent);
        exchange_s += exchanges_s(&k, whole, RH_LANE_GATHER, RH_OP_ALL_GATHER, &brought);
        CU_ASSERT_TRUE(exchange_s > 0);
        k.c.job.accumulates = true;
        RH_CHECK_CLOSE(whole_s - train_step_s(&k.c, &l, false), exchange_s, 1e-6);
    }
}

/* Modules are dealt out as they stand: the embedding, layers, the norm, the head. */
static void uniform_chunks_count_the_ends(void)
{
    static const struct {
        const char *layout, *layers;
        int32_t of;
    } rows[] = {{"pp2", "21 19", 40},
                {"pp4", "15 16 16 13", 60},
                {"pp8", "10 11 11 10 10 10 10 8", 80},
                {"pp2,vpp2", "10 11 11 8", 40}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-2-13b", "dgx-a100:1", "bare", 64, 1024);
        g_autofree char *count = g_strdup_printf("%d", rows[i].of);
        g_assert(rh_model_set(k.model, "layers", count, NULL));
        RhLayout l = rh_layout_default();
        g_assert(rh_layout_parse(rows[i].layout, &l, NULL));
        l.partition = RH_PARTITION_UNIFORM;
        int32_t layers[16];
        rh_partition_layers(&k.c, &l, layers);
        g_autoptr(GString) said = g_string_new(NULL);
        for (int32_t g = 0; g < l.pp * l.vpp; g++)
            g_string_append_printf(said, "%s%d", g ? " " : "", layers[g]);
        CU_ASSERT_STRING_EQUAL(said->str, rows[i].layers);
    }
}

static double flops_of(const RhModel *m, RhPass pass, const RhShard *shard)
{
    return block_flops(m, &m->kinds[0], RH_BLOCK_FFN, pass, shard);
}

/* Recomputation may skip the last GEMM: a third of the multiplications of a gated network. */
static void recomputation_may_stop_early(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.2-1b", NULL);
    RhShard shard = shard_of(1, 2048, 2);
    double forward = flops_of(m, RH_PASS_FORWARD, &shard), tokens = 2 * 2048;
    CU_ASSERT_EQUAL(flops_of(m, RH_PASS_RECOMPUTE_FULL, &shard), forward);
    shard.stops_early = true;
    double last = 2 * tokens * (double)m->hidden * (double)m->kinds[0].ffn_width;
    RH_CHECK_CLOSE(forward - flops_of(m, RH_PASS_RECOMPUTE_FULL, &shard), last, 1e-12);
    CU_ASSERT_EQUAL(flops_of(m, RH_PASS_FORWARD, &shard), forward);

    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-a100:1", "bare", 16, 1024);
    train_kit_runs_all(&k);
    RhLayout full = train_layout(&k, "dp8,recompute=full"), none = train_layout(&k, "dp8");
    double whole_s = train_step_s(&k.c, &full, false), kept_s = train_step_s(&k.c, &none, false);
    k.stack->stops_early = true;
    CU_ASSERT_TRUE(train_step_s(&k.c, &full, false) < whole_s);
    CU_ASSERT_EQUAL(train_step_s(&k.c, &none, false), kept_s);
}

/* A head's bytes: cut logits as softmax in fp32, 4 B; gathered ones 6 B of all words, 14 B at the peak of
 * backward, in the loss itself; a fused loss keeps the logits themselves, 2 B. */
static void losses_keep_what_their_kernels_need(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-13b", NULL);
    RhShard cut = shard_of(4, 2048, 2), whole = cut, fused = cut;
    whole.whole_logits = true;
    fused.fused_loss = true;
    double tokens = 2 * 2048, V = 32256 /* 32,000 padded to 4 x 128 */,
           hidden = tokens * (double)m->hidden;
    RhActivation a = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &cut);
    RhActivation b = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &whole);
    RhActivation c = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &fused);
    RH_CHECK_CLOSE(b.kept - a.kept, tokens * V * (6 - 4.0 / 4), 1e-12);
    RH_CHECK_CLOSE(a.kept - c.kept, tokens * V * (4 - 2) / 4, 1e-12);
    RH_CHECK_CLOSE(b.kept + b.backward, a.kept - tokens * V + tokens * V * 14, 1e-12);
    RH_CHECK_CLOSE(c.kept + c.backward, a.kept - tokens * V + tokens * V + 2 * hidden, 1e-12);
}

/* Kernel by kernel, the block that 16-bit logits have left among what lives: 6 B a logit kept, 14 at the
 * peak of backward, and 18 of the rank's own where ranks cut them. */
static void an_eager_loss_has_its_tensors(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-13b", NULL);
    double tokens = 2 * 2048, V = 32256;
    for (int tp = 1; tp <= 4; tp += 3) {
        RhShard eager = shard_of(tp, 2048, 2);
        RhShard plain = eager;
        eager.eager_loss = true;
        double logits = tokens * (tp == 1 ? 32000 : V / tp), peak = tp == 1 ? 14 : 18;
        RhActivation a = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &plain);
        RhActivation b = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &eager);
        RH_CHECK_CLOSE(b.kept - a.kept, logits * (6 - 4), 1e-12);
        RH_CHECK_CLOSE(b.kept - a.kept + b.backward, logits * (peak - 4), 1e-12);
    }
}

/* Narrow copies of weights that are made anew are not held; of two stages each holds what it got and what it sent on, of
 * all four micro-batches, and the last one logits of three beside those that are worked on. The ledger of the program agrees
 * with the closed form. */
static void what_torchtitan_holds(void)
{
    double held[2], last[2];
    for (int i = 0; i < 2; i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "torchtitan-2024", 16, 2048);
        RhStack stack = *k.c.stack;
        stack.casts_anew = stack.keeps_messages = i == 1;
        k.c.stack = &stack;
        k.c.job.recipe = &rh_recipe_fp8;
        RhLayout l = train_layout(&k, "tp1,pp2,dp4,mb1,zero2");
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        RhTrainMemory m = rh_train_memory(&k.c, &l);
        RH_CHECK_CLOSE(rh_ledger_walk(p, m.stage, RH_MEMORY_TIER_HBM).peak_bytes, m.peak_bytes,
                       1e-12);
        RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
        held[i] = s.fixed_bytes[RH_MEMORY_COMMUNICATION] + s.fixed_bytes[RH_MEMORY_WEIGHTS];
        last[i] = rh_stage_memory(model_cost, &l, 1).fixed_bytes[RH_MEMORY_COMMUNICATION];
    }
    double layers = 8 * (2048.0 * (2048 + 1024) + 2048.0 * 2048 + 3 * 2048.0 * 8192 + 2 * 2048);
    double message = 2 * 2048.0 * 2048;
    RH_CHECK_CLOSE(held[1] - held[0], (4 * 2 - 2) * message - 2 * layers, 1e-9);
    RH_CHECK_CLOSE(last[1] - last[0], (4 - 2) * message + (4 - 1) * 2 * 2048.0 * 128256, 1e-9);
}

/* Gathers of one micro-batch on a rank's tensor lane. */
static double gathers_of(const TrainKit *k, const RhLayout *l)
{
    g_autoptr(RhProgram) p = rh_train_build(&k->c, l, NULL);
    int64_t count = 0;
    for (int32_t t = 0; t < (int32_t)p->tasks->len; t++) {
        const RhTask *task = rh_program_task(p, t);
        count += task->kind == RH_TASK_COLLECTIVE && task->op == RH_OP_ALL_GATHER &&
                 task->lane == RH_LANE_TP;
    }
    return (double)count / (double)rh_train_microbatches(&k->c, l);
}

/* Linear layers that keep what they read as it was gathered: a norm's output whole in place of a rank's
 * part, nothing gathered while they run, and a gather less backward for each of a layer's two blocks and
 * the head. */
static void what_is_gathered_may_be_kept(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-13b", NULL);
    RhShard parts = shard_of(4, 2048, 2);
    parts.sequence_parallel = true;
    RhShard whole = parts;
    whole.keeps_gathered = true;
    double state = 2 * (2 * 2048) * (double)m->hidden;
    for (int b = RH_BLOCK_MIXER; b <= RH_BLOCK_FFN; b++) {
        RhActivation p = rh_block_activation_bytes(m, &m->kinds[0], (RhBlock)b, &parts);
        RhActivation w = rh_block_activation_bytes(m, &m->kinds[0], (RhBlock)b, &whole);
        RH_CHECK_CLOSE(w.kept - p.kept, state * 3 / 4, 1e-12);
        RH_CHECK_CLOSE(p.forward - w.forward, state, 1e-12);
    }
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-a100:1", "bare", 8, 1024);
    train_kit_runs_all(&k);
    RhLayout l = train_layout(&k, "tp4,sp=on");
    double twice = gathers_of(&k, &l);
    k.stack->keeps_gathered = true;
    CU_ASSERT_EQUAL(twice - gathers_of(&k, &l), 2 * k.c.model->layers_count + 1);
}

/* A block's sums of input gradients that wait for its weights' gradients hide behind nothing: a step without
 * other ranks is longer by all of them, where they took less than those kernels. */
static void sums_behind_weights_are_borne_whole(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "h100-sxm:2x1", "bare", 4, 4096);
    train_kit_runs_all(&k);
    g_autoptr(RhPlatform) smooth = rh_platform_copy(k.platform);
    smooth->collective_sms.value = 0;
    k.c.platform = smooth;
    RhLayout l = train_layout(&k, "tp2,mb4,zero0");
    double beside_s = train_step_s(&k.c, &l, false);
    k.stack->sums_behind_weights = true;
    double behind_s = train_step_s(&k.c, &l, false), sum_s = 0;
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind != RH_TASK_COLLECTIVE || task->op != RH_OP_REDUCE_SCATTER ||
            task->phase != RH_PHASE_BACKWARD)
            continue;
        g_autofree int32_t *gpus = rh_group_gpus(p, task->group, 0);
        g_autoptr(RhSchedule) steps = rh_schedule_of_task(p, task, smooth, gpus, NULL);
        sum_s += rh_schedule_time_s(steps, p, smooth, task->group, -1);
    }
    CU_ASSERT_TRUE(sum_s > 0);
    RH_CHECK_CLOSE(behind_s - beside_s, sum_s, 1e-6);
    CU_ASSERT_TRUE(train_segment_s(&k.c, &l) <= behind_s * (1 + 1e-9));
}

/* Rotation in kernels of its own: queries and keys stay beside what it read of them, as values are a view
 * of that. */
static void rotation_leaves_what_it_read(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-13b", NULL);
    RhShard fused = shard_of(4, 2048, 2), eager = fused;
    eager.fused_elementwise = false;
    RhActivation f = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &fused);
    RhActivation e = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &eager);
    RH_CHECK_CLOSE(e.kept - f.kept, 2 * (2 * 2048) * 2 * (double)m->hidden / 4, 1e-12);
    fused.flash = eager.flash = false;
    f = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &fused);
    e = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &eager);
    CU_ASSERT_EQUAL(e.kept, f.kept);
}

/* Run again with attention's core: its output, where the stack keeps what a policy names alone; and the projection
 * behind it, whose output nobody keeps then either. A product more is run. */
static void what_no_policy_names_is_dropped(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-13b", NULL);
    RhShard shards[3];
    double kept[3], flops[3] = {0}, state = 2 * (2 * 2048.0) * m->hidden;
    for (int i = 0; i < 3; i++) {
        shards[i] = shard_of(1, 2048, 2);
        shards[i].recompute = RH_RECOMPUTE_CORE;
        shards[i].drops_context = i >= 1;
        shards[i].drops_projection = i == 2;
        kept[i] = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shards[i]).kept;
        g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        rh_block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR,
                         RH_PASS_RECOMPUTE_SELECTIVE, &shards[i], kernels);
        for (guint k = 0; k < kernels->len; k++)
            flops[i] += g_array_index(kernels, RhKernel, k).flops;
    }
    RH_CHECK_CLOSE(kept[0] - kept[1], state, 1e-12);
    RH_CHECK_CLOSE(kept[1] - kept[2], state, 1e-12);
    CU_ASSERT_EQUAL(flops[0], flops[1]);
    RH_CHECK_CLOSE(flops[2] - flops[1], 2 * (2 * 2048.0) * m->hidden * m->hidden, 1e-12);
}

/* Attention's output that is not kept leaves no narrow copy for the projection behind it either. */
static void a_dropped_context_leaves_no_narrow_copy(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-13b", NULL);
    double kept[2];
    for (int narrow = 0; narrow < 2; narrow++) {
        RhShard shard = shard_of(1, 2048, 2);
        shard.recompute = RH_RECOMPUTE_CORE | RH_RECOMPUTE_NORM;
        shard.drops_context = true;
        shard.recipe = narrow ? &rh_recipe_fp8 : &rh_recipe_bf16;
        kept[narrow] = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).kept;
    }
    CU_ASSERT_EQUAL(kept[1], kept[0]);
}

/* Rates of the stack's kernels are shares of the device's, and what the user says stands. */
static void a_librarys_rate_is_the_stacks(void)
{
    g_autoptr(RhPlatform) bare = rh_platform_load("dgx-h100", NULL);
    const RhStack *old = rh_stack_by_name("llm-foundry-h100", NULL);
    CU_ASSERT_TRUE(old->gemm_frac.value > 0 && old->gemm_frac.value < 1);
    g_autoptr(RhPlatform) seen = rh_stack_platform(old, bare);
    const RhFact *is = seen->device->curves.gemm_peak_frac,
                 *was = bare->device->curves.gemm_peak_frac;
    RH_CHECK_CLOSE(is[RH_DTYPE_BF16].value, old->gemm_frac.value * was[RH_DTYPE_BF16].value, 1e-12);
    CU_ASSERT_TRUE(seen->device->rates.tile_s_per_k[RH_DTYPE_BF16][0] >
                   bare->device->rates.tile_s_per_k[RH_DTYPE_BF16][0]);
}

/* A stack with fp8 products of its own sets the rate of these alone; gradients of weights apart. */
static void narrow_products_may_be_the_stacks_own(void)
{
    g_autoptr(RhPlatform) bare = rh_platform_load("hgx-h800", NULL);
    const RhStack *own = rh_stack_by_name("hai-llm", NULL);
    g_autoptr(RhPlatform) seen = rh_stack_platform(own, bare);
    const RhDeviceCurves *is = &seen->device->curves, *was = &bare->device->curves;
    CU_ASSERT_TRUE(own->gemm_fp8_frac.value < 1 && own->gemm_gradient_frac.value < 1);
    RH_CHECK_CLOSE(is->gemm_peak_frac[RH_DTYPE_FP8].value,
                   own->gemm_fp8_frac.value * was->gemm_peak_frac[RH_DTYPE_FP8].value, 1e-12);
    CU_ASSERT_EQUAL(is->gemm_peak_frac[RH_DTYPE_BF16].value,
                    was->gemm_peak_frac[RH_DTYPE_BF16].value);
    CU_ASSERT_EQUAL(is->gemm_gradient_frac.value, own->gemm_gradient_frac.value);
    bare->device->curves.gemm_gradient_frac =
        (RhFact){.value = 0.9, .tag = RH_TAG_ASSUMED, .source = rh_intern(RH_SOURCE_USER)};
    g_autoptr(RhPlatform) told = rh_stack_platform(own, bare);
    CU_ASSERT_EQUAL(told->device->curves.gemm_gradient_frac.value, 0.9);
}

/* A stack may keep the inputs of activations narrow, with one copy of weights, if the recipe has
 * narrow layers: the closed form and the ledger of the program agree. */
static void gates_may_be_kept_narrow(void)
{
    for (int narrow = 0; narrow < 2; narrow++) {
        g_autoptr(RhModel) m = rh_model_load("deepseek-v3", NULL);
        const RhLayerKind *last = &m->kinds[m->kinds_count - 1];
        RhShard plain = {.tp = 1, .sequence = 64, .microbatch = 1, .dtype = RH_DTYPE_BF16};
        plain.fused_norms = plain.fused_softmax = plain.fused_elementwise = true;
        plain.recipe = narrow ? &rh_recipe_fp8_block : &rh_recipe_bf16;
        RhShard kept = plain;
        kept.narrow_gates = true;
        double gates = 64 * 9 * 2 * 2048.0; /* eight experts' of each token and the shared one's */
        double less = rh_block_activation_bytes(m, last, RH_BLOCK_FFN, &plain).kept -
                      rh_block_activation_bytes(m, last, RH_BLOCK_FFN, &kept).kept;
        RH_CHECK_CLOSE(less, narrow ? gates * (2 - (1 + 4.0 / 128)) : 0, 1e-9);
    }
}

/* Products of two narrow activations are said to be so, of experts, too; no others are. */
static void gradients_of_narrow_layers_are_told(void)
{
    g_autoptr(RhModel) m = rh_model_load("deepseek-v3", NULL);
    const RhRecipe *recipes[] = {&rh_recipe_bf16, &rh_recipe_fp8_block};
    const RhLayerKind *last = &m->kinds[m->kinds_count - 1];
    for (int i = 0; i < 2; i++) {
        RhShard shard = {.tp = 1, .sequence = 64, .microbatch = 1, .recipe = recipes[i]};
        shard.dtype = recipes[i]->dtype;
        int32_t told[2] = {0};
        for (int pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++) {
            g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
            rh_block_kernels(m, last, RH_BLOCK_FFN, RH_PART_TENSOR, (RhPass)pass, &shard, kernels);
            for (guint k = 0; k < kernels->len; k++)
                told[pass == RH_PASS_BACKWARD_WEIGHT] +=
                    g_array_index(kernels, RhKernel, k).narrow_gradient;
        }
        CU_ASSERT_EQUAL(told[0], 0);
        CU_ASSERT_EQUAL(told[1],
                        i == 0 ? 0 : 4); /* up and down, of experts and of the shared one */
    }
}

int main(void)
{
    return rh_test_main(
        "stack_behaviour",
        (RhTest[]){
            {"narrow_products_may_be_the_stacks_own", narrow_products_may_be_the_stacks_own},
            {"gates_may_be_kept_narrow", gates_may_be_kept_narrow},
            {"gradients_of_narrow_layers_are_told", gradients_of_narrow_layers_are_told},
            {"a_late_exchange_is_borne_whole", a_late_exchange_is_borne_whole},
            {"what_only_accumulates_exchanges_nothing", what_only_accumulates_exchanges_nothing},
            {"uniform_chunks_count_the_ends", uniform_chunks_count_the_ends},
            {"recomputation_may_stop_early", recomputation_may_stop_early},
            {"an_eager_loss_has_its_tensors", an_eager_loss_has_its_tensors},
            {"what_torchtitan_holds", what_torchtitan_holds},
            {"losses_keep_what_their_kernels_need", losses_keep_what_their_kernels_need},
            {"sums_behind_weights_are_borne_whole", sums_behind_weights_are_borne_whole},
            {"what_is_gathered_may_be_kept", what_is_gathered_may_be_kept},
            {"rotation_leaves_what_it_read", rotation_leaves_what_it_read},
            {"what_no_policy_names_is_dropped", what_no_policy_names_is_dropped},
            {"a_dropped_context_leaves_no_narrow_copy", a_dropped_context_leaves_no_narrow_copy},
            {"a_librarys_rate_is_the_stacks", a_librarys_rate_is_the_stacks},
            {0},
        });
}
