/* Reads what a config.json says layer by layer: lists of words, patterns of letters, numbers of
 * layers, lists of figures, and the blocks of an architecture search. */
#include <string.h>

#include "base/units.h"
#include "workloads/config/field_rows.h"
#include "workloads/model_private.h"

typedef struct {
    RhJson *doc;
    const RhJsonNode *root;
    const RhFamily *family;
    const RhConfig *config;
    RhLayerPlan *plans; /* one per layer */
    bool said;          /* some list says more than the family's rule does */
} Lists;

/* Number of layers that a list may name after the model's own: heads that predict further
 * tokens. */
static int64_t further_layers(const Lists *l)
{
    static const char *const keys[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers",
                                       "num_mtp_modules"};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        if (rh_json_has(l->root, keys[i]))
            return rh_json_int_or(l->doc, l->root, keys[i], 0, LAYERS_MAX, 0);
    return 0;
}

static bool fits(Lists *l, const RhJsonNode *list, const char *key, int count)
{
    int64_t layers = l->config->num_hidden_layers;
    if (count == layers || count == layers + further_layers(l))
        return true;
    rh_json_problem(l->doc, list, NULL, "%s names %d layers of %" G_GINT64_FORMAT, key, count,
                    layers);
    return false;
}

void rh_layer_plan_add(RhLayerPlan *plan, size_t offset, int64_t value)
{
    g_assert(plan->figures_count < RH_LAYER_FIGURES_MAX);
    plan->figures[plan->figures_count].offset = offset;
    plan->figures[plan->figures_count++].value = value;
}

static void add_figure(Lists *l, RhLayerPlan *plan, size_t offset, int64_t value)
{
    rh_layer_plan_add(plan, offset, value);
    l->said = true;
}

/* --- Words and letters --- */

static void set_layer_word(Lists *l, const RhJsonNode *at, const char *said,
                           const RhLayerType *word, int64_t layer)
{
    g_autofree char *known = rh_family_words_text(l->family);
    g_autofree char *help = g_strdup_printf("known: %s", known);
    if (word == NULL) {
        rh_json_problem(l->doc, at, help, "layer type \"%s\" is not supported", said);
        return;
    }
    if (word->slides && l->config->window.size == 0)
        rh_json_problem(l->doc, at, "set sliding_window (and use_sliding_window)",
                        "layer %" G_GINT64_FORMAT " slides, but no window is given", layer);
    l->plans[layer].word = word;
    l->said = l->said || word->slides || word->mixer != NULL || word->no_mixer ||
              word->ffn != RH_FFN_BY_RULE || word->figures[0].from > 0 ||
              l->config->window.size > 0 || l->config->window.full_interval > 0;
}

static void read_words(Lists *l, const char *key)
{
    const RhJsonNode *list = rh_json_has(l->root, key) ? rh_json_array(l->doc, l->root, key) : NULL;
    if (list == NULL || !fits(l, list, key, rh_json_count(list)))
        return;
    int64_t layer = 0;
    for (const RhJsonNode *n = rh_json_first(list);
         n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++) {
        const char *word = rh_json_node_string(l->doc, n);
        set_layer_word(l, n, word, rh_family_word(l->family, word), layer);
    }
}

static void read_letters(Lists *l, const char *key)
{
    const char *pattern = rh_json_has(l->root, key) ? rh_json_string(l->doc, l->root, key) : "";
    const RhJsonNode *at = rh_json_find(l->root, key, NULL, NULL);
    if (*pattern == 0 || !fits(l, at, key, (int)strlen(pattern)))
        return;
    for (int64_t layer = 0; layer < l->config->num_hidden_layers; layer++) {
        const char letter[] = {pattern[layer], 0};
        set_layer_word(l, at, letter, rh_family_letter(l->family, *letter), layer);
    }
}

/* --- Which layers have experts, and which have attention --- */

static void choose_ffn(Lists *l, int64_t layer, bool experts)
{
    l->plans[layer].ffn = experts ? RH_FFN_EXPERTS : RH_FFN_DENSE;
    l->said = true;
}

