/* Reads family files: from JSON to the rows that configurations are read with. */
#include "workloads/config/family_file_read.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/nearest_names.h"
#include "workloads/config/family_derived_fields.h"
#include "workloads/config/family_field_names.h"
#include "workloads/operators/operator.h"

typedef struct {
    RhJson *doc;
    const RhFamily *parent; /* NULL: the file derives from none */
    GArray *fields;         /* RhField; the parent's first */
    guint inherited;        /* how many of them are the parent's */
} Reader;

/* --- Words --- */

static void report_unknown(RhJson *doc, const RhJsonNode *at, const char *what, const char *word,
                           const char *const *known)
{
    const char *near = rh_near_name(word, known);
    g_autofree char *all = near == NULL ? g_strjoinv(", ", (char **)known) : NULL;
    g_autofree char *help = near != NULL ? g_strdup_printf("a similar name exists: \"%s\"", near)
                                         : g_strdup_printf("known: %s", all);
    rh_json_problem(doc, at, help, "%s \"%s\" is unknown", what, word);
}

/* Reads the word under `key`; returns its place among `known`, or `otherwise` where the file does
 * not give it. */
static int read_word(RhJson *doc, const RhJsonNode *object, const char *key,
                     const char *const *known, int otherwise)
{
    if (!rh_json_has(object, key))
        return otherwise;
    const char *word = rh_json_string(doc, object, key);
    for (int i = 0; known[i] != NULL; i++)
        if (g_str_equal(known[i], word))
            return i;
    report_unknown(doc, rh_json_member(object, key), key, word, known);
    return 0;
}

/* Reads the operator under `key`; returns `otherwise` where the file does not name one. */
static const RhOperator *read_operator(RhJson *doc, const RhJsonNode *object, const char *key,
                                       const RhOperator *otherwise)
{
    if (!rh_json_has(object, key))
        return otherwise;
    const char *word = rh_json_string(doc, object, key);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (size_t i = 0; rh_operators[i] != NULL; i++) {
        if (g_str_equal(rh_operator_name(rh_operators[i]), word))
            return rh_operators[i];
        g_ptr_array_add(names, (void *)rh_operator_name(rh_operators[i]));
    }
    g_ptr_array_add(names, NULL);
    report_unknown(doc, rh_json_member(object, key), "operator", word,
                   (const char *const *)names->pdata);
    return otherwise;
}

/* Finds the field of a configuration that the text names; NULL and a problem where there is
 * none. */
static const RhConfigField *read_field_name(RhJson *doc, const RhJsonNode *node)
{
    const char *name = rh_json_node_string(doc, node);
    const RhConfigField *field = rh_config_field_named(name);
    if (field == NULL)
        report_unknown(doc, node, "field", name, rh_config_field_names());
    return field;
}

/* --- Keys --- */

static const char *const KINDS[] = {"size",    "first",       "second", "flag",
                                    "rate",    "thousandths", "begins", "may begin",
                                    "present", "members",     NULL};
static const RhFieldType KIND_TYPES[] = {
    RH_FIELD_SIZE,  RH_FIELD_FIRST, RH_FIELD_SECOND,     RH_FIELD_FLAG, RH_FIELD_RATE,
    RH_FIELD_RATIO, RH_FIELD_WORD,  RH_FIELD_MAYBE_WORD, RH_FIELD_SAID, RH_FIELD_COUNT};

static RhFieldType read_kind(RhJson *doc, const RhJsonNode *node, RhFieldType usual)
{
    int kind = read_word(doc, node, "kind", KINDS, -1);
    return kind >= 0 ? KIND_TYPES[kind] : usual;
}

/* Reads a default: a whole number, true or false. */
static int64_t read_default(RhJson *doc, const RhJsonNode *object, const char *key)
{
    const RhJsonNode *node = rh_json_member(object, key);
    RhJsonKind kind = rh_json_kind(node);
    return kind == RH_JSON_TRUE || kind == RH_JSON_FALSE
               ? rh_json_bool_or(doc, object, key, false)
               : rh_json_int(doc, object, key, -1, INT64_C(1) << 40);
}

static bool needs_text(RhFieldType type)
{
    return type == RH_FIELD_WORD || type == RH_FIELD_MAYBE_WORD;
}

