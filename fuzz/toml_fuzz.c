/* rh_toml_parse: whatever is read can be walked over, and a refusal says why. */
#include <string.h>

#include "base/toml.h"
#include "fuzz/fuzzkit.h"

static void walk(RhJson *doc, const RhJsonNode *node)
{
    RhJsonKind kind = rh_json_kind(node);
    if (kind == RH_JSON_TEXT)
        rh_json_node_string(doc, node);
    if (kind == RH_JSON_NUMBER)
        rh_json_node_int(doc, node, 0, 9);
    for (const RhJsonNode *child = rh_json_first(node); child; child = rh_json_next(child))
        walk(doc, child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_toml_parse("fuzz.toml", (const char *)data, size, &error);
    if (doc)
        walk(doc, rh_json_root(doc));
    if (doc && rh_json_finish(doc, &error))
        return 0;
    FUZZ_CHECK(error != NULL && g_utf8_validate(error->message, -1, NULL));
    FUZZ_CHECK(!strpbrk(error->message, "\x1b\r\t"));
    fuzz_check_error(&error);
    return 0;
}
