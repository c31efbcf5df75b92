/* Bounds hold: closed form <= segment graph <= rehearsal, over everything a layout can say. Draws are
 * seeded; RH_BOUNDS_DRAWS=N draws more by hand, from the clock's seed or RH_BOUNDS_SEED, which it prints,
 * with how tight they are. */
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/apart.h"
#include "strategies/knobs.h"
#include "strategies/partition.h"
#include "strategies/search/screen.h"
#include "tests/drawn_models.h"
#include "tests/protocol_kit.h"
#include "tests/testkit.h"
#include "tests/train_kit.h"

#define TOLERANCE 1e-9

typedef struct {
    double closed, segment; /* over the rehearsal */
} Ratio;

/* Longer rehearsals are left out: many kinds of ranks on one fabric take minutes. */
#define PATIENCE_S 4.0

/* NaN: left out. */
static double rehearsed_s(const RhCase *c, const RhLayout *l)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) p = rh_train_build(c, l, &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(rh_train_tasks(c, l), p->tasks->len);
    RhEngineOptions options = {.timeout_s = PATIENCE_S};
    gint64 begin_us = g_get_monotonic_time();
    g_autoptr(RhRun) run = rh_rehearse_apart(p, c->platform, &options, &error);
    if (!run && (double)(g_get_monotonic_time() - begin_us) / 1e6 >= PATIENCE_S)
        return (double)NAN;
    g_assert_no_error(error);
    return run->step_time_s;
}

/* Checks one layout, and says which when it fails. */
static Ratio check(const RhCase *c, const char *question, const RhLayout *l)
{
    g_autoptr(RhScreen) screen = rh_screen_new(c), fresh = rh_screen_new(c);
    double closed = rh_screen_bound_s(screen, l), segment = rh_screen_segment_s(screen, l);
    CU_ASSERT_EQUAL(rh_screen_segment_s(fresh, l), segment); /* whatever was asked for before */
    CU_ASSERT_TRUE(rh_screen_graph_s(fresh, l) <= segment * (1 + TOLERANCE));
    double real = rehearsed_s(c, l);
    if (isnan(real))
        return (Ratio){real, real};
    bool holds = closed <= segment * (1 + TOLERANCE) && segment <= real * (1 + TOLERANCE);
    CU_ASSERT_TRUE(holds);
    if (!holds) {
        g_autofree char *text = rh_layout_format(l);
        g_printerr("  %s %s: closed form %.9g, segment graph %.9g, rehearsed %.9g\n", question,
                   text, closed, segment, real);
    }
    return (Ratio){closed / real, segment / real};
}

/* --- layouts that once had a bound above their rehearsal --- */