/* Reads a described field: {"field": "attention.head_dim", "default": 128}. Without a default a
 * size is required, and anything else is 0. */
static void read_described(Reader *r, const char *key, const RhJsonNode *node)
{
    RhJson *doc = r->doc;
    const RhJsonNode *name = rh_json_member(node, "field");
    rh_json_string(doc, node, "field");
    if (name == NULL || rh_json_kind(name) != RH_JSON_TEXT)
        return;
    const RhConfigField *known = read_field_name(doc, name);
    if (known == NULL) {
        rh_json_consume_all(doc, node);
        return;
    }
    RhField f = {.key = key, .offset = known->offset};
    f.type = read_kind(doc, node, known->type);
    bool size = f.type == RH_FIELD_SIZE || f.type == RH_FIELD_FIRST || f.type == RH_FIELD_SECOND;
    bool usual = f.type == known->type || (size && known->type == RH_FIELD_SIZE);
    f.low = rh_json_int_or(doc, node, "min", -1, G_MAXINT32, usual ? known->low : 0);
    f.high = rh_json_int_or(doc, node, "max", f.low, INT64_C(1) << 40,
                            usual  ? MAX(known->high, f.low)
                            : size ? G_MAXINT32
                                   : 1);
    f.otherwise = size ? RH_FIELD_REQUIRED : 0;
    if (rh_json_has(node, "default"))
        f.otherwise = read_default(doc, node, "default");
    f.null_is_none =
        rh_json_bool_or(doc, node, "null_is_none", usual && known->null_is_none && f.low <= 0);
    if (needs_text(f.type))
        f.word = rh_json_word(doc, node, "word");
    if (f.type == RH_FIELD_WORD)
        f.other = rh_json_string_or(doc, node, "other", NULL);
    g_array_append_val(r->fields, f);
}

/* Reads what a key sets: the name of a field, a description of one, or a list of these. */
static void read_key(Reader *r, const char *key, const RhJsonNode *node)
{
    const RhConfigField *known;
    switch (rh_json_kind(node)) {
    case RH_JSON_TEXT:
        known = read_field_name(r->doc, node);
        if (known != NULL) {
            RhField f = {.key = key,
                         .offset = known->offset,
                         .type = known->type,
                         .low = known->low,
                         .high = known->high,
                         .null_is_none = known->null_is_none};
            f.otherwise = f.type == RH_FIELD_SIZE ? RH_FIELD_REQUIRED : 0;
            g_array_append_val(r->fields, f);
        }
        break;
    case RH_JSON_OBJECT:
        read_described(r, key, node);
        break;
    case RH_JSON_ARRAY:
        for (const RhJsonNode *n = rh_json_first(node); n != NULL; n = rh_json_next(n))
            if (rh_json_kind(n) == RH_JSON_TEXT || rh_json_kind(n) == RH_JSON_OBJECT)
                read_key(r, key, n);
            else
                rh_json_problem(r->doc, n, NULL, "no field");
        break;
    case RH_JSON_NULL: /* a key of the parent that this family does not have */
        break;
    case RH_JSON_FALSE:
    case RH_JSON_TRUE:
    case RH_JSON_NUMBER:
    default:
        rh_json_problem(
            r->doc, node,
            "as \"hidden_size\", or {\"field\": \"attention.head_dim\", \"default\": 128}",
            "\"%s\" does not say which field it sets", key);
    }
}

/* Drops the parent's rows for a key. */
static void drop_key(Reader *r, const char *key)
{
    for (guint i = r->inherited; i-- > 0;)
        if (g_strcmp0(g_array_index(r->fields, RhField, i).key, key) == 0) {
            g_array_remove_index(r->fields, i);
            r->inherited--;
        }
}

/* Drops the parent's rows for every field that the family itself has rows for. */
static void drop_replaced(Reader *r)
{
    for (guint i = r->inherited; i-- > 0;)
        for (guint j = r->inherited; j < r->fields->len; j++)
            if (g_array_index(r->fields, RhField, i).offset ==
                g_array_index(r->fields, RhField, j).offset) {
                g_array_remove_index(r->fields, i);
                r->inherited--;
                break;
            }
}

