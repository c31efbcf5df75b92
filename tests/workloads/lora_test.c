/* Adapters beside frozen weights, against counts made here by hand. llama-3.1-8b: 32 layers of h 4096, f
 * 14336, 32 query heads and 8 key-value heads of 128. */
#include <string.h>

#include "base/error.h"
#include "strategies/train/block_cost.h"
#include "strategies/train/memory/memory.h"
#include "strategies/train/program/stage_program.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define H   4096.0
#define F   14336.0
#define QKV (4096.0 + 2 * 1024)
#define R   16.0

static const uint32_t ATTENTION = RH_LINEAR_QKV | RH_LINEAR_PROJ;

static RhShard tuned_by(int32_t tp, RhLora lora)
{
    RhShard shard = shard_of(tp, 1024, 1);
    shard.lora = lora;
    shard.sequence_parallel = tp > 1;
    return shard;
}

static RhModel *llama(void)
{
    RhModel *m = rh_model_load("llama-3.1-8b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* Returns the adapter parameters of a dense block: all are cut, none is an expert's. */
static double params_of(const RhModel *m, const RhLayerKind *kind, RhBlock block,
                        const RhShard *shard)
{
    RhParams p = rh_block_adapter_params(m, kind, block, shard);
    CU_ASSERT_TRUE(p.replicated == 0 && p.experts == 0);
    return p.sharded;
}

static void adapters_have_r_times_rows_and_columns(void)
{
    g_autoptr(RhModel) m = llama();
    const RhLayerKind *kind = &m->kinds[0];
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        RhShard all = tuned_by(tp, (RhLora){16, 0}), some = tuned_by(tp, (RhLora){16, ATTENTION});
        RhShard none = tuned_by(tp, (RhLora){0});
        double attention = R * (H + QKV) + R * (H + H), network = R * (H + 2 * F) + R * (F + H);
        RH_CHECK_CLOSE(tp * params_of(m, kind, RH_BLOCK_MIXER, &all), attention, 1e-14);
        RH_CHECK_CLOSE(tp * params_of(m, kind, RH_BLOCK_FFN, &all), network, 1e-14);
        RH_CHECK_CLOSE(tp * params_of(m, kind, RH_BLOCK_MIXER, &some), attention, 1e-14);
        CU_ASSERT_EQUAL(params_of(m, kind, RH_BLOCK_FFN, &some), 0);
        CU_ASSERT_EQUAL(params_of(m, kind, RH_BLOCK_MIXER, &none), 0);
        CU_ASSERT_EQUAL(params_of(m, NULL, RH_BLOCK_HEAD, &all), 0);
    }
}

/* MLPerf's Llama 2 70B: rank 16 beside attention's two matrices; 80 layers of 8192, 8 of 64 heads.
 * Source: MLPerf Training's log of the benchmark llama2_70b_lora. */
static void the_benchmark_of_mlperf_trains_44_million(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-70b", NULL);
    RhShard shard = tuned_by(1, (RhLora){16, ATTENTION});
    double layer = params_of(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(80 * layer, 44564480);
}

static double flops_of_kind(const RhModel *m, const RhLayerKind *kind, RhBlock block, RhPass pass,
                            const RhShard *shard)
{
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    for (RhPart part = RH_PART_SEQUENCE; part <= RH_PART_TENSOR; part++)
        rh_block_kernels(m, kind, block, part, pass, shard, out);
    return kernels_flops(out);
}

static double flops_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    return flops_of_kind(m, block == RH_BLOCK_HEAD ? NULL : &m->kinds[0], block, pass, shard);
}

/* Forward and data do the frozen layer's products and the adapter's, weights the adapter's alone. */
static void frozen_weights_have_no_gradients_of_their_own(void)
{
    g_autoptr(RhModel) m = llama();
    const double n = 1024;
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        RhShard full = tuned_by(tp, (RhLora){0}), tuned = tuned_by(tp, (RhLora){16, 0});
        const struct {
            RhBlock block;
            double adapters; /* entries */
        } rows[] = {{RH_BLOCK_MIXER, R * (H + QKV + 2 * H)},
                    {RH_BLOCK_FFN, R * (2 * H + 3 * F)},
                    {RH_BLOCK_HEAD, 0}};
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
            RhBlock b = rows[i].block;
            double more = 2 * n * rows[i].adapters / tp;
            RH_CHECK_CLOSE(flops_of(m, b, RH_PASS_FORWARD, &tuned),
                           flops_of(m, b, RH_PASS_FORWARD, &full) + more, 1e-14);
            RH_CHECK_CLOSE(flops_of(m, b, RH_PASS_BACKWARD_DATA, &tuned),
                           flops_of(m, b, RH_PASS_BACKWARD_DATA, &full) + more, 1e-14);
            RH_CHECK_CLOSE(flops_of(m, b, RH_PASS_BACKWARD_WEIGHT, &tuned), more, 1e-14);
            CU_ASSERT_TRUE(flops_of(m, b, RH_PASS_BACKWARD_WEIGHT, &full) > more);
        }
    }
}

