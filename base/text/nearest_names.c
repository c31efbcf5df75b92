#include "base/text/nearest_names.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define LETTERS_MAX 63 /* for longer names no edits are counted */
#define FAR         (2 * LETTERS_MAX)
#define PUNCTUATION "-_. "

/* Letters and digits in lower case. */
typedef struct {
    char text[LETTERS_MAX + 1];
    int length; /* -1: there are more */
} Letters;

typedef struct {
    const char *name;
    int edits, alike; /* alike: common letters at the beginning */
    size_t length;
} Near;

static Letters letters_of(const char *text)
{
    Letters l = {.length = 0};
    for (; *text; text++) {
        if (!g_ascii_isalnum(*text))
            continue;
        if (l.length == LETTERS_MAX)
            return (Letters){.length = -1};
        l.text[l.length++] = g_ascii_tolower(*text);
    }
    return l;
}

/* Edit distance with transpositions (optimal string alignment). */
static int edits_of(const Letters *a, const Letters *b)
{
    int rows[3][LETTERS_MAX + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (int j = 0; j <= b->length; j++)
        last[j] = j;
    for (int i = 1; i <= a->length; i++) {
        char x = a->text[i - 1], x_before = i > 1 ? a->text[i - 2] : '\0';
        row[0] = i;
        for (int j = 1; j <= b->length; j++) {
            char y = b->text[j - 1];
            row[j] = MIN(MIN(last[j], row[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == b->text[j - 2] && y == x_before)
                row[j] = MIN(row[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b->length];
}

/* Does the word occur between punctuation or ends of the name? */
static bool stands_in(const char *word, const char *name)
{
    size_t length = strlen(word);
    for (const char *at = length ? strstr(name, word) : NULL; at; at = strstr(at + 1, word))
        if ((at == name || !g_ascii_isalnum(at[-1])) && !g_ascii_isalnum(at[length]))
            return true;
    return false;
}

/* The number of the word's parts, where each stands in the name and there are several; else 0. */
static int parts_in(const char *word, const char *name)
{
    char part[LETTERS_MAX + 1];
    int count = 0;
    for (const char *at = word;; at++) {
        size_t length = strcspn(at, PUNCTUATION);
        if (length == 0 || length > LETTERS_MAX)
            return 0;
        memcpy(part, at, length);
        part[length] = '\0';
        if (!stands_in(part, name))
            return 0;
        count++;
        at += length;
        if (!*at)
            return count > 1 ? count : 0;
    }
}

/* Nearness of a name, FAR where it is not near. Names whose length differs by more than the allowed
 * edits are not compared, as files may have very many keys. */
static Near near_of(const char *word, const Letters *letters, const char *name)
{
    Letters known = letters_of(name);
    Near near = {.name = name, .edits = FAR, .length = strlen(name)};
    int most = MAX(1, letters->length / 3);
    if (letters->length >= 0 && known.length >= 0 && ABS(letters->length - known.length) <= most) {
        int edits = edits_of(letters, &known);
        if (edits <= most && edits < MAX(letters->length, known.length))
            near.edits = edits;
    }
    if (near.edits > 1 && stands_in(word, name))
        near.edits = 1;
    int parts = near.edits > 1 ? parts_in(word, name) : 0;
    if (parts > 0)
        near.edits = MIN(near.edits, parts);
    while (letters->text[near.alike] && letters->text[near.alike] == known.text[near.alike])
        near.alike++;
    return near;
}

static int by_nearness(gconstpointer a, gconstpointer b)
{
    const Near *x = a, *y = b;
    return x->edits != y->edits     ? x->edits - y->edits
           : x->alike != y->alike   ? y->alike - x->alike
           : x->length != y->length ? (x->length > y->length ? 1 : -1)
                                    : 0; /* as they are listed: the sort is stable */
}

const char *rh_near_name(const char *word, const char *const *names)
{
    Letters letters = letters_of(word);
    Near best = {.edits = FAR};
    for (; *names; names++) {
        Near near = near_of(word, &letters, *names);
        if (near.edits < FAR && (!best.name || by_nearness(&near, &best) < 0))
            best = near;
    }
    return best.name;
}

char *rh_near_names(const char *word, const char *const *names, unsigned most)
{
    Letters letters = letters_of(word);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Near));
    g_autoptr(GString) list = g_string_new(NULL);
    for (; *names; names++) {
        Near near = near_of(word, &letters, *names);
        if (near.edits < FAR)
            g_array_append_val(found, near);
    }
    g_array_sort(found, by_nearness);
    for (guint i = 0; i < MIN(found->len, most); i++) {
        const Near *near = &g_array_index(found, Near, i);
        if (near->edits > g_array_index(found, Near, 0).edits + 1)
            break;
        g_string_append_printf(list, "%s%s", i ? ", " : "", near->name);
    }
    return list->len ? g_string_free(g_steal_pointer(&list), FALSE) : NULL;
}
