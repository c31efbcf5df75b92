/* Modules that are run again before backward: what they drop and what they replay, against counts made
 * here by hand from the layers' matrices. */
#include <string.h>

#include "base/error.h"
#include "strategies/train/block_cost.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhModel *load(const char *name)
{
    RhModel *m = rh_model_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static RhShard one_of(int64_t sequence, const RhRecipe *recipe)
{
    RhShard shard = shard_of(1, sequence, 1);
    shard.recipe = recipe;
    return shard;
}

static const RhBlock BLOCKS[] = {RH_BLOCK_MIXER, RH_BLOCK_FFN};

static double dropped(const RhModel *m, int kind, uint32_t modules, const RhShard *shard)
{
    RhShard again = *shard;
    double sum = 0;
    for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++) {
        again.recompute = RH_RECOMPUTE_NONE;
        sum += rh_block_activation_bytes(m, &m->kinds[kind], BLOCKS[b], &again).kept;
        again.recompute = (RhRecompute)modules;
        sum -= rh_block_activation_bytes(m, &m->kinds[kind], BLOCKS[b], &again).kept;
    }
    return sum;
}

typedef struct {
    double flops, bytes;
} Sum;

static Sum pass_of(const RhModel *m, int kind, RhBlock block, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    Sum sum = {0};
    for (RhPart part = RH_PART_SEQUENCE; part <= RH_PART_TENSOR; part++)
        rh_block_kernels(m, &m->kinds[kind], block, part, pass, shard, out);
    for (guint i = 0; i < out->len; i++) {
        sum.flops += g_array_index(out, RhKernel, i).flops;
        sum.bytes += g_array_index(out, RhKernel, i).bytes;
    }
    return sum;
}

static Sum replayed(const RhModel *m, int kind, uint32_t modules, const RhShard *shard)
{
    RhShard again = *shard;
    Sum sum = {0};
    again.recompute = (RhRecompute)modules;
    for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++) {
        Sum of = pass_of(m, kind, BLOCKS[b], RH_PASS_RECOMPUTE_SELECTIVE, &again);
        sum.flops += of.flops;
        sum.bytes += of.bytes;
    }
    return sum;
}

/* llama-3.1-8b: h 4096, f 14336, 32 heads of 128. deepseek-v3: h 7168, 128 heads of 128 + 64 and 128,
 * latents of 1536 and 512 + 64; 8 of 256 experts of 2048 and one shared; first layers dense, 18432. A
 * product is 2 FLOPs an entry and token; tensors have 2 bytes an element. */