/* Reads a word per layer: "dense", or some kind of experts. */
static void read_ffn_words(Lists *l)
{
    const char *key = "mlp_layer_types";
    const RhJsonNode *list = rh_json_has(l->root, key) ? rh_json_array(l->doc, l->root, key) : NULL;
    if (list == NULL || !fits(l, list, key, rh_json_count(list)))
        return;
    int64_t layer = 0;
    for (const RhJsonNode *n = rh_json_first(list);
         n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++)
        choose_ffn(l, layer, !g_str_equal(rh_json_node_string(l->doc, n), "dense"));
}

/* Reads 0 or 1 per layer: experts or none. */
static void read_ffn_switches(Lists *l)
{
    const RhJsonNode *list = rh_json_find(l->root, "moe_layer_freq", NULL, NULL);
    if (list == NULL || rh_json_kind(list) != RH_JSON_ARRAY ||
        !fits(l, list, "moe_layer_freq", rh_json_count(list)))
        return;
    int64_t layer = 0;
    for (const RhJsonNode *n = rh_json_first(list);
         n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++)
        choose_ffn(l, layer, rh_json_node_int(l->doc, n, 0, 1) == 1);
}

/* Reads 0 or 1 per layer: full attention where the list has `full`, the family's other mixer
 * elsewhere. */
static void read_mixer_switches(Lists *l, const char *key, int64_t full)
{
    const RhJsonNode *list = rh_json_find(l->root, key, NULL, NULL);
    if (list == NULL || rh_json_kind(list) != RH_JSON_ARRAY || l->family->between == NULL ||
        !fits(l, list, key, rh_json_count(list)))
        return;
    int64_t layer = 0;
    for (const RhJsonNode *n = rh_json_first(list);
         n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++) {
        const char *word =
            rh_json_node_int(l->doc, n, 0, 1) == full ? "full_attention" : l->family->between;
        set_layer_word(l, n, word, rh_family_word(l->family, word), layer);
    }
}

/* Finds the first element of a list of layers' numbers; NULL where there is none. */
static const RhJsonNode *first_number(Lists *l, const char *key)
{
    const RhJsonNode *list = rh_json_has(l->root, key) ? rh_json_array(l->doc, l->root, key) : NULL;
    return list != NULL ? rh_json_first(list) : NULL;
}

static void read_numbers(Lists *l)
{
    int64_t last = l->config->num_hidden_layers - 1;
    for (const RhJsonNode *n = first_number(l, "mlp_only_layers"); n != NULL; n = rh_json_next(n))
        choose_ffn(l, rh_json_node_int(l->doc, n, 0, last), false);
    const RhJsonNode *moe = first_number(l, "moe_layers");
    for (int64_t i = 0; moe != NULL && i <= last; i++)
        choose_ffn(l, i, false);
    for (; moe != NULL; moe = rh_json_next(moe))
        choose_ffn(l, rh_json_node_int(l->doc, moe, 0, last), true);
    const RhJsonNode *attention = first_number(l, "attn_layer_indices");
    if (attention == NULL)
        attention = first_number(l, "full_attn_idxs");
    if (attention == NULL)
        attention = first_number(l, "gqa_layers");
    int64_t from = 0; /* number of the first layer: 0 or 1 */
    const RhJsonNode *counted =
        rh_json_find(l->root, "linear_attn_config.full_attn_layers", NULL, NULL);
    if (attention == NULL && counted != NULL && rh_json_kind(counted) == RH_JSON_ARRAY) {
        attention = rh_json_first(counted);
        from = 1;
    }
    const RhLayerType *between = rh_family_word(l->family, l->family->between);
    const RhJsonNode *local = first_number(l, "local_layer_ids");
    for (int64_t i = 0; local != NULL && i <= last; i++)
        set_layer_word(l, local, "full_attention", rh_family_word(l->family, "full_attention"), i);
    for (; local != NULL && between != NULL; local = rh_json_next(local))
        set_layer_word(l, local, l->family->between, between,
                       rh_json_node_int(l->doc, local, 0, last));
    for (int64_t i = 0; attention != NULL && i <= last; i++)
        set_layer_word(l, attention, l->family->between, between, i);
    for (; attention != NULL; attention = rh_json_next(attention))
        set_layer_word(l, attention, "attention", rh_family_word(l->family, "full_attention"),
                       rh_json_node_int(l->doc, attention, from, last + from) - from);
}

