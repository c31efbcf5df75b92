/* What benchmarks of links print: whatever is read has a place and a time, and is fitted or refused. */
#include <gsl/gsl_errno.h>
#include <math.h>

#include "calibrate/links/links_fit.h"
#include "fuzz/fuzzkit.h"

static void check_row(const RhTimed *row)
{
    g_autofree char *name = rh_timed_class(row);
    FUZZ_CHECK(*name != 0);
    FUZZ_CHECK(row->op > RH_OP_NONE && row->op < RH_OP_LAST);
    FUZZ_CHECK(row->nodes >= 1 && row->ranks > 1 && row->ranks % row->nodes == 0);
    FUZZ_CHECK(row->bytes > 0 && row->seconds > 0 && row->seconds < HUGE_VAL && row->line > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhMeasured) log = rh_measured_parse("fuzz.log", text, &error);
    if (!log) {
        fuzz_check_error(&error);
        return 0;
    }
    for (guint i = 0; i < log->rows->len; i++)
        check_row(&g_array_index(log->rows, RhTimed, i));
    for (guint i = 0; i < log->rates->len; i++)
        FUZZ_CHECK(g_array_index(log->rates, RhRate, i).bytes_per_s > 0);
    gsl_set_error_handler_off(); /* as cli/main.c */
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:2", NULL);
    g_autoptr(GPtrArray) logs = g_ptr_array_new();
    g_ptr_array_add(logs, log);
    FUZZ_CHECK(platform != NULL);
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, platform, 0.2, "2026-11-22", 0, &error);
    if (!fit) {
        fuzz_check_error(&error);
        return 0;
    }
    g_autofree char *profile = rh_links_fit_profile(fit);
    FUZZ_CHECK(*profile == '{' && fit->facts->len > 0);
    return 0;
}