static void modules_drop_and_replay_what_is_counted_by_hand(void)
{
    const double s = 1024, h = 4096, f = 14336, H = 7168, a = 128, e = 2048;
    const struct {
        const char *model;
        int layer; /* whose kind */
        uint32_t modules;
        double bytes, flops;
    } rows[] = {
        {"llama-3.1-8b", 0, RH_RECOMPUTE_CORE, 4 * 32 * s, 4 * 32 * 128 * s * s / 2},
        {"llama-3.1-8b", 0, RH_RECOMPUTE_NORM, 2 * 2 * s * h, 0},
        {"llama-3.1-8b", 0, RH_RECOMPUTE_FFN, 2 * 3 * s * f, 2 * 3 * s * h * f},
        {"deepseek-v3", 0, RH_RECOMPUTE_FFN, 2 * 3 * s * 18432, 2 * 3 * s * H * 18432},
        {"deepseek-v3", 0, RH_RECOMPUTE_UP, 2 * s * a * (2 * 192 + 128),
         2 * s * a * (1536 * 192 + 512 * 256.0)},
        {"deepseek-v3", 3, RH_RECOMPUTE_FFN, 0, 0},
        {"deepseek-v3", 3, RH_RECOMPUTE_EXPERT_ACTIVATION, 2 * 8 * s * e, 0},
        {"deepseek-v3", 3, RH_RECOMPUTE_SHARED, 2 * 3 * s * e, 2 * 3 * s * H * e},
        {"deepseek-v3", 3, RH_RECOMPUTE_MIXTURE,
         4 * 256 * s + 2 * 8 * s * (H + 3 * e) + 2 * 3 * s * e,
         2 * s * H * (256 + 3 * 8 * e + 3 * e)},
        {"deepseek-v3", 3, RH_RECOMPUTE_CORE | RH_RECOMPUTE_NORM, 4 * a * s + 2 * 2 * s * H,
         2 * a * (192 + 128) * s * s / 2},
        /* one matrix each of 48 value heads of 128 */
        {"qwen3.5-27b", 0, RH_RECOMPUTE_SCAN_NORM, 2 * s * 48 * 128, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = load(rows[i].model);
        RhShard shard = one_of(1024, NULL);
        int kind = m->kind_of_layer[rows[i].layer];
        RH_CHECK_CLOSE(dropped(m, kind, rows[i].modules, &shard), rows[i].bytes, 1e-12);
        Sum again = replayed(m, kind, rows[i].modules, &shard);
        RH_CHECK_CLOSE(again.flops, rows[i].flops, 1e-12);
        CU_ASSERT_EQUAL(again.bytes > 0, rows[i].bytes > 0);
    }
}

/* A module that begins with the block's input replays the block's forward pass without its norm and
 * sum. */
static void a_block_that_is_run_again_runs_its_forward_pass(void)
{
    static const struct {
        const char *model;
        uint32_t modules;
    } rows[] = {{"llama-3.1-8b", RH_RECOMPUTE_FFN}, {"mixtral-8x7b", RH_RECOMPUTE_MIXTURE}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = load(rows[i].model);
        RhShard shard = one_of(1024, &rh_recipe_mxfp8);
        g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        rh_block_kernels(m, &m->kinds[0], RH_BLOCK_FFN, RH_PART_TENSOR, RH_PASS_FORWARD, &shard,
                         out);
        double bytes = 0;
        for (guint k = 0; k < out->len; k++)
            bytes += g_array_index(out, RhKernel, k).bytes;
        RH_CHECK_CLOSE(replayed(m, 0, rows[i].modules, &shard).bytes, bytes, 1e-14);
        shard.recompute = (RhRecompute)rows[i].modules;
        CU_ASSERT_TRUE(rh_block_replays_whole(m, &m->kinds[0], RH_BLOCK_FFN, &shard));
        CU_ASSERT_FALSE(rh_block_replays_whole(m, &m->kinds[0], RH_BLOCK_MIXER, &shard));
    }
}

/* Inputs of blocks that are run again are kept in 16 bits, beside which a recipe keeps 33/32 bytes of
 * what a linear layer reads; not where the norm is run again before them. */
static void a_block_that_is_run_again_keeps_its_input_wide(void)
{
    g_autoptr(RhModel) m = load("llama-3.1-8b");
    RhShard shard = one_of(1024, &rh_recipe_mxfp8);
    const double n = 1024, h = 4096, f = 14336, narrow = rh_recipe_mxfp8.kept_bytes;
    double network = n * f * (2 * 2 + narrow), norms = 2 * n * h * narrow;
    RH_CHECK_CLOSE(dropped(m, 0, RH_RECOMPUTE_FFN, &shard), network - n * h * (2 - narrow), 1e-12);
    RH_CHECK_CLOSE(dropped(m, 0, RH_RECOMPUTE_FFN | RH_RECOMPUTE_NORM, &shard), network + norms,
                   1e-12);
}

/* Any set of any model's modules: bytes move from kept to working, and sets that do not hold one another
 * drop and replay as much together as one by one. */
static void sets_of_modules_drop_the_sum_of_theirs(void)
{
    static const char *const models[] = {"llama-3.1-8b",   "deepseek-v3",
                                         "mixtral-8x7b",   "gpt-neox-20b",
                                         "deepseek-v3.2",  "nemotron-3-nano-30b-a3b",
                                         "qwen3.5-35b-a3b"};
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(RhModel) m = load(models[i]);
        for (int kind = 0; kind < m->kinds_count; kind++) {
            uint32_t all = (uint32_t)rh_kind_modules(m, &m->kinds[kind]);
            uint32_t inside = RH_RECOMPUTE_MIXTURE; /* holds others */
            for (uint32_t set = 1; set <= all; set++) {
                if ((set & all) != set)
                    continue;
                RhShard shard = one_of(512, NULL), again = shard;
                double bytes = 0, flops = 0;
                for (uint32_t bit = 1; bit <= set; bit <<= 1) {
                    bytes += set & bit ? dropped(m, kind, bit, &shard) : 0;
                    flops += set & bit ? replayed(m, kind, bit, &shard).flops : 0;
                }
                if (!(set & inside)) {
                    RH_CHECK_CLOSE(dropped(m, kind, set, &shard), bytes, 1e-12);
                    RH_CHECK_CLOSE(replayed(m, kind, set, &shard).flops, flops, 1e-12);
                }
                again.recompute = (RhRecompute)set;
                for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++) {
                    RhActivation x =
                        rh_block_activation_bytes(m, &m->kinds[kind], BLOCKS[b], &shard);
                    RhActivation y =
                        rh_block_activation_bytes(m, &m->kinds[kind], BLOCKS[b], &again);
                    CU_ASSERT_TRUE(y.kept >= 0 && y.kept <= x.kept);
                    RH_CHECK_CLOSE(x.kept + x.forward, y.kept + y.forward, 1e-12);
                    RH_CHECK_CLOSE(x.kept + x.backward, y.kept + y.backward, 1e-12);
                }
            }
        }
    }
}

