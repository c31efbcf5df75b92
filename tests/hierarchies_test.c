/* Published nets on pictures whose stages halve these: parameters and products as published, a block's kernels and kept bytes by hand, what
 * files may not say. */
#include <string.h>

#include "tests/agree_kit.h"
#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "workloads/operators/operator.h"

#define SWIN(width, depths, heads)                                                                 \
    "{'model_type': 'swin', 'image_size': 224, 'patch_size': 4, 'embed_dim': " #width              \
    ", 'depths': [" depths "], 'num_heads': [" heads "], 'window_size': 7, 'mlp_ratio': 4.0, "     \
    "'qkv_bias': true, 'id2label': {%s}}"
#define CONVNEXT(depths, widths)                                                                   \
    "{'model_type': 'convnext', 'depths': [" depths "], 'hidden_sizes': [" widths                  \
    "], 'patch_size': 4, 'layer_scale_init_value': 1e-6, 'id2label': {%s}}"
#define CONVNEXTV2(depths, widths)                                                                 \
    "{'model_type': 'convnextv2', 'depths': [" depths "], 'hidden_sizes': [" widths                \
    "], 'patch_size': 4, 'id2label': {%s}}"
#define RESNET(type, depths, widths)                                                               \
    "{'model_type': 'resnet', 'layer_type': '" type "', 'depths': [" depths                        \
    "], 'hidden_sizes': [" widths "], 'id2label': {%s}}"
#define SWIN_T SWIN(96, "2, 2, 6, 2", "3, 6, 12, 24")

/* With names for a thousand classes. */
static char *of_classes(const char *config)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (int i = 0; i < 1000; i++)
        g_string_append_printf(names, "%s'%d': 'c%d'", i > 0 ? ", " : "", i, i);
    const char *at = strstr(config, "%s");
    return g_strdup_printf("%.*s%s%s", (int)(at - config), config, names->str, at + 2);
}

static RhModel *load_classes(const char *config)
{
    g_autofree char *text = of_classes(config);
    return model_load(text);
}

/* Parameters and multiply-adds of torchvision's weights ("num_params" and "_ops"; torchvision 0.15 documentation); of ConvNeXt V2 those of
 * its paper's table 9 (28.6 M, 4.47 G), parameters counted here: beside ConvNeXt-T two numbers a widened channel and no scales. */
static void parameters_and_products_equal_the_published_counts(void)
{
    static const struct {
        const char *config;
        int64_t params;
        double gmacs;
    } rows[] = {
        {SWIN_T, 28288354, 4.491},
        {SWIN(96, "2, 2, 18, 2", "3, 6, 12, 24"), 49606258, 8.741},
        {SWIN(128, "2, 2, 18, 2", "4, 8, 16, 32"), 87768224, 15.431},
        {CONVNEXT("3, 3, 9, 3", "96, 192, 384, 768"), 28589128, 4.456},
        {CONVNEXT("3, 3, 27, 3", "128, 256, 512, 1024"), 88591464, 15.355},
        {CONVNEXTV2("3, 3, 9, 3", "96, 192, 384, 768"),
         28589128 + (2 * 4 - 1) * (3 * 96 + 3 * 192 + 9 * 384 + 3 * 768), 4.47},
        {RESNET("basic", "2, 2, 2, 2", "64, 128, 256, 512"), 11689512, 1.814},
        {RESNET("basic", "3, 4, 6, 3", "64, 128, 256, 512"), 21797672, 3.664},
        {RESNET("bottleneck", "3, 4, 6, 3", "256, 512, 1024, 2048"), 25557032, 4.089},
        {RESNET("bottleneck", "3, 8, 36, 3", "256, 512, 1024, 2048"), 60192808, 11.514},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = load_classes(rows[i].config);
        CU_ASSERT_EQUAL(rh_model_params(m), rows[i].params);
        RH_CHECK_CLOSE(rh_model_flops_per_token(m, 1) / 6 / 1e9, rows[i].gmacs, 4e-3);
        CU_ASSERT_FALSE(rh_model_makes_tokens(m));
    }
}

/* A second block of the first stage: 56 x 56 places of 96 channels, 64 windows of 49 places, half of one off. */
static const RhLayerKind *second_block(const RhModel *m)
{
    const RhLayerKind *kind = &m->kinds[m->kind_of_layer[2]];
    CU_ASSERT_EQUAL(kind->steps->steps[2].kind, RH_STEP_OF_WINDOWS);
    CU_ASSERT_TRUE(kind->steps->steps[2].shifted);
    return kind;
}

