/* The memory ledger: hand-made sequences, and the closed form on layouts drawn at random; how many
 * tasks their programs have, too. */
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

#include "sim/memory_ledger.h"
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* --- by hand --- */

typedef struct {
    RhMemoryUse use; /* NONE: a task */
    double bytes;
} Event;

static RhLedger walk(const Event *events, int count)
{
    g_autoptr(RhProgram) p = rh_program_new(2);
    RhTask mark = {.kind = RH_TASK_MARK, .bundle = -1, .group = -1, .peer_task = -1};
    mark.label = rh_program_label(p, "mark");
    /* Another role before it: its tasks and bytes are no concern of ours. */
    rh_program_begin_role(p, "other", 1, NULL, 0);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_WEIGHTS, 1e12);
    rh_program_add_task(p, mark, NULL, 0);
    rh_program_end_role(p);
    rh_program_begin_role(p, "ours", 0, NULL, 0);
    for (int i = 0; i < count; i++) {
        if (events[i].use)
            rh_program_add_memory(p, RH_MEMORY_TIER_HBM, events[i].use, events[i].bytes);
        else
            rh_program_add_task(p, mark, NULL, 0);
    }
    rh_program_end_role(p);
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    return rh_ledger_walk(p, 1, RH_MEMORY_TIER_HBM);
}
#define WALK(...)                                                                                  \
    walk((const Event[]){__VA_ARGS__}, (int)(sizeof((const Event[]){__VA_ARGS__}) / sizeof(Event)))
#define TASK                                                                                       \
    {                                                                                              \
        RH_MEMORY_NONE, 0                                                                          \
    }
#define HOLD(use, bytes)                                                                           \
    {                                                                                              \
        RH_MEMORY_##use, bytes                                                                     \
    }

static void the_peak_is_the_highest_sum(void)
{
    RhLedger l = WALK(HOLD(WEIGHTS, 100), TASK, HOLD(ACTIVATIONS, 10), TASK, HOLD(ACTIVATIONS, 20),
                      HOLD(LOGITS, 5), TASK, HOLD(LOGITS, -5), HOLD(ACTIVATIONS, -20),
                      HOLD(RECOMPUTE, 24), TASK, HOLD(RECOMPUTE, -24), HOLD(ACTIVATIONS, -10));
    CU_ASSERT_EQUAL(l.peak_bytes, 135);
    CU_ASSERT_EQUAL(l.peak_task, 3); /* the other role has one task, then ours: 1, 2, 3 */
    CU_ASSERT_EQUAL(l.at_peak_bytes[RH_MEMORY_WEIGHTS], 100);
    CU_ASSERT_EQUAL(l.at_peak_bytes[RH_MEMORY_ACTIVATIONS], 30);
    CU_ASSERT_EQUAL(l.at_peak_bytes[RH_MEMORY_LOGITS], 5);
    CU_ASSERT_EQUAL(l.at_peak_bytes[RH_MEMORY_RECOMPUTE], 0);
    CU_ASSERT_EQUAL(l.end_bytes, 100);
}

static void each_tier_has_its_own_peak(void)
{
    g_autoptr(RhProgram) p = rh_program_new(1);
    RhTask mark = {.kind = RH_TASK_MARK, .bundle = -1, .group = -1, .peer_task = -1};
    rh_program_begin_role(p, "offloads", 0, NULL, 0);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS, 30);
    rh_program_add_memory(p, RH_MEMORY_TIER_HOST, RH_MEMORY_OPTIMIZER, 120);
    rh_program_add_task(p, mark, NULL, 0);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS, -30);
    rh_program_add_memory(p, RH_MEMORY_TIER_HOST, RH_MEMORY_ACTIVATIONS, 30);
    rh_program_add_task(p, mark, NULL, 0);
    rh_program_end_role(p);
    RhLedger hbm = rh_ledger_walk(p, 0, RH_MEMORY_TIER_HBM),
             host = rh_ledger_walk(p, 0, RH_MEMORY_TIER_HOST);
    CU_ASSERT_EQUAL(hbm.peak_bytes, 30);
    CU_ASSERT_EQUAL(hbm.end_bytes, 0);
    CU_ASSERT_EQUAL(host.peak_bytes, 150);
    CU_ASSERT_EQUAL(host.at_peak_bytes[RH_MEMORY_OPTIMIZER], 120);
    CU_ASSERT_EQUAL(rh_ledger_walk(p, 0, RH_MEMORY_TIER_NVME).peak_bytes, 0);
}

