#pragma once
/* Shared by the json_*.c files alone. */
#include <cjson/cJSON.h>

#include "base/json.h"

typedef struct {
    const RhJsonNode *node;
    bool at_key;   /* underline the key rather than the value */
    char *message; /* owned */
    char *help;    /* owned, may be NULL */
} RhJsonProblem;

struct RhJson {
    char *name;
    char *text; /* owned; comments blanked in place, so offsets are the file's */
    size_t length;
    char *hash;
    cJSON *root;
    GHashTable *consumed; /* set of RhJsonNode* */
    GPtrArray *problems;  /* owned RhJsonProblem* */
    GPtrArray *known;     /* borrowed const char*: every key that was asked for */
};

/* "file:line:col: message" with the line and a caret under `span` bytes at `offset`. Caller frees.
 */
char *rh_json_render(const RhJson *doc, size_t offset, size_t span, const char *message,
                     const char *help);
/* Offset and length of a node's value (or of its key) in the text. */
void rh_json_locate(const RhJson *doc, const RhJsonNode *node, bool at_key, size_t *offset,
                    size_t *span);
