#include "base/text/toml.h"

#include <string.h>

#include "base/error.h"
#include "base/json/json_internal.h"

#define BYTES_MAX  (4u * 1024 * 1024)
#define VALUES_MAX 16384
#define MARK       "\xef\xbb\xbf" /* the byte order mark some editors write */
#define BARE       G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-"

typedef struct {
    RhJson *doc;
    const char *text;
    size_t at;
    GHashTable *closed; /* set of nodes: tables with a header of their own, inline tables, lists */
    int depth, values;
    GError **error;
} Reader;

static bool refuse_at(Reader *r, size_t offset, const char *message, const char *help)
{
    return rh_json_reject(r->doc, offset, r->error, message, help);
}

static bool refuse(Reader *r, const char *message, const char *help)
{
    return refuse_at(r, r->at, message, help);
}

static char peek(const Reader *r)
{
    return r->text[r->at];
}

static void skip_blanks(Reader *r)
{
    r->at += strspn(r->text + r->at, " \t");
}

/* Skips blanks, line ends and comments. */
static void skip_lines(Reader *r)
{
    for (;;) {
        r->at += strspn(r->text + r->at, " \t\r\n");
        if (peek(r) != '#')
            return;
        r->at += strcspn(r->text + r->at, "\n");
    }
}

/* Skips to the end of the line, where only a comment may stand. */
static bool end_line(Reader *r)
{
    skip_blanks(r);
    if (peek(r) == '#')
        r->at += strcspn(r->text + r->at, "\n");
    if (peek(r) == '\r')
        r->at++;
    if (peek(r) && peek(r) != '\n')
        return refuse(r, "text after the value", "one key and value in a line");
    return true;
}

/* --- strings --- */

/* Appends the character of an escape whose backslash is at r->at. */
static bool read_escape(Reader *r, GString *out)
{
    static const char from[] = "btnfr\"\\e", to[] = "\b\t\n\f\r\"\\\x1b";
    char c = r->text[r->at + 1];
    const char *known = c ? strchr(from, c) : NULL;
    if (known) {
        g_string_append_c(out, to[known - from]);
        r->at += 2;
        return true;
    }
    int digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    gunichar u = 0;
    for (int i = 0; i < digits; i++) {
        int digit = g_ascii_xdigit_value(r->text[r->at + 2 + (size_t)i]);
        if (digit < 0)
            return refuse(r, "an escape without its hexadecimal digits", NULL);
        u = u * 16 + (gunichar)digit;
    }
    if (digits == 0 || u == 0 || !g_unichar_validate(u))
        return refuse(r, "this escape is unknown", "in single quotes a backslash is itself");
    g_string_append_unichar(out, u);
    r->at += 2 + (size_t)digits;
    return true;
}

/* Skips the line end and the blanks behind a backslash; false: it is another escape. */
static bool skip_folded(Reader *r)
{
    size_t blanks = strspn(r->text + r->at + 1, " \t\r");
    if (r->text[r->at + 1 + blanks] != '\n')
        return false;
    r->at += 1 + blanks;
    r->at += strspn(r->text + r->at, " \t\r\n");
    return true;
}