static double bytes_of_class(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    double sum = 0;
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    for (RhPart part = RH_PART_SEQUENCE; part <= RH_PART_TENSOR; part++)
        rh_block_kernels(m, &m->kinds[0], block, part, pass, shard, out);
    for (guint i = 0; i < out->len; i++)
        if (g_array_index(out, RhKernel, i).cls == RH_KERNEL_CAST)
            sum += g_array_index(out, RhKernel, i).bytes;
    return sum;
}

/* Frozen weights of 4.127 bits are read and written wide, 2 bytes, before each product, whether a layer
 * has an adapter or not; one matrix at a time is wide. */
static void frozen_weights_of_few_bits_are_made_wide(void)
{
    g_autoptr(RhModel) m = llama();
    const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_RECOMPUTE_FULL, RH_PASS_BACKWARD_DATA};
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        RhShard wide = tuned_by(tp, (RhLora){16, ATTENTION}), few = wide;
        few.frozen = &rh_frozen_format_nf4;
        const struct {
            RhBlock block;
            double entries, largest;
        } rows[] = {{RH_BLOCK_MIXER, H * (QKV + H), H * QKV}, {RH_BLOCK_FFN, 3 * H * F, H * F}};
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
            RhBlock b = rows[i].block;
            for (size_t p = 0; p < G_N_ELEMENTS(passes); p++)
                RH_CHECK_CLOSE(bytes_of_class(m, b, passes[p], &few),
                               (4.126953125 / 8 + 2) * rows[i].entries / tp, 1e-14);
            CU_ASSERT_EQUAL(bytes_of_class(m, b, RH_PASS_BACKWARD_WEIGHT, &few), 0);
            CU_ASSERT_EQUAL(bytes_of_class(m, b, RH_PASS_FORWARD, &wide), 0);
            RhActivation x = rh_block_activation_bytes(m, &m->kinds[0], b, &wide);
            RhActivation y = rh_block_activation_bytes(m, &m->kinds[0], b, &few);
            CU_ASSERT_EQUAL(x.kept, y.kept);
            RH_CHECK_CLOSE(y.forward - x.forward, 2 * rows[i].largest / tp, 1e-9);
            RH_CHECK_CLOSE(y.backward - x.backward, 2 * rows[i].largest / tp, 1e-9);
        }
    }
}

static void flops_of_the_model_are_two_thirds_but_for_pairs(void)
{
    g_autoptr(RhModel) m = llama();
    const double s = 4096, pairs = 32 * 4 * s / 2 * H;
    double full = rh_model_flops_per_token(m, 4096);
    double tuned = rh_model_tuned_flops_per_token(m, 4096, &(RhLora){16, 0});
    RH_CHECK_CLOSE(tuned, (full - 3 * pairs) * 2 / 3 + 3 * pairs, 1e-12);
    CU_ASSERT_EQUAL(rh_model_tuned_flops_per_token(m, 4096, &(RhLora){0}), full);
}

/* mixtral-8x7b: 8 experts of h 4096, f 14336, two of them a token's. Each has adapters of its own; those of
 * a rank are cut by etp, or, where tensor ranks have parts of all, by t. */
