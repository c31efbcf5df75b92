/* Two towers side by side: parameters against published weights and a count of their own, FLOPs, kernels and bytes by hand, how they are
 * cut, and what is refused. */
#include <string.h>

#include "tests/agree_kit.h"
#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "tests/train_kit.h"
#include "workloads/operators/operator.h"

#define TOWER(layers, hidden, heads, ffn)                                                          \
    "'num_hidden_layers': " #layers ", 'hidden_size': " #hidden ", 'num_attention_heads': " #heads \
    ", 'intermediate_size': " #ffn
#define CLIP(columns, reads, sees)                                                                 \
    "{'model_type': 'clip', 'projection_dim': " #columns                                           \
    ", 'text_config': {'model_type': 'clip_text_model', " reads                                    \
    "}, 'vision_config': {'model_type': 'clip_vision_model', " sees "}, 'text_config_dict': null}"
#define SIGLIP(type, reads, sees)                                                                  \
    "{'model_type': '" type "', 'text_config': {'model_type': '" type "_text_model'" reads         \
    "}, 'vision_config': {'model_type': '" type "_vision_model'" sees "}}"
#define B32 CLIP(512, TOWER(12, 512, 8, 2048), TOWER(12, 768, 12, 3072) ", 'patch_size': 32")
#define L14 CLIP(768, TOWER(12, 768, 12, 3072), TOWER(24, 1024, 16, 4096) ", 'patch_size': 14")
#define SO400M                                                                                     \
    SIGLIP("siglip", ", " TOWER(27, 1152, 16, 4304),                                               \
           ", " TOWER(27, 1152, 16, 4304) ", 'patch_size': 14, 'image_size': 384")

/* --- Counts of their own --- */

static int64_t layers_of(int64_t layers, int64_t h, int64_t f)
{
    return layers * (4 * (h * h + h) + 2 * h * f + f + h + 4 * h);
}

/* The probe, its attention, a norm, a network. */
static int64_t probe_of(int64_t h, int64_t f)
{
    return h + 4 * (h * h + h) + 2 * h + 2 * h * f + f + h;
}

/* 877.96 M in open_clip's table (below). */
static int64_t so400m(void)
{
    const int64_t h = 1152, f = 4304, tower = layers_of(27, h, f) + 2 * h;
    int64_t sees = 3 * 14 * 14 * h + h + 27 * 27 * h + tower + probe_of(h, f);
    int64_t reads = (32000 + 64) * h + tower + h * h + h;
    return sees + reads + 2;
}

