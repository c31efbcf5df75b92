#include "tests/kit/drawn_models.h"

int32_t draw(gsl_rng *rng, int32_t count)
{
    return (int32_t)gsl_rng_uniform_int(rng, (unsigned long)count);
}

RhModel *draw_model(gsl_rng *rng, int32_t layers, int32_t heads)
{
    static const char *const mixtures[] = {"mixtral-8x7b", "deepseek-v3"};
    int32_t mixture = draw(rng, 4);
    if (mixture >= (int32_t)G_N_ELEMENTS(mixtures))
        return rh_model_gpt("drawn", layers, 64 * heads, heads, 0, 32000, 8192);
    RhModel *m = rh_model_load(mixtures[mixture], NULL);
    g_autofree char *count = g_strdup_printf("%d", MAX(layers, 4));
    g_autofree char *experts = g_strdup_printf("%d", DRAW(rng, 8, 12, 64));
    bool groups = mixture == 1; /* 8 experts of a token are in half of the groups, or all */
    g_assert(rh_model_set(m, "layers", count, NULL));
    g_assert(!groups || rh_model_set(m, "n_group", "1", NULL));
    g_assert(rh_model_set(m, "experts", experts, NULL));
    g_assert(!groups || rh_model_set(m, "topk_group", experts[0] == '6' ? "2" : "4", NULL));
    g_assert(!groups || rh_model_set(m, "n_group", "4", NULL));
    return m;
}

RhModel *draw_crossed(gsl_rng *rng, int32_t layers, int32_t heads)
{
    static const char *const names[] = {"flan-t5-xxl", "llama-3.2-11b-vision", "albert-xxlarge-v2"};
    int32_t name = draw(rng, (int32_t)G_N_ELEMENTS(names));
    RhModel *m = rh_model_load(names[name], NULL);
    const struct {
        const char *key;
        int32_t value;
        bool wanted;
    } sizes[] = {{"kv_heads", 2, name < 2},
                 {"layers", layers, true},
                 {"hidden", 64 * heads, true},
                 {"heads", heads, true},
                 {"ffn", 3072, true},
                 {"encoder_layers", MIN(layers, 4), name == 0},
                 {"encoder_tokens", DRAW(rng, 12, 48, 1536), name < 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *value = g_strdup_printf("%d", sizes[i].value);
        g_assert(!sizes[i].wanted || rh_model_set(m, sizes[i].key, value, NULL));
    }
    return m;
}
