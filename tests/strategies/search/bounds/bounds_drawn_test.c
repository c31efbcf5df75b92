/* Bounds hold: closed form <= segment graph <= rehearsal, over everything a layout can say. Draws are
 * seeded; RH_BOUNDS_DRAWS=N draws more by hand, from the clock's seed or RH_BOUNDS_SEED, which it prints,
 * with how tight they are. */
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategies/knobs.h"
#include "strategies/layer_partition.h"
#include "tests/kit/bounds_kit.h"
#include "tests/kit/drawn_models.h"
#include "tests/kit/protocol_kit.h"

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

/* Draws a platform of the catalogue, of any wiring; where ranks talk in messages bounds are
 * estimates. */
static char *draw_place(gsl_rng *rng, int32_t *gpus)
{
    static const struct {
        const char *name;
        int32_t each, least, most; /* GPUs a node; nodes */
    } places[] = {{"summit", 6, 1, 24},   {"dgx-1", 8, 1, 16},       {"dgx-2", 16, 1, 8},
                  {"frontier", 8, 1, 24}, {"gb200-nvl72", 72, 1, 3}, {"gb300-nvl64", 64, 1, 3},
                  {"gaudi2", 8, 1, 16},   {"mi300x", 8, 1, 16},      {"tpu-v5p", 1, 64, 64},
                  {"vista", 1, 2, 48},    {"frontera", 2, 1, 40},    {"pcie-gen4", 8, 1, 8},
                  {"v100-edr", 4, 1, 20}, {"v100-40gbe", 1, 2, 16},  {"llama3-roce", 8, 1, 40},
                  {"dgx-h100", 8, 1, 80}, {"aws-p3", 8, 1, 12}};
    int32_t at = draw(rng, G_N_ELEMENTS(places));
    int32_t nodes = places[at].least + draw(rng, places[at].most - places[at].least + 1);
    *gpus = nodes * places[at].each;
    return g_strdup_printf("%s:%d", places[at].name, nodes);
}

/* Makes GPUs of some platforms slow, and links half as fast. */
static int32_t spoil(gsl_rng *rng, RhPlatform *p)
{
    int32_t slow = draw(rng, 2) ? draw(rng, 4) : 0, links = rh_platform_links_count(p);
    for (int32_t i = 0; i < slow; i++) {
        rh_platform_gpu_slow(p, draw(rng, rh_platform_gpus(p)), 0.7);
        rh_platform_link_scale(p, draw(rng, links), 0.5);
    }
    return slow;
}

/* Draws a split that leaves no chunk without a layer. */
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

/* Draws recomputed layers for some layouts: as many of each chunk, or any numbers of them. */
static void draw_again(gsl_rng *rng, const RhProblem *c, RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp, layers[256];
    if (chunks > 200 || chunks > c->model->layers_count || draw(rng, 3))
        return;
    rh_partition_layers(c, l, layers);
    l->recomputed_layers_count = draw(rng, 2) ? 1 : chunks;
    for (int32_t g = 0; g < l->recomputed_layers_count; g++)
        l->recomputed_layers[g] = (int16_t)draw(rng, layers[g] + 1);
}

