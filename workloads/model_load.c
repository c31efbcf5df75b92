/* Models from files: published config.json files and the catalogue (workloads/data). */
#include <float.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "base/text/nearest_names.h"
#include "workloads/config/config_quantization.h"
#include "workloads/config/hf_hub.h"
#include "workloads/config/hf_hub_table.h"
#include "workloads/config/multimodal_decoders.h"
#include "workloads/model_private.h"
#include "workloads/precision_recipe.h"

static double version_of(RhJson *doc, const RhJsonNode *root)
{
    const RhJsonNode *node = rh_json_has(root, "version") ? rh_json_member(root, "version") : NULL;
    return node == NULL                           ? 0
           : rh_json_kind(node) == RH_JSON_NUMBER ? rh_json_node_number(doc, node, 0, DBL_MAX)
           : rh_json_kind(node) == RH_JSON_TEXT
               ? g_ascii_strtod(rh_json_node_string(doc, node), NULL)
               : 0;
}

/* A search for the family of a file. */
typedef struct {
    RhJson *doc;
    const RhMultimodal *table;
    GError *error; /* set where a family file is wrong */
} Search;

static const RhFamily *find_family(Search *search, const char *type)
{
    return search->error == NULL ? rh_family_find(type, &search->error) : NULL;
}

static const RhFamily *family_of_type(Search *search, const RhJsonNode *root, const char *type,
                                      bool is_part)
{
    RhJson *doc = search->doc;
    const RhMultimodal *table = search->table;
    g_autofree char *part = g_strconcat(type, "_text", NULL);
    const char *decoder = is_part ? rh_multimodal_decoder(table, type) : NULL;
    const RhFamily *family = find_family(search, decoder != NULL ? decoder : type);
    if (family == NULL)
        family = find_family(search, part);
    decoder = family == NULL ? rh_multimodal_version(table, type, version_of(doc, root)) : NULL;
    if (decoder != NULL)
        family = find_family(search, decoder);
    const RhJsonNode *classes = rh_json_array_or_null(doc, root, "architectures");
    for (const RhJsonNode *n = rh_json_first(classes); n != NULL && search->error == NULL;
         n = rh_json_next(n)) {
        const char *class = rh_json_node_string(doc, n); /* checked where it is not needed, too */
        family = family == NULL ? rh_family_by_class(class) : family;
    }
    return family;
}

static bool is_variant(RhJson *doc, const RhJsonNode *root, const RhVariant *v)
{
    const RhJsonNode *node = rh_json_member(root, v->key);
    return v->when == RH_VARIANT_PRESENT ? true
           : v->when == RH_VARIANT_FALSE
               ? !rh_json_bool_or(doc, root, v->key, true)
               : rh_json_kind(node) == RH_JSON_TEXT &&
                     strstr(rh_json_node_string(doc, node), v->text) != NULL;
}

/* Returns the variant of the family that a key of the file selects, or the family itself. */
static const RhFamily *variant_of(Search *search, const RhJsonNode *root, const RhFamily *family)
{
    for (const RhVariant *v = family->variants; v != NULL && v->key != NULL; v++)
        if (rh_json_has(root, v->key) && is_variant(search->doc, root, v))
            return find_family(search, v->family);
    return family;
}

/* The model type that a params.json of Meta's means, which says none; "" for other files. */
static const char *type_of_params(const RhJsonNode *root)
{
    bool is_params =
        rh_json_has(root, "dim") && rh_json_has(root, "n_layers") && rh_json_has(root, "n_heads");
    return is_params ? "transformer" : "";
}

