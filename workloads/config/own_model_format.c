/* Reads a model in our own form: "model_type": "layers", and its layers as a list of operators with
 * their figures. Unlike in published files every key must be known. docs/guide/models.md has the
 * form and an example. */
#include <string.h>

#include "base/error.h"
#include "workloads/config/field_rows.h"
#include "workloads/model_private.h"
#include "workloads/operators/operator.h"

/* --- Keys of each operator --- */

#define OWN_HEADS                                                                                  \
    SIZE("heads", attention.num_attention_heads, HEADS_MAX, RH_FIELD_REQUIRED),                    \
        FLAG("bias", attention.qkv_bias, 0), FLAG("out_bias", attention.o_bias, 0)
#define OWN_ATTENTION                                                                              \
    OWN_HEADS, SIZE("kv_heads", attention.num_key_value_heads, HEADS_MAX, 0),                      \
        SIZE("head_size", attention.head_dim, HEAD_SIZE_MAX, 0),                                   \
        FLAG("qk_norm", attention.qk_norm, 0), FLAG("keys_as_values", attention.k_eq_v, 0)

#define OWN_WINDOW                                                                                 \
    COUNT("window", window.size, TOKENS_MAX, 0), FLAG("block_sparse", window.in_blocks, 0)

static const RhField ATTENTION[] = {OWN_ATTENTION, OWN_WINDOW, END};
static const RhField GATED[] = {
    OWN_ATTENTION,
    OWN_WINDOW,
    CONSTANT(attention.output_gate, 1),
    END,
};
static const RhField BOTH_WAYS[] = {OWN_ATTENTION, CONSTANT(attention.bidirectional, 1), END};

