#include "strategies/launch/launch_settings.h"

#include <math.h>
#include <string.h>

#include "base/text/text_input.h"

static void clear_setting(gpointer data)
{
    RhLaunchSetting *setting = data;
    g_free(setting->name);
    g_free(setting->text);
}

static void free_doc(gpointer doc)
{
    rh_json_free(doc);
}

RhLaunchSettings *rh_launch_settings_new(void)
{
    RhLaunchSettings *s = g_new(RhLaunchSettings, 1);
    *s = (RhLaunchSettings){g_ptr_array_new_with_free_func(free_doc),
                            g_array_new(FALSE, TRUE, sizeof(RhLaunchSetting))};
    g_array_set_clear_func(s->rows, clear_setting);
    return s;
}

void rh_launch_settings_free(RhLaunchSettings *s)
{
    if (!s)
        return;
    g_array_unref(s->rows);
    g_ptr_array_unref(s->docs);
    g_free(s);
}

static void own_doc(RhLaunchSettings *s, RhJson *doc)
{
    if (!g_ptr_array_find(s->docs, doc, NULL))
        g_ptr_array_add(s->docs, doc);
}

/* --- keys of a file --- */

/* Returns a number as a command line would say it; caller frees. */
static char *number_text(RhJson *doc, const RhJsonNode *node)
{
    char room[G_ASCII_DTOSTR_BUF_SIZE];
    double value = rh_json_node_number(doc, node, -(double)INFINITY, (double)INFINITY);
    bool whole = value == floor(value) && fabs(value) < 1e15;
    return g_strdup(g_ascii_formatd(room, sizeof room, whole ? "%.0f" : "%.12g", value));
}

/* Returns a scalar as a command line would say it; NULL: it is none. Caller frees. */
static char *scalar_text(RhJson *doc, const RhJsonNode *node)
{
    RhJsonKind kind = rh_json_kind(node);
    return kind == RH_JSON_TEXT     ? rh_text_plain(rh_json_raw_text(node))
           : kind == RH_JSON_NUMBER ? number_text(doc, node)
           : kind == RH_JSON_TRUE   ? g_strdup("true")
           : kind == RH_JSON_FALSE  ? g_strdup("false")
                                    : NULL;
}

static void add_row(RhLaunchSettings *s, RhJson *doc, const RhJsonNode *node, char *name,
                    char *text)
{
    bool whole = !strstr(text, "${") && strcmp(text, "???") != 0; /* OmegaConf's words */
    RhLaunchSetting row = {name, text, doc, node, whole, rh_json_kind(node) != RH_JSON_NULL};
    g_array_append_val(s->rows, row);
}

/* Adds a list: of scalars as one text, of objects each by its number. */
static void add_list(RhLaunchSettings *s, RhJson *doc, const RhJsonNode *node, const char *name)
{
    g_autoptr(GString) text = g_string_new(NULL);
    int index = 0;
    for (const RhJsonNode *e = rh_json_first(node); e; e = rh_json_next(e), index++) {
        RhJsonKind kind = rh_json_kind(e);
        g_autofree char *below = g_strdup_printf("%s.%d", name, index);
        g_autofree char *one = scalar_text(doc, e);
        if (kind == RH_JSON_OBJECT)
            rh_launch_settings_add_tree(s, doc, e, below);
        else if (one)
            g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", one);
    }
    if (text->len > 0 || index == 0)
        add_row(s, doc, node, g_strdup(name), g_strdup(text->str));
}

void rh_launch_settings_add_tree(RhLaunchSettings *s, RhJson *doc, const RhJsonNode *node,
                                 const char *prefix)
{
    own_doc(s, doc);
    for (const RhJsonNode *child = rh_json_first(node); child; child = rh_json_next(child)) {
        const char *key = rh_json_key(child) ? rh_json_key(child) : "";
        char *name = *prefix ? g_strdup_printf("%s.%s", prefix, key) : g_strdup(key);
        RhJsonKind kind = rh_json_kind(child);
        if (kind == RH_JSON_OBJECT) {
            rh_launch_settings_add_tree(s, doc, child, name);
            g_free(name);
        } else if (kind == RH_JSON_ARRAY) {
            add_list(s, doc, child, name);
            g_free(name);
        } else {
            char *text = scalar_text(doc, child);
            add_row(s, doc, child, name, text ? text : g_strdup(""));
        }
    }
}

/* --- flags of a command --- */

static bool is_flag(const char *text)
{
    bool number = text[0] == '-' && (g_ascii_isdigit(text[1]) || text[1] == '.');
    return text[0] == '-' && text[1] && !number;
}