/* Finds the family by model type, or by class name where the type is unknown. */
static const RhFamily *read_family(Search *search, const RhJsonNode *root)
{
    RhJson *doc = search->doc;
    const RhMultimodal *table = search->table;
    const RhJsonNode *whole = rh_json_root(doc),
                     *typed = rh_json_has(root, "model_type") ? root : whole;
    const char *type = rh_json_string_or(doc, typed, "model_type", type_of_params(root));
    const char *of_whole = rh_json_string_or(doc, whole, "model_type", "");
    if (rh_multimodal_is_towers(table, of_whole)) {
        rh_json_problem(doc, rh_json_member(whole, "model_type"),
                        "each can be read alone: what its vision_config or text_config says, in a "
                        "file of its own with that part's type (clip_vision_model)",
                        "model_type \"%s\" is two towers side by side, which are not supported "
                        "together",
                        of_whole);
        return NULL;
    }
    const RhFamily *family = family_of_type(search, root, type, typed != root);
    if (family != NULL)
        return variant_of(search, root, family);
    if (search->error != NULL)
        return NULL;
    if (!rh_json_has(typed, "model_type")) {
        rh_json_string(doc, root, "model_type"); /* reports that it is missing */
        return NULL;
    }
    if (typed == whole && rh_multimodal_decoder(table, type) != NULL) {
        if (rh_json_problems_count(doc) == 0)
            rh_json_problem(doc, rh_json_member(typed, "model_type"),
                            "its text_config (llm_config, language_config) describes it",
                            "model_type \"%s\" is a model of several parts, and no part here is "
                            "its decoder",
                            type);
        return NULL;
    }
    if (rh_json_has(whole, "is_encoder_decoder") &&
        rh_json_bool_or(doc, whole, "is_encoder_decoder", false)) {
        rh_json_problem(
            doc, rh_json_member(typed, "model_type"),
            "one of the two, without what looks at the other, can be described layer by layer: "
            "\"model_type\": \"layers\" (docs/guide/models.md)",
            "model_type \"%s\" is an encoder and a decoder, which are not supported together",
            type);
        return NULL;
    }
    const char *near = rh_near_name(type, rh_family_names());
    g_autofree char *help = g_strdup_printf(
        "%s%s%sif its layers are those of a known family, name that one (of Llama's: "
        "\"model_type\": \"llama\"); a model of any kind can be described layer by layer: "
        "\"model_type\": \"layers\" (docs/guide/models.md, which lists the %u types that are "
        "known)",
        near != NULL ? "a similar type exists: " : "", near != NULL ? near : "",
        near != NULL ? "; " : "", g_strv_length((char **)rh_family_names()));
    rh_json_problem(doc, rh_json_member(typed, "model_type"), help,
                    "model_type \"%s\" is not supported", type);
    return NULL;
}

static void report(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                   const GArray *problems)
{
    bool missing = rh_json_problems_count(doc) > 0; /* problems so far, perhaps a missing size */
    for (guint i = 0; i < problems->len; i++) {
        const RhShapeProblem *p = &g_array_index(problems, RhShapeProblem, i);
        const RhJsonNode *at = NULL;
        if (p->of_one && missing)
            continue;
        for (const RhField *f = family->fields; at == NULL && f->type != RH_FIELD_NONE; f++)
            if (f->key != NULL && f->offset == p->offset)
                at = rh_json_find(root, f->key, NULL, NULL);
        rh_json_problem(doc, at != NULL ? at : root, p->help, "%s", p->text);
    }
}

/* Reads whether embeddings are tied. A multimodal file says it where it names its parts. */
static void read_tying(RhJson *doc, const RhJsonNode *root, const RhFamily *family, RhConfig *c)
{
    const RhJsonNode *whole = rh_json_root(doc);
    bool own = rh_json_has(root, "tie_word_embeddings");
    if (!own && whole != root && rh_json_has(whole, "tie_word_embeddings") &&
        rh_family_has_key(family, "tie_word_embeddings"))
        c->tie_word_embeddings =
            rh_json_bool_or(doc, whole, "tie_word_embeddings", c->tie_word_embeddings != 0);
}

/* Reads whether a decoder's queries see later tokens (EmbeddingGemma; gte-Qwen2, voyage-4): false,
 * true, "all"; "vision": those of pictures alone. */