static bool draw_layout(gsl_rng *rng, const RhProblem *c, RhLayout *out)
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
    l.qwz = draw(rng, 2);
    l.offload = draw(rng, 4) ? 0 : DRAW(rng, 1, 30, 60, 100);
    l.recompute = (RhRecompute)draw(rng, RH_RECOMPUTE_LAST);
    if (draw(rng, 3) == 0)
        l.recompute = train_drawn_modules(c->model, (uint32_t)gsl_rng_get(rng));
    l.sequence_parallel = c->stack->sequence_parallel && draw(rng, 2);
    l.order = draw(rng, 2) ? RH_ORDER_TP_DP_PP : RH_ORDER_TP_PP_DP;
    if (draw(rng, 3) == 0)
        l.codec = (RhCodecKind)draw(rng, RH_CODEC_LAST);
    if (l.codec != RH_CODEC_NONE)
        l.zero = 0;
    l.schedule =
        l.vpp > 1 ? RH_PIPELINE_INTERLEAVED : (RhPipelineKind)(1 + draw(rng, RH_PIPELINE_LAST - 1));
    if (l.overlap == RH_OVERLAP_PAIRS && l.vpp == 1)
        l.schedule = DRAW(rng, RH_PIPELINE_1F1B, RH_PIPELINE_DUALPIPE_V, RH_PIPELINE_DUALPIPE);
    l.vpp = MAX(l.vpp, rh_pipeline_kind_chunks(l.schedule));
    if ((layers + l.tp + l.microbatch + (int32_t)l.recompute) % 3 == 0) { /* no draw more */
        l.states = RH_PLACE_HOST;
        l.states_percent = l.tp % 2 ? 100 : 30;
        if (l.zero == 3 && l.hpz == 0 && l.states_percent == 100) {
            l.weights = l.microbatch % 2 ? RH_PLACE_HOST : RH_PLACE_NVME;
            l.states = l.pp > 1 ? RH_PLACE_NVME : RH_PLACE_HOST;
        }
    }
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

/* Seconds that a drawn layout may take; a slower one is left out and another is drawn, but by hand all are waited for longer. */
#define DRAWN_PATIENCE_S 2.0

typedef struct {
    char *(*platform)(gsl_rng *, int32_t *gpus);
    RhModel *(*model)(gsl_rng *, int32_t layers, int32_t heads);
    bool experts; /* of some models */
    bool spoilt;
    double patience_s;
} Draws;

/* Draws the habits of the stack and what the job is asked for. */
static void draw_habits(gsl_rng *rng, TrainKit *k, int64_t sequence)
{
    k->stack->expert_parallel = true;
    if (draw(rng, 5) == 0) /* of 80 or 132 SMs, so that few collectives hold all but one */
        k->platform->collective_sms.value = DRAW(rng, 0, 24, 40, 79);
    if (draw(rng, 4) == 0 && k->platform->device->peak_flops_per_s[RH_DTYPE_FP8].value > 0)
        k->c.job.recipe = &rh_recipe_fp8_block;
    if (takes_adapters(k->model) && draw(rng, 4) == 0)
        k->c.job.lora = (RhLora){DRAW(rng, 8, 16), (uint32_t)draw(rng, RH_LINEAR_ALL + 1)};
    if (draw(rng, 5) == 0) {
        g_assert(rh_documents_parse(draw(rng, 2) ? "40" : "30x5-700x2", &k->c.job.documents, NULL));
        rh_documents_settle(&k->c.job.documents, sequence, 1);
    }
    if (draw(rng, 4) == 0)
        g_assert(rh_expert_load_parse("power-law:0.5", &k->c.job.load, NULL));
    k->stack->prefetch_layers = draw(rng, 5);
    k->stack->frees_gradients = k->stack->prefetch_layers % 2;
    k->stack->reduces_once = k->stack->prefetch_layers > 2;
    k->stack->scatters_messages = k->stack->prefetch_layers % 3 == 1;
    k->stack->pulls_rows = k->stack->prefetch_layers > 2;
    k->stack->sums_behind_weights = k->stack->prefetch_layers % 3 == 2;
    k->c.job.preference =
        k->stack->prefetch_layers == 4 ? RH_PREFERENCE_DPO : RH_PREFERENCE_NONE; /* no draw more */
    bool wide = k->c.job.recipe == &rh_recipe_bf16 && k->stack->prefetch_layers % 2 == 0;
    k->c.job.frozen = wide && k->c.job.lora.rank > 0 ? &rh_frozen_format_nf4 : NULL;
    k->c.job.narrow_weights =
        k->c.job.recipe->weight_copy_bytes > 0 && k->stack->prefetch_layers % 2;
}