static void freed_memory_is_used_again(void)
{
    RhLedger l = WALK(HOLD(ACTIVATIONS, 50), TASK, HOLD(ACTIVATIONS, -50), HOLD(LOGITS, 50), TASK,
                      HOLD(LOGITS, -50));
    CU_ASSERT_EQUAL(l.peak_bytes, 50);
    CU_ASSERT_EQUAL(l.at_peak_bytes[RH_MEMORY_LOGITS], 0);
    CU_ASSERT_EQUAL(l.end_bytes, 0);
}

static void of_equal_peaks_the_first_counts(void)
{
    RhLedger l = WALK(TASK, HOLD(ACTIVATIONS, 7), TASK, HOLD(ACTIVATIONS, -7), TASK,
                      HOLD(COMMUNICATION, 7), TASK, HOLD(COMMUNICATION, -7));
    CU_ASSERT_EQUAL(l.peak_task, 2);
    CU_ASSERT_EQUAL(l.at_peak_bytes[RH_MEMORY_ACTIVATIONS], 7);
}

static void order_within_one_moment_counts(void)
{
    RhLedger l = WALK(HOLD(WEIGHTS, 10), TASK, HOLD(ACTIVATIONS, 5), HOLD(WEIGHTS, -10), TASK);
    CU_ASSERT_EQUAL(l.peak_bytes, 15);
    l = WALK(HOLD(WEIGHTS, 10), TASK, HOLD(WEIGHTS, -10), HOLD(ACTIVATIONS, 5), TASK);
    CU_ASSERT_EQUAL(l.peak_bytes, 10);
}

static void what_is_not_freed_is_left_at_the_end(void)
{
    RhLedger l = WALK(HOLD(WEIGHTS, 10), TASK, HOLD(ACTIVATIONS, 5), TASK, HOLD(ACTIVATIONS, -4));
    CU_ASSERT_EQUAL(l.end_bytes, 11);
}

static void a_role_without_memory_holds_nothing(void)
{
    RhLedger l = WALK(TASK, TASK);
    CU_ASSERT_EQUAL(l.peak_bytes, 0);
    CU_ASSERT_EQUAL(l.peak_task, -1);
    CU_ASSERT_EQUAL(l.end_bytes, 0);
}

/* --- the closed form --- */

#define TOLERANCE 1e-9
#define DRAWS     RH_TRIES(80, 24) /* of each question */

static double sum_of(const double bytes[RH_MEMORY_LAST])
{
    double sum = 0;
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        sum += bytes[use];
    return sum;
}

/* Frees match allocations, and only what outlives the step is left at its end. */
static void check_balance(const RhProgram *p, int32_t role, bool frees)
{
    const RhRole *r = rh_program_role(p, role);
    double held[RH_MEMORY_LAST] = {0}, most = 0;
    for (int32_t i = r->memory_first; i < r->memory_first + r->memory_count; i++) {
        const RhMemoryEvent *e = &g_array_index(p->memory, RhMemoryEvent, i);
        held[e->use] += e->bytes;
        most = fmax(most, sum_of(held));
        CU_ASSERT_TRUE(held[e->use] >= -TOLERANCE * most);
    }
    CU_ASSERT_TRUE(fabs(held[RH_MEMORY_ACTIVATIONS]) <= TOLERANCE * most);
    CU_ASSERT_TRUE(fabs(held[RH_MEMORY_RECOMPUTE]) <= TOLERANCE * most);
    CU_ASSERT_TRUE(fabs(held[RH_MEMORY_LOGITS]) <= TOLERANCE * most);
    CU_ASSERT_TRUE(!frees || fabs(held[RH_MEMORY_GRADIENTS]) <= TOLERANCE * most);
}