static void read_ways(RhJson *doc, const RhJsonNode *root, RhConfig *c)
{
    static const char *const keys[] = {"is_causal", "use_bidirectional_attention"};
    bool both = false;
    for (size_t i = 0; i < G_N_ELEMENTS(keys) && !c->encoder.present; i++) {
        const RhJsonNode *node = rh_json_has(root, keys[i]) ? rh_json_member(root, keys[i]) : NULL;
        RhJsonKind kind = node != NULL ? rh_json_kind(node) : RH_JSON_NULL;
        both |= kind == (i == 0 ? RH_JSON_FALSE : RH_JSON_TRUE) ||
                (kind == RH_JSON_TEXT && g_str_equal(rh_json_node_string(doc, node), "all"));
    }
    if (both)
        c->attention.bidirectional = 1;
}

/* Number of layers in a list that names them one by one, where the file does not count them
 * (Nemotron-3-Ultra); 0: there is no list. */
static int64_t listed_layers(RhJson *doc, const RhJsonNode *root)
{
    static const char *const lists[] = {"layers_block_type", "layer_types"};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
        if (rh_json_has(root, lists[i]))
            return rh_json_count(rh_json_array(doc, root, lists[i]));
    return 0;
}

/* Fields that are read for the family; sizes that a part of a larger model usually has are not
 * required. The caller frees. */
static RhField *fields_of(RhJson *doc, const RhJsonNode *root, const RhFamily *family)
{
    bool is_part = root != rh_json_root(doc);
    int64_t listed = listed_layers(doc, root);
    size_t count = 1;
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        count++;
    RhField *fields = g_memdup2(family->fields, count * sizeof *fields);
    for (size_t i = 0; i + 1 < count; i++) {
        bool counts = listed > 0 && fields[i].offset == offsetof(RhConfig, num_hidden_layers);
        int64_t usual = counts    ? listed
                        : is_part ? rh_family_usual_size(family, fields[i].offset)
                                  : 0;
        if (fields[i].type == RH_FIELD_SIZE && usual > 0)
            fields[i].otherwise = usual;
    }
    return fields;
}

/* Does the file give the number of layers? Where it does not, that was reported, and lists of
 * layers are not read. */
static bool counts_layers(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                          const RhConfig *c)
{
    const RhJsonNode *node = NULL;
    bool wanted = false;
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->offset == offsetof(RhConfig, num_hidden_layers) &&
            f->otherwise == RH_FIELD_REQUIRED) {
            wanted = true;
            node = rh_json_find(root, f->key, NULL, NULL);
        }
    return !wanted || c->num_hidden_layers > 1 ||
           (node != NULL && rh_json_kind(node) == RH_JSON_NUMBER &&
            rh_json_node_number(doc, node, -DBL_MAX, DBL_MAX) == 1);
}

/* Reads the model. Missing and broken sizes were replaced by the low bound of their range, so the
 * shape is always computable. */
static RhModel *read_model(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                           const char *name)
{
    RhConfig c = {0};
    g_autofree RhField *fields = fields_of(doc, root, family);
    rh_fields_read(doc, root, fields, &c);
    read_tying(doc, root, family, &c);
    read_ways(doc, root, &c);
    rh_check_other_keys(doc, root, family);
    rh_check_parts(doc, root, family);
    bool counted = counts_layers(doc, root, family, &c);
    if (!counted)
        c.sharing.num_kv_shared_layers = c.sharing.num_hidden_groups = 0;
    g_autoptr(GArray) problems = rh_config_resolve(family, &c, family->fields);
    report(doc, root, family, problems);
    RhModel *m = rh_model_new(name, family, &c);
    RhConfig once = c; /* configuration of the first pass, where layers are passed several times */
    once.num_hidden_layers = MAX(c.num_hidden_layers / MAX(c.sharing.total_ut_steps, 1), 1);
    RhLayerPlan *plans = counted ? rh_layer_lists_read(doc, root, family, &once) : NULL;
    plans = rh_layer_plans_complete(doc, root, family, plans, &once.num_hidden_layers);
    c.num_hidden_layers = once.num_hidden_layers * MAX(c.sharing.total_ut_steps, 1);
    rh_model_set_sizes(m, &c);
    RhLayersProblem problem = {0};
    if (!rh_model_set_layers(m, &c, plans, plans != NULL ? (int32_t)once.num_hidden_layers : 0,
                             &problem))
        rh_json_problem(doc, root, NULL, "%s", problem.text);
    g_free(problem.text);
    m->hash = g_strdup(rh_json_hash(doc));
    return m;
}