/* Returns where the value of "name=value" begins; NULL: it is no such word. */
static const char *pair_value(const char *text)
{
    size_t name = strspn(text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_.+~/@-");
    return name > 0 && text[name] == '=' ? text + name + 1 : NULL;
}

static void add_flag(RhLaunchSettings *s, RhJson *doc, const RhShellWord *word, char *name,
                     GString *value)
{
    RhJsonPlace place = {word->offset, MAX(word->span, 1), word->offset, MAX(word->span, 1)};
    const RhJsonNode *node = rh_json_add_text(doc, rh_json_top(doc), name, value->str, &place);
    RhLaunchSetting row = {name, g_strdup(value->str), doc, node, word->whole, true};
    g_array_append_val(s->rows, row);
}

/* Appends the words behind a flag that are no flags themselves, and returns their number. */
static guint take_values(const RhShellCommand *command, guint at, bool pairs, GString *value,
                         bool *whole)
{
    guint taken = 0;
    for (const RhShellWord *w; (w = rh_shell_word(command, at + taken)); taken++) {
        if (is_flag(w->text) || (pairs && pair_value(w->text)))
            break;
        g_string_append_printf(value, "%s%s", value->len > 0 ? " " : "", w->text);
        *whole = *whole && w->whole;
    }
    return taken;
}

void rh_launch_settings_add_words(RhLaunchSettings *s, RhJson *doc, const RhShellCommand *command,
                                  guint from, bool pairs)
{
    own_doc(s, doc);
    for (guint i = from; i < command->words->len; i++) {
        RhShellWord word = *rh_shell_word(command, i);
        g_autoptr(GString) value = g_string_new(NULL);
        const char *equals = pair_value(word.text);
        if (!is_flag(word.text) && !(pairs && equals)) {
            add_flag(s, doc, &word, g_strdup(""), g_string_append(value, word.text));
            continue;
        }
        const char *start = word.text + strspn(word.text, "-+~");
        size_t length = equals ? (size_t)(equals - 1 - start) : strlen(start);
        if (equals)
            g_string_append(value, equals);
        else
            i += take_values(command, i + 1, pairs, value, &word.whole);
        add_flag(s, doc, &word, g_strndup(start, length), value);
    }
}

/* --- Python --- */

#define PYTHON_NAME G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_."

/* Returns the length of a literal at `c`, "torch.bfloat16" counted as one; 0: it is none. */
static size_t literal_span(const char *c)
{
    if (*c == '"' || *c == '\'') {
        const char *end = strchr(c + 1, *c);
        return end && !memchr(c, '\n', (size_t)(end - c)) ? (size_t)(end - c) + 1 : 0;
    }
    size_t list = *c == '[' ? strcspn(c, "]") : 0;
    if (list > 0 && c[list] == ']' && !memchr(c + 1, '[', list - 1))
        return list + 1;
    size_t word = strspn(c, PYTHON_NAME "-+");
    bool number = g_ascii_isdigit(*c) || (*c == '-' && g_ascii_isdigit(c[1]));
    bool literal = g_str_has_prefix(c, "True") || g_str_has_prefix(c, "False") ||
                   g_str_has_prefix(c, "None") || g_str_has_prefix(c, "torch.");
    bool ends = strchr(" \t\r\n,)#]}", c[word]) != NULL;
    return (number || literal) && ends ? word : 0;
}

/* Adds "name = literal" at `name`, of `length` bytes; returns how far it read. */
static const char *add_assignment(RhLaunchSettings *s, RhJson *doc, const char *text,
                                  const char *name, size_t length)
{
    const char *equals = name + length + strspn(name + length, " \t");
    if (*equals != '=' || equals[1] == '=')
        return name + length;
    const char *value = equals + 1 + strspn(equals + 1, " \t");
    size_t span = literal_span(value);
    if (span == 0)
        return value;
    bool quoted = *value == '"' || *value == '\'';
    g_autofree char *said = g_strndup(value + quoted, span - (quoted ? 2 : 0));
    g_autofree char *key = g_strndup(name, length);
    RhJsonPlace place = {(size_t)(value - text), span, (size_t)(name - text), length};
    const RhJsonNode *node = rh_json_add_text(doc, rh_json_top(doc), key, said, &place);
    RhLaunchSetting row = {g_steal_pointer(&key), g_steal_pointer(&said), doc, node, true, true};
    g_array_append_val(s->rows, row);
    return value + span;
}

void rh_launch_settings_add_python(RhLaunchSettings *s, RhJson *doc, const char *text)
{
    own_doc(s, doc);
    for (const char *c = text; *c;) {
        size_t length = strspn(c, PYTHON_NAME);
        if (*c == '#')
            c += strcspn(c, "\n");
        else if (length > 0 && !g_ascii_isdigit(*c))
            c = add_assignment(s, doc, text, c, length);
        else
            c += MAX(length, 1);
    }
}

/* --- use --- */

const RhLaunchSetting *rh_launch_setting_of(const RhLaunchSettings *s, const char *name)
{
    for (guint i = s->rows->len; i > 0; i--) {
        const RhLaunchSetting *row = &g_array_index(s->rows, RhLaunchSetting, i - 1);
        if (row->said && strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

bool rh_launch_settings_check(RhLaunchSettings *s, GError **error)
{
    for (guint i = 0; i < s->docs->len; i++) {
        RhJson *doc = s->docs->pdata[i];
        if (rh_json_problems_count(doc) == 0)
            continue;
        rh_json_consume_all(doc, rh_json_root(doc));
        rh_json_refuse(doc, error);
        return false;
    }
    return true;
}
