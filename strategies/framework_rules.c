/* Rules by which a framework refuses layouts. "zero>=2,pp>1": terms that must all hold for a rule
 * to refuse. A side is a knob, a figure of the problem or, on the right, a value of the knob on the
 * left. !% is "is not a multiple of"; 0 is one of everything. ~ is "includes": all modules on the
 * right are recomputed. */
#include "strategies/framework_rules.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/json/json.h"
#include "strategies/knobs.h"
#include "workloads/operators/operator.h"

typedef enum {
    FIGURE_GPUS,
    FIGURE_KV_HEADS,
    FIGURE_EXPERTS, /* of a layer with experts */
    FIGURE_LATENT,  /* 1: latent attention */
    FIGURE_QK_NORM, /* 1: norms on queries and keys */
    FIGURE_TIED,    /* 1: one matrix for embedding and head */
    FIGURE_LAYERS,
    FIGURE_VOCAB,
    FIGURE_MICROBATCHES, /* of a step, on each replica */
    FIGURE_TPU,          /* 1: some devices are TPUs */
    FIGURE_LORA,         /* rank of adapters; 0: all weights are trained */
    FIGURE_NONE
} Figure;
static const char *const figures[] = {"gpus",         "kv_heads", "experts", "latent",
                                      "qk_norm",      "tied",     "layers",  "vocab",
                                      "microbatches", "tpu",      "lora"};

typedef struct {
    const RhKnob *knob;
    Figure figure;
    int32_t value; /* if it is neither a knob nor a figure */
} Side;

typedef enum { LESS_EQUAL, MORE_EQUAL, DIFFERS, NO_MULTIPLE, EQUAL, LESS, MORE, INCLUDES } Relation;
/* Relations, longer texts first. */
static const char *const relations[] = {"<=", ">=", "!=", "!%", "=", "<", ">", "~"};

typedef struct RhRuleTerm {
    Side left, right;
    Relation relation;
} RhRuleTerm;

/* --- reading --- */

static bool read_name(const char *word, Side *out)
{
    out->knob = rh_knob_find(word, strlen(word));
    out->figure = FIGURE_GPUS;
    while (out->figure < FIGURE_NONE && strcmp(word, figures[out->figure]) != 0)
        out->figure++;
    return out->knob || out->figure != FIGURE_NONE;
}

static bool read_value(const char *word, const RhKnob *knob, Side *out)
{
    RhLayout l = rh_layout_default();
    size_t at;
    if (!knob && g_ascii_isdigit(*word)) { /* of a figure */
        *out = (Side){.figure = FIGURE_NONE, .value = (int32_t)g_ascii_strtoll(word, NULL, 10)};
        return true;
    }
    if (!knob || !rh_knob_read(knob, word, &l, &at, NULL))
        return false;
    *out = (Side){.figure = FIGURE_NONE, .value = rh_knob_value(knob, &l)};
    return true;
}

static bool read_term(const char *text, RhRuleTerm *out)
{
    size_t length = strcspn(text, "<>=!~");
    g_autofree char *left = g_strndup(text, length);
    for (size_t i = 0; i < G_N_ELEMENTS(relations); i++) {
        if (!g_str_has_prefix(text + length, relations[i]))
            continue;
        const char *right = text + length + strlen(relations[i]);
        out->relation = (Relation)i;
        return read_name(left, &out->left) &&
               (read_name(right, &out->right) || read_value(right, out->left.knob, &out->right));
    }
    return false;
}

/* RH_KNOB_BIT of the knobs that a side of a term reads. */
static uint64_t bits_of(const Side *side)
{
    if (side->figure == FIGURE_MICROBATCHES)
        return RH_KNOB_BIT(dp) | RH_KNOB_BIT(microbatch);
    return side->knob ? UINT64_C(1) << (side->knob - rh_knobs) : 0;
}

