/* What comes back from measurements: ping-pong rows, profiles, timelines. */
#include "calibrate/pingpong.h"
#include "fuzz/fuzzkit.h"
#include "platforms/profile.h"
#include "sim/overlay.h"

static void try_pings(const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) pings = rh_pings_parse("fuzz.csv", text, &error);
    if (!pings)
        fuzz_check_error(&error);
    for (guint i = 0; pings && i < pings->len; i++)
        FUZZ_CHECK(g_array_index(pings, RhPing, i).seconds >= 0);
}

static void try_profile(RhJson *doc)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) p = rh_platform_load("lab-star", NULL);
    FUZZ_CHECK(p != NULL);
    if (!rh_platform_apply_profile_json(p, doc, &error))
        fuzz_check_error(&error);
}

static void try_timeline(RhJson *doc)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) events = rh_timeline_parse(doc, &error);
    if (!events) {
        fuzz_check_error(&error);
        return;
    }
    g_autoptr(RhOverlay) overlay = rh_overlay_new(events, events);
    FUZZ_CHECK(overlay->common_count + overlay->a_only_count == (int32_t)events->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    try_pings(text);
    for (int i = 0; i < 2; i++) { /* a document is consumed by its reader */
        g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, NULL);
        if (doc && i == 0)
            try_profile(doc);
        else if (doc)
            try_timeline(doc);
    }
    return 0;
}
