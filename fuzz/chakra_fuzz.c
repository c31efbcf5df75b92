/* Chakra traces, as JSON where they begin like it, else as protobuf: two ranks alike become a
 * program, or are refused. */
#include <math.h>

#include "fuzz/fuzzkit.h"
#include "sim/import/imported_trace.h"

static bool add(RhImportedTrace *f, const uint8_t *data, size_t size, GError **error)
{
    bool json = size > 0 && (data[0] == '[' || data[0] == '{');
    g_ptr_array_add(f->files, g_strdup("fuzz.0"));
    if (!json)
        return rh_chakra_add_bytes(f, "fuzz.0", data, size, error);
    RhJson *doc = rh_json_parse("fuzz.0", (const char *)data, size, error);
    if (!doc)
        return false;
    g_ptr_array_add(f->docs, doc);
    return rh_chakra_add_json(f, doc, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static RhPlatform *platform; /* kept for the process */
    g_autoptr(GError) error = NULL;
    g_autoptr(RhImportedTrace) f = rh_imported_trace_new("Chakra", HUGE_VAL);
    if (!platform)
        platform = rh_platform_load("h100-sxm:8x2,ib:400Gb/s", NULL);
    FUZZ_CHECK(platform != NULL);
    if (!add(f, data, size, &error) || !add(f, data, size, &error) ||
        !rh_imported_trace_close(f, &error)) {
        fuzz_check_error(&error);
        return 0;
    }
    g_autoptr(RhProgram) p = rh_imported_trace_program(f, platform, &error);
    if (!p)
        fuzz_check_error(&error);
    return 0;
}