static void check_stage(const RhProgram *p, const RhTrainMemory *closed, bool frees,
                        const char *layout)
{
    for (int tier = 0; tier < RH_MEMORY_TIER_LAST; tier++) {
        RhLedger l = rh_ledger_walk(p, closed->stage, (RhMemoryTier)tier);
        bool equal = rh_test_close(closed->tier_peak_bytes[tier], l.peak_bytes, TOLERANCE);
        RH_CHECK_CLOSE(sum_of(l.at_peak_bytes), l.peak_bytes, TOLERANCE);
        CU_ASSERT_TRUE(l.end_bytes <= l.peak_bytes);
        CU_ASSERT_TRUE(equal);
        if (!equal)
            fprintf(stderr, "    %s: stage %d, %s: closed form %.12g, ledger %.12g\n", layout,
                    closed->stage, rh_memory_tier_name((RhMemoryTier)tier),
                    closed->tier_peak_bytes[tier], l.peak_bytes);
    }
    RH_CHECK_CLOSE(sum_of(closed->at_peak_bytes), closed->peak_bytes, TOLERANCE);
    check_balance(p, closed->stage, frees);
}

/* Every stage and tier. */
static void check_layout(const TrainKit *k, const RhLayout *layout)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = rh_layout_format(layout);
    g_autoptr(RhProgram) p = rh_train_build(&k->c, layout, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k->c, layout);
    g_autoptr(RhPipelineProfile) shape = rh_pipeline_profile_new(
        rh_pipeline_of(layout), layout->pp, layout->vpp,
        (int32_t)rh_train_microbatches(&k->c, layout), k->c.stack->frees_gradients);
    RhGradientBytes gradients = rh_gradients_each(&k->c, layout);
    g_autofree RhChunkMemory *chunks = rh_chunk_memory_new(model_cost, layout);
    g_autofree const RhChunkMemory **each = rh_chunks_each(chunks, layout);
    g_autofree RhStageHeld *held = rh_stage_held_new(each, layout);
    double peak = 0;
    for (int32_t stage = 0; stage < layout->pp; stage++) {
        RhInFlight in_flight = rh_stage_peak(model_cost, each, shape, &gradients, stage);
        RhTrainMemory m = rh_train_memory_of_stage(model_cost, held, &in_flight, layout, stage);
        check_stage(p, &m, k->c.stack->frees_gradients, text);
        peak = fmax(peak, m.peak_bytes);
    }
    RhTrainMemory worst = rh_train_memory(&k->c, layout);
    RH_CHECK_CLOSE(worst.peak_bytes, peak, TOLERANCE);
    RH_CHECK_CLOSE(rh_ledger_walk(p, worst.stage, RH_MEMORY_TIER_HBM).peak_bytes, peak, TOLERANCE);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k->c);
    RhTrainMemory within;
    CU_ASSERT_FALSE(rh_bound_memory_within(cache, layout, worst.peak_bytes * (1 - 1e-9), &within));
    CU_ASSERT_TRUE(rh_bound_memory_within(cache, layout, worst.peak_bytes, &within));
    CU_ASSERT_EQUAL(within.peak_bytes, worst.peak_bytes);
    CU_ASSERT_EQUAL(rh_bound_memory(cache, layout).peak_bytes, worst.peak_bytes);
    CU_ASSERT_EQUAL(rh_bound_tasks(cache, layout), p->tasks->len);
}

