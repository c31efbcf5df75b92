/* Parses a text into a checked tree. The text is checked first where cJSON is too lenient. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json_internal.h"
#include "base/text/text_input.h"

#define MARK "\xef\xbb\xbf" /* the byte order mark some editors write */

/* Blanks comments out with spaces, outside strings, so that every offset stays true. Returns the
 * start of a comment that is never closed, or NULL. */
static const char *blank_comments(char *text)
{
    bool in_string = false;
    for (char *c = text; *c; c++) {
        if (in_string) {
            if (*c == '\\' && c[1])
                c++;
            else if (*c == '"')
                in_string = false;
        } else if (*c == '"') {
            in_string = true;
        } else if (c[0] == '/' && c[1] == '/') {
            for (; *c && *c != '\n'; c++)
                *c = ' ';
            if (!*c)
                return NULL;
        } else if (c[0] == '/' && c[1] == '*') {
            char *end = strstr(c + 2, "*/");
            if (!end)
                return c;
            for (; c < end + 2; c++)
                if (*c != '\n')
                    *c = ' ';
            c--;
        }
    }
    return NULL;
}

/* Words of some writers for numbers that JSON lacks, and their replacements of equal length. */
static const struct {
    const char *word, *text;
} NO_NUMBERS[] = {{"-Infinity", "\"" RH_JSON_NO_NUMBER "\"      "},
                  {"Infinity", "\"" RH_JSON_NO_NUMBER "\"     "},
                  {"NaN", "\"" RH_JSON_NO_NUMBER "\""}};

/* Replaces such words by texts, which are refused where a number is read, and do not matter
 * elsewhere. */
static void replace_no_numbers(char *text)
{
    bool in_string = false;
    for (char *c = text; *c; c++) {
        if (in_string && *c == '\\' && c[1])
            c++;
        else if (*c == '"')
            in_string = !in_string;
        for (size_t i = 0; !in_string && i < G_N_ELEMENTS(NO_NUMBERS); i++)
            if (g_str_has_prefix(c, NO_NUMBERS[i].word)) {
                memcpy(c, NO_NUMBERS[i].text, strlen(NO_NUMBERS[i].text));
                c += strlen(NO_NUMBERS[i].text) - 1;
                break;
            }
    }
}

bool rh_json_reject(const RhJson *doc, size_t offset, GError **error, const char *message,
                    const char *help)
{
    offset = MIN(offset, doc->length);
    if (offset == doc->length) /* point behind the last text rather than at an empty line */
        while (offset > 0 && g_ascii_isspace(doc->text[offset - 1]))
            offset--;
    g_autofree char *text = rh_json_render(doc, offset, 1, message, help);
    return rh_fail(error, RH_ERROR_INPUT, "%s", text);
}

/* Returns the error of the character at `at` of a string, or NULL; steps over an escape. */
static const char *string_flaw(const char *text, size_t *at)
{
    const char *c = text + *at;
    if ((unsigned char)*c < 0x20)
        return "a line break or control character inside a string";
    if (*c != '\\')
        return NULL;
    (*at)++;
    if (c[1] != 'u')
        return NULL;
    for (int i = 2; i < 6; i++)
        if (!g_ascii_isxdigit(c[i]))
            return "\\u is not followed by four hexadecimal digits";
    return strncmp(c + 2, "0000", 4) == 0 ? "\\u0000 cannot stand in a text" : NULL;
}

/* Checks the text where cJSON would be lenient, or recurse too deep. */
static bool check_text(const RhJson *doc, GError **error)
{
    int depth = 0, values = 1;
    bool in_string = false;
    for (size_t i = 0; i < doc->length; i++) {
        char c = doc->plain[i];
        size_t at = i;
        const char *flaw = NULL;
        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            flaw = string_flaw(doc->plain, &i);
        else if (c == '{' || c == '[')
            flaw = ++depth > RH_JSON_DEPTH_MAX ? "nested deeper than 64 levels" : NULL;
        else if (c == ',')
            flaw = ++values > RH_JSON_VALUES_MAX ? "more than four million values" : NULL;
        else if (c == '}' || c == ']')
            depth--;
        else if ((unsigned char)c < 0x20 && !strchr("\t\r\n", c))
            flaw = "a control character outside strings";
        if (flaw)
            return rh_json_reject(doc, at, error, flaw, NULL);
    }
    return true;
}

bool rh_json_check_utf8(const RhJson *doc, GError **error)
{
    const char *end = NULL;
    return g_utf8_validate(doc->text, (gssize)doc->length, &end) ||
           rh_json_reject(doc, (size_t)(end - doc->text), error,
                          *end ? "the text is not UTF-8" : "a NUL byte in the text", NULL);
}

/* Makes doc->plain: valid characters only, without comments. */
static bool make_plain(RhJson *doc, GError **error)
{
    if (!rh_json_check_utf8(doc, error))
        return false;
    doc->plain = g_strndup(doc->text, doc->length);
    if (g_str_has_prefix(doc->plain, MARK))
        memset(doc->plain, ' ', strlen(MARK));
    const char *open = blank_comments(doc->plain);
    if (open)
        return rh_json_reject(doc, (size_t)(open - doc->plain), error,
                              "this comment is never closed", NULL);
    replace_no_numbers(doc->plain);
    if (doc->plain[strspn(doc->plain, " \t\r\n")] == 0)
        return rh_json_reject(doc, doc->length, error, "the file is empty", NULL);
    return true;
}