/* Reads the numbers of layers with cross-attention to pictures. */
static void read_crossing(Lists *l)
{
    const char *key = "cross_attention_layers";
    const RhLayerType *word = rh_family_word(l->family, "cross_attention");
    const RhJsonNode *list = word != NULL ? rh_json_array(l->doc, l->root, key) : NULL;
    for (const RhJsonNode *n = rh_json_first(list); n != NULL; n = rh_json_next(n))
        set_layer_word(l, n, key, word,
                       rh_json_node_int(l->doc, n, 0, l->config->num_hidden_layers - 1));
}

/* Reads the layers with experts from one text: "4,5,6". */
static void read_text_of_numbers(Lists *l)
{
    const char *key = "moe_layers_enum";
    const char *text = rh_json_has(l->root, key) ? rh_json_string(l->doc, l->root, key) : "";
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    const RhJsonNode *at = rh_json_find(l->root, key, NULL, NULL);
    for (int64_t i = 0; *text != 0 && i < l->config->num_hidden_layers; i++)
        choose_ffn(l, i, false);
    for (guint i = 0; words[i] != NULL; i++) {
        int64_t layer;
        if (rh_integer_parse(g_strstrip(words[i]), 0, l->config->num_hidden_layers - 1, &layer,
                             NULL))
            choose_ffn(l, layer, true);
        else
            rh_json_problem(l->doc, at, "numbers of layers from 0 on, like 4,5,6",
                            "%s: \"%s\" is not a layer of %" G_GINT64_FORMAT, key, words[i],
                            l->config->num_hidden_layers);
    }
}

/* Reads a word per layer: "full", or "shared" for layers that use the keys which the last full
 * layer before chose (GLM-5.2). */
static void read_indexers(Lists *l)
{
    const char *key = "indexer_types";
    const RhJsonNode *list = rh_json_has(l->root, key) ? rh_json_array(l->doc, l->root, key) : NULL;
    if (list == NULL || l->config->mla.index_n_heads == 0 ||
        !fits(l, list, key, rh_json_count(list)))
        return;
    int64_t layer = 0;
    for (const RhJsonNode *n = rh_json_first(list);
         n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++) {
        bool shared = g_str_equal(rh_json_node_string(l->doc, n), "shared");
        if (shared && layer == 0)
            rh_json_problem(l->doc, n, "\"full\" first", "%s: no layer before this one chose keys",
                            key);
        if (shared)
            add_figure(l, &l->plans[layer], AT(mla.index_shared), 1);
    }
}

/* --- Figures --- */

/* Reads sizes given as a list with one value per layer. Empty lists are skipped: they were reported
 * as not being a number. */
static void read_figures(Lists *l)
{
    for (const RhField *f = l->family->fields; f->type != RH_FIELD_NONE; f++) {
        const RhJsonNode *list =
            f->type == RH_FIELD_SIZE ? rh_json_find(l->root, f->key, NULL, NULL) : NULL;
        if (list == NULL || rh_json_kind(list) != RH_JSON_ARRAY || rh_json_count(list) == 0 ||
            g_str_equal(f->key, "moe_layer_freq") || !fits(l, list, f->key, rh_json_count(list)))
            continue;
        int64_t layer = 0;
        for (const RhJsonNode *n = rh_json_first(list);
             n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++)
            add_figure(l, &l->plans[layer], f->offset,
                       rh_json_node_int(l->doc, n, f->low, f->high));
    }
}

/* Rounds a multiple of the hidden size to the nearest positive multiple of `step`, and up if
 * rounding would lose more than a tenth (OpenELM). */
static int64_t nearest_step(double width, int64_t step)
{
    int64_t near = (int64_t)(width + (double)step / 2) / step * step;
    near = MAX(near, step);
    return (double)near < 0.9 * width ? near + step : near;
}