static void experts_have_adapters_of_their_own(void)
{
    g_autoptr(RhModel) m = rh_model_load("mixtral-8x7b", NULL);
    const RhLayerKind *kind = &m->kinds[0];
    const double expert = R * (H + 2 * F) + R * (F + H), n = 1024;
    RhShard whole = tuned_by(1, (RhLora){16, 0}), cut = tuned_by(2, (RhLora){16, 0});
    RhShard spread = whole, both = cut;
    spread.ep = 4;
    both.ep = 2;
    both.etp = 2;
    RhParams a = rh_block_adapter_params(m, kind, RH_BLOCK_FFN, &whole);
    RhParams b = rh_block_adapter_params(m, kind, RH_BLOCK_FFN, &cut);
    RhParams c = rh_block_adapter_params(m, kind, RH_BLOCK_FFN, &spread);
    RhParams d = rh_block_adapter_params(m, kind, RH_BLOCK_FFN, &both);
    CU_ASSERT_TRUE(a.sharded == 8 * expert && a.experts == 0 && a.replicated == 0);
    CU_ASSERT_TRUE(b.sharded == 8 * expert / 2 && b.experts == 0);
    CU_ASSERT_TRUE(c.experts == 2 * expert && c.sharded == 0);
    CU_ASSERT_TRUE(d.experts == 4 * expert / 2 && d.sharded == 0);
    RhShard full = tuned_by(1, (RhLora){0});
    double more = 2 * (2 * n) * expert; /* of both experts that a token goes to */
    RH_CHECK_CLOSE(flops_of(m, RH_BLOCK_FFN, RH_PASS_FORWARD, &whole),
                   flops_of(m, RH_BLOCK_FFN, RH_PASS_FORWARD, &full) + more, 1e-12);
    RH_CHECK_CLOSE(flops_of(m, RH_BLOCK_FFN, RH_PASS_BACKWARD_DATA, &whole),
                   flops_of(m, RH_BLOCK_FFN, RH_PASS_BACKWARD_DATA, &full) + more, 1e-12);
    RH_CHECK_CLOSE(flops_of(m, RH_BLOCK_FFN, RH_PASS_BACKWARD_WEIGHT, &whole), more, 1e-12);
}

/* Kept no more without adapters: the norm's output, of which the router's gradient is not wanted, 2 h;
 * tokens in the order of experts and the activation's output, 2 h and 2 f for each of two experts. An
 * adapter keeps 2 r for each. */
static void frozen_experts_do_not_keep_their_input(void)
{
    g_autoptr(RhModel) m = rh_model_load("mixtral-8x7b", NULL);
    const struct {
        uint32_t modules;
        RhRecompute modules_again;
        double row;
    } rows[] = {{RH_LINEAR_QKV, 0, -2 * H - 2 * (2 * H + 2 * F)},
                {RH_LINEAR_FC1, 0, -2 * H + 2 * (2 * R - 2 * F)},
                {RH_LINEAR_ALL, 0, -2 * H + 2 * 2 * (2 * R)},
                {RH_LINEAR_FC1, RH_RECOMPUTE_EXPERT_ACTIVATION, -2 * H + 2 * 2 * R}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhShard full = tuned_by(1, (RhLora){0}), tuned = tuned_by(1, (RhLora){16, rows[i].modules});
        full.recompute = tuned.recompute = rows[i].modules_again;
        double more = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_FFN, &tuned).kept -
                      rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_FFN, &full).kept;
        RH_CHECK_CLOSE(more, 1024 * rows[i].row, 1e-12);
    }
}

/* deepseek-v2: h 5120, latents of 1536 and 512, 128 heads of 128 + 64, values of 128. Matrices into
 * latents are whole on every tensor rank, and so are adapters beside them. */
static void latents_have_adapters(void)
{
    g_autoptr(RhModel) m = rh_model_load("deepseek-v2", NULL);
    const RhLayerKind *kind = &m->kinds[0];
    const double h = 5120, up = 128 * 256.0, q = 128 * 192.0, v = 128 * 128.0, n = 1024;
    double whole = R * (h + 1536) + R * (h + 576);
    double sharded = R * (1536 + q) + R * (512 + up) + R * (v + h);
    for (int32_t tp = 1; tp <= 4; tp *= 2) {
        RhShard all = tuned_by(tp, (RhLora){16, 0}), full = tuned_by(tp, (RhLora){0});
        RhParams p = rh_block_adapter_params(m, kind, RH_BLOCK_MIXER, &all);
        CU_ASSERT_TRUE(p.replicated == whole && p.experts == 0);
        RH_CHECK_CLOSE(p.sharded * tp, sharded, 1e-12);
        double more = 2 * n * (whole + sharded / tp);
        RH_CHECK_CLOSE(flops_of(m, RH_BLOCK_MIXER, RH_PASS_FORWARD, &all),
                       flops_of(m, RH_BLOCK_MIXER, RH_PASS_FORWARD, &full) + more, 1e-12);
        RH_CHECK_CLOSE(flops_of(m, RH_BLOCK_MIXER, RH_PASS_BACKWARD_WEIGHT, &all), more, 1e-12);
    }
    RhShard out = tuned_by(1, (RhLora){16, RH_LINEAR_PROJ}), full = tuned_by(1, (RhLora){0});
    double fewer = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &full).kept -
                   rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &out).kept;
    /* the norm's output and both latents behind their norms, less 2 r */
    RH_CHECK_CLOSE(fewer, n * 2 * (h + 1536 + 512 - R), 1e-12);
}