/* Asks one question of some layouts. Returns how many were legal; counts those that spread
 * experts. */
static int32_t ask(gsl_rng *rng, const Draws *of, GArray *closed, GArray *segment, int32_t *spread)
{
    const char *const *stacks = rh_stack_names();
    int32_t gpus, layers = DRAW(rng, 1, 2, 4, 6, 12, 24), heads = DRAW(rng, 6, 8, 24);
    g_autofree char *platform = of->platform(rng, &gpus);
    g_autofree char *question = NULL;
    const char *stack = stacks[draw(rng, (int32_t)g_strv_length((char **)(uintptr_t)stacks))];
    int64_t batch = (int64_t)gpus * DRAW(rng, 1, 2, 3, 8), sequence = 48 << draw(rng, 7);
    g_auto(TrainKit) k = train_kit("gpt2", platform, stack, batch, sequence);
    rh_model_free(k.model);
    k.model = of->model(rng, layers, heads);
    k.model->tied_embeddings = draw(rng, 2);
    k.c.model = k.model;
    bool protocols = (gpus + layers + heads + (int32_t)sequence / 48) % 2; /* no draw more */
    if (protocols)
        add_protocols(k.platform);
    if (k.platform->host_memory_bytes_per_s.value <= 0 && layers % 4 == 0)
        k.platform->host_memory_bytes_per_s.value = 2e11;
    int32_t slow = of->spoilt ? spoil(rng, k.platform) : 0;
    train_kit_runs_all(&k);
    draw_habits(rng, &k, sequence);
    question =
        g_strdup_printf("%s of %d layers, %d heads%s, %s, %s, batch %" G_GINT64_FORMAT
                        ", sequence %" G_GINT64_FORMAT ", prefetch %d, %g SMs held%s, %d slow,",
                        k.model->name, layers, heads, k.model->tied_embeddings ? ", tied" : "",
                        platform, stack, batch, sequence, k.stack->prefetch_layers,
                        k.platform->collective_sms.value, protocols ? ", protocols" : "", slow);
    int32_t legal = 0;
    for (int i = 0; i < 12 && legal < 3; i++) {
        RhLayout l;
        if (!draw_layout(rng, &k.c, &l))
            continue;
        BoundsRatio ratio = bounds_check_within(&k.c, question, &l, of->patience_s);
        if (isnan(ratio.closed))
            return legal;
        g_array_append_val(closed, ratio.closed);
        g_array_append_val(segment, ratio.segment);
        *spread += rh_train_spreads_experts(&l);
        legal++;
    }
    return legal;
}

/* Returns the seed of draws by hand. It is printed before anything is drawn, so that what fails, or
 * never ends, can be drawn again. */
static unsigned long seed_by_hand(void)
{
    const char *given = g_getenv("RH_BOUNDS_SEED");
    guint64 seed = given ? g_ascii_strtoull(given, NULL, 10) : (guint64)g_get_real_time();
    printf("  RH_BOUNDS_SEED=%" G_GUINT64_FORMAT "\n", seed);
    fflush(stdout);
    return (unsigned long)seed;
}

static void check_draws(Draws draws, int32_t tries, unsigned long seed)
{
    const char *more = g_getenv("RH_BOUNDS_DRAWS");
    int32_t wanted = more ? atoi(more) : tries, seen = 0, spread = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    g_autoptr(GArray) closed = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) segment = g_array_new(FALSE, FALSE, sizeof(double));
    draws.patience_s = more ? BOUNDS_PATIENCE_S : DRAWN_PATIENCE_S;
    gsl_rng_set(rng, more ? seed_by_hand() : seed);
    int32_t least = draws.experts ? wanted / 20 : -1; /* with spread experts */
    while (seen < wanted || (spread <= least && seen < 4 * wanted))
        seen += ask(rng, &draws, closed, segment, &spread);
    gsl_rng_free(rng);
    g_array_sort(closed, ascending);
    g_array_sort(segment, ascending);
    double median = g_array_index(segment, double, segment->len / 2);
    CU_ASSERT_TRUE(median > 0.9); /* they are of use, too */
    CU_ASSERT_TRUE(spread > least);
    if (more)
        printf(
            "  %d layouts, %d with spread experts: closed form %.3f, segment graph %.3f of the rehearsal in the median\n",
            seen, spread, g_array_index(closed, double, closed->len / 2), median);
}