static void read_multipliers(Lists *l)
{
    const char *key = "ffn_multipliers";
    const RhJsonNode *list =
        l->config->mlp.dim_divisor > 0 ? rh_json_array(l->doc, l->root, key) : NULL;
    if (list == NULL || !fits(l, list, key, rh_json_count(list)))
        return;
    int64_t layer = 0;
    for (const RhJsonNode *n = rh_json_first(list);
         n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++) {
        double width = rh_json_node_number(l->doc, n, 0.001, 1000) * (double)l->config->hidden_size;
        add_figure(l, &l->plans[layer], AT(intermediate_size),
                   nearest_step(width, l->config->mlp.dim_divisor));
    }
}

/* --- Blocks of an architecture search --- */

/* Width of a feed-forward network given as a multiple of the hidden size, as Nemotron's code
 * derives it: two thirds of twice the product, in steps of 256. */
static int64_t width_of(double multiple, int64_t hidden)
{
    int64_t width = (int64_t)(2 * multiple * (double)hidden / 3);
    return (width + 255) / 256 * 256;
}

static bool is_absent(Lists *l, const RhJsonNode *part, const char *what)
{
    if (rh_json_bool_or(l->doc, part, "replace_with_linear", false))
        rh_json_problem(l->doc, part, NULL, "%s replaced by a linear layer is not supported", what);
    return rh_json_bool_or(l->doc, part, "no_op", false);
}

static void read_block(Lists *l, const RhJsonNode *block, RhLayerPlan *plan)
{
    const RhJsonNode *attention = rh_json_object(l->doc, block, "attention");
    const RhJsonNode *ffn = rh_json_object(l->doc, block, "ffn");
    if (attention == NULL || ffn == NULL)
        return;
    plan->no_mixer = is_absent(l, attention, "attention");
    if (!plan->no_mixer) {
        int64_t heads = l->config->attention.num_attention_heads;
        int64_t group = rh_json_int(l->doc, attention, "n_heads_in_group", 1, heads);
        add_figure(l, plan, AT(attention.num_key_value_heads), MAX(heads / group, 1));
    }
    plan->ffn = is_absent(l, ffn, "the ffn") ? RH_FFN_ABSENT : RH_FFN_DENSE;
    if (plan->ffn == RH_FFN_ABSENT)
        return;
    if (rh_json_has(ffn, "intermediate_size"))
        add_figure(l, plan, AT(intermediate_size),
                   rh_json_int(l->doc, ffn, "intermediate_size", 1, WIDTH_MAX));
    else
        add_figure(
            l, plan, AT(intermediate_size),
            width_of(rh_json_number(l->doc, ffn, "ffn_mult", 0.001, 1000), l->config->hidden_size));
}

static void read_blocks(Lists *l)
{
    const char *key = "block_configs";
    const RhJsonNode *list = rh_json_has(l->root, key) ? rh_json_array(l->doc, l->root, key) : NULL;
    if (list == NULL || !fits(l, list, key, rh_json_count(list)))
        return;
    l->said = true;
    int64_t layer = 0;
    for (const RhJsonNode *n = rh_json_first(list);
         n != NULL && layer < l->config->num_hidden_layers; n = rh_json_next(n), layer++)
        read_block(l, n, &l->plans[layer]);
}

/* --- Figures of single layers --- */

static const RhField *field_of_key(const RhFamily *family, const char *key)
{
    const char *const *names = rh_key_aliases(key);
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL &&
            (g_str_equal(f->key, key) || (names != NULL && g_strv_contains(names, f->key))))
            return f;
    return NULL;
}

/* Sets a layer's own window, or none, whatever the other layers have. */
static void set_layer_window(Lists *l, RhLayerPlan *plan, int64_t window)
{
    const char *word = window > 0 ? "sliding_attention" : "full_attention";
    if (plan->word == NULL || plan->word->slides != (window > 0))
        plan->word = rh_family_word(l->family, word);
    add_figure(l, plan, AT(window.size), window);
}

