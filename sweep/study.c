#include "sweep/study.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/shell/shell_quote.h"
#include "base/text/expression.h"
#include "sweep/item_key.h"
#include "sweep/study_axes.h"

typedef struct {
    const RhStudyRules *rules;
    RhJson *doc;
    RhStudy *study;
    GPtrArray *bundles;
    GPtrArray *nodes;   /* const RhJsonNode*: of every axis */
    GPtrArray *wheres;  /* const char*: "where" */
    GPtrArray *excepts; /* const RhJsonNode*: objects of "except" */
    GArray *used;       /* bool, of every axis: it stands as {name} in a value */
    const RhJsonNode *options;
    const char **values; /* of the combination at hand */
} Reader;

static void item_free(void *data)
{
    RhStudyItem *item = data;
    g_strfreev(item->words);
    g_strfreev(item->values);
    g_free(item->key);
    g_free(item);
}

void rh_study_free(RhStudy *study)
{
    if (!study)
        return;
    g_free(study->path);
    g_free(study->about);
    g_ptr_array_unref(study->axes);
    g_ptr_array_unref(study->items);
    g_ptr_array_unref(study->columns);
    g_free(study);
}

static int32_t axis_named(const Reader *r, const char *name, size_t length)
{
    for (guint i = 0; i < r->study->axes->len; i++) {
        const char *axis = g_ptr_array_index(r->study->axes, i);
        if (strlen(axis) == length && strncmp(axis, name, length) == 0)
            return (int32_t)i;
    }
    return -1;
}

/* --- names in values: {tp} --- */

/* Notes which axes a value names; one that is none is a problem at the node. */
static void look_for_names(Reader *r, const RhJsonNode *node, const char *text)
{
    for (const char *open = text; (open = strchr(open, '{')) != NULL; open++) {
        size_t length = strcspn(open + 1, "}");
        int32_t axis = axis_named(r, open + 1, length);
        if (axis >= 0)
            g_array_index(r->used, bool, axis) = true;
        else
            rh_json_problem(r->doc, node, "{name} is replaced by the value of that axis",
                            "no axis is called \"%.*s\"", (int)length, open + 1);
    }
}

/* The value with every {name} replaced; caller frees. */
static char *filled(const Reader *r, const char *text)
{
    GString *out = g_string_new(NULL);
    for (const char *at = text; *at;) {
        size_t plain = strcspn(at, "{");
        g_string_append_len(out, at, (gssize)plain);
        at += plain;
        if (!*at)
            break;
        size_t length = strcspn(at + 1, "}");
        int32_t axis = axis_named(r, at + 1, length);
        if (axis >= 0 && r->values[axis])
            g_string_append(out, r->values[axis]);
        at += length + 1 + (at[length + 1] == '}');
    }
    return g_string_free(out, FALSE);
}

/* --- what the file says --- */

static void check_option(Reader *r, const RhJsonNode *member)
{
    const char *name = rh_json_key(member);
    switch (r->rules->option(r->study->command, name)) {
    case RH_STUDY_OPTION_NONE:
        rh_json_problem_at_key(r->doc, member, NULL, "%s has no option --%s", r->study->command,
                               name);
        break;
    case RH_STUDY_OPTION_REFUSED:
        rh_json_problem_at_key(r->doc, member, NULL,
                               "--%s changes no answer, and is not a study's to say", name);
        break;
    case RH_STUDY_OPTION_FLAG:
    case RH_STUDY_OPTION_VALUE:
        break;
    }
    if (axis_named(r, name, strlen(name)) >= 0)
        rh_json_problem_at_key(r->doc, member,
                               "an axis of another name may stand as {name} in the option",
                               "\"%s\" is an axis as well", name);
}