/* Replicas exchange gradients of the experts' adapters among those that have the same experts: of 32
 * ranks with ep8 four, 32 layers of one expert a rank; attention's among all. */
static void experts_adapters_are_summed_over_their_replicas(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:4", "megatron", 32, 2048);
    k.c.job.lora = (RhLora){16, 0};
    RhLayout l = train_layout(&k, "tp1,dp32,ep8,zero1");
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhStageMemory m = rh_stage_memory(model_cost, &l, 0);
    double attention = 32 * (R * (H + 6144) + R * (H + H));
    double experts = 32 * (R * (H + 2 * F) + R * (F + H));
    CU_ASSERT_EQUAL(m.params.of[RH_PARAMS_COMMON], attention);
    CU_ASSERT_EQUAL(m.params.of[RH_PARAMS_EXPERTS], experts);
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_GRADIENTS], 4 * (attention + experts), 1e-12);
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_OPTIMIZER], 12 * (attention / 32 + experts / 4), 1e-12);
    double all = (double)rh_model_params(k.model), away = 7.0 / 8 * 32 * 8 * 3 * H * F;
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * (all - away + attention + experts), 1e-9);
}

/* Inputs of frozen layers are kept no more where nothing else reads them: the norms' outputs, 2 h, and
 * the activation's, 2 f. An adapter brings its layer's input back, and keeps 2 r between its matrices. */
static void frozen_layers_do_not_keep_their_input(void)
{
    g_autoptr(RhModel) m = llama();
    const struct {
        uint32_t modules;
        double row; /* bytes a token, against training all */
    } rows[] = {{RH_LINEAR_ALL, 4 * 2 * R},
                {RH_LINEAR_QKV, 2 * R - 2 * H - 2 * F},
                {RH_LINEAR_PROJ, 2 * R - 2 * H - 2 * H - 2 * F},
                {ATTENTION | RH_LINEAR_FC1, 3 * 2 * R - 2 * F},
                {RH_LINEAR_FC2, 2 * R - 4 * H}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhShard full = tuned_by(1, (RhLora){0}), tuned = tuned_by(1, (RhLora){16, rows[i].modules});
        double more = 0;
        for (RhBlock b = RH_BLOCK_MIXER; b <= RH_BLOCK_FFN; b++)
            more += rh_block_activation_bytes(m, &m->kinds[0], b, &tuned).kept -
                    rh_block_activation_bytes(m, &m->kinds[0], b, &full).kept;
        RH_CHECK_CLOSE(more, 1024 * rows[i].row, 1e-12);
    }
}

/* Weights in 2 bytes; of adapters weight, gradient, master and moments, the last over eight ranks. */
static void states_are_those_of_adapters(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 8, 4096);
    k.c.job.lora = (RhLora){16, 0};
    RhLayout l = train_layout(&k, "tp1,dp8,zero1");
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhStageMemory m = rh_stage_memory(model_cost, &l, 0);
    double adapters = 32 * R * (3 * H + QKV + 2 * H + 3 * F);
    double weights = (double)rh_model_params(k.model);
    RH_CHECK_CLOSE(rh_param_counts_sum(&m.params), adapters, 1e-14);
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * (weights + adapters), 1e-9);
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_GRADIENTS], 4 * adapters, 1e-14);
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_OPTIMIZER], 12 * adapters / 8, 1e-14);
}

/* Replicas exchange gradients of adapters alone: all-reduced, of 4 bytes; and neither a tied matrix nor
 * a frozen table is exchanged. */
