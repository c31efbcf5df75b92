/* What comes back from measurements: ping-pong rows, raw samples of kernels, tables of steps,
 * profiles, timelines. */
#include <gsl/gsl_errno.h>
#include <math.h>

#include "calibrate/kernels/kernels_fit.h"
#include "calibrate/links/pingpong_fit.h"
#include "calibrate/stacks/published_steps.h"
#include "fuzz/fuzzkit.h"
#include "platforms/profile.h"
#include "sim/timeline/timeline_diff.h"

static void try_pings(const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) pings = rh_pings_parse("fuzz.csv", text, &error);
    if (!pings)
        fuzz_check_error(&error);
    for (guint i = 0; pings && i < pings->len; i++)
        FUZZ_CHECK(g_array_index(pings, RhPing, i).seconds >= 0);
}

/* Whatever is read can be shown to the model, and fitted or refused. */
static void try_raw(const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhRaw) raw = rh_raw_parse("fuzz.csv", text, &error);
    if (!raw) {
        fuzz_check_error(&error);
        return;
    }
    gsl_set_error_handler_off(); /* as cli/main.c */
    g_autoptr(RhDevice) device = rh_device_load("h200-sxm", NULL);
    g_autoptr(GPtrArray) raws = g_ptr_array_new();
    for (guint i = 0; i < raw->rows->len; i++) {
        const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, i);
        g_autofree char *described = rh_raw_describe(row);
        double seconds = rh_kernel_time_s(device, &row->kernel);
        FUZZ_CHECK(*described != 0);
        FUZZ_CHECK(row->seconds > 0 && seconds >= 0 && seconds < HUGE_VAL);
    }
    if (raw->rows->len > 40) /* a fit takes its time */
        return;
    g_ptr_array_add(raws, raw);
    g_autoptr(RhKernelsFit) fit = rh_kernels_fit(raws, device, 0.2, "2026-11-21", 0, &error);
    if (!fit) {
        fuzz_check_error(&error);
        return;
    }
    g_autofree char *profile = rh_kernels_fit_profile(fit, fit->device->name, NULL);
    FUZZ_CHECK(*profile == '{');
}

/* Whatever is read has kernels that the model can be shown, and few rows are refused or fitted. */
static void try_tables(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhKernelTables *table = rh_tables_parse("fuzz.csv", text, &error);
    if (!table) {
        fuzz_check_error(&error);
        return;
    }
    gsl_set_error_handler_off();
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)rh_tables_free);
    g_ptr_array_add(tables, table);
    g_autoptr(RhDevice) device = rh_device_load("h200-sxm", NULL);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhTableSample *row = &g_array_index(table->rows, RhTableSample, i);
        double seconds = rh_kernel_time_s(device, &row->kernel);
        FUZZ_CHECK(row->seconds >= 0 && seconds >= 0 && seconds < HUGE_VAL);
    }
    if (table->rows->len > 300) /* a fit takes its time */
        return;
    g_autoptr(RhSurfacesFit) fit = rh_surfaces_fit(tables, device, 0.2, "2026-11", 0, &error);
    if (!fit)
        fuzz_check_error(&error);
}

static void try_steps(const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhMeasuredSteps) steps = rh_steps_parse("fuzz.csv", text, &error);
    if (!steps)
        fuzz_check_error(&error);
    for (guint i = 0; steps && i < steps->rows->len; i++) {
        const RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, i);
        g_autofree char *described = rh_step_describe(step);
        FUZZ_CHECK(*described != 0);
        FUZZ_CHECK(step->out_of_memory ? step->seconds == 0 : step->seconds > 0);
    }
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
    g_autoptr(RhTimelineDiff) overlay = rh_timeline_diff_new(events, events);
    FUZZ_CHECK(overlay->common_count + overlay->a_only_count == (int32_t)events->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    try_pings(text);
    try_raw(text);
    try_tables(text);
    try_steps(text);
    for (int i = 0; i < 2; i++) { /* a document is consumed by its reader */
        g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, NULL);
        if (doc && i == 0)
            try_profile(doc);
        else if (doc)
            try_timeline(doc);
    }
    return 0;
}