static const struct {
    const char *model, *platform, *stack;
    int64_t batch, sequence;
    int32_t gpus; /* 0: all */
    const char *layout;
} known[] = {
    /* pipelines that share NICs */
    {"gpt3-175b", "dgx-h100:7", "megatron", 16, 128, 0, "tp1,pp14,dp4,zero0,sp=off,order=tp-dp-pp"},
    {"gpt3-175b", "dgx-h100:7", "megatron", 16, 128, 0, "tp1,pp14,dp4,zero0,sp=off,order=tp-pp-dp"},
    {"llama-2-13b", "llama3-roce:16", "megatron", 32, 1, 0,
     "tp1,pp32,dp4,mb1,zero2,recompute=selective,sp=off,schedule=gpipe"},
    /* tensor groups across nodes, NVLink slower than the NIC */
    {"llama-3.2-1b", "h100-sxm:3x9,nvlink:10GB/s", "megatron", 32, 2048, 24, "tp2,pp3,dp4"},
    {"llama-3.2-1b", "h100-sxm:3x9,nvlink:10GB/s", "bare", 32, 2048, 24, "tp2,pp3,dp4,zero3"},
    /* islands in nodes, which tensor groups lie in or straddle; a torus */
    {"llama-3.2-1b", "summit:4", "bare", 48, 1024, 0, "tp2,pp2,dp6,zero1"},
    {"llama-3.2-1b", "pcie-gen4:2", "megatron", 16, 1024, 0, "tp8,pp2,dp1"},
    {"llama-3.2-1b", "frontier:4", "bare", 32, 1024, 0, "tp4,pp2,dp4,zero3"},
    {"llama-3.2-1b", "tpu-v5p", "bare", 64, 1024, 0, "tp1,pp4,dp16,zero1"},
    {"llama-3.2-1b", "tpu-v5p", "bare", 60, 1024, 40, "tp1,cp2,pp2,dp10,zero3"},
    /* meshes whose pairs of GPUs differ, and with them the groups of a block's ranks */
    {"llama-3.2-1b", "v100-sxm-32:8x32,nvlink:10GB/s,ib:200Gb/s,nics:8,leaf:4,oversub:2", "lab",
     256, 64, 0, "tp4,pp2,dp16,cp2,ulysses2,zero1,sp=off"},
    {"llama-3.2-1b", "v100-sxm-32:8x16,nvlink:10GB/s,ib:100Gb/s,nics:1", "megatron", 256, 64, 0,
     "tp4,dp32,mb2,zero1,shard8,sp=off"},
    {"llama-3.2-1b", "v100-sxm-32:8x64,nvlink:10GB/s,ib:400Gb/s,nics:8,leaf:4,oversub:4",
     "megatron", 1536, 384, 0, "tp8,dp64,mb2,zero1,shard2,sp=off"},
    /* of two tensor groups in a block, in each stage another crosses nodes */
    {"gpt2", "h100-sxm:8x48,nvlink:200GB/s,ib:200Gb/s,nics:8", "lab", 1152, 96, 0,
     "tp6,pp4,dp8,cp2,kv=gather,mb2,zero1,recompute=mlp,schedule=zb-h2,sp=on,order=tp-pp-dp"},
    /* stages cut unevenly */
    {"llama-3.1-8b", "dgx-h200:1", "megatron", 2, 512, 2, "pp2,stages=2-30"},
    {"llama-3.2-1b", "dgx-h100:1", "megatron", 16, 1024, 8, "pp4,dp2,stages=1-1-13-1"},
    /* experts, and layers of two kinds */
    {"mixtral-8x7b", "dgx-h100:4", "megatron", 64, 2048, 0, "tp2,pp4,dp4,zero1,vpp2"},
    {"deepseek-v3", "dgx-h100:8", "bare", 64, 1024, 0, "tp4,pp4,dp4,zero3,recompute=full"},
    {"deepseek-v3", "dgx-h100:8", "bare", 64, 1024, 0, "tp4,pp2,dp8,ep32,etp1,zero2"},
    /* the first group of experts lies evenly on nodes, others do not: one algorithm for all */
    {"mixtral-8x7b", "h100-sxm:6x8,nvlink:50GB/s,ib:200Gb/s,nics:1", "megatron", 144, 192, 0,
     "tp1,pp2,cp4,kv=gather,ep4,etp2,dispatch=deepep,mb4,zero0,sp=off,order=tp-pp-dp"},
};

static void known_counter_examples_hold(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        g_auto(TrainKit) k = train_kit(known[i].model, known[i].platform, known[i].stack,
                                       known[i].batch, known[i].sequence);
        if (known[i].gpus)
            k.c.job.gpus = known[i].gpus;
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, known[i].layout);
        check(&k.c, known[i].model, &l);
    }
}

/* What a slot leaves on a lane meets the first layers of the next one: backward begins with experts here,
 * forward with dense layers. */