/* Draws knobs that the space contains only on request. */
static void draw_asked_for(gsl_rng *rng, const TrainKit *k, RhLayout *l)
{
    RhLayout drawn = *l;
    drawn.kv = (RhContextKind)gsl_rng_uniform_int(rng, RH_CONTEXT_LAST);
    drawn.ulysses = (int32_t)(1 + gsl_rng_uniform_int(rng, (unsigned long)l->cp));
    drawn.tensor_overlap = gsl_rng_uniform_int(rng, 2) != 0;
    drawn.shard = (int32_t)gsl_rng_uniform_int(rng, 4) * 2;
    drawn.hpz = (int32_t)gsl_rng_uniform_int(rng, 2) * 2;
    drawn.offload = (int32_t)gsl_rng_uniform_int(rng, 3) * 50;
    if (gsl_rng_uniform_int(rng, 2) == 0)
        drawn.recompute = train_drawn_modules(k->model, (uint32_t)gsl_rng_get(rng));
    drawn.qwz = gsl_rng_uniform_int(rng, 2) != 0;
    drawn.codec = gsl_rng_uniform_int(rng, 4)
                      ? RH_CODEC_NONE
                      : (RhCodecKind)gsl_rng_uniform_int(rng, RH_CODEC_LAST);
    if (drawn.codec != RH_CODEC_NONE)
        drawn.zero = 0;
    drawn.overlap = (RhOverlap)gsl_rng_uniform_int(rng, RH_OVERLAP_LAST);
    if (l->pp > 1 && gsl_rng_uniform_int(rng, 2) == 0) {
        drawn.vpp = 2;
        drawn.schedule =
            gsl_rng_uniform_int(rng, 2) ? RH_PIPELINE_DUALPIPE_V : RH_PIPELINE_DUALPIPE;
    }
    if (gsl_rng_uniform_int(rng, 2) == 0) {
        drawn.recomputed_layers_count = 1;
        drawn.recomputed_layers[0] = (int16_t)gsl_rng_uniform_int(rng, 4);
    }
    if (rh_pipeline_of(&drawn)->splits_backward || rh_pipeline_of(&drawn)->pairs)
        drawn.offload = 0;
    if (drawn.codec == RH_CODEC_NONE && gsl_rng_uniform_int(rng, 4) == 0) { /* weights leave, too */
        drawn.zero = 3;
        drawn.shard = drawn.hpz = 0;
        drawn.offload = MIN(drawn.offload, 50);
        drawn.tensor_overlap = false;
    }
    if (drawn.shard == 0 && drawn.offload < 100) { /* no draw more */
        drawn.states = RH_PLACE_HOST;
        drawn.states_percent = drawn.tensor_overlap ? 40 : 100;
        if (drawn.zero == 3 && drawn.hpz == 0 && drawn.states_percent == 100) {
            drawn.states = drawn.offload ? RH_PLACE_NVME : RH_PLACE_HOST;
            drawn.weights = drawn.kv == RH_CONTEXT_GATHER ? RH_PLACE_NVME : RH_PLACE_HOST;
        }
    }
    if (drawn.codec == RH_CODEC_NONE && l->pp > 1 && !rh_pipeline_of(&drawn)->splits_backward &&
        drawn.vpp == 1 && drawn.zero < 3) {
        drawn.vpp = 2; /* no draw more */
        drawn.zero = 0;
        drawn.schedule = RH_PIPELINE_GEMS;
    }
    drawn = rh_train_canonical(&k->c, &drawn);
    if (drawn.schedule == RH_PIPELINE_GEMS && !rh_train_legal(&k->c, &drawn, NULL)) {
        drawn.states = drawn.weights = RH_PLACE_DEVICE; /* two copies leave nothing to share out */
        drawn.states_percent = 0;
        drawn = rh_train_canonical(&k->c, &drawn);
    }
    if (rh_train_legal(&k->c, &drawn, NULL))
        *l = drawn;
}