/* openai/clip-vit-base-patch32 and -patch16, -large-patch14 and -336, google/siglip-base-patch16-224: as their weights have it. */
static void parameters_are_those_of_the_weights(void)
{
    const ExactCount rows[] = {
        {B32, 151277313},
        {CLIP(512, TOWER(12, 512, 8, 2048), TOWER(12, 768, 12, 3072) ", 'patch_size': 16"),
         149620737},
        {L14, 427616513},
        {CLIP(768, TOWER(12, 768, 12, 3072),
              TOWER(24, 1024, 16, 4096) ", 'patch_size': 14, 'image_size': 336"),
         427944193},
        {SIGLIP("siglip", "", ""), 203155970},
        {SO400M, so400m()},
        /* squares of any number of patches, 256 at most; more words */
        {SIGLIP("siglip2", ", 'vocab_size': 256000", ""),
         203155970 + (256000 - 32000) * 768 + (256 - 196) * 768},
        {"{'model_type': 'metaclip_2', 'projection_dim': 512, 'text_config': {}, 'vision_config': "
         "{}}",
         151277313 + (901629 - 49408) * 512},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    RH_CHECK_CLOSE((double)so400m(), 877.96e6, 1e-5);
}

/* --- FLOPs --- */

/* Multiply-adds of a tower's tokens, of whose pairs a mask leaves a part. */
static double forward_of(double layers, double h, double f, double tokens, double seen)
{
    return layers * (tokens * (4 * h * h + 2 * h * f) + tokens * tokens * seen * 2 * h);
}

/* open_clip's table of models has FLOPs of a picture and a text (github.com/mlfoundations/open_clip, 3b37473b,
 * docs/model_profile.csv), which count the product of patches and no mask. */
static void flops_are_those_counted_by_hand(void)
{
    static const struct {
        const char *config;
        double columns, layers[2], h[2], f[2], tokens, patch, published;
    } rows[] = {{L14, 768, {12, 24}, {768, 1024}, {3072, 4096}, 257, 588, 175.33e9},
                {B32, 512, {12, 12}, {512, 768}, {2048, 3072}, 50, 3072, 14.78e9}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = model_load(rows[i].config);
        double reads =
            forward_of(rows[i].layers[0], rows[i].h[0], rows[i].f[0], 77, 0.5); /* half is masked */
        double sees = forward_of(rows[i].layers[1], rows[i].h[1], rows[i].f[1], rows[i].tokens, 1);
        double ends = rows[i].columns * (rows[i].h[0] + rows[i].h[1] + 1);
        RH_CHECK_CLOSE(rh_model_flops_per_token(m, 77) * 77, 6 * (reads + sees + ends), 1e-14);
        double masked = forward_of(rows[i].layers[0], rows[i].h[0], rows[i].f[0], 77, 1) - reads;
        double patches = (rows[i].tokens - 1) * rows[i].patch * rows[i].h[1];
        RH_CHECK_CLOSE(2 * (reads + masked + sees + ends + patches), rows[i].published, 5e-3);
    }
}

static void a_probe_counts(void)
{
    static const struct {
        const char *config;
        double layers, h, f, n, patch, published;
    } rows[] = {{SIGLIP("siglip", "", ""), 12, 768, 3072, 196, 768, 46.44e9},
                {SO400M, 27, 1152, 4304, 729, 588, 723.48e9}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = model_load(rows[i].config);
        double h = rows[i].h, f = rows[i].f, n = rows[i].n;
        double probe = n * 2 * h * h + 2 * h * h + 2 * h * f + 2 * n * h;
        double all = forward_of(rows[i].layers, h, f, 64, 1) + h * h + h +
                     forward_of(rows[i].layers, h, f, n, 1) + probe;
        RH_CHECK_CLOSE(rh_model_flops_per_token(m, 64) * 64, 6 * all, 1e-14);
        RH_CHECK_CLOSE(2 * (all + n * rows[i].patch * h), rows[i].published, 5e-3);
    }
}

/* Of both ends: kernels do what the rows count, two products of pairs for each backward. Under several tensor ranks the network alone
 * is cut. */
static void kernels_do_the_flops_of_their_rows(void)
{
    static const char *const models[] = {L14, SIGLIP("siglip", "", "")};
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(models); i++) {
        g_autoptr(RhModel) m = model_load(models[i / 2]);
        const RhLayerKind *end = rh_model_kind_with(m, &rh_tower_end);
        CU_ASSERT_PTR_NOT_NULL_FATAL(end);
        RhShard shard = shard_of(1, 64, 5);
        shard.tp = i % 2 ? 4 : 1;
        const struct {
            const RhLayerKind *kind;
            RhBlock block;
        } ends[] = {{end, RH_BLOCK_FFN}, {NULL, RH_BLOCK_HEAD}};
        for (size_t j = 0; j < G_N_ELEMENTS(ends); j++) {
            RhFlops flops = rh_block_flops(m, ends[j].kind, ends[j].block, &shard);
#define DONE(pass) block_flops(m, ends[j].kind, ends[j].block, RH_PASS_##pass, &shard)
            RH_CHECK_CLOSE(DONE(FORWARD), flops.weights + flops.pairs, 1e-14);
            RH_CHECK_CLOSE(DONE(BACKWARD_DATA), flops.weights + 2 * flops.pairs, 1e-14);
            RH_CHECK_CLOSE(DONE(BACKWARD_WEIGHT), flops.weights, 1e-14);
        }
    }
}

/* Of what CLIP's tower makes of a picture a norm's input and output and the columns stay; of SigLIP's the norm's over all tokens, keys
 * and values, and of a sample four rows and two of the network. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    const double b = 3;
    RhShard shard = shard_of(1, 64, (int64_t)b);
    g_autoptr(RhModel) clip = model_load(L14);
    g_autoptr(RhModel) siglip = model_load(SIGLIP("siglip", "", ""));
#define KEPT(m, k) rh_block_activation_bytes(m, k, RH_BLOCK_FFN, &shard).kept
    RH_CHECK_CLOSE(KEPT(clip, rh_model_kind_with(clip, &rh_tower_end)) -
                       KEPT(clip, &clip->kinds[0]),
                   2 * b * (2 * 1024 + 768), 1e-9);
    RH_CHECK_CLOSE(KEPT(siglip, rh_model_kind_with(siglip, &rh_tower_end)) -
                       KEPT(siglip, &siglip->kinds[0]),
                   2 * b * (196 * 4 * 768 + 768 + 4 * 768 + 2 * 3072), 1e-9);
}

/* --- Cuts, and what is refused --- */