static void read_rule(RhJson *doc, const RhJsonNode *node, RhFrameworkRule *rule)
{
    const char *when = rh_json_word(doc, node, "when");
    *rule = (RhFrameworkRule){.when = when,
                              .why = rh_json_word(doc, node, "why"),
                              .help = rh_json_word(doc, node, "help"),
                              .where = rh_json_word(doc, node, "where"),
                              .launch_only = rh_json_bool_or(doc, node, "launch_only", false)};
    g_auto(GStrv) terms = g_strsplit(when, ",", -1);
    rule->terms_count = (int32_t)g_strv_length(terms);
    rule->terms = g_new0(RhRuleTerm, rule->terms_count);
    for (int32_t i = 0; i < rule->terms_count; i++)
        if (!read_term(terms[i], &rule->terms[i]))
            rh_json_problem(doc, node, "a term is KEY<=VALUE, with = != < > <= >= !% or ~",
                            "\"%s\" of \"when\" cannot be read", terms[i]);
        else
            rule->knobs |= bits_of(&rule->terms[i].left) | bits_of(&rule->terms[i].right);
}

static void *load(const char *name, GError **error);
static RhDataCatalogue shelf = {
    .noun = "framework", .folder = "strategies/frameworks", .load = load};

void rh_framework_rules_free(RhFrameworkRules *rules)
{
    if (!rules)
        return;
    for (int32_t i = 0; i < rules->rules_count; i++)
        g_free(rules->rules[i].terms);
    g_free(rules->rules);
    g_free(rules);
}

RhFrameworkRules *rh_framework_rules_load(const char *name, GError **error)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, name);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return NULL;
    const RhJsonNode *root = rh_json_root(doc);
    g_autoptr(RhFrameworkRules) out = g_new0(RhFrameworkRules, 1);
    out->name = rh_json_string(doc, root, "name");
    out->title = rh_json_string(doc, root, "title");
    out->project = rh_json_string(doc, root, "project");
    const RhJsonNode *rules = rh_json_array(doc, root, "refuses");
    out->rules = g_new0(RhFrameworkRule, MAX(1, rh_json_count(rules)));
    for (const RhJsonNode *node = rules ? rh_json_first(rules) : NULL; node;
         node = rh_json_next(node))
        read_rule(doc, node, &out->rules[out->rules_count++]);
    return rh_json_finish(doc, error) ? g_steal_pointer(&out) : NULL;
}

static void *load(const char *name, GError **error)
{
    return rh_framework_rules_load(name, error);
}

const char *const *rh_framework_rules_names(void)
{
    return rh_data_shelf_names(&shelf);
}

const RhFrameworkRules *rh_framework_rules(const char *name, GError **error)
{
    return name ? rh_data_shelf_get(&shelf, name, error) : NULL;
}

/* --- asking --- */

/* Number of key-value heads; with several kinds of layers, their greatest common divisor. */
static int64_t kv_heads_of(const RhModel *model)
{
    int64_t heads = 0;
    for (int k = 0; k < model->kinds_count; k++) {
        const RhOperator *mixer = model->kinds[k].mixer;
        int64_t other = mixer && mixer->key_heads ? model->kinds[k].kv_heads : 0;
        while (other != 0) {
            int64_t rest = heads % other;
            heads = other;
            other = rest;
        }
    }
    return heads;
}

static bool has_latents(const RhModel *model)
{
    int k = 0;
    while (k < model->kinds_count && model->kinds[k].mixer != &rh_latent_attention &&
           model->kinds[k].mixer != &rh_sparse_attention)
        k++;
    return k < model->kinds_count;
}

