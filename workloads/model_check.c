/* What follows from other figures of a shape, and what cannot be. */
#include <string.h>

#include "workloads/family_rules.h"
#include "workloads/model_private.h"
#include "workloads/operators/operator.h"

static void clear_problem(void *data)
{
    RhShapeProblem *p = data;
    g_free(p->text);
    g_free(p->help);
}

/* What problems are told in: the names of `names`, else those of --set, else the family's. */
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

/* `whole` must be a multiple of `part`: blames `part`, whose legal values are named. */
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

/* Groups are of one size, and those that a token chooses have its experts. */
static void check_groups(const Check *check)
{
    const RhConfig *c = check->config;
    size_t chosen = offsetof(RhConfig, expert_groups_chosen);
    if (c->expert_groups > 0)
        check_divides(check, offsetof(RhConfig, expert_groups), offsetof(RhConfig, experts));
    if (c->expert_groups_chosen < 1 || c->expert_groups_chosen > c->expert_groups ||
        c->experts / c->expert_groups * c->expert_groups_chosen < c->experts_per_token)
        add_problem(check, chosen,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " groups",
                                    name_of(check, chosen), c->expert_groups_chosen,
                                    c->expert_groups),
                    g_strdup_printf("a token's %" G_GINT64_FORMAT
                                    " experts are of 1 of them at least, and of all at most",
                                    c->experts_per_token));
}

/* A token goes to one expert or more, and all layers from `dense_layers` on have experts. */
static void check_experts(const Check *check)
{
    const RhConfig *c = check->config;
    size_t chosen = offsetof(RhConfig, experts_per_token);
    if (c->experts == 0 || (c->layers > 0 && c->dense_layers >= c->layers))
        return;
    if (c->experts_per_token < 1 || c->experts_per_token > c->experts)
        add_problem(check, chosen,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " experts",
                                    name_of(check, chosen), c->experts_per_token, c->experts),
                    g_strdup("a token goes to 1 of them at least, and to all at most"));
    else if (c->expert_groups > 1 || (c->expert_groups == 0 && c->expert_groups_chosen > 1))
        check_groups(check); /* one group: whatever is chosen of it is all */
}

/* A picture has one patch at least. */
static void check_patches(const Check *check)
{
    const RhConfig *c = check->config;
    size_t image = offsetof(RhConfig, image), patch = offsetof(RhConfig, patch);
    if (c->patch > 0 && c->image < c->patch)
        add_problem(check, image,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " is less than %s %" G_GINT64_FORMAT,
                                    name_of(check, image), c->image, name_of(check, patch),
                                    c->patch),
                    g_strdup("a picture is cut into squares, of one at least"));
}

/* Of layers that share keys the first makes its own. */
static void check_sharing(const Check *check)
{
    const RhConfig *c = check->config;
    size_t shared = offsetof(RhConfig, shared_layers);
    if (c->shared_layers > 0 && c->shared_layers >= c->layers)
        add_problem(check, shared,
                    g_strdup_printf("%s %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " layers",
                                    name_of(check, shared), c->shared_layers, c->layers),
                    g_strdup("the first layer makes its own keys: one fewer at most"));
}

/* An encoder is as large as the decoder where the file does not say. */
static void resolve_encoder(const Check *check, RhConfig *c)
{
    size_t tokens = offsetof(RhConfig, encoder_tokens);
    if (c->encoder_layers == 0)
        c->encoder_layers = c->layers;
    size_t width = offsetof(RhConfig, encoder_hidden);
    if (c->encoder_hidden > 0 && c->encoder_hidden != c->hidden && !c->own_table)
        add_problem(check, width,
                    g_strdup_printf("%s %" G_GINT64_FORMAT
                                    ", where the decoder has %" G_GINT64_FORMAT,
                                    name_of(check, width), c->encoder_hidden, c->hidden),
                    g_strdup("stacks that have one table of tokens are as wide"));
    if (c->encoder_heads == 0)
        c->encoder_heads = c->heads;
    if (c->encoder_ffn == 0)
        c->encoder_ffn = c->ffn;
    if (c->encoder_positions > 0 && c->encoder_tokens > c->encoder_positions)
        add_problem(check, tokens,
                    g_strdup_printf("%s %" G_GINT64_FORMAT
                                    " is more than the encoder's %" G_GINT64_FORMAT " positions",
                                    name_of(check, tokens), c->encoder_tokens,
                                    c->encoder_positions),
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
    if (c->kv_heads == 0)
        c->kv_heads = c->heads;
    if (c->ffn == 0)
        c->ffn = 4 * c->hidden;
    if (!c->window_used)
        c->window = 0;
    if (c->head_size == 0 && c->heads > 0) {
        check_divides(&check, offsetof(RhConfig, heads), offsetof(RhConfig, hidden));
        c->head_size = MAX(c->hidden / c->heads, 1);
    }
    if (c->loops > 0)
        check_divides(&check, offsetof(RhConfig, loops), offsetof(RhConfig, layers));
    if (c->layer_groups > 0)
        check_divides(&check, offsetof(RhConfig, layer_groups), offsetof(RhConfig, layers));
    if (c->crosses)
        resolve_encoder(&check, c);
    else if (!c->beside_pictures)
        c->encoder_tokens = 0;
    else if (c->encoder_tokens == 0)
        add_problem(&check, offsetof(RhConfig, encoder_tokens),
                    g_strdup("layers look at the tokens of a picture: one at least"),
                    g_strdup("6,404 are those of four tiles"));
    if (!c->crosses)
        c->encoder_layers = 0;
    check_divides(&check, offsetof(RhConfig, kv_heads), offsetof(RhConfig, heads));
    check_sharing(&check);
    if (c->scan_groups > 0)
        check_divides(&check, offsetof(RhConfig, scan_groups), offsetof(RhConfig, scan_heads));
    if (c->out_groups > 0)
        check_divides(&check, offsetof(RhConfig, out_groups), offsetof(RhConfig, heads));
    check_experts(&check);
    return problems;
}
