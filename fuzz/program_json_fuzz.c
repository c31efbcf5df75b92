/* rh_program_from_json: what it accepts is written and read back to the same bytes, and small ones
 * become GOAL or are refused. */
#include <string.h>

#include "fuzz/fuzzkit.h"
#include "sim/program.h"

static void check_goal(const RhProgram *p)
{
    static RhPlatform *platform; /* kept for the process */
    g_autoptr(GError) error = NULL;
    if (p->ranks_count > 64)
        return;
    if (!platform)
        platform = rh_platform_load("h100-sxm:8x8,ib:400Gb/s", NULL);
    FUZZ_CHECK(platform != NULL);
    g_autofree char *goal = rh_program_to_goal(p, platform, &error);
    if (!goal)
        fuzz_check_error(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, &error);
    g_autoptr(RhProgram) p = doc ? rh_program_from_json(doc, &error) : NULL;
    if (!p) {
        fuzz_check_error(&error);
        return 0;
    }
    g_autofree char *first = rh_program_to_json(p);
    g_autoptr(RhJson) copy = rh_json_parse("again.json", first, strlen(first), &error);
    FUZZ_CHECK(copy != NULL);
    g_autoptr(RhProgram) again = rh_program_from_json(copy, &error);
    FUZZ_CHECK(again != NULL);
    g_autofree char *second = rh_program_to_json(again);
    FUZZ_CHECK(strcmp(first, second) == 0);
    check_goal(p);
    return 0;
}
