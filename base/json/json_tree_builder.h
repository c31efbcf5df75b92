#pragma once
/* Builds the tree of a document from a text in another format, such as YAML or the words of a
 * command line, so that it is read by the getters of base/json/json.h and its errors have positions.
 *
 *     g_autoptr(RhJson) doc = rh_json_new(path, text, length);
 *     rh_json_add_text(doc, rh_json_top(doc), "optimizer", "adam", &place);
 *     if (!rh_json_built(doc, error)) return NULL; */
#include "base/json/json.h"

/* Where a node stands in the text; key_span 0: it has no key there. */
typedef struct {
    size_t offset, span, key_offset, key_span;
} RhJsonPlace;

/* Returns a document whose root is an empty object. The text is copied, for messages. */
RhJson *rh_json_new(const char *name, const char *text, size_t length);
/* Returns the root, to add to. */
RhJsonNode *rh_json_top(RhJson *doc);
/* Add a node to an object (`key` is copied) or to an array (`key` is NULL), and return it. */
RhJsonNode *rh_json_add(RhJson *doc, RhJsonNode *parent, const char *key, RhJsonKind kind,
                        const RhJsonPlace *place);
RhJsonNode *rh_json_add_text(RhJson *doc, RhJsonNode *parent, const char *key, const char *text,
                             const RhJsonPlace *place);
RhJsonNode *rh_json_add_number(RhJson *doc, RhJsonNode *parent, const char *key, double value,
                               const RhJsonPlace *place);
/* Adds what an unquoted word is in YAML: null, true or false, a number, or a text. */
RhJsonNode *rh_json_add_plain(RhJson *doc, RhJsonNode *parent, const char *key, const char *text,
                              const RhJsonPlace *place);
/* Returns a text as it was read, of any characters and lines; NULL: the node is no text. */
const char *rh_json_raw_text(const RhJsonNode *node);
/* Returns the place of a node of a built document; NULL: it has none. */
const RhJsonPlace *rh_json_place(const RhJson *doc, const RhJsonNode *node);
/* Returns the line and column of a place, from 1. */
void rh_json_line_of(const RhJson *doc, size_t offset, size_t *line, size_t *column);
/* Checks that no key stands twice and that every number is finite. RH_ERROR_INPUT. */
bool rh_json_built(RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;
