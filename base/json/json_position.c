/* Finds the positions of nodes in the text: cJSON keeps children in document order, so the text is
 * walked in step with the tree, once for all problems. Only errors need this. */
#include <string.h>

#include "base/json/json_internal.h"

typedef struct {
    const char *text;
    size_t at;
    GHashTable *places; /* node -> owned RhJsonPlace */
} Walk;

static void skip_space(Walk *w)
{
    w->at += strspn(w->text + w->at, " \t\r\n");
}

/* Skips a string whose quote is at w->at. */
static void skip_string(Walk *w)
{
    for (w->at++; w->text[w->at] && w->text[w->at] != '"'; w->at++)
        if (w->text[w->at] == '\\' && w->text[w->at + 1])
            w->at++;
    if (w->text[w->at])
        w->at++;
}

/* Skips one separator; never past the end. */
static void skip_mark(Walk *w)
{
    skip_space(w);
    if (w->text[w->at])
        w->at++;
}

static void walk_value(Walk *w, const cJSON *node);

static void walk_children(Walk *w, const cJSON *node)
{
    skip_mark(w);
    for (const cJSON *child = node->child; child; child = child->next) {
        if (cJSON_IsObject(node)) {
            skip_space(w);
            size_t from = w->at;
            skip_string(w);
            RhJsonPlace *place = g_hash_table_lookup(w->places, child);
            if (place) {
                place->key_offset = from;
                place->key_span = w->at - from;
            }
            skip_mark(w); /* ':' */
        }
        walk_value(w, child);
        skip_mark(w); /* ',' or the closing bracket */
    }
    if (!node->child)
        skip_mark(w);
}

static void walk_value(Walk *w, const cJSON *node)
{
    skip_space(w);
    size_t from = w->at, span = 1; /* a container is shown by its bracket */
    if (w->text[w->at] == '{' || w->text[w->at] == '[') {
        walk_children(w, node);
    } else if (w->text[w->at] == '"') {
        skip_string(w);
        span = w->at - from;
    } else {
        w->at += strcspn(w->text + w->at, ",]} \t\r\n");
        span = w->at - from;
    }
    RhJsonPlace *place = g_hash_table_lookup(w->places, node);
    if (place) {
        place->offset = from;
        place->span = span;
    }
}

/* Returns the places of the nodes of problems in a text of JSON. */
static GHashTable *walk_text(const RhJson *doc, const GPtrArray *problems)
{
    GHashTable *places = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    Walk w = {.text = doc->plain, .places = places};
    for (guint i = 0; i < problems->len; i++) {
        const RhJsonProblem *p = problems->pdata[i];
        g_hash_table_replace(places, (void *)(uintptr_t)p->node, g_new0(RhJsonPlace, 1));
    }
    walk_value(&w, doc->root);
    return places;
}

void rh_json_locate(const RhJson *doc, GPtrArray *problems)
{
    static const RhJsonPlace start = {0};
    g_autoptr(GHashTable) places =
        doc->places ? g_hash_table_ref(doc->places) : walk_text(doc, problems);
    for (guint i = 0; i < problems->len; i++) {
        RhJsonProblem *p = problems->pdata[i];
        const RhJsonPlace *place = g_hash_table_lookup(places, p->node);
        place = place ? place : &start;
        bool at_key = p->at_key && place->key_span > 0;
        p->offset = at_key ? place->key_offset : place->offset;
        p->span = MAX(at_key ? place->key_span : place->span, 1);
    }
}