static void gradients_of_adapters_alone_are_exchanged(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 8, 2048);
    k.c.job.lora = (RhLora){8, RH_LINEAR_QKV};
    RhLayout l = train_layout(&k, "tp1,pp2,dp4,zero0");
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    double bytes = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = &g_array_index(p->tasks, RhTask, i);
        if (task->kind == RH_TASK_COLLECTIVE && task->bytes > 4)
            bytes += task->bytes;
    }
    /* 16 layers of h 2048: 2048 rows, 2048 + 2 x 512 columns */
    RH_CHECK_CLOSE(bytes, 16 * 4 * 8 * (2048.0 + 3072), 1e-14);
}

/* whisper-large-v3: of 448 tokens the decoder has queries, of 1,500 of the encoder's keys and values. What those
 * read the encoder keeps anyway. Of the encoder's last layer, with a norm behind it, those of a network. */
static void adapters_look_at_an_encoder_too(void)
{
    g_autoptr(RhModel) m = rh_model_load("whisper-large-v3", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    const double h = 1280, n = 448, others = 1500;
    const RhLayerKind *last = &m->kinds[1], *cross = &m->kinds[3];
    RhShard tuned = tuned_by(1, (RhLora){16, 0}), full = tuned_by(1, (RhLora){0});
    RhShard proj = tuned_by(1, (RhLora){16, RH_LINEAR_PROJ});
    tuned.sequence = full.sequence = proj.sequence = 448;
    RH_CHECK_CLOSE(params_of(m, cross, RH_BLOCK_MIXER, &tuned), R * (2 * h + 3 * h + 2 * h), 1e-14);
    RH_CHECK_CLOSE(params_of(m, last, RH_BLOCK_FFN, &tuned), R * 2 * (h + 4 * h), 1e-14);
    double more = 2 * R * (n * 4 * h + others * 3 * h);
    for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_DATA; pass++)
        RH_CHECK_CLOSE(flops_of_kind(m, cross, RH_BLOCK_MIXER, pass, &tuned),
                       flops_of_kind(m, cross, RH_BLOCK_MIXER, pass, &full) + more, 1e-14);
    RH_CHECK_CLOSE(flops_of_kind(m, cross, RH_BLOCK_MIXER, RH_PASS_BACKWARD_WEIGHT, &tuned), more,
                   1e-14);
    RH_CHECK_CLOSE(flops_of_kind(m, NULL, RH_BLOCK_EMBEDDING, RH_PASS_BACKWARD_WEIGHT, &tuned), 0,
                   1e-14);
    double fewer = rh_block_activation_bytes(m, cross, RH_BLOCK_MIXER, &full).kept -
                   rh_block_activation_bytes(m, cross, RH_BLOCK_MIXER, &proj).kept;
    RH_CHECK_CLOSE(fewer, n * 2 * (h - R), 1e-12); /* the norm's output */
}

/* Matrices in and out of scans and of short convolutions, by hand: h, columns in, values. */
static void linear_mixers_have_adapters(void)
{
    static const struct {
        const char *model;
        double h, in, values;
        double norm; /* columns kept for the second matrix' gradient alone */
    } rows[] = {
        {"nemotron-h-56b", 8192, 2 * 256 * 64 + 2 * 8 * 256 + 256, 256 * 64, 0},
        {"qwen3.5-27b", 5120, 2 * 2048 + 2 * 6144 + 2 * 48, 6144, 6144},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = rh_model_load(rows[i].model, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        const RhLayerKind *kind = &m->kinds[0];
        RhShard all = tuned_by(1, (RhLora){16, 0}), none = tuned_by(1, (RhLora){16, RH_LINEAR_FC1});
        RhShard full = tuned_by(1, (RhLora){0});
        double entries = R * (rows[i].h + rows[i].in) + R * (rows[i].values + rows[i].h), n = 1024;
        RH_CHECK_CLOSE(params_of(m, kind, RH_BLOCK_MIXER, &all), entries, 1e-14);
        CU_ASSERT_EQUAL(params_of(m, kind, RH_BLOCK_MIXER, &none), 0);
        RH_CHECK_CLOSE(flops_of_kind(m, kind, RH_BLOCK_MIXER, RH_PASS_BACKWARD_WEIGHT, &all),
                       2 * n * entries, 1e-14);
        double fewer = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &full).kept -
                       rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &none).kept;
        RH_CHECK_CLOSE(fewer, n * 2 * (rows[i].h + rows[i].norm), 1e-12);
    }
}