static void read_keys(Reader *r, const RhJsonNode *root)
{
    const RhJsonNode *keys = rh_json_object_or_null(r->doc, root, "keys");
    for (const RhJsonNode *n = rh_json_first(keys); n != NULL; n = rh_json_next(n)) {
        const char *key = rh_intern(rh_json_key(n));
        drop_key(r, key);
        read_key(r, key, n);
        rh_json_consume(r->doc, keys, key);
    }
    const RhJsonNode *constants = rh_json_object_or_null(r->doc, root, "constants");
    for (const RhJsonNode *n = rh_json_first(constants); n != NULL; n = rh_json_next(n)) {
        const RhConfigField *known = rh_config_field_named(rh_json_key(n));
        RhField f = {.type = RH_FIELD_CONSTANT};
        f.otherwise = read_default(r->doc, constants, rh_json_key(n));
        if (known == NULL) {
            report_unknown(r->doc, n, "field", rh_json_key(n), rh_config_field_names());
            continue;
        }
        f.offset = known->offset;
        g_array_append_val(r->fields, f);
    }
    drop_replaced(r);
}

/* Reads the sizes that a part of a larger model has where its file leaves them out. */
static void read_part_defaults(Reader *r, const RhJsonNode *root)
{
    const RhJsonNode *sizes = rh_json_object_or_null(r->doc, root, "part_defaults");
    for (guint i = 0; sizes != NULL && i < r->fields->len; i++)
        g_array_index(r->fields, RhField, i).in_part = 0;
    for (const RhJsonNode *n = rh_json_first(sizes); n != NULL; n = rh_json_next(n)) {
        int64_t size = rh_json_int(r->doc, sizes, rh_json_key(n), 1, INT64_C(1) << 40);
        bool found = false;
        for (guint i = 0; i < r->fields->len; i++) {
            RhField *f = &g_array_index(r->fields, RhField, i);
            if (g_strcmp0(f->key, rh_json_key(n)) == 0) {
                f->in_part = size;
                found = true;
            }
        }
        if (!found)
            rh_json_problem_at_key(r->doc, n, "a key of \"keys\", or of the family it derives from",
                                   "\"%s\" is not a key of this family", rh_json_key(n));
    }
}

/* --- Layer types --- */

static void read_figures(RhJson *doc, const RhJsonNode *node, RhLayerType *word)
{
    const RhJsonNode *fields = rh_json_object_or_null(doc, node, "fields");
    size_t count = 0;
    for (const RhJsonNode *n = rh_json_first(fields); n != NULL; n = rh_json_next(n), count++) {
        const RhConfigField *to = rh_config_field_named(rh_json_key(n));
        const RhConfigField *from = read_field_name(doc, n);
        if (to == NULL)
            report_unknown(doc, n, "field", rh_json_key(n), rh_config_field_names());
        if (count == G_N_ELEMENTS(word->figures))
            rh_json_problem(doc, n, NULL, "more than %u fields", (unsigned)count);
        rh_json_consume(doc, fields, rh_json_key(n));
        if (to != NULL && from != NULL && count < G_N_ELEMENTS(word->figures)) {
            word->figures[count].to = to->offset;
            word->figures[count].from = from->offset;
        }
    }
}

static RhLayerType read_layer_type(RhJson *doc, const char *name, const RhJsonNode *node)
{
    static const char *const ffns[] = {[RH_FFN_BY_RULE] = "by rule",
                                       [RH_FFN_DENSE] = "dense",
                                       [RH_FFN_EXPERTS] = "experts",
                                       [RH_FFN_ABSENT] = "none",
                                       NULL};
    RhLayerType word = {.word = rh_intern(name)};
    word.letter = *rh_json_string_or(doc, node, "letter", "");
    word.no_mixer = rh_json_bool_or(doc, node, "no_mixer", false);
    word.slides = rh_json_bool_or(doc, node, "window", false);
    word.mixer = read_operator(doc, node, "mixer", NULL);
    word.ffn = (RhFfnChoice)read_word(doc, node, "ffn", ffns, RH_FFN_BY_RULE);
    const char *before = rh_json_string_or(doc, node, "preceded_by", "");
    word.before = *before != 0 ? before : NULL;
    read_figures(doc, node, &word);
    return word;
}

