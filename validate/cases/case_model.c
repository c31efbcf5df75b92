#include "validate/cases/case_model.h"

#include "base/error.h"

/* Name in the catalogue that equals the row's, ignoring case and punctuation. */
static const char *catalogue_model(const char *text)
{
    const char *const *names = rh_model_names();
    for (int i = 0; names[i]; i++)
        if (g_ascii_strcasecmp(names[i], text) == 0)
            return names[i];
    return NULL;
}

/* Sizes that a row may give, and the settings of a model that they change. */
static const struct {
    RhCaseColumn column;
    const char *key;
} sizes[] = {{RH_CASE_LAYERS, "layers"},     {RH_CASE_HIDDEN, "hidden"}, {RH_CASE_HEADS, "heads"},
             {RH_CASE_KV_HEADS, "kv_heads"}, {RH_CASE_FFN, "ffn"},       {RH_CASE_VOCAB, "vocab"}};

/* Does a size of the row mean the model's? A mixture's ffn column holds an expert's width, and
 * heads may be latent: for such models only layers and vocabulary count. */
static bool size_is_ours(const RhModel *model, RhCaseColumn column)
{
    if (model->kinds_count > 1 && column == RH_CASE_LAYERS && !rh_model_experts_kind(model))
        return false;
    return (model->kinds_count == 1 && !rh_model_experts_kind(model)) || column == RH_CASE_LAYERS;
}

static bool set_text(RhCaseTranslation *way, RhModel *model, const char *key, const char *text)
{
    GError *local = NULL;
    return rh_model_set(model, key, text, &local) || rh_case_give_up_with(way, "model: ", local);
}

static bool set_size(RhCaseTranslation *way, RhModel *model, const char *key, int64_t value)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    return set_text(way, model, key, text);
}

/* Sets a size that has no column: "first_k_dense_replace=1". */
static bool set_said_size(RhCaseTranslation *way, RhModel *model)
{
    const char *said = rh_case_says(way, RH_CASE_SAYS_SIZE);
    g_auto(GStrv) parts = g_strsplit(said ? said : "", "=", 2);
    return !parts[0] || set_text(way, model, parts[0], parts[1] ? parts[1] : "");
}

static int64_t size_of(const RhModel *model, RhCaseColumn column)
{
    const RhLayerKind *attention = rh_model_attention_kind(model), *ffn = rh_model_ffn_kind(model);
    switch ((int)column) {
    case RH_CASE_LAYERS:
        return model->layers_count;
    case RH_CASE_HIDDEN:
        return model->hidden;
    case RH_CASE_HEADS:
        return attention->heads;
    case RH_CASE_KV_HEADS:
        return attention->kv_heads;
    case RH_CASE_FFN:
        return ffn->ffn_width;
    default:
        return model->vocab;
    }
}

/* Sets another width and its heads. Either alone would be refused, so it first sets one head. */
static bool set_width(RhCaseTranslation *way, RhModel *model)
{
    int64_t hidden = way->row->whole[RH_CASE_HIDDEN], heads = way->row->whole[RH_CASE_HEADS],
            kv_heads = way->row->whole[RH_CASE_KV_HEADS];
    bool grouped = size_of(model, RH_CASE_KV_HEADS) != size_of(model, RH_CASE_HEADS) ||
                   (kv_heads > 0 && kv_heads != heads);
    if (hidden == 0 || heads == 0 || !size_is_ours(model, RH_CASE_HIDDEN) ||
        (hidden == model->hidden && heads == size_of(model, RH_CASE_HEADS)))
        return true;
    rh_ignore_failure(rh_model_set(model, "kv_heads", "1", NULL)); /* where the model has them */
    return set_size(way, model, "heads", 1) && set_size(way, model, "hidden", hidden) &&
           set_size(way, model, "heads", heads) &&
           (!grouped || kv_heads == 0 || set_size(way, model, "kv_heads", kv_heads));
}

static bool size_model(RhCaseTranslation *way, RhModel *model)
{
    if (!set_width(way, model))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        int64_t value = way->row->whole[sizes[i].column];
        if (value == 0 || !size_is_ours(model, sizes[i].column) ||
            value == size_of(model, sizes[i].column))
            continue;
        if (!set_size(way, model, sizes[i].key, value))
            return false;
    }
    if (!set_said_size(way, model))
        return false;
    int64_t seq = way->row->whole[RH_CASE_SEQ];
    return seq <= model->positions || model->position != RH_POSITION_LEARNED ||
           set_size(way, model, "positions", seq);
}

const RhModel *rh_case_model(RhCaseTranslation *way, GHashTable *models, char **key)
{
    GError *local = NULL;
    const char *name = rh_case_says(way, RH_CASE_SAYS_MODEL);
    if (way->row->model) {
        *key = g_strdup(way->row->model->name);
        return way->row->model;
    }
    if (!name)
        name = catalogue_model(rh_case_cell(way, RH_CASE_MODEL));
    bool sized = way->row->whole[RH_CASE_LAYERS] > 0 && way->row->whole[RH_CASE_HIDDEN] > 0;
    if (!name) {
        rh_case_give_up(way, "model %s: not in the catalogue, and %s",
                        rh_case_cell(way, RH_CASE_MODEL),
                        sized ? "of no family that its name tells"
                              : "without layers and hidden its name tells no family");
        return NULL;
    }
    const char *size = rh_case_says(way, RH_CASE_SAYS_SIZE);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%s %" G_GINT64_FORMAT " %s", name, way->row->whole[RH_CASE_SEQ],
                           size ? size : "");
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, way->row->whole[sizes[i].column]);
    RhModel *model = g_hash_table_lookup(models, text->str);
    if (!model) {
        g_autoptr(RhModel) loaded = rh_model_load(name, &local);
        if (!loaded)
            rh_case_give_up_with(way, "model: ", local);
        if (!loaded || !size_model(way, loaded))
            return NULL;
        model = g_steal_pointer(&loaded);
        g_hash_table_insert(models, g_strdup(text->str), model);
    }
    *key = g_string_free(g_steal_pointer(&text), FALSE);
    return model;
}
