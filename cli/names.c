#include "cli/names.h"

#include <string.h>

#include "base/error.h"

#define WORD_MAX    RH_NAME_MAX
#define SIMILAR_MAX 3

typedef struct {
    const char *name;
    int edits, prefix; /* without case and punctuation */
} Similar;

/* Letters and digits in lower case; false when there are too many. */
static bool plain(const char *text, char out[WORD_MAX + 1])
{
    size_t length = 0;
    for (; *text; text++) {
        if (!g_ascii_isalnum(*text))
            continue;
        if (length == WORD_MAX)
            return false;
        out[length++] = g_ascii_tolower(*text);
    }
    out[length] = '\0';
    return true;
}

static int by_nearness(gconstpointer a, gconstpointer b)
{
    const Similar *x = a, *y = b;
    if (x->edits != y->edits)
        return x->edits - y->edits;
    return x->prefix != y->prefix ? y->prefix - x->prefix : strcmp(x->name, y->name);
}

char *rh_names_similar(const char *word, const char *const *names)
{
    char given[WORD_MAX + 1], known[WORD_MAX + 1];
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Similar));
    if (!plain(word, given) || !*given)
        return NULL;
    int most = MAX(1, (int)strlen(given) / 3);
    for (; *names; names++) {
        if (!plain(*names, known))
            continue;
        Similar s = {*names, rh_name_edits(given, known), 0};
        while (given[s.prefix] && given[s.prefix] == known[s.prefix])
            s.prefix++;
        /* With every letter changed it is another word. */
        if (s.edits <= most && s.edits < (int)MAX(strlen(given), strlen(known)))
            g_array_append_val(found, s);
    }
    g_array_sort(found, by_nearness);
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < MIN(found->len, SIMILAR_MAX); i++) {
        const Similar *s = &g_array_index(found, Similar, i);
        if (s->edits > g_array_index(found, Similar, 0).edits + 1)
            break;
        g_string_append_printf(list, "%s%s", i ? ", " : "", s->name);
    }
    return list->len ? g_string_free(g_steal_pointer(&list), FALSE) : NULL;
}

RhModel *rh_names_model(const char *spec, GError **error)
{
    g_autoptr(GError) local = NULL;
    RhModel *model = rh_model_load(spec, &local);
    if (model)
        return model;
    bool is_path = strchr(spec, '/') || g_str_has_suffix(spec, ".json") ||
                   g_file_test(spec, G_FILE_TEST_EXISTS);
    bool is_known = g_strv_contains(rh_model_names(), spec);
    const char *help = strstr(local->message, "\nhelp: ");
    g_autofree char *list =
        is_path || is_known || !help ? NULL : rh_names_similar(spec, rh_model_names());
    if (!list) {
        g_propagate_error(error, g_steal_pointer(&local));
        return NULL;
    }
    bool several = strchr(list, ',') != NULL;
    rh_fail(error, (RhErrorCode)local->code, "%.*s\nhelp: %s: %s", (int)(help - local->message),
            local->message, several ? "similar names exist" : "a similar name exists", list);
    return NULL;
}