static int64_t value_of(const Side *side, const RhProblem *c, const RhLayout *l)
{
    if (side->knob)
        return rh_knob_value(side->knob, l);
    switch (side->figure) {
    case FIGURE_GPUS:
        return c->job.gpus;
    case FIGURE_KV_HEADS:
        return kv_heads_of(c->model);
    case FIGURE_EXPERTS:
        return rh_model_experts_kind(c->model) ? rh_model_experts_kind(c->model)->experts : 0;
    case FIGURE_LATENT:
        return has_latents(c->model);
    case FIGURE_QK_NORM:
        return c->model->kinds[0].qk_norm;
    case FIGURE_TIED:
        return c->model->tied_embeddings;
    case FIGURE_LAYERS:
        return c->model->layers_count;
    case FIGURE_VOCAB:
        return c->model->vocab;
    case FIGURE_MICROBATCHES:
        return c->job.global_batch / MAX(1, (int64_t)l->dp * l->microbatch);
    case FIGURE_TPU:
        return g_str_has_prefix(c->platform->device->name, "tpu-");
    case FIGURE_LORA:
        return c->job.lora.rank;
    case FIGURE_NONE:
        break;
    }
    return side->value;
}

static bool holds(const RhRuleTerm *term, const RhProblem *c, const RhLayout *l)
{
    int64_t a = value_of(&term->left, c, l), b = value_of(&term->right, c, l);
    switch (term->relation) {
    case LESS_EQUAL:
        return a <= b;
    case MORE_EQUAL:
        return a >= b;
    case DIFFERS:
        return a != b;
    case NO_MULTIPLE:
        return b != 0 && a % b != 0;
    case EQUAL:
        return a == b;
    case LESS:
        return a < b;
    case MORE:
        return a > b;
    case INCLUDES:
        return (a & b) == b;
    }
    return false;
}

bool rh_framework_refuses(const RhFrameworkRule *rule, const RhProblem *c, const RhLayout *l)
{
    int32_t k = 0;
    while (k < rule->terms_count && holds(&rule->terms[k], c, l))
        k++;
    return k == rule->terms_count;
}

const RhFrameworkRule *rh_framework_refusal_given(const RhFrameworkRules *rules, const RhProblem *c,
                                                  const RhLayout *l, uint64_t knobs)
{
    for (int32_t i = 0; rules && i < rules->rules_count; i++)
        if ((rules->rules[i].knobs & ~knobs) == 0 && rh_framework_refuses(&rules->rules[i], c, l))
            return &rules->rules[i];
    return NULL;
}

const RhFrameworkRule *rh_framework_refusal(const RhFrameworkRules *rules, const RhProblem *c,
                                            const RhLayout *l)
{
    return rh_framework_refusal_given(rules, c, l, ~UINT64_C(0));
}

static bool looks_at(const RhFrameworkRule *rule, const RhKnob *knob)
{
    return rule->knobs >> (knob - rh_knobs) & 1;
}

const RhFrameworkRule *rh_framework_refusal_by(const RhFrameworkRules *rules, const RhProblem *c,
                                               const RhLayout *l, const RhKnob *knob)
{
    for (int32_t i = 0; rules && i < rules->rules_count; i++)
        if (looks_at(&rules->rules[i], knob) && rh_framework_refuses(&rules->rules[i], c, l))
            return &rules->rules[i];
    return NULL;
}

/* --- saying --- */

char *rh_framework_refusal_text(const RhFrameworkRules *rules, const RhFrameworkRule *rule)
{
    return g_strdup_printf("%s %s (%s of %s)", rules->title, rule->why, rule->where,
                           rules->project);
}

char *rh_framework_refused(const RhProblem *c, const RhLayout *l)
{
    const RhFrameworkRules *rules = rh_framework_rules(c->stack->framework, NULL);
    const RhFrameworkRule *rule = rh_framework_refusal(rules, c, l);
    return rule ? rh_framework_refusal_text(rules, rule) : NULL;
}

bool rh_framework_fail(const RhFrameworkRules *rules, const RhFrameworkRule *rule,
                       const char *notes, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE, "%s %s\nnote: %s: %s\n%shelp: plan with %s", rules->title,
                   rule->why, rules->project, rule->where, notes, rule->help);
}
