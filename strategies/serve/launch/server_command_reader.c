#include "strategies/serve/launch/server_command_reader.h"

#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/shell/shell_script.h"
#include "base/text/text_input.h"
#include "base/text/yaml.h"

#define NESTED_MAX 4 /* scripts within words of scripts */

void rh_server_setting_free(gpointer data)
{
    RhServerSetting *s = data;
    g_free(s->flag);
    g_free(s->path);
    g_free(s->text);
    g_free(s->place);
    g_free(s);
}

void rh_server_word_free(gpointer data)
{
    RhServerWord *word = data;
    g_free(word->text);
    g_free(word->place);
    g_free(word);
}

void rh_server_add_word(GPtrArray *words, const char *text, const char *place, bool whole)
{
    RhServerWord *word = g_new0(RhServerWord, 1);
    *word = (RhServerWord){g_strdup(text), g_strdup(place), whole};
    g_ptr_array_add(words, word);
}

static const char *word_at(const GPtrArray *words, guint i)
{
    return i < words->len ? ((const RhServerWord *)words->pdata[i])->text : "";
}

/* --- settings --- */

static void add_setting(RhServerCommand *c, const char *flag, const char *path, const char *text,
                        const RhServerWord *at)
{
    RhServerSetting *s = g_new0(RhServerSetting, 1);
    *s = (RhServerSetting){g_strdup(flag), g_strdup(path), g_strdup(text), at->whole,
                           g_strdup(at->place)};
    g_ptr_array_add(c->settings, s);
}

char *rh_server_scalar_text(RhJson *doc, const RhJsonNode *node)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    switch (rh_json_kind(node)) {
    case RH_JSON_NULL:
        return g_strdup("null");
    case RH_JSON_FALSE:
        return g_strdup("false");
    case RH_JSON_TRUE:
        return g_strdup("true");
    case RH_JSON_TEXT:
        return g_strdup(rh_json_node_text(doc, node));
    case RH_JSON_NUMBER:
        return g_strdup(g_ascii_formatd(number, sizeof number, "%.12g",
                                        rh_json_node_number(doc, node, -1e300, 1e300)));
    case RH_JSON_ARRAY:
    case RH_JSON_OBJECT:
        break;
    }
    return NULL;
}

/* Turns "no-enable-prefix-caching: true" into the switch that it negates. */
static void settle_negated(const RhEngine *engine, char *path, char **text)
{
    if (!g_str_has_prefix(path, "no_") || !*text || rh_engine_flag(engine, path) ||
        rh_engine_option_cost(engine, path) != RH_ENGINE_OPTION_UNKNOWN)
        return;
    bool yes = strcmp(*text, "false") != 0;
    memmove(path, path + strlen("no_"), strlen(path + strlen("no_")) + 1);
    g_free(*text);
    *text = g_strdup(yes ? "false" : "true");
}

void rh_server_add_members(RhServerCommand *c, RhJson *doc, const RhJsonNode *object,
                           const char *path, const RhServerWord *at)
{
    for (const RhJsonNode *n = rh_json_first(object); n; n = rh_json_next(n)) {
        g_autofree char *own = rh_engine_path(rh_json_key(n));
        g_autofree char *whole = *path ? g_strdup_printf("%s.%s", path, own) : g_strdup(own);
        char *scalar = rh_server_scalar_text(doc, n);
        settle_negated(c->engine, whole, &scalar);
        g_autofree char *text = scalar;
        const RhJsonPlace *place = *path ? NULL : rh_json_place(doc, n);
        size_t line = 0, column = 0;
        if (place)
            rh_json_line_of(doc, place->offset, &line, &column);
        g_autofree char *here =
            place ? g_strdup_printf("%s:%zu:%zu", rh_json_name(doc), line, column) : NULL;
        RhServerWord member = {NULL, here ? here : at->place, at->whole};
        add_setting(c, whole, whole, text, &member);
        if (rh_json_kind(n) == RH_JSON_OBJECT)
            rh_server_add_members(c, doc, n, whole, &member);
        else if (text && *text == '{') {
            g_autoptr(RhJson) inner = rh_json_parse(rh_json_name(doc), text, strlen(text), NULL);
            if (inner && rh_json_kind(rh_json_root(inner)) == RH_JSON_OBJECT)
                rh_server_add_members(c, inner, rh_json_root(inner), whole, &member);
        }
    }
}