static void kernels_do_the_flops_counted_by_hand(void)
{
    const double n = 3 * 56 * 56, C = 96;
    double weights = 2 * n * 12 * C * C, pairs = 4 * n * 49 * C;
    g_autoptr(RhModel) m = load_classes(SWIN_T);
    const RhLayerKind *kind = second_block(m);
    RhShard shard = shard_of(1, 1, 3);
    for (int flash = 0; flash < 2; flash++) {
        shard.flash = flash;
        RhFlops f = rh_block_flops(m, kind, RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(f.weights, weights, 1e-14);
        RH_CHECK_CLOSE(f.pairs, pairs, 1e-14);
#define DONE(pass) block_flops(m, kind, RH_BLOCK_MIXER, RH_PASS_##pass, &shard)
        RH_CHECK_CLOSE(DONE(FORWARD), weights + pairs, 1e-14);
        RH_CHECK_CLOSE(DONE(BACKWARD_DATA), weights + (flash ? 2.5 : 2) * pairs, 1e-14);
        RH_CHECK_CLOSE(DONE(BACKWARD_WEIGHT), weights, 1e-14);
        RH_CHECK_CLOSE(DONE(RECOMPUTE_FULL), weights + pairs, 1e-14);
    }
    const RhLayerKind *last = &m->kinds[m->kind_of_layer[15]]; /* one window is all there is */
    CU_ASSERT_FALSE(last->steps->steps[2].shifted);
}

/* In and out of either norm, queries, keys and values, what attention makes, in and out of GELU: 16 tensors of the picture's size; of
 * fused attention a number a query and head, of the other scores before and behind the softmax. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    const double n = 3 * 56 * 56, C = 96;
    g_autoptr(RhModel) m = load_classes(SWIN_T);
    RhShard shard = shard_of(1, 1, 3);
    RH_CHECK_CLOSE(rh_block_activation_bytes(m, second_block(m), RH_BLOCK_MIXER, &shard).kept,
                   2 * 16 * n * C + 4 * n * 3, 1e-14);
    shard.flash = false;
    RH_CHECK_CLOSE(rh_block_activation_bytes(m, second_block(m), RH_BLOCK_MIXER, &shard).kept,
                   2 * 16 * n * C + 2 * 2 * n * 3 * 49, 1e-14);
}

/* Windows that a picture does not fill are filled up; squares of two by two, too. */
static void places_are_filled_up(void)
{
    g_autoptr(RhModel) m = load_classes(SWIN_T);
    CU_ASSERT_TRUE(rh_model_set(m, "image_size", "256", NULL));
    const RhLayerKind *kind = &m->kinds[m->kind_of_layer[1]];
    RhShard shard = shard_of(1, 1, 1);
    RH_CHECK_CLOSE(rh_block_flops(m, kind, RH_BLOCK_MIXER, &shard).pairs, 4 * 100.0 * 49 * 49 * 96,
                   1e-14); /* 64 places a side: ten windows */
    CU_ASSERT_EQUAL(m->hidden, 768);
    CU_ASSERT_TRUE(rh_model_set(m, "image_size", "228", NULL));
    const RhStepList *merge = m->kinds[m->kind_of_layer[3]].steps;
    CU_ASSERT_EQUAL(merge->tensors[0].size.height, 57);
    CU_ASSERT_EQUAL(merge->tensors[1].size.height, 29);
    CU_ASSERT_EQUAL(merge->tensors[1].size.channels, 4 * 96);
    CU_ASSERT_FALSE(rh_model_set(m, "embed_dim", "64", NULL));
}

static void closed_memory_and_bounds_agree(void)
{
    g_autofree char *swin = of_classes(SWIN_T);
    g_autofree char *convnext = of_classes(CONVNEXT("3, 3, 9, 3", "96, 192, 384, 768"));
    check_agrees(swin, 1, "dp8,mb2");
    check_agrees(swin, 1, "pp2,dp4,mb2");
    check_agrees(convnext, 1, "pp4,dp2,mb2,recompute=full");
}

static void what_cannot_be_is_refused(void)
{
    check_refused("{'model_type': 'swin', 'depth': [2, 2], 'num_heads': [3, 6]}", "depths");
    check_refused("{'model_type': 'swin', 'depths': [2, 2, 2], 'num_heads': [3, 6]}", "3 stages");
    check_refused("{'model_type': 'swin', 'depths': [2, 2], 'num_heads': [5, 6]}", "5 heads");
    check_refused("{'model_type': 'swin', 'depths': [2], 'num_heads': [3], 'embed_dims': 64}",
                  "embed_dims");
    check_refused("{'model_type': 'swin', 'depths': [2], 'num_heads': [3], "
                  "'use_absolute_embeddings': true}",
                  "use_absolute_embeddings");
    check_refused("{'model_type': 'resnet', 'depths': [], 'hidden_sizes': []}", "stages");
    check_refused("{'model_type': 'convnext', 'depths': [1, 1, 1, 1, 1, 1, 1, 1, 1], "
                  "'hidden_sizes': [1, 1, 1, 1, 1, 1, 1, 1, 1]}",
                  "1 to 8 stages");
    check_refused("{'model_type': 'layers', 'height': 8, 'width': 8, 'channels': 3, 'classes': 2, "
                  "'layers': [{'steps': [{'operator': 'window attention', 'heads': 2, 'window': "
                  "2}]}]}",
                  "3 channels are no queries");
}

int main(void)
{
    return rh_test_main(
        "hierarchies",
        (RhTest[]){{"parameters_and_products_equal_the_published_counts",
                    parameters_and_products_equal_the_published_counts},
                   {"kernels_do_the_flops_counted_by_hand", kernels_do_the_flops_counted_by_hand},
                   {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
                   {"places_are_filled_up", places_are_filled_up},
                   {"closed_memory_and_bounds_agree", closed_memory_and_bounds_agree},
                   {"what_cannot_be_is_refused", what_cannot_be_is_refused},
                   {0}});
}