#define OWN_LATENT                                                                                 \
    OWN_HEADS, COUNT("query_latent", mla.q_lora_rank, WIDTH_MAX, 0),                               \
        SIZE("latent", mla.kv_lora_rank, WIDTH_MAX, RH_FIELD_REQUIRED),                            \
        SIZE("key_size", mla.qk_nope_head_dim, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                  \
        SIZE("rotary_size", mla.qk_rope_head_dim, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),               \
        SIZE("value_size", mla.v_head_dim, HEAD_SIZE_MAX, RH_FIELD_REQUIRED)

static const RhField LATENT[] = {OWN_LATENT, END};
static const RhField SPARSE[] = {
    OWN_LATENT,
    SIZE("index_heads", mla.index_n_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("index_size", mla.index_head_dim, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("index_keys", mla.index_topk, TOKENS_MAX, RH_FIELD_REQUIRED),
    END,
};

#define OWN_SCAN(chunk_otherwise)                                                                  \
    SIZE("heads", ssm.num_heads, HEADS_MAX, RH_FIELD_REQUIRED),                                    \
        SIZE("head_size", ssm.head_dim, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                         \
        SIZE("groups", ssm.n_groups, HEADS_MAX, RH_FIELD_REQUIRED),                                \
        SIZE("state_size", ssm.state_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                      \
        SIZE("taps", ssm.conv_kernel, HEAD_SIZE_MAX, 4),                                           \
        SIZE("chunk", ssm.chunk_size, TOKENS_MAX, chunk_otherwise)

static const RhField MAMBA[] = {
    OWN_SCAN(256),
    FLAG("bias", ssm.proj_bias, 0),
    FLAG("taps_bias", ssm.conv_bias, 1),
    END,
};
static const RhField DELTA[] = {OWN_SCAN(64), END};
static const RhField SELECTIVE[] = {
    SIZE("channels", ssm.num_heads, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("state_size", ssm.state_size, HEAD_SIZE_MAX, 16),
    SIZE("step_rank", ssm.dt_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("taps", ssm.conv_kernel, HEAD_SIZE_MAX, 4),
    FLAG("bias", ssm.proj_bias, 0),
    FLAG("taps_bias", ssm.conv_bias, 1),
    FLAG("step_norms", ssm.dt_bc_norms, 0),
    CONSTANT(ssm.chunk_size, 2048),
    END,
};

static const RhField LSTM[] = {
    SIZE("width", ssm.num_heads, WIDTH_MAX, RH_FIELD_REQUIRED),
    FLAG("bias", ssm.proj_bias, 1),
    END,
};

static const RhField FFN[] = {
    SIZE("width", intermediate_size, WIDTH_MAX, RH_FIELD_REQUIRED),
    FLAG("gated", mlp.gated, 1),
    FLAG("bias", mlp.bias, 0),
    END,
};

static const RhField EXPERTS_OF[] = {
    SIZE("count", moe.num_experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("per_token", moe.num_experts_per_tok, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("width", moe.intermediate_size, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("shared_width", moe.shared_intermediate_size, WIDTH_MAX, 0),
    FLAG("shared_gate", moe.shared_gate, 0),
    COUNT("latent", moe.latent_size, WIDTH_MAX, 0),
    FLAG("gated", mlp.gated, 1),
    FLAG("bias", mlp.bias, 0),
    FLAG("router_bias", moe.router_bias, 0),
    END,
};

typedef struct {
    const RhOperator *op;
    const RhField *fields;
} Own;

static const Own MIXERS[] = {
    {&rh_attention, ATTENTION},
    {&rh_attention_alibi, ATTENTION},
    {&rh_attention_bidirectional, BOTH_WAYS},
    {&rh_attention_gated, GATED},
    {&rh_latent_attention, LATENT},
    {&rh_sparse_attention, SPARSE},
    {&rh_mamba, MAMBA},
    {&rh_delta_net, DELTA},
    {&rh_selective_scan, SELECTIVE},
    {&rh_lstm, LSTM},
};
static const Own FFNS[] = {{&rh_ffn, FFN}, {&rh_mixture, EXPERTS_OF}};

/* --- Layers --- */

typedef struct {
    RhJson *doc;
    const RhFamily *family;
    const RhConfig *config;
    GArray *plans;            /* RhLayerPlan */
    GPtrArray *nodes, *steps; /* JSON node of each layer; RhStepList, owned */
} Reader;

static const Own *find_own(Reader *r, const RhJsonNode *at, const Own *table, size_t count)
{
    const char *name = rh_json_string(r->doc, at, "operator");
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (size_t i = 0; i < count; i++) {
        if (g_str_equal(rh_operator_name(table[i].op), name))
            return &table[i];
        g_ptr_array_add(names, (void *)rh_operator_name(table[i].op));
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *known = g_strjoinv(", ", (char **)names->pdata);
    g_autofree char *help = g_strdup_printf("known: %s", known);
    if (rh_json_has(at, "operator"))
        rh_json_problem(r->doc, at, help, "operator \"%s\" is not supported", name);
    return NULL;
}

static void report(Reader *r, const RhJsonNode *at, const GArray *problems)
{
    for (guint i = 0; i < problems->len; i++) {
        const RhShapeProblem *p = &g_array_index(problems, RhShapeProblem, i);
        rh_json_problem(r->doc, at, p->help, "%s", p->text);
    }
}

/* Reads the operator's figures, and those that follow from them, as the layer's own. */
static void read_operator_figures(Reader *r, const RhJsonNode *at, const Own *own,
                                  RhLayerPlan *plan)
{
    RhConfig c = *r->config;
    RhFamily family = *r->family;
    bool mixes = own->op != &rh_ffn && own->op != &rh_mixture;
    family.mixer = mixes ? own->op : &rh_ffn;
    family.fields = own->fields;
    c.window.used = 1;
    rh_fields_read(r->doc, at, own->fields, &c);
    g_autoptr(GArray) problems = rh_config_resolve(&family, &c, own->fields);
    report(r, at, problems);
    for (const RhField *f = own->fields; f->type != RH_FIELD_NONE; f++)
        rh_layer_plan_add(plan, f->offset, *rh_config_field(&c, f));
    if (mixes && c.attention.num_attention_heads > 0) {
        rh_layer_plan_add(plan, AT(attention.num_key_value_heads), c.attention.num_key_value_heads);
        rh_layer_plan_add(plan, AT(attention.head_dim), c.attention.head_dim);
    }
    if (mixes && c.window.size > 0)
        plan->word = rh_family_word(r->family, "sliding_attention");
}

/* Reads a layer of a model for pictures, given as a list of steps. */
static RhLayerPlan read_steps(Reader *r, const RhJsonNode *at)
{
    RhStepList *list = rh_step_list_read(r->doc, at);
    g_ptr_array_add(r->steps, list);
    return (RhLayerPlan){.steps = list};
}

static RhLayerPlan read_layer(Reader *r, const RhJsonNode *at)
{
    if (r->family->mixer == &rh_steps)
        return read_steps(r, at);
    RhLayerPlan plan = {.ffn = RH_FFN_ABSENT, .no_mixer = true};
    const RhJsonNode *mixer = rh_json_object_or_null(r->doc, at, "mixer");
    const RhJsonNode *ffn = rh_json_object_or_null(r->doc, at, "ffn");
    const Own *a = mixer != NULL ? find_own(r, mixer, MIXERS, G_N_ELEMENTS(MIXERS)) : NULL;
    const Own *b = ffn != NULL ? find_own(r, ffn, FFNS, G_N_ELEMENTS(FFNS)) : NULL;
    if (a != NULL) {
        plan.no_mixer = false;
        plan.mixer = a->op;
        read_operator_figures(r, mixer, a, &plan);
    }
    if (b != NULL) {
        plan.ffn = b->op == &rh_mixture ? RH_FFN_EXPERTS : RH_FFN_DENSE;
        read_operator_figures(r, ffn, b, &plan);
    }
    if (mixer == NULL && ffn == NULL)
        rh_json_problem(r->doc, at, "give it a \"mixer\", an \"ffn\", or both",
                        "a layer without operators");
    rh_layer_plan_add(&plan, AT(parallel_residual), rh_json_bool_or(r->doc, at, "parallel", false));
    rh_layer_plan_add(&plan, AT(extra_norms), rh_json_int_or(r->doc, at, "extra_norms", 0, 2, 0));
    return plan;
}

static void read_layers(Reader *r, const RhJsonNode *list);

/* Reads an entry of the list: a layer, or a repeated list of layers. */
static void read_entry(Reader *r, const RhJsonNode *at)
{
    int64_t times = rh_json_int_or(r->doc, at, "repeat", 1, LAYERS_MAX, 1);
    guint first = r->plans->len;
    if (rh_json_has(at, "layers")) {
        read_layers(r, rh_json_array(r->doc, at, "layers"));
    } else {
        RhLayerPlan plan = read_layer(r, at);
        g_array_append_val(r->plans, plan);
        g_ptr_array_add(r->nodes, (void *)at);
    }
    guint count = r->plans->len - first;
    if (times * count + first > LAYERS_MAX) {
        rh_json_problem(r->doc, at, NULL, "more than %d layers", LAYERS_MAX);
        return;
    }
    for (int64_t i = 1; i < times; i++)
        for (guint j = 0; j < count; j++) {
            RhLayerPlan again = g_array_index(r->plans, RhLayerPlan, first + j);
            g_array_append_val(r->plans, again);
            g_ptr_array_add(r->nodes, g_ptr_array_index(r->nodes, first + j));
        }
}

static void read_layers(Reader *r, const RhJsonNode *list)
{
    const RhJsonNode *n = rh_json_first(list);
    for (; n != NULL && r->plans->len <= LAYERS_MAX; n = rh_json_next(n)) {
        if (rh_json_kind(n) == RH_JSON_OBJECT)
            read_entry(r, n);
        else
            rh_json_problem(r->doc, n, "{\"mixer\": {...}, \"ffn\": {...}}",
                            "a layer is an object");
    }
}

/* --- The model --- */

/* Reads the word under `key`; returns its place among `words`, the first where there is none. */
static int read_word(RhJson *doc, const RhJsonNode *root, const char *key, const char *const *words)
{
    const char *said = rh_json_string_or(doc, root, key, words[0]);
    for (int i = 0; words[i] != NULL; i++)
        if (g_str_equal(words[i], said))
            return i;
    g_autofree char *known = g_strjoinv(", ", (char **)words);
    g_autofree char *help = g_strdup_printf("known: %s", known);
    rh_json_problem(doc, rh_json_find(root, key, NULL, NULL), help, "%s \"%s\"", key, said);
    return 0;
}

static void read_words(RhJson *doc, const RhJsonNode *root, RhModel *m)
{
    static const char *const norms[] = {"rms", "layer", "none", NULL};
    static const RhNorm norm_of[] = {RH_NORM_RMS, RH_NORM_LAYER, RH_NORM_NONE};
    static const char *const positions[] = {"rotary", "learned", "none", NULL};
    static const RhPosition position_of[] = {RH_POSITION_ROTARY, RH_POSITION_LEARNED,
                                             RH_POSITION_NONE};
    m->norm = norm_of[read_word(doc, root, "norm", norms)];
    m->position = position_of[read_word(doc, root, "positions", positions)];
}

static void give_layers(Reader *r, const RhJsonNode *root, RhModel *m)
{
    guint count = r->plans->len;
    RhLayersProblem problem = {-1, NULL};
    RhLayerPlan *taken = count > 0 ? g_memdup2(r->plans->data, count * sizeof *taken) : NULL;
    m->read_steps = g_ptr_array_ref(r->steps);
    bool shaped = count == 0 || rh_model_set_layers(m, m->config, taken, (int32_t)count, &problem);
    if (!shaped && problem.layer >= 0)
        rh_json_problem(r->doc, g_ptr_array_index(r->nodes, problem.layer), NULL, "layer %d, %s",
                        problem.layer + 1, problem.text);
    else if (!shaped)
        rh_json_problem(r->doc, root, NULL, "%s", problem.text);
    g_free(problem.text);
}

RhModel *rh_own_layers_read(RhJson *doc, const RhFamily *family, const char *name)
{
    const RhJsonNode *root = rh_json_root(doc);
    RhConfig c = {0};
    if (rh_json_has(root, "height"))
        family = rh_family_by_name("pictures");
    rh_fields_read(doc, root, family->fields, &c);
    rh_json_string_or(doc, root, "source", "");
    rh_json_string(doc, root, "model_type");
    g_autoptr(GArray) plans = g_array_new(FALSE, FALSE, sizeof(RhLayerPlan));
    g_autoptr(GPtrArray) nodes = g_ptr_array_new(),
                         steps = g_ptr_array_new_with_free_func((GDestroyNotify)rh_step_list_free);
    Reader r = {doc, family, &c, plans, nodes, steps};
    const RhJsonNode *list = rh_json_array(doc, root, "layers");
    read_layers(&r, list);
    if (list != NULL && plans->len == 0)
        rh_json_problem(doc, list, NULL, "a model without layers");
    c.num_hidden_layers = MAX(plans->len, 1);
    RhModel *m = rh_model_new(name, family, &c);
    if (!rh_model_sees_pictures(m))
        read_words(doc, root, m);
    give_layers(&r, root, m);
    m->hash = g_strdup(rh_json_hash(doc));
    return m;
}