/* Reads a string of three quotes. */
static char *read_long_string(Reader *r, char quote)
{
    size_t begin = r->at;
    const char ends[] = {quote, quote, quote, 0};
    g_autoptr(GString) out = g_string_new(NULL);
    r->at += 3;
    r->at += peek(r) == '\r' && r->text[r->at + 1] == '\n' ? 2 : peek(r) == '\n' ? 1 : 0;
    while (peek(r) && (!g_str_has_prefix(r->text + r->at, ends) || r->text[r->at + 3] == quote)) {
        if (peek(r) != '\\' || quote == '\'') {
            g_string_append_c(out, r->text[r->at++]);
        } else if (!skip_folded(r) && !read_escape(r, out)) {
            return NULL;
        }
    }
    if (!peek(r)) {
        refuse_at(r, begin, "this string is never closed", NULL);
        return NULL;
    }
    r->at += 3;
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *read_string(Reader *r)
{
    char quote = peek(r);
    size_t begin = r->at;
    const char ends[] = {quote, quote, quote, 0};
    if (g_str_has_prefix(r->text + r->at, ends))
        return read_long_string(r, quote);
    g_autoptr(GString) out = g_string_new(NULL);
    for (r->at++; peek(r) && peek(r) != '\n' && peek(r) != quote;) {
        if (peek(r) != '\\' || quote == '\'')
            g_string_append_c(out, r->text[r->at++]);
        else if (!read_escape(r, out))
            return NULL;
    }
    if (peek(r) != quote) {
        refuse_at(r, begin, "this string is not closed on its line", NULL);
        return NULL;
    }
    r->at++;
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* --- keys --- */

/* Reads one part of a key, and where it stands. */
static char *read_key(Reader *r, RhJsonPlace *place)
{
    skip_blanks(r);
    size_t begin = r->at;
    size_t length = strspn(r->text + r->at, BARE);
    g_autofree char *key = NULL;
    if (peek(r) == '"' || peek(r) == '\'') {
        key = read_string(r);
    } else if (length > 0) {
        key = g_strndup(r->text + r->at, length);
        r->at += length;
    } else {
        refuse(r, "a key must stand here", "letters, digits, _ and -, or a text in quotes");
    }
    *place = (RhJsonPlace){begin, MAX(r->at - begin, 1), begin, MAX(r->at - begin, 1)};
    skip_blanks(r);
    return g_steal_pointer(&key);
}

static bool count_value(Reader *r)
{
    return ++r->values <= VALUES_MAX || refuse(r, "more than 16,384 values", NULL);
}

/* Returns the table below `parent`, which is made when there is none; of a list of tables its last
 * one. */
static RhJsonNode *step_into(Reader *r, const RhJsonNode *parent, const char *key,
                             const RhJsonPlace *place)
{
    RhJsonNode *node = (RhJsonNode *)(uintptr_t)rh_json_member(parent, key);
    if (!node)
        return count_value(r) ? rh_json_add(r->doc, (RhJsonNode *)(uintptr_t)parent, key,
                                            RH_JSON_OBJECT, place)
                              : NULL;
    if (cJSON_IsArray(node) && node->child && !g_hash_table_contains(r->closed, node))
        node = node->child->prev; /* cJSON keeps the last there */
    if (cJSON_IsObject(node) && !g_hash_table_contains(r->closed, node))
        return node;
    g_autofree char *message = g_strdup_printf("\"%s\" is no table that can grow here", key);
    refuse_at(r, place->offset, message, NULL);
    return NULL;
}

/* --- values --- */

typedef struct {
    RhJsonNode *parent;
    const char *key; /* NULL in a list */
    RhJsonPlace place;
} Slot;

static bool read_value(Reader *r, const Slot *slot);

static bool read_list(Reader *r, Slot slot)
{
    RhJsonNode *list = rh_json_add(r->doc, slot.parent, slot.key, RH_JSON_ARRAY, &slot.place);
    g_hash_table_add(r->closed, list);
    r->at++;
    for (skip_lines(r); peek(r) != ']'; skip_lines(r)) {
        Slot inner = {list, NULL, {0}};
        if (!read_value(r, &inner))
            return false;
        skip_lines(r);
        if (peek(r) != ',' && peek(r) != ']')
            return refuse(r, "a comma or \"]\" must stand here", NULL);
        r->at += peek(r) == ',';
    }
    r->at++;
    return true;
}

static bool read_pair(Reader *r, RhJsonNode *table);

static bool read_inline_table(Reader *r, Slot slot)
{
    RhJsonNode *table = rh_json_add(r->doc, slot.parent, slot.key, RH_JSON_OBJECT, &slot.place);
    r->at++;
    for (skip_lines(r); peek(r) != '}'; skip_lines(r)) {
        if (!read_pair(r, table))
            return false;
        skip_lines(r);
        if (peek(r) != ',' && peek(r) != '}')
            return refuse(r, "a comma or \"}\" must stand here", NULL);
        r->at += peek(r) == ',';
    }
    r->at++;
    g_hash_table_add(r->closed, table);
    return true;
}

/* Is it a date or a time, as 2024-01-02 or 07:32:00? */
static bool is_date(const char *word)
{
    return g_ascii_isdigit(word[0]) && g_ascii_isdigit(word[1]) &&
           (word[2] == ':' || (strlen(word) >= 10 && word[4] == '-' && word[7] == '-'));
}

static bool read_word(Reader *r, Slot slot)
{
    size_t length = strcspn(r->text + r->at, " \t\r\n,]}#=");
    g_autofree char *word = g_strndup(r->text + r->at, length);
    slot.place.span = MAX(length, 1);
    bool literal = strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
    bool number =
        strchr("+-.0123456789", word[0]) || g_str_equal(word, "inf") || g_str_equal(word, "nan");
    if (length == 0 || (!literal && !number))
        return refuse(r, "this is no value of TOML",
                      "a number, true, false, a text in quotes, [list] or {table}");
    if (is_date(word)) {
        rh_json_add_text(r->doc, slot.parent, slot.key, word, &slot.place);
    } else {
        const RhJsonNode *node =
            rh_json_add_plain(r->doc, slot.parent, slot.key, word, &slot.place);
        if (cJSON_IsString(node) && strcmp(node->valuestring, RH_JSON_NO_NUMBER) != 0)
            return refuse(r, "this is no number", "a text needs quotes");
    }
    r->at += length;
    return true;
}

static bool read_text(Reader *r, Slot slot)
{
    g_autofree char *text = read_string(r);
    if (!text)
        return false;
    slot.place.span = r->at - slot.place.offset;
    rh_json_add_text(r->doc, slot.parent, slot.key, text, &slot.place);
    return true;
}

static bool read_value(Reader *r, const Slot *given)
{
    Slot slot = *given;
    char c = peek(r);
    slot.place.offset = r->at;
    slot.place.span = 1;
    if (!count_value(r))
        return false;
    if (c == '"' || c == '\'')
        return read_text(r, slot);
    if (c != '[' && c != '{')
        return read_word(r, slot);
    if (++r->depth > RH_JSON_DEPTH_MAX / 2)
        return refuse(r, "nested deeper than 32 levels", NULL);
    bool fine = c == '[' ? read_list(r, slot) : read_inline_table(r, slot);
    r->depth--;
    return fine;
}

/* --- lines --- */

/* Reads the parts of a key up to its last one, which is returned, and steps into the tables of the
 * others: *table is the last one's. */
static char *read_path(Reader *r, RhJsonNode **table, RhJsonPlace *place)
{
    g_autofree char *key = read_key(r, place);
    while (key && peek(r) == '.') {
        *table = step_into(r, *table, key, place);
        g_clear_pointer(&key, g_free);
        if (*table && ++r->depth > RH_JSON_DEPTH_MAX / 2)
            refuse(r, "nested deeper than 32 levels", NULL);
        else if (*table) {
            r->at++;
            key = read_key(r, place);
        }
    }
    return g_steal_pointer(&key);
}

/* Reads "key = value". */
static bool read_pair(Reader *r, RhJsonNode *table)
{
    RhJsonPlace place;
    int before = r->depth;
    g_autofree char *key = read_path(r, &table, &place);
    if (!key)
        return false;
    if (peek(r) != '=')
        return refuse(r, "\"=\" must stand behind a key", NULL);
    if (rh_json_member(table, key)) {
        g_autofree char *message = g_strdup_printf("key \"%s\" stands here twice", key);
        return refuse_at(r, place.offset, message, "keep one of them");
    }
    r->at++;
    skip_blanks(r);
    Slot slot = {table, key, {.key_offset = place.key_offset, .key_span = place.key_span}};
    bool fine = read_value(r, &slot);
    r->depth = before;
    return fine;
}

/* Adds a table to a list of tables, "[[name]]". */
static RhJsonNode *add_to_list(Reader *r, RhJsonNode *parent, const char *key,
                               const RhJsonPlace *place)
{
    RhJsonNode *list = (RhJsonNode *)(uintptr_t)rh_json_member(parent, key);
    if (!list)
        list = rh_json_add(r->doc, parent, key, RH_JSON_ARRAY, place);
    if (!cJSON_IsArray(list) || g_hash_table_contains(r->closed, list)) {
        g_autofree char *message = g_strdup_printf("\"%s\" is no list of tables", key);
        refuse_at(r, place->offset, message, NULL);
        return NULL;
    }
    return count_value(r) ? rh_json_add(r->doc, list, NULL, RH_JSON_OBJECT, place) : NULL;
}

/* Reads "[name]" or "[[name]]" and returns its table. */
static RhJsonNode *read_header(Reader *r, GHashTable *headed)
{
    RhJsonNode *table = rh_json_top(r->doc);
    RhJsonPlace place;
    bool list = r->text[r->at + 1] == '[';
    r->at += list ? 2 : 1;
    g_autofree char *key = read_path(r, &table, &place);
    r->depth = 0;
    if (!key)
        return NULL;
    const char *close = list ? "]]" : "]";
    if (!g_str_has_prefix(r->text + r->at, close)) {
        refuse(r, "the name of this table is not closed by \"]\"", NULL);
        return NULL;
    }
    r->at += strlen(close);
    table = list ? add_to_list(r, table, key, &place) : step_into(r, table, key, &place);
    if (!table || !end_line(r))
        return NULL;
    if (!g_hash_table_add(headed, table)) {
        refuse_at(r, place.offset, "this table stands here twice", "keep one of them");
        return NULL;
    }
    return table;
}

static bool read_all(Reader *r)
{
    g_autoptr(GHashTable) headed = g_hash_table_new(NULL, NULL);
    RhJsonNode *table = rh_json_top(r->doc);
    for (skip_lines(r); peek(r); skip_lines(r)) {
        if (peek(r) == '[')
            table = read_header(r, headed);
        else if (!read_pair(r, table) || !end_line(r))
            return false;
        if (!table)
            return false;
    }
    return rh_json_check_tree(r->doc, r->error);
}

RhJson *rh_toml_parse(const char *name, const char *text, size_t length, GError **error)
{
    if (length > BYTES_MAX) {
        rh_fail(error, RH_ERROR_INPUT, "%s is larger than 4 MiB", name);
        return NULL;
    }
    g_autoptr(RhJson) doc = rh_json_new(name, text, length);
    if (!rh_json_check_utf8(doc, error))
        return NULL;
    g_autoptr(GHashTable) closed = g_hash_table_new(NULL, NULL);
    Reader r = {.doc = doc, .text = doc->text, .closed = closed, .error = error};
    r.at = g_str_has_prefix(doc->text, MARK) ? strlen(MARK) : 0;
    return read_all(&r) ? g_steal_pointer(&doc) : NULL;
}

RhJson *rh_toml_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t length = 0;
    if (!rh_file_read(path, BYTES_MAX, &text, &length, error))
        return NULL;
    return rh_toml_parse(path, text, length, error);
}
