/* GOAL: what is read becomes a program that is written as GOAL and read again, or is refused. */
#include <string.h>

#include "fuzz/fuzzkit.h"
#include "sim/import/imported_trace.h"

static RhPlatform *platform(void)
{
    static RhPlatform *kept; /* for the process */
    if (!kept)
        kept = rh_platform_load("h100-sxm:8x2,ib:400Gb/s", NULL);
    FUZZ_CHECK(kept != NULL);
    return kept;
}

static RhProgram *program_of(const char *text, GError **error)
{
    g_autoptr(RhImportedTrace) f = rh_goal_parse("fuzz.goal", text, error);
    if (!f || f->ops->len > 4096 || !rh_imported_trace_close(f, error))
        return NULL;
    return rh_imported_trace_program(f, platform(), error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(RhProgram) p = program_of(text, &error);
    if (!p)
        return 0;
    g_autofree char *again = rh_program_to_goal(p, platform(), &error);
    g_autoptr(RhProgram) same = again ? program_of(again, &error) : NULL;
    FUZZ_CHECK(same != NULL || error != NULL);
    FUZZ_CHECK(!same || same->ranks_count == p->ranks_count);
    return 0;
}