static const struct {
    const char *model, *platform, *stack;
    int64_t batch, sequence;
    const RhRecipe *recipe;
    RhLora lora;
    const RhFrozenFormat *frozen;
} questions[] = {
    {"llama-3.2-1b", "dgx-h100:2", "megatron", 32, 2048, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.1-8b", "dgx-h100:4", "megatron", 64, 8192, &rh_recipe_bf16, {0}, NULL},
    {"gpt2",
     "h100-sxm:4x2,nvlink:450GB/s,ib:200Gb/s",
     "bare",
     24,
     1024,
     &rh_recipe_bf16,
     {0},
     NULL},
    {"qwen2.5-7b", "dgx-a100:2", "megatron-2021", 48, 2048, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.1-8b", "dgx-h100:2", "bare", 64, 8192, &rh_recipe_bf16, {0}, NULL},
    /* long enough for rings */
    {"llama-3.2-1b", "dgx-h100:2", "bare", 32, 32768, &rh_recipe_bf16, {0}, NULL},
    {"qwen3-30b-a3b", "dgx-h100:4", "megatron", 64, 4096, &rh_recipe_bf16, {0}, NULL},
    {"qwen3-30b-a3b", "dgx-b200:4", "megatron", 64, 4096, &rh_recipe_mxfp8, {0}, NULL},
    {"deepseek-v3", "dgx-h100:4", "bare", 64, 4096, &rh_recipe_fp8_block, {0}, NULL},
    {"llama-3.1-8b", "dgx-h100:4", "megatron", 32, 65536, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.2-1b",
     "dgx-b200:2",
     "megatron",
     32,
     2048,
     &rh_recipe_mxfp8,
     {16, RH_LINEAR_QKV},
     NULL},
    {"llama-3.1-8b", "dgx-h100:2", "bare", 64, 8192, &rh_recipe_tf32, {0}, NULL},
    {"qwen3-30b-a3b", "dgx-h100:4", "megatron", 64, 4096, &rh_recipe_bf16, {16, 0}, NULL},
    {"deepseek-v3", "dgx-h100:4", "bare", 64, 4096, &rh_recipe_fp8_block, {16, 0}, NULL},
    {"llama-3.1-8b", "dgx-h100:2", "bare", 64, 8192, &rh_recipe_bf16, {8, 0}, NULL},
    {"flan-t5-xxl", "dgx-b200:4", "megatron", 64, 512, &rh_recipe_mxfp8, {0}, NULL},
    {"whisper-large-v3", "dgx-a100:2", "bare", 64, 448, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.2-11b-vision", "dgx-h100:4", "megatron", 64, 8192, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.1-8b", "dgx-h100:4", "llama3", 64, 8192, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.2-1b", "dgx-h100:2", "llama3", 32, 2048, &rh_recipe_bf16, {0}, NULL}, /* tied */
    {"qwen3-30b-a3b", "dgx-h100:4", "llama3", 64, 4096, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.1-8b", "dgx-h100:2", "torchtitan", 64, 8192, &rh_recipe_bf16, {0}, NULL},
    {"deepseek-v3", "dgx-h100:4", "torchtitan", 64, 4096, &rh_recipe_fp8_block, {0}, NULL},
    {"albert-xxlarge-v2", "dgx-h100:2", "bare", 256, 512, &rh_recipe_bf16, {0}, NULL},
    {"llama-3.1-8b",
     "dgx-h100:2",
     "bare",
     64,
     8192,
     &rh_recipe_bf16,
     {16, 0},
     &rh_frozen_format_nf4},
    {"qwen3-30b-a3b",
     "dgx-h100:4",
     "megatron",
     64,
     4096,
     &rh_recipe_bf16,
     {16, 0},
     &rh_frozen_format_int4}};

static void the_closed_form_is_the_ledgers_peak(void)
{
    int32_t rings = 0, pairs = 0, offloads = 0, hosted = 0, brought = 0, again = 0,
            drawn[RH_PIPELINE_LAST] = {0};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937), *asked = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 2026);
    for (size_t q = 0; q < G_N_ELEMENTS(questions); q++) {
        g_auto(TrainKit) k =
            train_kit(questions[q].model, questions[q].platform, questions[q].stack,
                      questions[q].batch, questions[q].sequence);
        k.c.job.recipe = questions[q].recipe;
        k.c.job.lora = questions[q].lora;
        k.c.job.frozen = questions[q].frozen;
        k.platform->host_bytes.value = 0; /* whatever is sent there fits */
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        CU_ASSERT_TRUE_FATAL(space->len > DRAWS);
        for (int i = 0; i < DRAWS; i++) {
            RhLayout l = g_array_index(space, RhLayout, gsl_rng_uniform_int(rng, space->len));
            draw_asked_for(asked, &k, &l);
            check_layout(&k, &l);
            rings += l.cp > 1;
            offloads += l.offload > 0;
            hosted += l.states != RH_PLACE_DEVICE;
            brought += l.weights != RH_PLACE_DEVICE;
            again += l.recomputed_layers_count > 0;
            pairs += l.overlap == RH_OVERLAP_PAIRS;
            drawn[l.schedule]++;
        }
    }
    gsl_rng_free(rng);
    gsl_rng_free(asked);
    CU_ASSERT_TRUE(rings >= DRAWS / 2 && pairs >= DRAWS / 16 && offloads >= DRAWS &&
                   hosted >= DRAWS && brought >= DRAWS / 4 && again >= DRAWS);
    for (int schedule = RH_PIPELINE_NONE + 1; schedule < RH_PIPELINE_LAST; schedule++)
        CU_ASSERT_TRUE(drawn[schedule] >= DRAWS / 8);
}

/* Items are let go one by one: where the head is through its backward, its logits are gone while the
 * layers' backward runs. */
static void the_last_stage_frees_its_logits_before_the_layers_backward(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 8, 2048);
    RhLayout l = train_layout(&k, "tp1,dp8,zero0,mb1");
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhActivation layer = rh_layer_bytes(model_cost, 0),
                 head = rh_layer_bytes(model_cost, RH_LAYER_HEAD),
                 table = rh_layer_bytes(model_cost, RH_LAYER_EMBEDDING);
    double layers = (double)k.model->layers_count * layer.kept + table.kept;
    double in_head = layers + head.kept + fmax(head.forward, head.backward);
    double in_layer = layers + fmax(layer.forward, layer.backward);
    double fixed = sum_of(rh_stage_memory(model_cost, &l, 0).fixed_bytes);
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    RH_CHECK_CLOSE(rh_ledger_walk(p, 0, RH_MEMORY_TIER_HBM).peak_bytes,
                   fixed + fmax(in_head, in_layer), TOLERANCE);
}

/* Gathered parameters are held in buffers, those of the embedding's table as well, the largest item
 * of a small model. */
static void gathered_tables_need_their_buffers(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "tp1,dp8,zero3");
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhParamCounts embedding = rh_layer_params(model_cost, &l, RH_LAYER_EMBEDDING);
    RhParamCounts layer = rh_layer_params(model_cost, &l, 0);
    double table = 2 * rh_param_counts_sum(&embedding);
    RhStageMemory m = rh_stage_memory(model_cost, &l, 0);
    CU_ASSERT_TRUE(table > 2 * rh_param_counts_sum(&layer));
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_COMMUNICATION], (k.c.stack->prefetch_layers + 2) * table,
                   TOLERANCE);
}