static void read_options(Reader *r, const RhJsonNode *root)
{
    r->options = rh_json_object_or_null(r->doc, root, "options");
    const RhJsonNode *first = r->options ? rh_json_first(r->options) : NULL;
    for (const RhJsonNode *node = first; node; node = rh_json_next(node)) {
        rh_json_consume_all(r->doc, node);
        rh_json_consume(r->doc, r->options, rh_json_key(node));
        check_option(r, node);
        bool list = rh_json_kind(node) == RH_JSON_ARRAY;
        for (const RhJsonNode *n = list ? rh_json_first(node) : node; n;
             n = list ? rh_json_next(n) : NULL) {
            g_autofree char *text = rh_study_scalar(r->doc, n);
            look_for_names(r, n, text ? text : "");
        }
    }
}

static void read_axes(Reader *r, const RhJsonNode *root)
{
    r->bundles = rh_study_axes_read(r->doc, root);
    for (guint b = 0; b < r->bundles->len; b++) {
        const RhStudyBundle *bundle = g_ptr_array_index(r->bundles, b);
        for (guint i = 0; i < bundle->names->len; i++) {
            g_ptr_array_add(r->study->axes, g_ptr_array_index(bundle->names, i));
            g_ptr_array_add(r->nodes, g_ptr_array_index(bundle->nodes, i));
        }
    }
    g_array_set_size(r->used, r->study->axes->len);
}

static void look_in_axes(Reader *r)
{
    for (guint b = 0, axis = 0; b < r->bundles->len; b++) {
        const RhStudyBundle *bundle = g_ptr_array_index(r->bundles, b);
        for (guint i = 0; i < bundle->names->len; i++, axis++) {
            const GPtrArray *values = g_ptr_array_index(bundle->values, i);
            for (guint v = 0; v < values->len; v++)
                if (g_ptr_array_index(values, v))
                    look_for_names(r, g_ptr_array_index(r->nodes, axis),
                                   g_ptr_array_index(values, v));
        }
    }
}

/* An axis is an option or is named in a value; else it would change nothing. */
static void check_axes(Reader *r)
{
    for (guint i = 0; i < r->study->axes->len; i++) {
        const char *name = g_ptr_array_index(r->study->axes, i);
        RhStudyOption kind = r->rules->option(r->study->command, name);
        if (kind == RH_STUDY_OPTION_REFUSED)
            rh_json_problem_at_key(r->doc, g_ptr_array_index(r->nodes, i), NULL,
                                   "--%s changes no answer: no axis", name);
        else if (kind == RH_STUDY_OPTION_NONE && !g_array_index(r->used, bool, i))
            rh_json_problem_at_key(r->doc, g_ptr_array_index(r->nodes, i), NULL,
                                   "%s has no option --%s, and no value has {%s} in it",
                                   r->study->command, name, name);
    }
}

static void read_except(Reader *r, const RhJsonNode *root)
{
    const RhJsonNode *list = rh_json_array_or_null(r->doc, root, "except");
    for (const RhJsonNode *object = rh_json_first(list); object; object = rh_json_next(object)) {
        rh_json_consume_all(r->doc, object);
        if (rh_json_kind(object) != RH_JSON_OBJECT || !rh_json_first(object)) {
            rh_json_problem(r->doc, object, "like {\"platform\": \"dgx-h100:4\", \"pp\": 8}",
                            "an object of values belongs here");
            continue;
        }
        for (const RhJsonNode *n = rh_json_first(object); n; n = rh_json_next(n))
            if (axis_named(r, rh_json_key(n), strlen(rh_json_key(n))) < 0)
                rh_json_problem_at_key(r->doc, n, NULL, "no axis is called \"%s\"", rh_json_key(n));
        g_ptr_array_add(r->excepts, (void *)object);
    }
}

/* --- filters --- */

/* The number that a value of an axis is; "8k" is 8,192, as in options. An axis with '-' in its name,
 * which subtracts in an expression, is written with '_'. */
static bool axis_number(const char *name, const void *user, int64_t *value)
{
    const Reader *r = user;
    g_autofree char *option = g_strdelimit(g_strdup(name), "_", '-');
    int32_t axis = axis_named(r, name, strlen(name));
    if (axis < 0)
        axis = axis_named(r, option, strlen(option));
    const char *text = axis >= 0 ? r->values[axis] : NULL;
    if (!text)
        return false;
    char *end;
    int64_t number = g_ascii_strtoll(text, &end, 10);
    if (end == text || (*end && strcmp(end, "k") != 0))
        return false;
    *value = *end ? number * 1024 : number;
    return true;
}

