/* Adds layers that precede others and that a file does not count. */
#include "workloads/model_private.h"

/* Adds a layer, after those that its word says precede it. */
static void add_with_before(GArray *all, const RhFamily *family, RhLayerPlan plan)
{
    const char *before = plan.word != NULL ? plan.word->before : NULL;
    if (before != NULL)
        add_with_before(all, family, (RhLayerPlan){.word = rh_family_word(family, before)});
    g_array_append_val(all, plan);
}

/* Plans for layers that are all of the family's only word. */
static RhLayerPlan *all_alike(const RhFamily *family, int64_t layers)
{
    RhLayerPlan *plans = g_new0(RhLayerPlan, layers);
    for (int64_t i = 0; i < layers; i++)
        plans[i].word = rh_family_word(family, family->between);
    return plans;
}

static bool some_stand_before(const RhFamily *family)
{
    bool some = false;
    for (const RhLayerType *w = family->words; w != NULL && w->word != NULL; w++)
        some |= w->before != NULL;
    return some;
}

RhLayerPlan *rh_layer_plans_complete(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                                     RhLayerPlan *plans, int64_t *layers)
{
    if (!some_stand_before(family))
        return plans;
    const RhLayerType *usual = rh_family_word(family, family->between);
    g_autofree RhLayerPlan *listed = plans;
    if (listed == NULL && usual != NULL && usual->before != NULL)
        listed = all_alike(family, *layers);
    if (listed == NULL) {
        rh_json_array(doc, root, "layers_block_type");
        return NULL;
    }
    GArray *all = g_array_new(FALSE, FALSE, sizeof(RhLayerPlan));
    for (int64_t i = 0; i < *layers; i++)
        add_with_before(all, family, listed[i]);
    *layers = all->len;
    return (RhLayerPlan *)(void *)g_array_free(all, FALSE);
}