static void layers_of_two_kinds_hold_in_their_order(void)
{
    static const char *const layouts[] = {
        "tp2,pp2,dp4,zero0,schedule=zb-h1,sp=off,stages=5-1",
        "tp2,pp2,dp4,zero0,schedule=1f1b,sp=off,stages=5-1",
        "tp2,pp2,dp4,zero0,schedule=zb-h1,sp=off,stages=4-2,recompute=selective"};
    g_auto(TrainKit) k =
        train_kit("deepseek-v3", "h100-sxm:4x4,nvlink:10GB/s,ib:400Gb/s,nics:1", "bare", 48, 768);
    static const char *const sets[][2] = {
        {"layers", "6"}, {"n_group", "4"}, {"experts", "64"}, {"topk_group", "2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++)
        g_assert(rh_model_set(k.model, sets[i][0], sets[i][1], NULL));
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        check(&k.c, "deepseek-v3 of 6 layers", &l);
    }
}

/* Replicas of two on nodes of six: groups of two or four of them lie on their nodes in several ways, and
 * all share the NICs. Too many ranks differ for any to be performed as it is; what is performed in their
 * place is no quicker. */
static void merged_ranks_share_links_with_groups_that_lie_otherwise(void)
{
    static const char *const stacks[] = {"megatron", "bare"};
    static const char *const layouts[] = {"tp2,dp672,mb2,zero1,shard2,recompute=selective,sp=off",
                                          "tp2,dp672,mb2,zero1,shard4,sp=off",
                                          "tp2,dp672,zero2,shard2"};
    for (size_t i = 0; i < G_N_ELEMENTS(stacks) * G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = train_kit("gpt2", "h100-sxm:6x224,nvlink:200GB/s,ib:400Gb/s,nics:1",
                                       stacks[i % 2], 4032, 3072);
        rh_model_free(k.model);
        k.model = rh_model_gpt("small", 6, 384, 6, 0, 32000, 8192);
        k.c.model = k.model;
        k.c.job.lora = (RhLora){8, RH_LINEAR_ALL};
        RhLayout l = train_layout(&k, layouts[i / 2]);
        check(&k.c, "merged", &l);
    }
}

/* Of every third rank on nodes of four: the groups of 256 that sum adapters' gradients side by side share nodes
 * in other ways, so their trees differ, and nothing keeps them in step from phase to phase. */
static void trees_of_groups_that_lie_otherwise_are_not_in_step(void)
{
    static const struct {
        const char *stack, *platform, *layout;
        int32_t layers, prefetch;
        int64_t batch, sequence;
        uint32_t modules;
    } rows[] = {
        {"bare", "h100-sxm:4x192,nvlink:10GB/s,ib:200Gb/s,nics:2",
         "tp3,dp64,cp4,ulysses4,mb2,zero0,recompute=selective,sp=off", 6, 4, 1536, 1536, 1357},
        {"aleph", "h100-sxm:4x192,nvlink:50GB/s,ib:25Gb/s,nics:2",
         "tp3,dp64,cp4,ulysses4,mb1,zero1,shard4,recompute=selective,sp=on", 2, 2, 2304, 192, 1854},
        {"aleph", "h100-sxm:4x192,nvlink:50GB/s,ib:25Gb/s,nics:2",
         "tp3,dp64,cp4,mb1,zero0,recompute=full,sp=on", 2, 2, 2304, 192, 1854},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit("gpt2", rows[i].platform, rows[i].stack, rows[i].batch, rows[i].sequence);
        rh_model_free(k.model);
        k.model = rh_model_gpt("drawn", rows[i].layers, 768, 12, 0, 32000, 8192);
        k.c.model = k.model;
        train_kit_runs_all(&k);
        k.stack->prefetch_layers = rows[i].prefetch;
        k.c.job.lora = (RhLora){8, rows[i].modules};
        RhLayout l = train_layout(&k, rows[i].layout);
        check(&k.c, "trees that differ", &l);
    }
}

/* What two replicas exchange at the turn is behind them: the next pair does not wait for it. */
static void an_exchange_at_the_turn_keeps_no_pair_back(void)
{
    static const char *const layouts[] = {
        "tp4,pp4,dp2,mb1,zero0,recompute=full,schedule=dualpipe,vpp2,sp=on,tpoverlap=on,"
        "stages=3-3-4-5-2-1-3-3",
        "tp4,pp4,dp2,mb1,zero0,recompute=full,schedule=dualpipe,vpp2,sp=on,"
        "stages=3-3-4-5-2-1-3-3"};
    g_auto(TrainKit) k =
        train_kit("gpt2", "h100-sxm:8x4,nvlink:50GB/s,ib:400Gb/s,nics:1", "bare", 96, 48);
    rh_model_free(k.model);
    k.model = rh_model_gpt("small", 24, 512, 8, 0, 32000, 8192);
    k.c.model = k.model;
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        check(&k.c, "exchange at the turn", &l);
    }
}

/* Groups of the same GPUs of many nodes, of which two and two are joined by one link or by two. */
static void groups_on_a_mesh_may_be_ahead_in_a_phase(void)
{
    g_auto(TrainKit) k = train_kit("gpt2", "v100-sxm-32:8x448,nvlink:50GB/s,ib:200Gb/s,nics:1",
                                   "megatron-2021", 7168, 1536);
    rh_model_free(k.model);
    k.model = rh_model_gpt("small", 6, 512, 8, 0, 32000, 8192);
    k.c.model = k.model;
    RhLayout l = train_layout(&k, "tp4,dp896,mb1,zero0,recompute=layernorm,sp=off");
    check(&k.c, "mesh of many nodes", &l);
}

/* Parameters gathered further ahead. */
static void prefetch_of_any_depth_holds(void)
{
    static const int32_t depths[] = {0, 1, 3, 64, 2, 4, 5, 6, 1000};
    for (size_t d = 0; d < RH_TRIES(G_N_ELEMENTS(depths), 4); d++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-a100:2", "megatron", 32, 1024);
        train_kit_runs_all(&k);
        k.stack->prefetch_layers = depths[d];
        static const char *const layouts[] = {"dp16,zero3", "tp2,pp2,dp4,zero3",
                                              "pp4,dp4,zero3,vpp2"};
        for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
            RhLayout l = train_layout(&k, layouts[i]);
            check(&k.c, "prefetch", &l);
        }
    }
}