static void take_own_figure(Lists *l, const RhJsonNode *node, RhLayerPlan *plan)
{
    const char *key = rh_json_key(node);
    const RhField *f = field_of_key(l->family, key);
    bool none = rh_json_kind(node) == RH_JSON_NULL;
    if (f == NULL || (f->type != RH_FIELD_SIZE && f->type != RH_FIELD_FLAG)) {
        if (!rh_key_is_ignored(key))
            rh_json_problem_at_key(l->doc, node, "figures of the model alone can be a layer's own",
                                   "\"%s\" of one layer is not supported", key);
        return;
    }
    int64_t value = none                       ? 0
                    : f->type == RH_FIELD_FLAG ? rh_json_node_bool(l->doc, node)
                                               : rh_json_node_int(l->doc, node, 0, f->high);
    for (const RhField *all = l->family->fields; all->type != RH_FIELD_NONE; all++)
        if (all->key == f->key && all->offset == AT(window.size))
            set_layer_window(l, plan, value);
        else if (all->key == f->key)
            add_figure(l, plan, all->offset, value);
}

/* Reads "skip": blocks that the layer does without. */
static void read_skipped(Lists *l, const RhJsonNode *list, RhLayerPlan *plan)
{
    for (const RhJsonNode *n = rh_json_first(list); n != NULL; n = rh_json_next(n)) {
        const char *what = rh_json_node_string(l->doc, n);
        l->said = true;
        if (g_str_equal(what, "attention"))
            plan->no_mixer = true;
        else if (g_str_equal(what, "mlp"))
            plan->ffn = RH_FFN_ABSENT;
        else
            rh_json_problem(l->doc, n, "known: attention, mlp", "a layer without \"%s\"", what);
    }
}

/* Reads the object that transformers 5 writes for layers that differ from the model: {"05":
 * {"head_dim": 512}}. */
static void read_own_figures(Lists *l)
{
    const char *key = "per_layer_config";
    const RhJsonNode *layers =
        rh_json_has(l->root, key) ? rh_json_object(l->doc, l->root, key) : NULL;
    for (const RhJsonNode *n = rh_json_first(layers); n != NULL; n = rh_json_next(n)) {
        int64_t layer;
        if (!rh_integer_parse(rh_json_key(n), 0, l->config->num_hidden_layers - 1, &layer, NULL) ||
            rh_json_kind(n) != RH_JSON_OBJECT) {
            rh_json_problem_at_key(l->doc, n, NULL,
                                   "%s: \"%s\" is not a layer of %" G_GINT64_FORMAT, key,
                                   rh_json_key(n), l->config->num_hidden_layers);
            continue;
        }
        for (const RhJsonNode *own = rh_json_first(n); own != NULL; own = rh_json_next(own))
            if (g_str_equal(rh_json_key(own), "skip"))
                read_skipped(l, own, &l->plans[layer]);
            else
                take_own_figure(l, own, &l->plans[layer]);
    }
}

RhLayerPlan *rh_layer_lists_read(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                                 const RhConfig *config)
{
    g_autofree RhLayerPlan *plans = g_new0(RhLayerPlan, config->num_hidden_layers);
    Lists l = {doc, root, family, config, plans, false};
    read_words(&l, "layer_types");
    read_words(&l, "layers_block_type");
    read_letters(&l, "hybrid_override_pattern");
    read_mixer_switches(&l, "attn_type_list", 1);
    read_mixer_switches(&l, "hybrid_layer_pattern", 0);
    read_mixer_switches(&l, "sliding_window_layout", 0);
    read_mixer_switches(&l, "sparse_attention_config.sparse_attention_freq", 0);
    read_figures(&l);
    read_multipliers(&l);
    read_blocks(&l);
    read_indexers(&l);
    if (config->moe.num_experts > 0) {
        read_ffn_words(&l);
        read_ffn_switches(&l);
        read_text_of_numbers(&l);
    }
    read_numbers(&l);
    read_crossing(&l);
    read_own_figures(&l);
    return l.said ? g_steal_pointer(&plans) : NULL;
}