bool rh_server_is_model(const RhEngine *engine, const char *path)
{
    for (int i = 0; engine->model[i]; i++) {
        g_autofree char *own = rh_engine_path(engine->model[i]);
        if (strcmp(own, path) == 0)
            return true;
    }
    return false;
}

/* The here-document that a script writes into a file; NULL: none. */
static const char *written_text(const RhServerReader *r, const char *file)
{
    const char *here = g_hash_table_lookup(r->files, file);
    g_autofree char *base = g_path_get_basename(file);
    return here ? here : g_hash_table_lookup(r->files, base);
}

/* The text of a configuration file: a here-document of the script, or a file beside it. */
static char *config_text(const RhServerReader *r, const char *file)
{
    const char *here = written_text(r, file);
    g_autofree char *base = g_path_get_basename(file);
    if (here)
        return g_strdup(here);
    g_autofree char *folder = g_path_get_dirname(r->name);
    g_autofree char *beside = g_build_filename(folder, base, NULL);
    char *text = NULL;
    if (g_file_test(file, G_FILE_TEST_IS_REGULAR))
        text = rh_text_load(file, NULL);
    else if (g_file_test(beside, G_FILE_TEST_IS_REGULAR))
        text = rh_text_load(beside, NULL);
    return text;
}

static bool is_config(const char *path)
{
    static const char *const names[] = {"config", "extra_llm_api_options", "extra_engine_args"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i], path) == 0)
            return true;
    return false;
}

static bool read_config(const RhServerReader *r, RhServerCommand *c, const RhServerWord *at,
                        const char *file, GError **error)
{
    g_autofree char *text = config_text(r, file);
    bool written = written_text(r, file) != NULL; /* may hold what only the shell knows */
    g_autoptr(RhJson) doc =
        text ? rh_yaml_parse(file, text, strlen(text), written ? NULL : error) : NULL;
    if (!doc && text && !written)
        return false;
    if (!doc) {
        g_free(c->config);
        c->config = g_strdup(file);
        return true;
    }
    if (rh_json_kind(rh_json_root(doc)) == RH_JSON_OBJECT)
        rh_server_add_members(c, doc, rh_json_root(doc), "", at);
    return true;
}

/* Does a flag take the word behind it? */
static bool takes_value(const RhEngine *engine, const char *path, const char *next)
{
    const RhEngineOption *row = rh_engine_flag(engine, path);
    RhEngineOptionCost other = rh_engine_option_cost(engine, path);
    bool is_switch = row ? row->kind == RH_ENGINE_FLAG_SWITCH || row->kind == RH_ENGINE_FLAG_ALL
                         : other == RH_ENGINE_OPTION_FREE_SWITCH;
    bool is_flag = *next == '-' && !g_ascii_isdigit(next[1]);
    return *next && !is_switch && !is_flag;
}

static bool add_value(const RhServerReader *r, RhServerCommand *c, const char *flag,
                      const char *path, const char *text, const RhServerWord *at, GError **error)
{
    if (rh_server_is_model(c->engine, path) && text) {
        g_free(c->model);
        c->model = g_strdup(text);
        return true;
    }
    add_setting(c, flag, path, text, at);
    g_autoptr(RhJson) doc =
        text && *text == '{' ? rh_json_parse(at->place, text, strlen(text), NULL) : NULL;
    if (doc && rh_json_kind(rh_json_root(doc)) == RH_JSON_OBJECT)
        rh_server_add_members(c, doc, rh_json_root(doc), path, at);
    return !text || !is_config(path) || read_config(r, c, at, text, error);
}

/* Reads a flag with its value, which may stand behind "=" or in the next word, or a negated switch; *i
 * is moved to its last word. */
