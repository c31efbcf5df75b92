/* Manifests of Kubernetes and Docker Compose, and configuration files of engines, as commands. */
#include <string.h>

#include "base/shell/shell_script.h"
#include "base/text/yaml.h"
#include "strategies/serve/launch/server_command_reader.h"

#define REPLICAS_MAX 65536

/* Appends the words of a list, or of a text that a shell splits. */
static void add_words(const RhServerReader *r, RhJson *doc, const RhJsonNode *node,
                      GPtrArray *words)
{
    const RhJsonPlace *place = rh_json_place(doc, node);
    size_t line = 1, column = 1;
    if (place)
        rh_json_line_of(doc, place->offset, &line, &column);
    g_autofree char *at = g_strdup_printf("%s:%zu:%zu", r->name, line, column);
    if (rh_json_kind(node) == RH_JSON_ARRAY) {
        for (const RhJsonNode *n = rh_json_first(node); n; n = rh_json_next(n))
            if (rh_json_kind(n) != RH_JSON_ARRAY && rh_json_kind(n) != RH_JSON_OBJECT) {
                g_autofree char *text = rh_server_scalar_text(doc, n);
                const RhJsonPlace *own = rh_json_place(doc, n);
                if (own)
                    rh_json_line_of(doc, own->offset, &line, &column);
                g_autofree char *here = g_strdup_printf("%s:%zu:%zu", r->name, line, column);
                rh_server_add_word(words, text, here, !strchr(text, '$'));
            }
        return;
    }
    g_autofree char *text =
        rh_json_kind(node) == RH_JSON_TEXT ? rh_server_scalar_text(doc, node) : NULL;
    g_autoptr(RhShell) shell = text ? rh_shell_parse(r->name, text, strlen(text), NULL) : NULL;
    for (guint i = 0; shell && i < shell->commands->len; i++) {
        const RhShellCommand *c = shell->commands->pdata[i];
        for (guint k = 0; k < c->words->len; k++) {
            const RhShellWord *word = c->words->pdata[k];
            rh_server_add_word(words, word->text, at, word->whole);
        }
    }
}

/* Returns the replicas that an object asks for, of itself or of what is in it: "replicas" of a
 * Deployment's or LeaderWorkerSet's specification, "deploy: {replicas: N}" and "scale" of a service of
 * Docker Compose. `above`: none are said here. */
static const RhJsonNode *replicas_of(const RhJsonNode *object, const RhJsonNode *above)
{
    const RhJsonNode *deploy = rh_json_member(object, "deploy");
    bool composed = deploy && rh_json_kind(deploy) == RH_JSON_OBJECT;
    const RhJsonNode *said[] = {rh_json_member(object, "replicas"), rh_json_member(object, "scale"),
                                composed ? rh_json_member(deploy, "replicas") : NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(said); i++)
        if (said[i] && rh_json_kind(said[i]) == RH_JSON_NUMBER)
            above = said[i];
    return above;
}

/* Reads a container: its image, its command and its arguments. */
static bool read_container(RhServerReader *r, RhJson *doc, const RhJsonNode *node,
                           const RhJsonNode *replicas, GError **error)
{
    static const char *const keys[] = {"entrypoint", "command", "args"};
    const RhJsonNode *image = rh_json_member(node, "image");
    bool named = image && rh_json_kind(image) == RH_JSON_TEXT;
    const RhEngine *engine =
        named ? rh_server_engine_of_image(r, rh_json_node_text(doc, image)) : NULL;
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(rh_server_word_free);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const RhJsonNode *part = rh_json_member(node, keys[i]);
        if (part)
            add_words(r, doc, part, words);
    }
    guint before = r->commands->len;
    if (!rh_server_read_words(r, words, engine, error))
        return false;
    for (guint i = before; i < r->commands->len; i++)
        if (replicas)
            ((RhServerCommand *)r->commands->pdata[i])->replicas =
                (int32_t)rh_json_node_int(doc, replicas, 1, REPLICAS_MAX);
    return true;
}

