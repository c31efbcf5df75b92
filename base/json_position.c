/* Where a node stands in the text: cJSON keeps children in document order, so the text is walked in
 * step with the tree. Only errors pay for this. */
#include <string.h>

#include "base/json_internal.h"

typedef struct {
    const char *text;
    size_t at;
    const RhJsonNode *wanted;
    bool at_key;
    bool found;
    size_t offset, span;
} Walk;

static void skip_space(Walk *w)
{
    w->at += strspn(w->text + w->at, " \t\r\n");
}

/* Past a string whose quote is at w->at. */
static void skip_string(Walk *w)
{
    for (w->at++; w->text[w->at] && w->text[w->at] != '"'; w->at++)
        if (w->text[w->at] == '\\' && w->text[w->at + 1])
            w->at++;
    if (w->text[w->at])
        w->at++;
}

static void walk_value(Walk *w, const cJSON *node);

static void note(Walk *w, size_t from)
{
    w->found = true;
    w->offset = from;
    w->span = w->at - from;
}

static void walk_children(Walk *w, const cJSON *node)
{
    w->at++;
    for (const cJSON *child = node->child; child && !w->found; child = child->next) {
        skip_space(w);
        if (cJSON_IsObject(node)) {
            size_t key = w->at;
            skip_string(w);
            if (child == w->wanted && w->at_key) {
                note(w, key);
                return;
            }
            skip_space(w);
            w->at++; /* ':' */
        }
        walk_value(w, child);
        skip_space(w);
        w->at++; /* ',' or the closing bracket */
    }
    if (!node->child) {
        skip_space(w);
        w->at++;
    }
}

static void walk_value(Walk *w, const cJSON *node)
{
    skip_space(w);
    size_t from = w->at;
    if (w->text[w->at] == '{' || w->text[w->at] == '[') {
        if (node == w->wanted) {
            w->at++;
            note(w, from);
            return;
        }
        walk_children(w, node);
    } else if (w->text[w->at] == '"') {
        skip_string(w);
    } else {
        w->at += strcspn(w->text + w->at, ",]} \t\r\n");
    }
    if (node == w->wanted && !w->found)
        note(w, from);
}

void rh_json_locate(const RhJson *doc, const RhJsonNode *node, bool at_key, size_t *offset,
                    size_t *span)
{
    Walk w = {.text = doc->text, .wanted = node, .at_key = at_key && node->string};
    walk_value(&w, doc->root);
    *offset = w.found ? w.offset : 0;
    *span = w.found ? MAX(w.span, 1) : 1;
}
