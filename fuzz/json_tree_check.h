#pragma once
/* Checks what every reader of a tree promises: what it reads can be walked over, and a refusal says why. */
#include <string.h>

#include "base/json/json.h"
#include "fuzz/fuzzkit.h"

static inline void fuzz_walk(RhJson *doc, const RhJsonNode *node)
{
    RhJsonKind kind = rh_json_kind(node);
    if (kind == RH_JSON_TEXT)
        rh_json_node_string(doc, node);
    if (kind == RH_JSON_NUMBER)
        rh_json_node_int(doc, node, 0, 9);
    for (const RhJsonNode *child = rh_json_first(node); child; child = rh_json_next(child))
        fuzz_walk(doc, child);
}

/* Checks a document, NULL with an error. */
static inline int fuzz_tree(RhJson *doc, GError *error)
{
    if (doc)
        fuzz_walk(doc, rh_json_root(doc));
    if (doc && rh_json_finish(doc, &error))
        return 0;
    FUZZ_CHECK(error != NULL && g_utf8_validate(error->message, -1, NULL));
    FUZZ_CHECK(!strpbrk(error->message, "\x1b\r\t"));
    fuzz_check_error(&error);
    return 0;
}