static bool read_flag(const RhServerReader *r, RhServerCommand *c, const GPtrArray *words, guint *i,
                      GError **error)
{
    const RhServerWord *at = words->pdata[*i];
    const char *equals = strchr(at->text, '=');
    g_autofree char *flag =
        equals ? g_strndup(at->text, (gsize)(equals - at->text)) : g_strdup(at->text);
    g_autofree char *path = rh_engine_path(flag);
    const char *text = equals ? equals + 1 : NULL;
    bool negated = g_str_has_prefix(path, "no_") && !rh_engine_flag(c->engine, path) &&
                   rh_engine_option_cost(c->engine, path) == RH_ENGINE_OPTION_UNKNOWN;
    if (negated) {
        add_setting(c, flag, path + strlen("no_"), "false", at);
        return true;
    }
    if (!equals && takes_value(c->engine, path, word_at(words, *i + 1))) {
        at = words->pdata[++*i];
        text = at->text;
    }
    return add_value(r, c, flag, path, text, at, error);
}

static bool read_arguments(RhServerReader *r, const RhEngine *engine, const GPtrArray *words,
                           guint from, GError **error)
{
    RhServerCommand *c = g_new0(RhServerCommand, 1);
    c->engine = engine;
    c->settings = g_ptr_array_new_with_free_func(rh_server_setting_free);
    g_ptr_array_add(r->commands, c);
    for (guint i = from; i < words->len; i++) {
        const RhServerWord *word = words->pdata[i];
        if (*word->text == '-' && word->text[1]) {
            if (!read_flag(r, c, words, &i, error))
                return false;
        } else if (!c->model && *word->text) {
            c->model = g_strdup(word->text);
        }
    }
    const char *version = g_hash_table_lookup(r->versions, engine->name);
    c->version = g_strdup(version);
    return true;
}

/* --- commands --- */

/* Does a command of the engine begin at this word? *next: the first of its arguments. */
static bool begins(const RhEngine *engine, const GPtrArray *words, guint i, guint *next)
{
    for (int k = 0; engine->commands[k]; k++) {
        g_auto(GStrv) parts = g_strsplit(engine->commands[k], " ", -1);
        g_autofree char *base = g_path_get_basename(*word_at(words, i) ? word_at(words, i) : "?");
        bool same = strcmp(base, parts[0]) == 0;
        guint count = g_strv_length(parts);
        for (guint p = 1; same && p < count; p++)
            same = strcmp(word_at(words, i + p), parts[p]) == 0;
        *next = i + count;
        if (!same)
            continue;
        if (count == 1 && strcmp(word_at(words, i + 1), "serve") == 0)
            (*next)++;
        if (count > 1 || *next == i + 2 ||
            (strcmp(word_at(words, i + 1), "disaggregated") != 0 && *word_at(words, i + 1)))
            return true;
    }
    return false;
}

static const RhEngine *engine_of_command(const GPtrArray *words, guint i, guint *next)
{
    for (const char *const *name = rh_serving_engine_names(); *name; name++) {
        const RhEngine *engine = rh_serving_engine(*name, NULL);
        if (engine && begins(engine, words, i, next))
            return engine;
    }
    return NULL;
}

static void note_version(RhServerReader *r, const RhEngine *engine, const char *text)
{
    text += *text == 'v';
    size_t length = strspn(text, "0123456789.");
    if (length >= 3 && strchr(text, '.'))
        g_hash_table_replace(r->versions, (gpointer)engine->name, g_strndup(text, length));
}

const RhEngine *rh_server_engine_of_image(RhServerReader *r, const char *word)
{
    const char *colon = strrchr(word, ':');
    g_autofree char *image = colon ? g_strndup(word, (gsize)(colon - word)) : g_strdup(word);
    for (const char *const *name = rh_serving_engine_names(); *name; name++) {
        const RhEngine *engine = rh_serving_engine(*name, NULL);
        for (int k = 0; engine && engine->images[k]; k++) {
            g_autofree char *end = g_strconcat("/", engine->images[k], NULL);
            if (strcmp(image, engine->images[k]) != 0 && !g_str_has_suffix(image, end))
                continue;
            if (colon)
                note_version(r, engine, colon + 1);
            return engine;
        }
    }
    return NULL;
}