/* Shapes of Llama 3.1 8B: keys, queries and values; out; gate and up; down. */
#define DUMMY_BYTES(tp)                                                                            \
    (2 * (4096.0 * 6144 + 4096.0 * 4096 + 4096.0 * 28672 + 14336.0 * 4096) / (tp))

/* Autograd is handed one array of each matrix' shape, whatever the number of layers; experts of a GPU have
 * one shape, and layers of several kinds share theirs. Closed form, and the program's ledger. */
static void dummy_gradients_are_of_each_shape_once(void)
{
    static const char *const layouts[] = {"tp1,dp8,zero1", "tp2,pp2,dp2,zero1"};
    for (int i = 0; i < 2; i++) {
        double held[2], gradients[2];
        for (int with = 0; with < 2; with++) {
            g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 8, 2048);
            RhStack stack = *k.c.stack;
            stack.dummy_gradients = with == 1;
            k.c.stack = &stack;
            RhLayout l = train_layout(&k, layouts[i]);
            g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
            g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
            held[with] = rh_stage_memory(model_cost, &l, 0).fixed_bytes[RH_MEMORY_GRADIENTS];
            gradients[with] =
                rh_ledger_walk(p, 0, RH_MEMORY_TIER_HBM).at_peak_bytes[RH_MEMORY_GRADIENTS];
        }
        RH_CHECK_CLOSE(held[1] - held[0], DUMMY_BYTES(i + 1), TOLERANCE);
        RH_CHECK_CLOSE(gradients[1] - gradients[0], DUMMY_BYTES(i + 1), TOLERANCE);
    }
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:1", "megatron", 8, 2048);
    RhLayout l = train_layout(&k, "tp1,dp8,zero1");
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhStates states = rh_layer_states(model_cost, &l, 0);
    RH_CHECK_CLOSE(rh_states_dummies(model_cost, &l, &states), /* and the router's */
                   DUMMY_BYTES(1) + 2 * 4096.0 * 8, TOLERANCE);
}

/* Twice as many ranks have the optimizer's states where two groups share them out, weights and gradients
 * stay as they are; of experts that a group has once, too. Those of one share scatter what they else all-reduce, and
 * gather 2 bytes where the second half of that had 4. The ledger agrees. */