static void drawn_layouts_hold(void)
{
    check_draws((Draws){draw_platform, draw_model, true, false, 0}, RH_TRIES(100, 60), 20261122);
}

static void drawn_encoders_and_decoders_hold(void)
{
    check_draws((Draws){draw_platform, draw_crossed, false, false, 0}, RH_TRIES(60, 20), 20261123);
}

static void drawn_places_hold(void)
{
    check_draws((Draws){draw_place, draw_model, true, true, 0}, RH_TRIES(150, 30), 20261124);
}

/* --- one bound cache for many layouts --- */

/* Tables that layouts share say of each what tables of its own say. */
static void check_shared(RhBoundCache *shared, const RhProblem *c, const RhLayout *l)
{
    g_autoptr(RhBoundCache) own = rh_bound_new(c);
    bool same =
        rh_test_close(rh_closed_form_s(shared, l), rh_closed_form_s(own, l), BOUNDS_TOLERANCE) &&
        rh_test_close(rh_segment_graph_s(shared, l), rh_segment_graph_s(own, l),
                      BOUNDS_TOLERANCE) &&
        rh_bound_memory(shared, l).peak_bytes == rh_bound_memory(own, l).peak_bytes &&
        rh_bound_tasks(shared, l) == rh_bound_tasks(own, l);
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
        k.stack->scatters_messages = i == 1;
        g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
        for (int n = 0; n < RH_TRIES(1500, 250); n++) {
            RhLayout l;
            if (!draw_layout(rng, &k.c, &l))
                continue;
            check_shared(cache, &k.c, &l);
            drawn++;
            contexts += l.cp > 1;
            kinds += l.kv != RH_CONTEXT_RING || l.ulysses > 1;
            shares += l.shard > 0 || l.hpz > 0;
            halves += l.schedule == RH_PIPELINE_ZB_H1;
            turning += l.schedule == RH_PIPELINE_ZB_V;
            uneven += l.stage_layers_count > 0;
            offloaded += l.offload > 0;
            again += l.recomputed_layers_count > 0;
        }
    }
    gsl_rng_free(rng);
    CU_ASSERT_TRUE(drawn > RH_TRIES(300, 50) && contexts > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(halves > RH_TRIES(20, 2) && uneven > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(turning > RH_TRIES(20, 1) && offloaded > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(again > RH_TRIES(50, 5));
    CU_ASSERT_TRUE(kinds > RH_TRIES(20, 2) && shares > RH_TRIES(20, 2));
}

/* Gathers of a stage's messages are as large as the micro-batch is. */
static void scripts_that_gather_messages_are_their_own(void)
{
    static const char *const layouts[] = {"tp2,pp2,dp4,mb1,zero0", "tp2,pp2,dp4,mb4,zero0",
                                          "tp2,pp2,dp4,mb2,zero0"};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron-2021", 64, 1536);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        check_shared(cache, &k.c, &l);
    }
}

int main(void)
{
    return rh_test_main(
        "bounds_drawn",
        (RhTest[]){{"drawn_layouts_hold", drawn_layouts_hold},
                   {"shared_tables_say_what_own_ones_say", shared_tables_say_what_own_ones_say},
                   {"scripts_that_gather_messages_are_their_own",
                    scripts_that_gather_messages_are_their_own},
                   {"drawn_encoders_and_decoders_hold", drawn_encoders_and_decoders_hold},
                   {"drawn_places_hold", drawn_places_hold},
                   {0}});
}