static void towers_are_cut_over_tensor_ranks_and_replicas(void)
{
    static const struct {
        const char *layout, *says;
    } rows[] = {{"tp2,dp4,sp=off", NULL},
                {"dp8,zero3", NULL},
                {"pp2,dp4", "two towers side by side"},
                {"cp2,dp4", "cut"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 16, 64);
        rh_model_free(k.model);
        k.c.model = k.model = model_load(SIGLIP("siglip", "", ""));
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), rows[i].says == NULL);
        CU_ASSERT_TRUE(rows[i].says == NULL || strstr(error->message, rows[i].says));
    }
}

static void closed_memory_and_bounds_agree(void)
{
    static const char *const layouts[] = {"tp2,dp4,sp=off,mb2", "dp8,zero3,mb4",
                                          "tp4,dp2,sp=off,mb4,recompute=full"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        check_agrees(B32, 77, layouts[i]);
        check_agrees(SIGLIP("siglip", "", ""), 64, layouts[i]);
    }
    check_agrees(SIGLIP("siglip", "", ""), 64, "tp4,dp2,sp=on,mb4");
}

/* A picture of which fewer tokens are seen (FLIP, arXiv 2212.00794) costs less; of more there are no positions. */
static void fewer_tokens_of_a_picture_may_be_seen(void)
{
    g_autoptr(RhModel) m = model_load(L14);
    double all = rh_model_flops_per_token(m, 77);
    CU_ASSERT_EQUAL(rh_model_encoder_tokens(m, 77), 257);
    CU_ASSERT_TRUE(rh_model_set(m, "encoder_tokens", "129", NULL));
    CU_ASSERT_TRUE(rh_model_flops_per_token(m, 77) < 0.6 * all);
    CU_ASSERT_EQUAL(rh_model_params(m), 427616513);
    CU_ASSERT_FALSE(rh_model_set(m, "encoder_tokens", "258", NULL));
    CU_ASSERT_TRUE(rh_model_set(m, "vision_config.image_size", "336", NULL));
    CU_ASSERT_EQUAL(rh_model_params(m), 427944193);
    CU_ASSERT_FALSE(rh_model_makes_tokens(m));
}

static void what_is_not_known_is_refused(void)
{
    check_refused("{'model_type': 'clip', 'txt_config': {}, 'vision_config': {}}", "text_config");
    check_refused("{'model_type': 'clip', 'text_config': {'hidden_sise': 4}, 'vision_config': {}}",
                  "hidden_sise");
    check_refused(
        "{'model_type': 'clip', 'text_config': {}, 'vision_config': {'model_type': 'vit'}}",
        "a tower of type");
    check_refused("{'model_type': 'siglip', 'text_config': {}, 'vision_config': "
                  "{'num_attention_heads': 7}}",
                  "does not divide");
    check_refused(
        "{'model_type': 'siglip', 'text_config': {}, 'vision_config': {'patch_size': 300}}",
        "less than");
}

int main(void)
{
    return rh_test_main(
        "towers",
        (RhTest[]){{"parameters_are_those_of_the_weights", parameters_are_those_of_the_weights},
                   {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
                   {"a_probe_counts", a_probe_counts},
                   {"kernels_do_the_flops_of_their_rows", kernels_do_the_flops_of_their_rows},
                   {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
                   {"towers_are_cut_over_tensor_ranks_and_replicas",
                    towers_are_cut_over_tensor_ranks_and_replicas},
                   {"closed_memory_and_bounds_agree", closed_memory_and_bounds_agree},
                   {"fewer_tokens_of_a_picture_may_be_seen", fewer_tokens_of_a_picture_may_be_seen},
                   {"what_is_not_known_is_refused", what_is_not_known_is_refused},
                   {0}});
}