static void groups_share_out_the_optimizer(void)
{
    static const struct {
        const char *model, *layout;
        int32_t experts_shards; /* inside a group */
    } rows[] = {{"llama-3.1-8b", "tp1,dp16,zero3,shard8", 1},
                {"mixtral-8x7b", "tp1,dp16,ep8,etp1,zero3,shard8", 1},
                {"mixtral-8x7b", "tp1,dp16,ep4,etp1,zero3,shard8", 2}};
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
        g_auto(TrainKit) k = train_kit(rows[r].model, "dgx-h100:2", "megatron", 32, 2048);
        RhLayout l = train_layout(&k, rows[r].layout), outer = l;
        outer.outer = true;
        double bytes[2] = {0}, optimizer[2], rest[2], shared = 0;
        for (int i = 0; i < 2; i++) {
            const RhLayout *at = i == 0 ? &l : &outer;
            g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, at);
            g_autoptr(RhProgram) p = rh_train_build(&k.c, at, NULL);
            RhStageMemory m = rh_stage_memory(model_cost, at, 0);
            RhTrainMemory all = rh_train_memory(&k.c, at);
            RhLedger ledger = rh_ledger_walk(p, 0, RH_MEMORY_TIER_HBM);
            RH_CHECK_CLOSE(ledger.peak_bytes, all.peak_bytes, TOLERANCE);
            optimizer[i] = m.fixed_bytes[RH_MEMORY_OPTIMIZER];
            shared = m.params.of[RH_PARAMS_COMMON] / 8 +
                     m.params.of[RH_PARAMS_EXPERTS] / rows[r].experts_shards;
            rest[i] = m.fixed_bytes[RH_MEMORY_WEIGHTS] + m.fixed_bytes[RH_MEMORY_GRADIENTS];
            for (guint t = 0; t < p->tasks->len; t++) {
                const RhTask *task = rh_program_task(p, (int32_t)t);
                bool between = task->kind == RH_TASK_COLLECTIVE && task->op != RH_OP_ALL_REDUCE;
                bytes[i] += task->kind == RH_TASK_COLLECTIVE ? task->bytes * (between ? 1 : 2) : 0;
            }
        }
        RH_CHECK_CLOSE(optimizer[0] / optimizer[1], 2, TOLERANCE);
        RH_CHECK_CLOSE(rest[0], rest[1], TOLERANCE);
        RH_CHECK_CLOSE(bytes[0] - bytes[1], 2 * shared, TOLERANCE);
    }
}

/* Two chunks of a stage, and both micro-batches in flight of both before the first backward: then the
 * second chunk alone has gradients, whole. A stack that holds buffers has both chunks' all the time. What
 * is reduced apart from them leaves through a buffer for the largest item. */
static void gradients_come_with_a_chunks_first_backward(void)
{
    static const char *const stacks[] = {"megatron", "llama3"};
    double peaks[2], first_bytes = 0, largest_bytes = 0;
    for (int i = 0; i < 2; i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", stacks[i], 8, 8192);
        RhLayout l = train_layout(&k, "tp1,pp2,dp4,vpp2,mb1,zero1");
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        g_autofree RhChunkMemory *chunks = rh_chunk_memory_new(model_cost, &l);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        RhLedger ledger = rh_ledger_walk(p, 0, RH_MEMORY_TIER_HBM);
        peaks[i] = ledger.peak_bytes;
        double second_bytes = 4 * rh_param_counts_sum(&chunks[2].states.params);
        double dummies = i == 0 ? DUMMY_BYTES(1) : 0;
        first_bytes = 4 * rh_param_counts_sum(&chunks[0].states.params);
        largest_bytes = 4 * rh_param_counts_sum(&chunks[0].largest_params); /* the embedding */
        RH_CHECK_CLOSE(ledger.at_peak_bytes[RH_MEMORY_GRADIENTS],
                       second_bytes + (i == 0 ? first_bytes : 0) + dummies, TOLERANCE);
        RH_CHECK_CLOSE(rh_stage_memory(model_cost, &l, 0).fixed_bytes[RH_MEMORY_GRADIENTS],
                       i == 0 ? first_bytes + second_bytes + dummies : 0, TOLERANCE);
    }
    RH_CHECK_CLOSE(peaks[0] - peaks[1], first_bytes - largest_bytes + DUMMY_BYTES(1), TOLERANCE);
}