/* Where no SMs are held and no flows meet, nothing is left out: what one slot's last collective
 * keeps the next slot from is counted too. */
static void with_nothing_shared_the_graph_is_the_rehearsal(void)
{
    static const char *const layouts[] = {"tp8,pp2,vpp20,sp=on", "tp8,pp2,vpp10,sp=on",
                                          "tp8,pp2,vpp20,sp=off", "tp8,pp2,sp=on"};
    g_auto(TrainKit) k = train_kit("llama-2-13b", "dgx-h100:2", "megatron", 16, 4096);
    k.platform->collective_sms.value = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        Ratio ratio = check(&k.c, "nothing shared", &l);
        CU_ASSERT_DOUBLE_EQUAL(ratio.segment, 1, 1e-6);
    }
}

/* --- drawn questions --- */

static char *draw_platform(gsl_rng *rng, int32_t *gpus)
{
    int32_t each = DRAW(rng, 1, 2, 4, 8, 8, 8, 6);
    int32_t nodes = DRAW(rng, 2, 2, 2, 3, 7) << draw(rng, 10) >> 1;
    int32_t nvlink = DRAW(rng, 10, 50, 200, 450), ib = DRAW(rng, 25, 100, 200, 400);
    while (each * nodes > 4096)
        nodes /= 2;
    *gpus = each * nodes;
    GString *s = g_string_new(NULL);
    g_string_printf(s, "%s:%dx%d", draw(rng, 4) ? "h100-sxm" : "v100-sxm-32", each, nodes);
    if (each > 1)
        g_string_append_printf(s, ",nvlink:%dGB/s", nvlink);
    g_string_append_printf(s, ",ib:%dGb/s,nics:%d", ib, each % 2 ? 1 : DRAW(rng, 1, 2, each));
    if (nodes >= 4 && draw(rng, 2))
        g_string_append_printf(s, ",leaf:%d,oversub:%d", DRAW(rng, 2, 4), DRAW(rng, 1, 2, 4));
    return g_string_free(s, FALSE);
}

/* A split that leaves no chunk without a layer. */
static void draw_stages(gsl_rng *rng, int32_t layers, RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp;
    if (chunks > layers || chunks > 200 || draw(rng, 3))
        return;
    for (int32_t i = 0; i < chunks; i++)
        l->stage_layers[i] = 1;
    for (int32_t left = layers - chunks; left > 0; left--)
        l->stage_layers[draw(rng, chunks)]++;
    l->stage_layers_count = chunks;
}

/* Of some layouts some layers are recomputed: as many of each chunk, or any numbers of them. */
static void draw_again(gsl_rng *rng, const RhCase *c, RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp, layers[256];
    if (chunks > 200 || chunks > c->model->layers_count || draw(rng, 3))
        return;
    rh_partition_layers(c, l, layers);
    l->again_layers_count = draw(rng, 2) ? 1 : chunks;
    for (int32_t g = 0; g < l->again_layers_count; g++)
        l->again_layers[g] = (int16_t)draw(rng, layers[g] + 1);
}

static bool draw_layout(gsl_rng *rng, const RhCase *c, RhLayout *out)
{
    RhLayout l = rh_train_default(c);
    int32_t layers = c->model->layers_count;
    l.tp = DRAW(rng, 1, 1, 2, 4, 8, 3, 6);
    l.cp = DRAW(rng, 1, 1, 1, 2, 4);
    l.kv = (RhContextKind)draw(rng, RH_CONTEXT_LAST);
    l.ulysses = DRAW(rng, 1, 1, l.cp, MIN(l.cp, 2));
    l.pp = DRAW(rng, 1, 1, 2, 3, 4, 8, 16);
    l.vpp = DRAW(rng, 1, 1, 1, 2, 3);
    l.microbatch = DRAW(rng, 1, 1, 2, 4);
    l.zero = draw(rng, 4);
    if (c->model->kinds[c->model->kinds_count - 1].experts > 0 && draw(rng, 4) > 0) {
        l.ep = DRAW(rng, 2, 2, 4, 4, 8, 16, 32);
        l.etp = DRAW(rng, 0, 0, 1, 2);
        l.dispatch = (RhDispatch)draw(rng, RH_DISPATCH_LAST);
        l.overlap = (RhOverlap)draw(rng, RH_OVERLAP_LAST);
    }
    l.tensor_overlap = c->stack->tensor_overlap && draw(rng, 2);
    l.shard = DRAW(rng, 0, 0, 0, 2, 4, 8);
    l.hpz = DRAW(rng, 0, 0, 2, 4);
    l.offload = draw(rng, 4) ? 0 : DRAW(rng, 1, 30, 60, 100);
    l.recompute = (RhRecompute)draw(rng, RH_RECOMPUTE_LAST);
    if (draw(rng, 3) == 0)
        l.recompute = train_drawn_modules(c->model, (uint32_t)gsl_rng_get(rng));
    l.sequence_parallel = c->stack->sequence_parallel && draw(rng, 2);
    l.order = draw(rng, 2) ? RH_ORDER_TP_DP_PP : RH_ORDER_TP_PP_DP;
    l.schedule =
        l.vpp > 1 ? RH_PIPELINE_INTERLEAVED : (RhPipelineKind)(1 + draw(rng, RH_PIPELINE_LAST - 1));
    if (l.overlap == RH_OVERLAP_PAIRS && l.vpp == 1)
        l.schedule = DRAW(rng, RH_PIPELINE_1F1B, RH_PIPELINE_DUALPIPE_V, RH_PIPELINE_DUALPIPE);
    l.vpp = MAX(l.vpp, rh_pipeline_kind_chunks(l.schedule));
    draw_stages(rng, layers, &l);
    draw_again(rng, c, &l);
    if (rh_pipeline_of(&l)->splits_backward || rh_pipeline_of(&l)->pairs)
        l.offload = 0;
    l = rh_train_canonical(c, &l);
    *out = l;
    return rh_train_legal(c, &l, NULL) && rh_train_tasks(c, &l) * l.pp < 5e5;
}