static const RhLayerType *find_word(const GArray *words, const char *name)
{
    for (guint i = 0; i < words->len; i++)
        if (g_str_equal(g_array_index(words, RhLayerType, i).word, name))
            return &g_array_index(words, RhLayerType, i);
    return NULL;
}

/* Checks that a word which precedes other layers has no preceding words itself. */
static void check_preceding(RhJson *doc, const RhJsonNode *types, const GArray *words)
{
    for (guint i = 0; i < words->len; i++) {
        const RhLayerType *word = &g_array_index(words, RhLayerType, i);
        const RhLayerType *before = word->before != NULL ? find_word(words, word->before) : word;
        if (before == NULL || (word->before != NULL && before->before != NULL))
            rh_json_problem(doc, rh_json_member(types, word->word),
                            "another layer type of this file, which nothing precedes",
                            "\"%s\" is preceded by \"%s\"", word->word, word->before);
    }
}

/* Reads the layer types; NULL where the file has none of its own. The caller frees. */
static RhLayerType *read_layer_types(Reader *r, const RhJsonNode *root)
{
    const RhJsonNode *types = rh_json_object_or_null(r->doc, root, "layer_types");
    if (types == NULL)
        return NULL;
    GArray *words = g_array_new(TRUE, TRUE, sizeof(RhLayerType));
    for (const RhJsonNode *n = rh_json_first(types); n != NULL; n = rh_json_next(n)) {
        if (rh_json_object(r->doc, types, rh_json_key(n)) == NULL)
            continue;
        RhLayerType word = read_layer_type(r->doc, rh_json_key(n), n);
        g_array_append_val(words, word);
    }
    check_preceding(r->doc, types, words);
    return (RhLayerType *)(void *)g_array_free(words, FALSE);
}

/* --- The whole file --- */

/* Reads the names of rules; NULL where the file has none of its own. The caller frees the list; the
 * rules are interned. */
static const char **read_rules(Reader *r, const RhJsonNode *root)
{
    const RhJsonNode *list = rh_json_array_or_null(r->doc, root, "rules");
    if (list == NULL)
        return NULL;
    GPtrArray *rules = g_ptr_array_new();
    for (const RhJsonNode *n = rh_json_first(list); n != NULL; n = rh_json_next(n)) {
        const char *rule = rh_json_node_string(r->doc, n);
        g_autofree char *problem = rh_rule_problem(rule);
        if (problem != NULL)
            rh_json_problem(r->doc, n, "as \"ssm.n_groups = max(ssm.num_heads, 1)\"", "rule: %s",
                            problem);
        g_ptr_array_add(rules, (void *)rule);
    }
    g_ptr_array_add(rules, NULL);
    return (const char **)g_ptr_array_free(rules, FALSE);
}

/* Reads the variants; NULL where the file has none of its own. The caller frees. */
static RhVariant *read_variants(Reader *r, const RhJsonNode *root)
{
    static const char *const whens[] = {[RH_VARIANT_PRESENT] = "present",
                                        [RH_VARIANT_FALSE] = "false",
                                        [RH_VARIANT_CONTAINS] = "contains",
                                        NULL};
    const RhJsonNode *list = rh_json_array_or_null(r->doc, root, "variants");
    if (list == NULL)
        return NULL;
    GArray *variants = g_array_new(TRUE, TRUE, sizeof(RhVariant));
    for (const RhJsonNode *n = rh_json_first(list); n != NULL; n = rh_json_next(n)) {
        RhVariant variant = {.key = rh_json_word(r->doc, n, "key"),
                             .family = rh_json_word(r->doc, n, "family")};
        variant.when = (RhVariantCondition)read_word(r->doc, n, "when", whens, RH_VARIANT_PRESENT);
        if (variant.when == RH_VARIANT_CONTAINS)
            variant.text = rh_json_word(r->doc, n, "text");
        g_array_append_val(variants, variant);
    }
    return (RhVariant *)(void *)g_array_free(variants, FALSE);
}