static bool is_excepted(const Reader *r, const RhJsonNode *object)
{
    for (const RhJsonNode *n = rh_json_first(object); n; n = rh_json_next(n)) {
        const char *name = rh_json_key(n);
        g_autofree char *text = rh_study_scalar(r->doc, n);
        if (g_strcmp0(text, r->values[axis_named(r, name, strlen(name))]) != 0)
            return false;
    }
    return true;
}

static bool is_asked(Reader *r, const RhJsonNode *root)
{
    RhExpressionNames names = {
        .value = axis_number, .user = r, .unknown = "no axis of whole numbers"};
    const RhJsonNode *node = rh_json_first(rh_json_member(root, "where"));
    for (guint i = 0; i < r->wheres->len; i++, node = rh_json_next(node)) {
        int64_t value = 0;
        g_autofree char *problem =
            rh_expression_value(g_ptr_array_index(r->wheres, i), &names, &value);
        if (problem)
            rh_json_problem(r->doc, node, "an expression of axes, like tp * pp <= 64", "%s",
                            problem);
        if (problem || value == 0)
            return false;
    }
    for (guint i = 0; i < r->excepts->len; i++)
        if (is_excepted(r, g_ptr_array_index(r->excepts, i)))
            return false;
    return true;
}

/* --- items --- */

static void add_word(const Reader *r, GPtrArray *words, const char *name, const char *text)
{
    if (!text)
        return;
    if (r->rules->option(r->study->command, name) == RH_STUDY_OPTION_FLAG) {
        g_ptr_array_add(words, g_strdup_printf("--%s", name));
        return;
    }
    g_autofree char *value = filled(r, text);
    g_ptr_array_add(words, g_strdup_printf("--%s=%s", name, value));
}