static gint ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool takes_adapters(const RhModel *m)
{
    return rh_kind_takes_adapters(&m->kinds[m->kinds_count - 1]) &&
           rh_kind_takes_adapters(&m->kinds[0]);
}

/* One question, some layouts of it. Returns how many were legal; counts those that spread experts. */
static int32_t ask(gsl_rng *rng, RhModel *(*make)(gsl_rng *, int32_t, int32_t), GArray *closed,
                   GArray *segment, int32_t *spread)
{
    const char *const *stacks = rh_stack_names();
    int32_t gpus, layers = DRAW(rng, 1, 2, 4, 6, 12, 24), heads = DRAW(rng, 6, 8, 24);
    g_autofree char *platform = draw_platform(rng, &gpus);
    g_autofree char *question = NULL;
    const char *stack = stacks[draw(rng, (int32_t)g_strv_length((char **)(uintptr_t)stacks))];
    int64_t batch = (int64_t)gpus * DRAW(rng, 1, 2, 3, 8), sequence = 48 << draw(rng, 7);
    g_auto(TrainKit) k = train_kit("gpt2", platform, stack, batch, sequence);
    rh_model_free(k.model);
    k.model = make(rng, layers, heads);
    k.model->tied_embeddings = draw(rng, 2);
    k.c.model = k.model;
    bool protocols = (gpus + layers + heads + (int32_t)sequence / 48) % 2; /* no draw more */
    if (protocols)
        add_protocols(k.platform);
    train_kit_runs_all(&k);
    k.stack->expert_parallel = true;
    if (draw(rng, 5) == 0) /* of 80 or 132 SMs, so that few collectives hold all but one */
        k.platform->collective_sms.value = DRAW(rng, 0, 24, 40, 79);
    if (draw(rng, 4) == 0 && k.platform->device->peak_flops_per_s[RH_DTYPE_FP8].value > 0)
        k.c.job.recipe = &rh_recipe_fp8_block;
    if (takes_adapters(k.model) && draw(rng, 4) == 0)
        k.c.job.lora = (RhLora){DRAW(rng, 8, 16), (uint32_t)draw(rng, RH_LINEAR_ALL + 1)};
    if (draw(rng, 5) == 0) {
        g_assert(rh_documents_parse(draw(rng, 2) ? "40" : "30x5-700x2", &k.c.job.documents, NULL));
        rh_documents_settle(&k.c.job.documents, sequence, 1);
    }
    if (draw(rng, 4) == 0)
        g_assert(rh_expert_load_parse("power-law:0.5", &k.c.job.load, NULL));
    k.stack->prefetch_layers = draw(rng, 5);
    k.stack->frees_gradients = k.stack->prefetch_layers % 2;
    k.stack->reduces_once = k.stack->prefetch_layers > 2;
    k.c.job.narrow_weights = k.c.job.recipe->weight_copy_bytes > 0 && k.stack->prefetch_layers % 2;
    question =
        g_strdup_printf("%s of %d layers, %d heads%s, %s, %s, batch %" G_GINT64_FORMAT
                        ", sequence %" G_GINT64_FORMAT ", prefetch %d, %g SMs held%s,",
                        k.model->name, layers, heads, k.model->tied_embeddings ? ", tied" : "",
                        platform, stack, batch, sequence, k.stack->prefetch_layers,
                        k.platform->collective_sms.value, protocols ? ", protocols" : "");
    int32_t legal = 0;
    for (int i = 0; i < 12 && legal < 3; i++) {
        RhLayout l;
        if (!draw_layout(rng, &k.c, &l))
            continue;
        Ratio ratio = check(&k.c, question, &l);
        if (isnan(ratio.closed))
            return legal;
        g_array_append_val(closed, ratio.closed);
        g_array_append_val(segment, ratio.segment);
        *spread += rh_train_spreads_experts(&l);
        legal++;
    }
    return legal;
}