/* Notes a version that is installed: "vllm==0.10.1". */
static void note_package(RhServerReader *r, const char *word)
{
    const char *equals = strstr(word, "==");
    g_autofree char *package = equals ? g_strndup(word, (gsize)(equals - word)) : NULL;
    if (package)
        package[strcspn(package, "[")] = 0;
    for (const char *const *name = rh_serving_engine_names(); package && *name; name++) {
        const RhEngine *engine = rh_serving_engine(*name, NULL);
        if (engine && g_strv_contains(engine->packages, package))
            note_version(r, engine, equals + 2);
    }
}

bool rh_server_holds_command(const char *text)
{
    static const char *const words[] = {"vllm", "sglang", "trtllm", "tensorrt_llm"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

/* Is this a command that only names others? */
static bool only_talks(const char *first)
{
    static const char *const words[] = {"echo", "printf", "pkill", "pgrep", "grep", "kill",
                                        "curl", "cat",    "tee",   "ps",    "pip",  "pip3"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i], first) == 0)
            return true;
    return false;
}

bool rh_server_read_words(RhServerReader *r, const GPtrArray *words, const RhEngine *image,
                          GError **error)
{
    guint after_image = 0;
    for (guint i = 0; i < words->len; i++)
        note_package(r, word_at(words, i));
    if (words->len == 0 || only_talks(word_at(words, 0)))
        return true;
    for (guint i = 0, next = 0; i < words->len; i++) {
        const RhServerWord *word = words->pdata[i];
        bool script = strpbrk(word->text, " \n") && rh_server_holds_command(word->text);
        const RhEngine *engine = engine_of_command(words, i, &next);
        if (engine)
            return read_arguments(r, engine, words, next, error);
        if (script && *word->text != '{')
            return rh_server_read_script(r, word->text, strlen(word->text), word->place, error);
        const RhEngine *own = i > 0 ? rh_server_engine_of_image(r, word->text) : NULL;
        if (own) {
            image = own;
            after_image = i + 1;
        }
    }
    const char *first = word_at(words, after_image);
    if (image && *first == '-' && first[1])
        return read_arguments(r, image, words, after_image, error);
    return true;
}

/* --- scripts --- */

static char *place_of(const RhServerReader *r, const RhShell *shell, size_t offset,
                      const char *place)
{
    if (place)
        return g_strdup(place);
    size_t line = 1, column = 1;
    for (size_t i = 0; i < offset && i < shell->length; i++) {
        column = shell->text[i] == '\n' ? 1 : column + 1;
        line += shell->text[i] == '\n';
    }
    return g_strdup_printf("%s:%zu:%zu", r->name, line, column);
}

/* Keeps a file that a script writes; what is written later is appended to it. */
static void add_file(RhServerReader *r, const char *name, const char *text)
{
    const char *before = g_hash_table_lookup(r->files, name);
    char *whole = g_strconcat(before ? before : "", before ? "\n" : "", text, NULL);
    g_hash_table_replace(r->files, g_strdup(name), whole);
}

bool rh_server_read_script(RhServerReader *r, const char *text, size_t length, const char *place,
                           GError **error)
{
    if (r->depth == NESTED_MAX)
        return true;
    g_autoptr(RhShell) shell = rh_shell_parse(r->name, text, length, error);
    if (!shell)
        return false;
    r->depth++;
    bool fine = true;
    for (guint i = 0; i < shell->commands->len; i++) {
        const RhShellCommand *c = shell->commands->pdata[i];
        if (c->input && c->output && !c->uncertain)
            add_file(r, c->output, c->input);
    }
    for (guint i = 0; fine && i < shell->commands->len; i++) {
        const RhShellCommand *c = shell->commands->pdata[i];
        g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(rh_server_word_free);
        for (guint k = 0; k < c->words->len; k++) {
            const RhShellWord *word = c->words->pdata[k];
            g_autofree char *at = place_of(r, shell, word->offset, place);
            rh_server_add_word(words, word->text, at, word->whole);
        }
        fine = rh_server_read_words(r, words, NULL, error);
    }
    r->depth--;
    return fine;
}