/* Keys of a multimodal file under which its decoder stands; encoders of pictures and sounds are
 * left out. */
static const char *const DECODERS[] = {"text_config",           "llm_config",
                                       "language_config",       "thinker_config",
                                       "language_model_config", "vlm_config"};

/* Finds the decoder of a multimodal file. DeepSeek-OCR repeats its decoder's figures at the top
 * level, under the type of the whole. */
static const RhJsonNode *decoder_of(RhJson *doc, const RhJsonNode *root, const RhMultimodal *table)
{
    const char *type = rh_json_string_or(doc, root, "model_type", "");
    bool has_layers = rh_json_find(root, "num_hidden_layers", NULL, NULL) != NULL &&
                      rh_multimodal_decoder(table, type) == NULL;
    for (size_t i = 0; !has_layers && i < G_N_ELEMENTS(DECODERS); i++)
        if (rh_json_has(root, DECODERS[i])) {
            const RhJsonNode *part = rh_json_object(doc, root, DECODERS[i]);
            return part != NULL ? decoder_of(doc, part, table) : root;
        }
    return root;
}

RhModel *rh_model_parse(RhJson *doc, const char *name, GError **error)
{
    g_return_val_if_fail(doc != NULL && name != NULL, NULL);
    const RhMultimodal *table = rh_multimodal(error);
    if (table == NULL)
        return NULL;
    const RhJsonNode *root = rh_json_root(doc), *decoder = decoder_of(doc, root, table);
    Search search = {doc, table, NULL};
    const RhFamily *family = read_family(&search, decoder);
    if (search.error != NULL) {
        g_propagate_error(error, search.error);
        return NULL;
    }
    bool own = family != NULL && rh_family_is_own(family);
    g_autoptr(RhModel) m = family == NULL ? NULL
                           : own          ? rh_own_layers_read(doc, family, name)
                                          : read_model(doc, decoder, family, name);
    RhStoredWeights stored = own ? (RhStoredWeights){0} : rh_stored_weights_read(doc, decoder);
    if (!own && stored.method == NULL && decoder != root)
        stored = rh_stored_weights_read(doc, root);
    if (m != NULL) {
        m->numerics = own ? (RhNumerics){.rotary_frac = 1} : rh_numerics_read(doc, decoder);
        m->stored_as = stored.method;
        m->stored_recipe = stored.recipe;
    }
    g_autoptr(GError) beyond = NULL;
    if (m != NULL && rh_json_problems_count(doc) == 0 && !rh_model_countable(m, &beyond))
        rh_json_problem(doc, decoder, "a size among its figures is a typing error", "%s",
                        beyond->message);
    if (!own)
        rh_json_consume_all(doc, root);
    if (!rh_json_finish(doc, error))
        return NULL;
    return g_steal_pointer(&m);
}

/* --- Catalogue and paths --- */

static RhDataCatalogue shelf = {.noun = "model", .folder = "workloads/data"};

const char *const *rh_model_names(void)
{
    return rh_data_shelf_names(&shelf);
}

static void fail_unknown(const char *spec, GError **error)
{
    guint count = g_strv_length((char **)rh_model_names());
    if (rh_hub_is_id(spec)) {
        rh_fail(
            error, RH_ERROR_INPUT,
            "no file %s is here, and no model of the catalogue has that name on the Hugging "
            "Face hub\nnote: %u models are known (rehearse show workloads)\n"
            "help: fetch its config.json (huggingface-cli download %s config.json), and give the "
            "file, or the folder holding it",
            spec, count, spec);
        return;
    }
    g_autofree char *near = rh_near_names(spec, rh_model_names(), 3);
    g_autofree char *help =
        near == NULL ? g_strdup("or give a Hugging Face config.json, or the folder holding one")
                     : g_strdup_printf("%s: %s",
                                       strchr(near, ',') != NULL ? "similar names exist"
                                                                 : "a similar name exists",
                                       near);
    rh_fail(
        error, RH_ERROR_INPUT,
        "unknown workload \"%s\"\nnote: %u models are known (rehearse show workloads)%s\nhelp: %s",
        spec, count, count > 0 ? "" : ": is REHEARSE_DATA right?", help);
}