/* LFM2's short convolutions have adapters beside both matrices: 2,048 columns to three times as many, and back. */
static void short_convolutions_have_adapters(void)
{
    const double h = 2048, n = 1024, entries = R * (h + 3 * h) + R * (h + h);
    g_autofree char *path =
        g_build_filename(g_getenv("REHEARSE_DATA"), "tests", "models", "lfm2.json", NULL);
    g_autoptr(RhModel) m = rh_model_load(path, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    const RhLayerKind *kind = &m->kinds[m->kind_of_layer[0]];
    RhShard all = tuned_by(1, (RhLora){16, 0}), none = tuned_by(1, (RhLora){16, RH_LINEAR_FC1});
    RhShard full = tuned_by(1, (RhLora){0});
    RH_CHECK_CLOSE(params_of(m, kind, RH_BLOCK_MIXER, &all), entries, 1e-14);
    RH_CHECK_CLOSE(flops_of_kind(m, kind, RH_BLOCK_MIXER, RH_PASS_BACKWARD_WEIGHT, &all),
                   2 * n * entries, 1e-14);
    double fewer = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &full).kept -
                   rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &none).kept;
    RH_CHECK_CLOSE(fewer, n * 2 * (h + h), 1e-12); /* inputs of the first and of the second */
}

/* Falcon-40B's, side by side: both read one normed input, which is kept where either has an adapter. */
static void side_by_side_one_input_is_kept(void)
{
    static const struct {
        uint32_t modules;
        double dropped; /* columns */
    } rows[] = {{RH_LINEAR_QKV, 4 * 8192},
                {RH_LINEAR_FC1, 4 * 8192},
                {RH_LINEAR_QKV | RH_LINEAR_FC1, 4 * 8192},
                {RH_LINEAR_FC2, 8192},
                {RH_LINEAR_PROJ, 5 * 8192}};
    g_autoptr(RhModel) m =
        model_load("{'model_type': 'falcon', 'num_hidden_layers': 60, 'hidden_size': 8192, "
                   "'num_attention_heads': 128, 'num_kv_heads': 8, 'vocab_size': 65024, "
                   "'new_decoder_architecture': true, 'bias': false}");
    const RhLayerKind *kind = &m->kinds[0];
    RhShard full = tuned_by(1, (RhLora){0});
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhShard tuned = tuned_by(1, (RhLora){16, rows[i].modules});
        double adapters = rows[i].modules == (RH_LINEAR_QKV | RH_LINEAR_FC1) ? 2 : 1;
        double fewer = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &full).kept -
                       rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &tuned).kept;
        RH_CHECK_CLOSE(fewer, 1024 * 2 * (rows[i].dropped - adapters * R), 1e-12);
    }
}

/* albert-xxlarge-v2: twelve layers, one set of adapters, which work in each. */
static void layers_that_are_one_have_one_adapter(void)
{
    g_auto(TrainKit) k = train_kit("albert-xxlarge-v2", "dgx-h100:1", "bare", 16, 512);
    k.c.job.lora = (RhLora){16, 0};
    RhLayout l = train_layout(&k, "tp1,dp8,zero1");
    CU_ASSERT_TRUE(rh_train_job_legal(&k.c, NULL));
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhStageMemory m = rh_stage_memory(model_cost, &l, 0);
    const double h = 4096, f = 16384;
    RH_CHECK_CLOSE(rh_param_counts_sum(&m.params), R * (h + 3 * h + 2 * h + 2 * (h + f)), 1e-14);
    RhShard shard = tuned_by(1, k.c.job.lora);
    shard.sequence = 512;
    for (int i = 0; i < k.model->kinds_count; i++)
        RH_CHECK_CLOSE(flops_of_kind(k.model, &k.model->kinds[i], RH_BLOCK_FFN,
                                     RH_PASS_BACKWARD_WEIGHT, &shard),
                       2 * 512 * R * 2 * (h + f), 1e-14);
}

