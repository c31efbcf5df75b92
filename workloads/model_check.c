/* Completes figures of a shape that follow from others, and checks those that cannot be. */
#include <string.h>

#include "workloads/config/family_derived_fields.h"
#include "workloads/model_private.h"
#include "workloads/operators/operator.h"

static void clear_problem(void *data)
{
    RhShapeProblem *p = data;
    g_free(p->text);
    g_free(p->help);
}

/* A check of a configuration. Messages use the first of `tables` that has a name for a field: the
 * caller's, those of --set, the family's. */
typedef struct {
    const RhConfig *config;
    const RhField *tables[3];
    GArray *problems;
} Check;

static const char *name_of(const Check *check, size_t offset)
{
    for (size_t t = 0; t < G_N_ELEMENTS(check->tables); t++)
        for (const RhField *f = check->tables[t]; f->type != RH_FIELD_NONE; f++)
            if (f->offset == offset && f->key != NULL)
                return f->key;
    return "?";
}

static char *divisors(int64_t number)
{
    GString *text = g_string_new("");
    for (int64_t d = 1; d <= number && text->len < 100; d++)
        if (number % d == 0)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT, d == 1 ? "" : ", ", d);
    return g_string_free(text, FALSE);
}

static void add_problem(const Check *check, size_t blamed, char *text, char *help)
{
    RhShapeProblem problem = {blamed, text, help, false};
    g_array_append_val(check->problems, problem);
}

/* Checks that `whole` is a multiple of `part`; blames `part`, and names its legal values. */
static void check_divides(const Check *check, size_t part, size_t whole)
{
    int64_t p, w;
    memcpy(&p, (const char *)check->config + part, sizeof p);
    memcpy(&w, (const char *)check->config + whole, sizeof w);
    if (p == 0 || w % p == 0)
        return;
    g_autofree char *legal = divisors(w);
    add_problem(check, part,
                g_strdup_printf("%s %" G_GINT64_FORMAT " does not divide %s %" G_GINT64_FORMAT,
                                name_of(check, part), p, name_of(check, whole), w),
                g_strdup_printf("values that do: %s", legal));
    g_array_index(check->problems, RhShapeProblem, check->problems->len - 1).of_one = w == 1;
}

/* Checks that expert groups are of one size, and that the groups a token chooses have enough
 * experts. */
static void check_groups(const Check *check)
{
    const RhConfig *c = check->config;
    size_t chosen = offsetof(RhConfig, moe.topk_group);
    if (c->moe.n_group > 0)
        check_divides(check, offsetof(RhConfig, moe.n_group), offsetof(RhConfig, moe.num_experts));
    if (c->moe.topk_group < 1 || c->moe.topk_group > c->moe.n_group ||
        c->moe.num_experts / c->moe.n_group * c->moe.topk_group < c->moe.num_experts_per_tok)
        add_problem(check, chosen,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " groups",
                                    name_of(check, chosen), c->moe.topk_group, c->moe.n_group),
                    g_strdup_printf("a token's %" G_GINT64_FORMAT
                                    " experts are of 1 of them at least, and of all at most",
                                    c->moe.num_experts_per_tok));
}

/* Checks that a token goes to one expert or more, and that all layers from `dense_layers` on have
 * experts. */
static void check_experts(const Check *check)
{
    const RhConfig *c = check->config;
    size_t chosen = offsetof(RhConfig, moe.num_experts_per_tok);
    if (c->moe.num_experts == 0 ||
        (c->num_hidden_layers > 0 && c->moe.first_k_dense_replace >= c->num_hidden_layers))
        return;
    if (c->moe.num_experts_per_tok < 1 || c->moe.num_experts_per_tok > c->moe.num_experts)
        add_problem(check, chosen,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " experts",
                                    name_of(check, chosen), c->moe.num_experts_per_tok,
                                    c->moe.num_experts),
                    g_strdup("a token goes to 1 of them at least, and to all at most"));
    else if (c->moe.n_group > 1 || (c->moe.n_group == 0 && c->moe.topk_group > 1))
        check_groups(check); /* with one group there is nothing to choose */
}

/* Checks that a picture has at least one patch. */
static void check_patches(const Check *check)
{
    const RhConfig *c = check->config;
    size_t image = offsetof(RhConfig, vision.image_size),
           patch = offsetof(RhConfig, vision.patch_size);
    if (c->vision.patch_size > 0 && c->vision.image_size < c->vision.patch_size)
        add_problem(check, image,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " is less than %s %" G_GINT64_FORMAT,
                                    name_of(check, image), c->vision.image_size,
                                    name_of(check, patch), c->vision.patch_size),
                    g_strdup("a picture is cut into squares, of one at least"));
}