static char **words_of(const Reader *r)
{
    GPtrArray *words = g_ptr_array_new();
    const RhJsonNode *first = r->options ? rh_json_first(r->options) : NULL;
    for (const RhJsonNode *node = first; node; node = rh_json_next(node)) {
        bool list = rh_json_kind(node) == RH_JSON_ARRAY;
        for (const RhJsonNode *n = list ? rh_json_first(node) : node; n;
             n = list ? rh_json_next(n) : NULL) {
            g_autofree char *text = rh_study_scalar(r->doc, n);
            add_word(r, words, rh_json_key(node), text);
        }
    }
    for (guint i = 0; i < r->study->axes->len; i++) {
        const char *name = g_ptr_array_index(r->study->axes, i);
        if (r->rules->option(r->study->command, name) != RH_STUDY_OPTION_NONE)
            add_word(r, words, name, r->values[i]);
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

static RhStudyItem *make_item(const Reader *r, RhItemKeys *keys)
{
    guint count = r->study->axes->len;
    RhStudyItem *item = g_new0(RhStudyItem, 1);
    item->words = words_of(r);
    item->values = g_new0(char *, count + 1);
    for (guint i = 0; i < count; i++)
        item->values[i] = g_strdup(r->values[i] ? r->values[i] : "");
    item->key = rh_item_key(keys, r->study->command, item->words);
    return item;
}

/* Values that the command refuses are the file's mistake; the first item that has one is named. */
static bool check_item(Reader *r, const RhJsonNode *root, const RhStudyItem *item)
{
    GError *local = NULL;
    if (r->rules->check(r->study->command, item->words, &local))
        return true;
    g_autofree char *line = rh_study_line(r->study, item);
    rh_error_note(&local, "in %s", line);
    rh_json_problem_of(r->doc, root, "axes", local);
    return false;
}

static void make_items(Reader *r, const RhJsonNode *root)
{
    int64_t count = rh_study_axes_count(r->doc, root, r->bundles, RH_STUDY_ITEMS_MAX);
    g_autoptr(RhItemKeys) keys = rh_item_keys_new(r->rules->version);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (int64_t i = 0; i < count && rh_json_problems_count(r->doc) == 0; i++) {
        g_autofree const char **values = rh_study_axes_at(r->bundles, i);
        r->values = values;
        if (!is_asked(r, root))
            continue;
        RhStudyItem *item = make_item(r, keys);
        if (!check_item(r, root, item) || g_hash_table_contains(seen, item->key)) {
            item_free(item); /* the same question twice is asked once */
            continue;
        }
        g_hash_table_add(seen, item->key);
        g_ptr_array_add(r->study->items, item);
    }
    r->values = NULL;
    if (r->study->items->len == 0 && rh_json_problems_count(r->doc) == 0)
        rh_json_problem(
            r->doc, rh_json_member(root, "axes"), NULL,
            "no combination is left: \"where\" and \"except\" leave out all %" G_GINT64_FORMAT,
            count);
}

static void read_texts(RhJson *doc, const RhJsonNode *root, const char *key, GPtrArray *texts)
{
    const RhJsonNode *list = rh_json_array_or_null(doc, root, key);
    for (const RhJsonNode *node = rh_json_first(list); node; node = rh_json_next(node))
        g_ptr_array_add(texts, (void *)rh_json_node_string(doc, node));
}

static void read_command(Reader *r, const RhJsonNode *root)
{
    const char *name = rh_json_word(r->doc, root, "command");
    r->study->command = rh_intern(name);
    if (!*name || g_strv_contains(r->rules->commands, name))
        return;
    g_autofree char *list = g_strjoinv(", ", (char **)r->rules->commands);
    rh_json_problem(r->doc, rh_json_member(root, "command"), NULL,
                    "a study asks one of %s, not \"%s\"", list, name);
}

static void read_study(Reader *r)
{
    const RhJsonNode *root = rh_json_root(r->doc);
    const char *schema = rh_json_string(r->doc, root, "schema");
    if (*schema && strcmp(schema, "rehearse.study/1") != 0)
        rh_json_problem(r->doc, rh_json_member(root, "schema"), "\"rehearse.study/1\"",
                        "not the schema of a study");
    read_command(r, root);
    r->study->about = g_strdup(rh_json_string_or(r->doc, root, "about", ""));
    r->study->timeout_s = rh_json_quantity_or(r->doc, root, "timeout", RH_QUANTITY_S, 0);
    read_texts(r->doc, root, "columns", r->study->columns);
    read_texts(r->doc, root, "where", r->wheres);
    if (rh_json_problems_count(r->doc) > 0) /* what follows depends on the command */
        return;
    read_axes(r, root);
    read_options(r, root);
    look_in_axes(r);
    check_axes(r);
    read_except(r, root);
    if (rh_json_problems_count(r->doc) == 0)
        make_items(r, root);
}

RhStudy *rh_study_load(const char *path, const RhStudyRules *rules, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return NULL;
    g_autoptr(RhStudy) study = g_new0(RhStudy, 1);
    *study = (RhStudy){.path = g_strdup(path),
                       .axes = g_ptr_array_new(),
                       .items = g_ptr_array_new_with_free_func(item_free),
                       .columns = g_ptr_array_new()};
    Reader r = {.rules = rules, .doc = doc, .study = study};
    r.nodes = g_ptr_array_new();
    r.wheres = g_ptr_array_new();
    r.excepts = g_ptr_array_new();
    r.used = g_array_new(FALSE, TRUE, sizeof(bool));
    read_study(&r);
    g_clear_pointer(&r.bundles, g_ptr_array_unref);
    g_ptr_array_unref(r.nodes);
    g_ptr_array_unref(r.wheres);
    g_ptr_array_unref(r.excepts);
    g_array_unref(r.used);
    if (study->axes->len == 0) /* keys that were not reached are no mistakes */
        rh_json_consume_all(doc, rh_json_root(doc));
    return rh_json_finish(doc, error) ? g_steal_pointer(&study) : NULL;
}

char *rh_study_line(const RhStudy *study, const RhStudyItem *item)
{
    GString *line = g_string_new("rehearse ");
    g_string_append(line, study->command);
    rh_shell_append(line, (const char *const *)item->words);
    return g_string_free(line, FALSE);
}