static void texts_are_read_and_wrong_ones_refused(void)
{
    static const char *const wrong[] = {"x",
                                        "-1",
                                        "16:",
                                        "16:linear",
                                        "16:linear_qkv+",
                                        "",
                                        "16:linear_qkv+linear_qkv",
                                        "16:linear_qkv,linear_proj",
                                        "99999999999"};
    RhLora lora = {0};
    CU_ASSERT_TRUE(rh_lora_parse("16", &lora, NULL));
    CU_ASSERT_TRUE(lora.rank == 16 && lora.modules == 0);
    CU_ASSERT_TRUE(rh_lora_adapts(&lora, RH_LINEAR_FC2));
    CU_ASSERT_TRUE(rh_lora_parse("8:linear_qkv+linear_fc1", &lora, NULL));
    CU_ASSERT_TRUE(lora.rank == 8 && lora.modules == (RH_LINEAR_QKV | RH_LINEAR_FC1));
    CU_ASSERT_FALSE(rh_lora_adapts(&lora, RH_LINEAR_FC2));
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhLora before = lora;
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_lora_parse(wrong[i], &lora, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_TRUE(lora.rank == before.rank && lora.modules == before.modules);
    }
    lora = (RhLora){0};
    CU_ASSERT_TRUE(rh_lora_parse_modules("linear_proj", &lora, NULL));
    CU_ASSERT_EQUAL(lora.rank, RH_LORA_RANK);
}

static void what_adapters_do_not_go_with_is_refused(void)
{
    static const struct {
        const char *model, *layout;
        bool legal;
    } rows[] = {{"llama-3.1-8b", "tp2,dp4,zero2", true},
                {"llama-3.1-8b", "dp8,zero3", true},
                {"llama-3.1-8b", "pp4,schedule=zb-h1", false},
                {"llama-3.1-8b", "pp4,recompute=layernorm+mlp", true},
                {"mixtral-8x7b", "ep8", true},
                {"mixtral-8x7b", "ep8,recompute=moe", true},
                {"deepseek-v2", "ep8,recompute=mla_up_proj", true},
                {"deepseek-v3.2", "ep8", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:1", "bare", 16, 4096);
        RhLayout l = rh_train_default(&k.c);
        k.c.job.lora = (RhLora){16, 0};
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        l = rh_train_canonical(&k.c, &l);
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), rows[i].legal);
        CU_ASSERT_TRUE(rows[i].legal || strstr(error->message, "lora"));
    }
}

int main(void)
{
    return rh_test_main(
        "lora",
        (RhTest[]){
            {"adapters_have_r_times_rows_and_columns", adapters_have_r_times_rows_and_columns},
            {"the_benchmark_of_mlperf_trains_44_million",
             the_benchmark_of_mlperf_trains_44_million},
            {"frozen_weights_have_no_gradients_of_their_own",
             frozen_weights_have_no_gradients_of_their_own},
            {"frozen_weights_of_few_bits_are_made_wide", frozen_weights_of_few_bits_are_made_wide},
            {"flops_of_the_model_are_two_thirds_but_for_pairs",
             flops_of_the_model_are_two_thirds_but_for_pairs},
            {"experts_have_adapters_of_their_own", experts_have_adapters_of_their_own},
            {"frozen_experts_do_not_keep_their_input", frozen_experts_do_not_keep_their_input},
            {"latents_have_adapters", latents_have_adapters},
            {"experts_adapters_are_summed_over_their_replicas",
             experts_adapters_are_summed_over_their_replicas},
            {"frozen_layers_do_not_keep_their_input", frozen_layers_do_not_keep_their_input},
            {"states_are_those_of_adapters", states_are_those_of_adapters},
            {"gradients_of_adapters_alone_are_exchanged",
             gradients_of_adapters_alone_are_exchanged},
            {"adapters_look_at_an_encoder_too", adapters_look_at_an_encoder_too},
            {"linear_mixers_have_adapters", linear_mixers_have_adapters},
            {"short_convolutions_have_adapters", short_convolutions_have_adapters},
            {"side_by_side_one_input_is_kept", side_by_side_one_input_is_kept},
            {"layers_that_are_one_have_one_adapter", layers_that_are_one_have_one_adapter},
            {"texts_are_read_and_wrong_ones_refused", texts_are_read_and_wrong_ones_refused},
            {"what_adapters_do_not_go_with_is_refused", what_adapters_do_not_go_with_is_refused},
            {0}});
}