/* Checks that the first of the layers that share keys makes its own. */
static void check_sharing(const Check *check)
{
    const RhConfig *c = check->config;
    size_t shared = offsetof(RhConfig, sharing.num_kv_shared_layers);
    if (c->sharing.num_kv_shared_layers > 0 &&
        c->sharing.num_kv_shared_layers >= c->num_hidden_layers)
        add_problem(check, shared,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " layers",
                                    name_of(check, shared), c->sharing.num_kv_shared_layers,
                                    c->num_hidden_layers),
                    g_strdup("the first layer makes its own keys: one fewer at most"));
}

/* Fills in the encoder's sizes, which equal the decoder's where the file does not give them. */
static void resolve_encoder(const Check *check, RhConfig *c)
{
    size_t tokens = offsetof(RhConfig, encoder.tokens);
    if (c->encoder.num_hidden_layers == 0)
        c->encoder.num_hidden_layers = c->num_hidden_layers;
    size_t width = offsetof(RhConfig, encoder.hidden_size);
    if (c->encoder.hidden_size > 0 && c->encoder.hidden_size != c->hidden_size &&
        !c->encoder.own_embedding)
        add_problem(check, width,
                    g_strdup_printf("%s %" G_GINT64_FORMAT
                                    ", where the decoder has %" G_GINT64_FORMAT,
                                    name_of(check, width), c->encoder.hidden_size, c->hidden_size),
                    g_strdup("stacks that have one table of tokens are as wide"));
    if (c->encoder.num_attention_heads == 0)
        c->encoder.num_attention_heads = c->attention.num_attention_heads;
    if (c->encoder.intermediate_size == 0)
        c->encoder.intermediate_size = c->intermediate_size;
    if (c->encoder.max_position_embeddings > 0 &&
        c->encoder.tokens > c->encoder.max_position_embeddings)
        add_problem(check, tokens,
                    g_strdup_printf("%s %" G_GINT64_FORMAT
                                    " is more than the encoder's %" G_GINT64_FORMAT " positions",
                                    name_of(check, tokens), c->encoder.tokens,
                                    c->encoder.max_position_embeddings),
                    g_strdup("as many at most"));
}

GArray *rh_config_resolve(const RhFamily *family, RhConfig *c, const RhField *names)
{
    GArray *problems = g_array_new(FALSE, FALSE, sizeof(RhShapeProblem));
    Check check = {c, {names, rh_set_fields, family->fields}, problems};
    g_array_set_clear_func(problems, clear_problem);
    if (family->mixer->resolve != NULL)
        family->mixer->resolve(c);
    rh_rules_apply(family->rules, c);
    check_patches(&check);
    if (c->attention.num_key_value_heads == 0)
        c->attention.num_key_value_heads = c->attention.num_attention_heads;
    if (c->intermediate_size == 0)
        c->intermediate_size = 4 * c->hidden_size;
    if (!c->window.used)
        c->window.size = 0;
    if (c->attention.head_dim == 0 && c->attention.num_attention_heads > 0) {
        check_divides(&check, offsetof(RhConfig, attention.num_attention_heads),
                      offsetof(RhConfig, hidden_size));
        c->attention.head_dim = MAX(c->hidden_size / c->attention.num_attention_heads, 1);
    }
    if (c->sharing.total_ut_steps > 0)
        check_divides(&check, offsetof(RhConfig, sharing.total_ut_steps),
                      offsetof(RhConfig, num_hidden_layers));
    if (c->sharing.num_hidden_groups > 0)
        check_divides(&check, offsetof(RhConfig, sharing.num_hidden_groups),
                      offsetof(RhConfig, num_hidden_layers));
    if (c->encoder.present)
        resolve_encoder(&check, c);
    else if (!c->vision.cross_attention)
        c->encoder.tokens = 0;
    else if (c->encoder.tokens == 0)
        add_problem(&check, offsetof(RhConfig, encoder.tokens),
                    g_strdup("layers look at the tokens of a picture: one at least"),
                    g_strdup("6,404 are those of four tiles"));
    if (!c->encoder.present)
        c->encoder.num_hidden_layers = 0;
    check_divides(&check, offsetof(RhConfig, attention.num_key_value_heads),
                  offsetof(RhConfig, attention.num_attention_heads));
    check_sharing(&check);
    if (c->ssm.n_groups > 0)
        check_divides(&check, offsetof(RhConfig, ssm.n_groups), offsetof(RhConfig, ssm.num_heads));
    if (c->mla.o_groups > 0)
        check_divides(&check, offsetof(RhConfig, mla.o_groups),
                      offsetof(RhConfig, attention.num_attention_heads));
    check_experts(&check);
    return problems;
}