/* --- layouts --- */

static void sets_have_a_text(void)
{
    static const char *const texts[][2] = {
        {"recompute=core_attn", "recompute=selective"},
        {"recompute=full", "recompute=full"},
        {"recompute=moe_act+layernorm", "recompute=layernorm+moe_act"},
        {"recompute=mla_up_proj", "recompute=mla_up_proj"},
        {"recompute=shared_experts+core_attn", "recompute=core_attn+shared_experts"}};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        RhLayout a = rh_layout_default(), b = a;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(texts[i][0], &a, NULL));
        g_autofree char *text = rh_layout_format(&a);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, texts[i][1]));
        CU_ASSERT_TRUE(rh_layout_parse(text, &b, NULL));
        CU_ASSERT_TRUE(rh_layout_equal(&a, &b));
    }
}

static void wrong_sets_are_refused(void)
{
    static const char *const wrong[] = {"full+mlp",       "mlp+full", "mlp+mlp",       "mlp+",
                                        "+mlp",           "mlp++moe", "selective+mlp", "ml",
                                        "moe_activation", "+"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhLayout l = rh_layout_default(), before = l;
        g_autofree char *text = g_strdup_printf("recompute=%s", wrong[i]);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_layout_parse(text, &l, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_TRUE(rh_layout_equal(&l, &before));
    }
}

static void modules_that_a_model_lacks_are_refused(void)
{
    static const struct {
        const char *model, *layout;
        bool legal;
    } rows[] = {
        {"llama-3.1-8b", "tp8,recompute=layernorm+mlp", true},
        {"llama-3.1-8b", "tp8,recompute=mla_up_proj", false},
        {"llama-3.1-8b", "tp8,recompute=moe_act+mlp", false},
        {"mixtral-8x7b", "ep8,recompute=moe_act+moe", true},
        {"mixtral-8x7b", "ep8,recompute=mlp", false},
        {"mixtral-8x7b", "ep8,recompute=shared_experts", false},
        {"mixtral-8x7b", "ep8,mb2,epoverlap=batches,recompute=moe", false},
        {"nemotron-3-nano-30b-a3b", "ep8,recompute=shared_experts", true},
        {"nemotron-3-nano-30b-a3b", "ep8,epoverlap=shared,recompute=shared_experts", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:1", "megatron", 16, 4096);
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        l = rh_train_canonical(&k.c, &l);
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), rows[i].legal);
        CU_ASSERT_TRUE(rows[i].legal || strstr(error->message, "recompute: ") == error->message);
    }
}

/* A dense network that is run again has its input gathered again, once a layer and micro-batch; its
 * output is not summed again. A norm, an activation and attention's core need no other rank. */
static void networks_that_are_run_again_gather_their_input(void)
{
    static const struct {
        const char *layout;
        int32_t collectives; /* a layer and micro-batch */
    } rows[] = {{"tp8,recompute=mlp", 1},
                {"tp8,recompute=core_attn+layernorm", 0},
                {"tp8,recompute=layernorm+mlp", 1},
                {"tp8,recompute=full", 3},
                {"tp8,sp=off,recompute=mlp", 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 4, 4096);
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        int32_t count = 0;
        for (guint t = 0; t < p->tasks->len; t++) {
            const RhTask *task = &g_array_index(p->tasks, RhTask, t);
            count += task->kind == RH_TASK_COLLECTIVE && task->phase == RH_PHASE_RECOMPUTE;
        }
        CU_ASSERT_EQUAL(count, rows[i].collectives * 32 * 4);
    }
}

int main(void)
{
    return rh_test_main(
        "recompute_modules",
        (RhTest[]){
            {"modules_drop_and_replay_what_is_counted_by_hand",
             modules_drop_and_replay_what_is_counted_by_hand},
            {"a_block_that_is_run_again_runs_its_forward_pass",
             a_block_that_is_run_again_runs_its_forward_pass},
            {"a_block_that_is_run_again_keeps_its_input_wide",
             a_block_that_is_run_again_keeps_its_input_wide},
            {"sets_of_modules_drop_the_sum_of_theirs", sets_of_modules_drop_the_sum_of_theirs},
            {"sets_have_a_text", sets_have_a_text},
            {"wrong_sets_are_refused", wrong_sets_are_refused},
            {"modules_that_a_model_lacks_are_refused", modules_that_a_model_lacks_are_refused},
            {"networks_that_are_run_again_gather_their_input",
             networks_that_are_run_again_gather_their_input},
            {0}});
}