/* Reports duplicate keys and non-finite numbers. */
static void check_tree(RhJson *doc, const cJSON *node)
{
    g_autoptr(GHashTable) seen =
        cJSON_IsObject(node) ? g_hash_table_new(g_str_hash, g_str_equal) : NULL;
    if (cJSON_IsNumber(node) && !isfinite(node->valuedouble))
        rh_json_problem(doc, node, NULL, "the number is too large");
    for (const cJSON *child = node->child; child; child = child->next) {
        if (seen && !g_hash_table_add(seen, child->string))
            rh_json_problem_at_key(doc, child, "keep one of them", "key \"%s\" stands here twice",
                                   child->string);
        check_tree(doc, child);
    }
}

/* Corrects the position of a string that cJSON cannot read, which it reports one byte behind its
 * start. */
static size_t mended_offset(const char *text, size_t at)
{
    if (at < 1 || g_ascii_isspace(text[at - 1]))
        return at;
    size_t before = at - 1;
    while (before > 0 && g_ascii_isspace(text[before - 1]))
        before--;
    char c = text[at - 1], last = before > 0 ? text[before - 1] : 0;
    bool key = (last == '{' || last == ',') && !(last == '{' && c == '}');
    bool string = c == '"' && (last == ':' || last == '[' || !last);
    return key || string ? at - 1 : at;
}

bool rh_json_check_tree(RhJson *doc, GError **error)
{
    check_tree(doc, doc->root);
    return rh_json_report(doc, error);
}

static bool parse_tree(RhJson *doc, GError **error)
{
    const char *end = NULL;
    if (!make_plain(doc, error) || !check_text(doc, error))
        return false;
    doc->root = cJSON_ParseWithLengthOpts(doc->plain, doc->length + 1, &end, 1);
    if (!doc->root) {
        size_t offset = end ? mended_offset(doc->plain, (size_t)(end - doc->plain)) : 0;
        cJSON *first = cJSON_ParseWithLengthOpts(doc->plain, doc->length + 1, NULL, 0);
        bool trailing = first != NULL;
        cJSON_Delete(first);
        return rh_json_reject(
            doc, offset, error,
            trailing ? "text after the end of the document" : "this is not valid JSON",
            trailing ? NULL
                     : "strings and keys in double quotes, a comma between members, none "
                       "after the last");
    }
    return rh_json_check_tree(doc, error);
}

RhJson *rh_json_new_bare(const char *name, const char *text, size_t length)
{
    RhJson *doc = g_new0(RhJson, 1);
    doc->name = g_strdup(name);
    doc->text = g_malloc(length + 1);
    if (length > 0)
        memcpy(doc->text, text, length);
    doc->text[length] = 0;
    doc->length = length;
    doc->hash = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)doc->text, length);
    doc->consumed = g_hash_table_new(g_direct_hash, g_direct_equal);
    doc->problems = g_ptr_array_new_with_free_func(rh_json_problem_free);
    doc->known = g_ptr_array_new();
    doc->known_set = g_hash_table_new(g_direct_hash, g_direct_equal);
    return doc;
}

RhJson *rh_json_parse(const char *name, const char *text, size_t length, GError **error)
{
    if (length > RH_JSON_BYTES_MAX) {
        rh_fail(error, RH_ERROR_INPUT, "%s is larger than 64 MiB", name);
        return NULL;
    }
    g_autoptr(RhJson) doc = rh_json_new_bare(name, text, length);
    return parse_tree(doc, error) ? g_steal_pointer(&doc) : NULL;
}

RhJson *rh_json_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t length = 0;
    if (!rh_file_read(path, RH_JSON_BYTES_MAX, &text, &length, error))
        return NULL;
    return rh_json_parse(path, text, length, error);
}

RhJson *rh_json_load_described(const char *path, const char *what, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    const cJSON *schema = doc ? cJSON_GetObjectItemCaseSensitive(doc->root, "schema") : NULL;
    if (!cJSON_IsString(schema) || !g_str_has_prefix(schema->valuestring, "rehearse."))
        return g_steal_pointer(&doc);
    g_autofree char *plain = rh_text_plain(schema->valuestring);
    rh_fail(error, RH_ERROR_INPUT,
            "%s is not a %s: its \"schema\" is \"%s\"\nhelp: `rehearse check` says what a file is",
            path, what, plain);
    return NULL;
}

void rh_json_free(RhJson *doc)
{
    if (!doc)
        return;
    cJSON_Delete(doc->root);
    g_clear_pointer(&doc->places, g_hash_table_unref);
    g_clear_pointer(&doc->consumed, g_hash_table_unref);
    g_clear_pointer(&doc->problems, g_ptr_array_unref);
    g_clear_pointer(&doc->known, g_ptr_array_unref);
    g_clear_pointer(&doc->known_set, g_hash_table_unref);
    g_free(doc->name);
    g_free(doc->text);
    g_free(doc->plain);
    g_free(doc->hash);
    g_free(doc);
}

const RhJsonNode *rh_json_root(const RhJson *doc)
{
    return doc->root;
}

const char *rh_json_name(const RhJson *doc)
{
    return doc->name;
}

const char *rh_json_hash(const RhJson *doc)
{
    return doc->hash;
}