static double gradient_wire_bytes(const RhProgram *p)
{
    double bytes = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        bytes += task->lane == RH_LANE_DP ? task->bytes : 0;
    }
    return bytes;
}

/* PyTorch's stages reduce once a step, in main gradients' width; without stages every micro-batch does. */
static void stages_of_fsdp_reduce_once(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "torchtitan", 32, 8192);
    static const char *const texts[] = {"tp1,pp2,dp4,mb1,zero2", "tp1,pp2,dp4,mb1,zero3",
                                        "tp1,dp8,mb1,zero2"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        RhLayout l = train_layout(&k, texts[i]);
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        double params = 0, m = (double)rh_train_microbatches(&k.c, &l);
        for (int32_t stage = 0; stage < l.pp; stage++) {
            RhStageMemory held = rh_stage_memory(model_cost, &l, stage);
            params += rh_param_counts_sum(&held.params);
        }
        RH_CHECK_CLOSE(gradient_wire_bytes(p), l.pp > 1 ? 4 * params : 2 * m * params, TOLERANCE);
    }
}

/* A tied head on the embedding's stage owns its norm and no matrix. */
static void a_tied_head_owns_its_norm(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 8, 2048);
    static const double tensors[] = {[RH_NORM_RMS] = 1, [RH_NORM_LAYER] = 2, [RH_NORM_NONE] = 0};
    for (size_t norm = 0; norm < G_N_ELEMENTS(tensors); norm++) {
        k.model->norm = (RhNorm)norm;
        RhLayout l = train_layout(&k, "tp2,dp4");
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        RhParamCounts head = rh_layer_params(model_cost, &l, RH_LAYER_HEAD);
        CU_ASSERT_EQUAL(rh_param_counts_sum(&head), tensors[norm] * (double)k.model->hidden);
    }
}

static void uneven_stages_have_the_closed_form_too(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 32, 2048);
    static const int16_t splits[][4] = {{2, 4, 5, 5}, {7, 3, 3, 3}, {1, 1, 7, 7}};
    for (size_t i = 0; i < G_N_ELEMENTS(splits); i++) {
        RhLayout layout = rh_layout_default();
        CU_ASSERT_TRUE_FATAL(rh_layout_parse("tp1,pp4,dp2,mb1", &layout, NULL));
        layout.stage_layers_count = 4;
        memcpy(layout.stage_layers, splits[i], sizeof(splits[i]));
        layout = rh_train_canonical(&k.c, &layout);
        CU_ASSERT_TRUE_FATAL(rh_train_legal(&k.c, &layout, NULL));
        check_layout(&k, &layout);
    }
}

int main(void)
{
    return rh_test_main(
        "ledger",
        (RhTest[]){
            {"the_peak_is_the_highest_sum", the_peak_is_the_highest_sum},
            {"each_tier_has_its_own_peak", each_tier_has_its_own_peak},
            {"freed_memory_is_used_again", freed_memory_is_used_again},
            {"of_equal_peaks_the_first_counts", of_equal_peaks_the_first_counts},
            {"order_within_one_moment_counts", order_within_one_moment_counts},
            {"what_is_not_freed_is_left_at_the_end", what_is_not_freed_is_left_at_the_end},
            {"a_role_without_memory_holds_nothing", a_role_without_memory_holds_nothing},
            {"the_closed_form_is_the_ledgers_peak", the_closed_form_is_the_ledgers_peak},
            {"the_last_stage_frees_its_logits_before_the_layers_backward",
             the_last_stage_frees_its_logits_before_the_layers_backward},
            {"gathered_tables_need_their_buffers", gathered_tables_need_their_buffers},
            {"groups_share_out_the_optimizer", groups_share_out_the_optimizer},
            {"dummy_gradients_are_of_each_shape_once", dummy_gradients_are_of_each_shape_once},
            {"gradients_come_with_a_chunks_first_backward",
             gradients_come_with_a_chunks_first_backward},
            {"stages_of_fsdp_reduce_once", stages_of_fsdp_reduce_once},
            {"a_tied_head_owns_its_norm", a_tied_head_owns_its_norm},
            {"uneven_stages_have_the_closed_form_too", uneven_stages_have_the_closed_form_too},
            {0}});
}
