/* What tools say of a machine: texts with a GPU in them make a platform file that can be read, or are refused. */
#include <string.h>

#include "fuzz/fuzzkit.h"
#include "platforms/machine/machine.h"
#include "platforms/platform.h"

static void check_file(const char *json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("machine.json", json, strlen(json), &error);
    FUZZ_CHECK(doc != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char gpus[] = "name\nNVIDIA H100 80GB HBM3\n";
    g_autoptr(GError) error = NULL;
    g_auto(RhMachine) m = {.nics = -1};
    FUZZ_CHECK(rh_machine_read(&m, "gpus", gpus, strlen(gpus), NULL));
    if (!rh_machine_read(&m, "fuzz", (const char *)data, size, &error)) {
        fuzz_check_error(&error);
        return 0;
    }
    g_autofree char *hints = NULL;
    g_autofree char *json = rh_machine_platform(&m, "2026-11", &hints, &error);
    if (json)
        check_file(json);
    else
        fuzz_check_error(&error);
    return 0;
}
