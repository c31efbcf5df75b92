/* rh_toml_parse: whatever is read can be walked over, and a refusal says why. */
#include "base/text/toml.h"
#include "fuzz/json_tree_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GError *error = NULL;
    g_autoptr(RhJson) doc = rh_toml_parse("fuzz.toml", (const char *)data, size, &error);
    return fuzz_tree(doc, error);
}