/* Said before anything is drawn, so that what fails, or never ends, can be drawn again. */
static unsigned long seed_by_hand(void)
{
    const char *given = g_getenv("RH_BOUNDS_SEED");
    guint64 seed = given ? g_ascii_strtoull(given, NULL, 10) : (guint64)g_get_real_time();
    printf("  RH_BOUNDS_SEED=%" G_GUINT64_FORMAT "\n", seed);
    fflush(stdout);
    return (unsigned long)seed;
}

static void drawn_layouts_hold(void)
{
    const char *more = g_getenv("RH_BOUNDS_DRAWS");
    int32_t wanted = more ? atoi(more) : RH_TRIES(300, 60), seen = 0, spread = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    g_autoptr(GArray) closed = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) segment = g_array_new(FALSE, FALSE, sizeof(double));
    gsl_rng_set(rng, more ? seed_by_hand() : 20261122);
    while (seen < wanted || (spread <= wanted / 20 && seen < 4 * wanted))
        seen += ask(rng, draw_model, closed, segment, &spread);
    gsl_rng_free(rng);
    g_array_sort(closed, ascending);
    g_array_sort(segment, ascending);
    double median = g_array_index(segment, double, segment->len / 2);
    CU_ASSERT_TRUE(median > 0.9); /* they are of use, too */
    CU_ASSERT_TRUE(spread > wanted / 20);
    if (more)
        printf(
            "  %d layouts, %d with spread experts: closed form %.3f, segment graph %.3f of the rehearsal in the median\n",
            seen, spread, g_array_index(closed, double, closed->len / 2), median);
}

static void drawn_encoders_and_decoders_hold(void)
{
    int32_t wanted = RH_TRIES(60, 20), seen = 0, spread = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    g_autoptr(GArray) closed = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) segment = g_array_new(FALSE, FALSE, sizeof(double));
    gsl_rng_set(rng, 20261123);
    while (seen < wanted)
        seen += ask(rng, draw_crossed, closed, segment, &spread);
    gsl_rng_free(rng);
    g_array_sort(segment, ascending);
    CU_ASSERT_TRUE(g_array_index(segment, double, segment->len / 2) > 0.9);
}

/* --- one screen for many layouts --- */

/* Tables that layouts share say of each what tables of its own say. */
static void check_shared(RhScreen *shared, const RhCase *c, const RhLayout *l)
{
    g_autoptr(RhScreen) own = rh_screen_new(c);
    bool same =
        rh_test_close(rh_screen_bound_s(shared, l), rh_screen_bound_s(own, l), TOLERANCE) &&
        rh_test_close(rh_screen_segment_s(shared, l), rh_screen_segment_s(own, l), TOLERANCE) &&
        rh_screen_memory(shared, l).peak_bytes == rh_screen_memory(own, l).peak_bytes &&
        rh_screen_tasks(shared, l) == rh_screen_tasks(own, l);
    CU_ASSERT_TRUE(same);
    if (!same) {
        g_autofree char *text = rh_layout_format(l);
        g_printerr("  %s: other bounds where tables are shared\n", text);
    }
}