/* The model whose file gives this id as its source; NULL: none. */
static const char *model_of_source(const char *id)
{
    for (const char *const *name = rh_model_names(); *name; name++) {
        g_autofree char *own = rh_hub_id(*name);
        if (own && g_ascii_strcasecmp(own, id) == 0)
            return *name;
    }
    return NULL;
}

/* Is `name` an id without its owner? */
static bool is_named(const char *id, const void *name)
{
    const char *slash = strchr(id, '/');
    return slash && g_ascii_strcasecmp(slash + 1, name) == 0;
}

/* The model of a name without an owner, of a source or of the table. */
static const char *model_of_name(const char *bare)
{
    for (const char *const *name = rh_model_names(); *name; name++) {
        g_autofree char *own = rh_hub_id(*name);
        if (own && is_named(own, bare))
            return *name;
    }
    const char *listed = rh_hub_find(is_named, bare);
    return listed ? rh_hub_row(listed).model : NULL;
}

RhHubModel rh_hub_look_up(const char *id)
{
    RhHubRow row = rh_hub_row(id);
    const char *source = row.model ? NULL : model_of_source(id), *recipe = NULL;
    if (row.model)
        return (RhHubModel){rh_intern(row.model), row.recipe, row.positions};
    if (source)
        return (RhHubModel){source, NULL, 0};
    g_autofree char *bare = rh_hub_unquantized(id, &recipe);
    const char *model = bare ? model_of_name(bare) : NULL;
    return (RhHubModel){model, model ? recipe : NULL, 0};
}

const char *rh_hub_model(const char *id)
{
    return rh_hub_look_up(id).model;
}

/* Path of the file that `spec` means; NULL when it can only be a catalogue name, and that is
 * unknown. */
static char *path_of(const char *spec)
{
    if (g_strv_contains(rh_model_names(), spec))
        return rh_data_shelf_path(&shelf, spec);
    if (g_file_test(spec, G_FILE_TEST_IS_DIR))
        return g_build_filename(spec, "config.json", NULL);
    bool hub = rh_hub_is_id(spec) && !g_file_test(spec, G_FILE_TEST_EXISTS);
    const char *known = hub ? rh_hub_model(spec) : NULL;
    if (hub)
        return known != NULL ? rh_data_shelf_path(&shelf, known) : NULL;
    return rh_data_is_path(spec) ? g_strdup(spec) : NULL;
}

/* Name of a model from its path: "llama-3.1-8b.json" is llama-3.1-8b, "my-model/config.json" is
 * my-model. */
static char *name_of(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    if (g_str_equal(base, "config.json")) {
        g_autofree char *absolute = g_canonicalize_filename(path, NULL);
        g_autofree char *dir = g_path_get_dirname(absolute);
        return g_path_get_basename(dir);
    }
    return g_str_has_suffix(base, ".json") ? g_strndup(base, strlen(base) - strlen(".json"))
                                           : g_steal_pointer(&base);
}

/* Weights of an id may be stored in another format, and be of another length, than the model's. */
static void apply_hub(RhModel *model, const char *spec)
{
    if (!rh_hub_is_id(spec) || g_file_test(spec, G_FILE_TEST_EXISTS))
        return;
    RhHubModel id = rh_hub_look_up(spec);
    if (id.positions > 0)
        model->positions = id.positions;
    if (id.recipe != NULL && strcmp(id.recipe, rh_recipe_bf16.name) != 0)
        model->stored_as = model->stored_recipe = id.recipe;
}

RhModel *rh_model_load(const char *spec, GError **error)
{
    g_return_val_if_fail(spec != NULL, NULL);
    g_autofree char *path = path_of(spec);
    if (path == NULL) {
        fail_unknown(spec, error);
        return NULL;
    }
    g_autoptr(RhJson) doc = rh_json_load_described(path, "model", error);
    if (doc == NULL)
        return NULL;
    g_autofree char *name = name_of(path);
    RhModel *model = rh_model_parse(doc, name, error);
    if (model != NULL)
        apply_hub(model, spec);
    return model;
}