/* Reads all containers of a manifest; `replicas`: said above this node, NULL: none. */
static bool read_manifest(RhServerReader *r, RhJson *doc, const RhJsonNode *node,
                          const RhJsonNode *replicas, GError **error)
{
    RhJsonKind kind = rh_json_kind(node);
    if (kind != RH_JSON_OBJECT && kind != RH_JSON_ARRAY)
        return true;
    if (kind == RH_JSON_OBJECT)
        replicas = replicas_of(node, replicas);
    if (kind == RH_JSON_OBJECT && (rh_json_has(node, "command") || rh_json_has(node, "args")) &&
        !read_container(r, doc, node, replicas, error))
        return false;
    for (const RhJsonNode *n = rh_json_first(node); n; n = rh_json_next(n))
        if (!read_manifest(r, doc, n, replicas, error))
            return false;
    return true;
}

/* --- configuration files --- */

#define KEYS_LEAST  2 /* of an engine make a file its configuration */
#define KEYS_NESTED 3 /* make an object inside a file such */

static guint known_keys(const RhEngine *engine, const RhJsonNode *root)
{
    guint count = 0;
    for (const RhJsonNode *n = rh_json_first(root); n; n = rh_json_next(n)) {
        g_autofree char *path = rh_engine_path(rh_json_key(n));
        const char *bare = g_str_has_prefix(path, "no_") ? path + 3 : path;
        count += rh_engine_flag(engine, path) || rh_engine_flag(engine, bare) ||
                 rh_engine_option_cost(engine, path) != RH_ENGINE_OPTION_UNKNOWN;
    }
    return count;
}

/* Reads an object as an engine's configuration: the engine is the one that knows most of its keys,
 * `least` at least. `key`: under which the object stands, which may be a role of two pools. */
static bool read_engine_keys(RhServerReader *r, RhJson *doc, const RhJsonNode *object,
                             const char *key, guint least)
{
    const RhEngine *best = NULL;
    guint keys = 0, most = least - 1;
    for (const RhJsonNode *n = rh_json_first(object); n; n = rh_json_next(n))
        keys++;
    for (const char *const *name = rh_serving_engine_names(); *name; name++) {
        const RhEngine *engine = rh_serving_engine(*name, NULL);
        guint count = engine ? known_keys(engine, object) : 0;
        if (count > most && 2 * count >= keys) { /* most of the file is the engine's */
            most = count;
            best = engine;
        }
    }
    if (!best)
        return false;
    RhServerCommand *c = g_new0(RhServerCommand, 1);
    c->engine = best;
    c->version = g_strdup(g_hash_table_lookup(r->versions, best->name));
    c->role = g_strdup(key);
    c->settings = g_ptr_array_new_with_free_func(rh_server_setting_free);
    g_ptr_array_add(r->commands, c);
    RhServerWord at = {NULL, (char *)r->name, true};
    rh_server_add_members(c, doc, object, "", &at);
    for (guint i = 0; i < c->settings->len; i++) {
        const RhServerSetting *s = c->settings->pdata[i];
        if (rh_server_is_model(best, s->path) && s->text && !c->model)
            c->model = g_strdup(s->text);
    }
    return true;
}

/* Reads the root as an engine's configuration file, or objects inside of a larger file. */
static void read_engine_files(RhServerReader *r, RhJson *doc, const RhJsonNode *node,
                              const char *key, guint least)
{
    RhJsonKind kind = rh_json_kind(node);
    if (kind == RH_JSON_OBJECT && read_engine_keys(r, doc, node, key, least))
        return;
    bool nested = kind == RH_JSON_OBJECT || kind == RH_JSON_ARRAY;
    for (const RhJsonNode *n = nested ? rh_json_first(node) : NULL; n; n = rh_json_next(n))
        read_engine_files(r, doc, n, kind == RH_JSON_OBJECT ? rh_json_key(n) : NULL, KEYS_NESTED);
}

bool rh_server_read_yaml(RhServerReader *r, const char *text, size_t length, GError **error)
{
    g_autoptr(RhJson) doc = rh_yaml_parse(r->name, text, length, error);
    if (!doc || !read_manifest(r, doc, rh_json_root(doc), NULL, error))
        return false;
    if (r->commands->len == 0)
        read_engine_files(r, doc, rh_json_root(doc), NULL, KEYS_LEAST);
    if (rh_json_problems_count(doc) == 0)
        return true;
    rh_json_consume_all(doc, rh_json_root(doc));
    rh_json_refuse(doc, error);
    return false;
}