static void shared_tables_say_what_own_ones_say(void)
{
    static const char *const platforms[] = {"dgx-h100:2", "h100-sxm:6x4,nvlink:200GB/s,ib:100Gb/s"};
    int32_t drawn = 0, contexts = 0, kinds = 0, shares = 0, halves = 0, turning = 0, uneven = 0;
    int32_t offloaded = 0, again = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 22);
    for (size_t i = 0; i < G_N_ELEMENTS(platforms); i++) {
        int64_t batch = i == 0 ? 64 : 96;
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", platforms[i], "lab", batch, 1536);
        train_kit_runs_all(&k);
        g_autoptr(RhScreen) screen = rh_screen_new(&k.c);
        for (int n = 0; n < RH_TRIES(1500, 250); n++) {
            RhLayout l;
            if (!draw_layout(rng, &k.c, &l))
                continue;
            check_shared(screen, &k.c, &l);
            drawn++;
            contexts += l.cp > 1;
            kinds += l.kv != RH_CONTEXT_RING || l.ulysses > 1;
            shares += l.shard > 0 || l.hpz > 0;
            halves += l.schedule == RH_PIPELINE_ZB_H1;
            turning += l.schedule == RH_PIPELINE_ZB_V;
            uneven += l.stage_layers_count > 0;
            offloaded += l.offload > 0;
            again += l.again_layers_count > 0;
        }
    }
    gsl_rng_free(rng);
    CU_ASSERT_TRUE(drawn > RH_TRIES(300, 50) && contexts > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(halves > RH_TRIES(20, 2) && uneven > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(turning > RH_TRIES(20, 1) && offloaded > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(again > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(kinds > RH_TRIES(20, 2) && shares > RH_TRIES(20, 2));
}

/* However many lanes hold SMs, one is left to kernels: what a bound takes off for some of them, beside others
 * that it has counted already, is no more than what these cost. Of devices that differ, any. */
static void lanes_take_no_more_than_all_but_one_sm(void)
{
    static const double held[] = {0, 1, 16, 24, 40, 66, 107};
    g_auto(TrainKit) k = train_kit("gpt2", "dgx-h100:1", "bare", 16, 1024);
    for (size_t i = 0; i < G_N_ELEMENTS(held); i++) {
        k.platform->collective_sms.value = held[i];
        g_autoptr(RhScreen) s = rh_screen_new(&k.c);
        double sms = k.platform->device->sms_count;
        s->sms_least = 108;
        s->held_frac = 1 - rh_screen_kept_frac(s, 1);
        for (int32_t others = 0; others < 5; others++)
            for (int32_t lanes = 1; lanes < 12; lanes++) {
                double taken = lanes * rh_screen_taken_frac(s, lanes, others) - 1e-12;
                CU_ASSERT_TRUE(taken <= rh_kept_frac(sms, held[i], others) -
                                            rh_kept_frac(sms, held[i], others + lanes));
                CU_ASSERT_TRUE(taken <= rh_kept_frac(108, held[i], others) -
                                            rh_kept_frac(108, held[i], others + lanes));
            }
        if (held[i] * 3 < 107)
            RH_CHECK_CLOSE(rh_screen_taken_frac(s, 2, 1), held[i] / sms, 1e-12);
    }
}

/* What a knob's row does not keep is another table: ep's keeps splits and shapes alone. */
static void a_knob_is_in_every_key_unless_its_row_says_otherwise(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:1", "bare", 16, 1024);
    g_autoptr(RhScreen) s = rh_screen_new(&k.c);
    RhLayout l = train_layout(&k, "tp2,pp2,dp2"), other = l;
    CU_ASSERT_EQUAL_FATAL(rh_knob_find("ep", 2)->keeps, RH_COMMON_SPLIT | RH_COMMON_SHAPE);
    other.ep = 2;
    CU_ASSERT_PTR_NOT_EQUAL(rh_screen_shard(s, &l), rh_screen_shard(s, &other));
    CU_ASSERT_PTR_EQUAL(rh_screen_split(s, &l), rh_screen_split(s, &other));
    CU_ASSERT_PTR_EQUAL(rh_screen_shape(s, &l), rh_screen_shape(s, &other));
    CU_ASSERT_PTR_NOT_EQUAL(rh_screen_net(s, &l), rh_screen_net(s, &other));
    CU_ASSERT_PTR_NOT_EQUAL(rh_screen_flows(s, &l), rh_screen_flows(s, &other));
    other = l;
    other.zero = 3; /* items, for one, are what they were */
    CU_ASSERT_PTR_EQUAL(rh_screen_shard(s, &l), rh_screen_shard(s, &other));
    CU_ASSERT_PTR_NOT_EQUAL(rh_screen_flows(s, &l), rh_screen_flows(s, &other));
}

/* Tensor groups of six on nodes of eight: some lie on two nodes. With ZeRO-2 and 3 their
 * collectives share NICs with the reductions and gathers of other replicas. */
static void straddling_tensor_groups_are_bounded_within_a_tenth(void)
{
    static const struct {
        const char *stack, *layout;
    } rows[] = {{"megatron", "tp6,dp4,zero1"},    {"megatron", "tp6,pp2,dp2"},
                {"megatron", "tp6,pp4,dp1"},      {"megatron", "tp6,dp4,zero2"},
                {"megatron", "tp6,dp4,zero3"},    {"bare", "tp6,pp2,dp2,zero3"},
                {"bare", "tp6,dp4,zero2"},        {"bare", "tp6,pp2,dp2,zero1"},
                {"megatron", "tp6,pp2,dp2,zero2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("gpt2", "dgx-h100:3", rows[i].stack, 48, 1536);
        rh_model_free(k.model);
        k.model = rh_model_gpt("wide", 24, 6144, 48, 0, 51200, 2048);
        k.c.model = k.model;
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        Ratio ratio = check(&k.c, "straddling", &l);
        bool left_out = isnan(ratio.segment); /* a machine too busy for it */
        CU_ASSERT_TRUE(left_out || (ratio.segment > 0.9 && ratio.closed > 0.9));
        if (left_out || ratio.closed <= 0.9)
            g_printerr("  %s: %.3f %.3f\n", rows[i].layout, ratio.closed, ratio.segment);
    }
}

/* On a mesh NVLinks differ from pair to pair: blocks that its turns bring over one another are in step
 * all the same, and collectives hold a fifth of a V100's SMs. */
static void blocks_of_a_mesh_are_in_step(void)
{
    static const char *const layouts[] = {"tp4,dp8,mb4,zero2", "tp8,dp4,mb8,zero1",
                                          "tp8,dp4,mb8,zero2"};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "aws-p3:4", "megatron", 64, 2048);
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        Ratio ratio = check(&k.c, "mesh", &l);
        CU_ASSERT_TRUE(isnan(ratio.closed) || ratio.closed > 0.99);
        if (ratio.closed <= 0.99)
            g_printerr("  %s: %.4f\n", layouts[i], ratio.closed);
    }
}

/* Where chunks differ no path of equal ones is the longest: it has to be found at their own prices. And
 * sums of a chunk's gradients slow the slots beside and behind: of paths that are else as long, the one
 * through these counts. */
static void the_closed_form_follows_the_longest_path(void)
{
    static const struct {
        int64_t batch;
        const char *layout;
        double least; /* closed form over rehearsed */
    } rows[] = {
        {8, "tp4,pp4,dp1,mb1,vpp4,stages=1-1-4-2-2-3-1-2-2-1-4-1-1-3-2-2", 0.97},
        {8, "tp2,pp4,dp2,mb1,vpp3,zero1,stages=3-3-3-3-3-3-3-3-2-2-2-2", 0.97},
        {16, "tp1,pp4,dp4,mb1,vpp4,zero1", 0.985},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", rows[i].batch, 8192);
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        Ratio ratio = check(&k.c, "longest path", &l);
        CU_ASSERT_TRUE(isnan(ratio.closed) || ratio.closed > rows[i].least);
        if (ratio.closed <= rows[i].least)
            g_printerr("  %s: %.4f\n", rows[i].layout, ratio.closed);
    }
}

int main(void)
{
    return rh_test_main(
        "bounds",
        (RhTest[]){
            {"known_counter_examples_hold", known_counter_examples_hold},
            {"layers_of_two_kinds_hold_in_their_order", layers_of_two_kinds_hold_in_their_order},
            {"merged_ranks_share_links_with_groups_that_lie_otherwise",
             merged_ranks_share_links_with_groups_that_lie_otherwise},
            {"trees_of_groups_that_lie_otherwise_are_not_in_step",
             trees_of_groups_that_lie_otherwise_are_not_in_step},
            {"an_exchange_at_the_turn_keeps_no_pair_back",
             an_exchange_at_the_turn_keeps_no_pair_back},
            {"groups_on_a_mesh_may_be_ahead_in_a_phase", groups_on_a_mesh_may_be_ahead_in_a_phase},
            {"prefetch_of_any_depth_holds", prefetch_of_any_depth_holds},
            {"straddling_tensor_groups_are_bounded_within_a_tenth",
             straddling_tensor_groups_are_bounded_within_a_tenth},
            {"blocks_of_a_mesh_are_in_step", blocks_of_a_mesh_are_in_step},
            {"the_closed_form_follows_the_longest_path", the_closed_form_follows_the_longest_path},
            {"with_nothing_shared_the_graph_is_the_rehearsal",
             with_nothing_shared_the_graph_is_the_rehearsal},
            {"shared_tables_say_what_own_ones_say", shared_tables_say_what_own_ones_say},
            {"lanes_take_no_more_than_all_but_one_sm", lanes_take_no_more_than_all_but_one_sm},
            {"a_knob_is_in_every_key_unless_its_row_says_otherwise",
             a_knob_is_in_every_key_unless_its_row_says_otherwise},
            {"drawn_layouts_hold", drawn_layouts_hold},
            {"drawn_encoders_and_decoders_hold", drawn_encoders_and_decoders_hold},
            {0}});
}