static void read_family(Reader *r, const RhJsonNode *root, RhFamilyFile *file)
{
    RhFamily *family = &file->families[0];
    static const char *const norms[] = {
        [RH_NORM_NONE] = "none", [RH_NORM_RMS] = "rms", [RH_NORM_LAYER] = "layer", NULL};
    static const char *const positions[] = {[RH_POSITION_NONE] = "none",
                                            [RH_POSITION_ROTARY] = "rotary",
                                            [RH_POSITION_LEARNED] = "learned",
                                            NULL};
    family->norm = (RhNorm)read_word(r->doc, root, "norm", norms, (int)family->norm);
    family->position =
        (RhPosition)read_word(r->doc, root, "positions", positions, (int)family->position);
    family->mixer = read_operator(r->doc, root, "mixer", family->mixer);
    family->ffn = read_operator(r->doc, root, "ffn", family->ffn);
    if (family->mixer == NULL || family->ffn == NULL)
        rh_json_problem(r->doc, root, "or \"derives\": a family that has both",
                        "no \"mixer\" and \"ffn\"");
    const char *between = rh_json_string_or(r->doc, root, "other_layers", "");
    if (*between != 0)
        family->between = between;
    read_keys(r, root);
    read_part_defaults(r, root);
    file->layer_types = read_layer_types(r, root);
    if (file->layer_types != NULL)
        family->words = file->layer_types;
    file->variants = read_variants(r, root);
    family->variants = file->variants; /* families derived from one are not its variants */
    file->rules = read_rules(r, root);
    if (file->rules != NULL)
        family->rules = file->rules;
    if (family->between != NULL && rh_family_word(family, family->between) == NULL)
        rh_json_problem(r->doc, rh_json_member(root, "other_layers"), "a layer type of this family",
                        "no layer type \"%s\"", family->between);
}

/* Finds the parent that the file names; NULL where it names none, or one that cannot be read. */
static const RhFamily *read_parent(RhJson *doc, const RhJsonNode *root, RhFamilyFind find)
{
    if (!rh_json_has(root, "derives"))
        return NULL;
    g_autoptr(GError) error = NULL;
    const char *name = rh_json_string(doc, root, "derives");
    const RhFamily *parent = find(name, &error);
    if (parent == NULL)
        rh_json_problem(doc, rh_json_member(root, "derives"), NULL,
                        "family \"%s\" to derive from: %s", name,
                        error != NULL ? error->message : "it is unknown");
    return parent;
}

/* Adds a family for each further model type, all with the same rows. */
static void read_model_types(RhJson *doc, const RhJsonNode *root, RhFamilyFile *file)
{
    const RhJsonNode *types = rh_json_array_or_null(doc, root, "model_types");
    file->families = g_renew(RhFamily, file->families, 1 + rh_json_count(types));
    for (const RhJsonNode *n = rh_json_first(types); n != NULL; n = rh_json_next(n)) {
        file->families[file->count] = file->families[0];
        file->families[file->count++].name = rh_json_node_string(doc, n);
    }
}

RhFamilyFile *rh_family_file_read(RhJson *doc, const char *name, RhFamilyFind find, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    Reader r = {.doc = doc, .parent = read_parent(doc, root, find)};
    r.fields = g_array_new(TRUE, TRUE, sizeof(RhField));
    for (const RhField *f = r.parent != NULL ? r.parent->fields : NULL;
         f != NULL && f->type != RH_FIELD_NONE; f++)
        g_array_append_val(r.fields, *f);
    r.inherited = r.fields->len;
    g_autoptr(RhFamilyFile) file = g_new0(RhFamilyFile, 1);
    file->families = g_new0(RhFamily, 1);
    file->count = 1;
    if (r.parent != NULL)
        file->families[0] = *r.parent;
    file->families[0].name = rh_intern(name);
    rh_json_string_or(doc, root, "about", "");
    read_family(&r, root, file);
    file->families[0].fields = (const RhField *)(void *)g_array_free(r.fields, FALSE);
    read_model_types(doc, root, file);
    return rh_json_finish(doc, error) ? g_steal_pointer(&file) : NULL;
}

void rh_family_file_free(RhFamilyFile *file)
{
    if (file == NULL)
        return;
    g_free((void *)file->families[0].fields);
    g_free(file->layer_types);
    g_free(file->rules);
    g_free(file->variants);
    g_free(file->families);
    g_free(file);
}
