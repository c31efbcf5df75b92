#include "calibrate/kernels/raw_samples_device.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "calibrate/kernels/kernels_fit.h"
#include "platforms/device_name_match.h"
#include "platforms/platform.h"

const char *rh_kernels_fit_device_name(const RhRaw *raw, GError **error)
{
    g_auto(RhDeviceName) match = {0};
    if (rh_device_by_name(raw->device, raw->hbm_bytes, &match, NULL))
        return match.device;
    g_autofree char *all = g_strjoinv(", ", (char **)rh_device_names());
    rh_fail(error, RH_ERROR_USAGE,
            "%s is of \"%s\": the catalogue does not tell which device that is\nnote: known: %s",
            raw->name, raw->device, all);
    return NULL;
}

bool rh_kernels_files_may_be(const char *marketing, const RhDevice *d)
{
    g_auto(RhDeviceName) match = {0};
    if (!g_strv_contains(rh_device_names(), d->name) ||
        !rh_device_by_name(marketing, 0, &match, NULL) || strcmp(match.device, d->name) == 0)
        return true;
    g_auto(GStrv) also = g_strsplit(match.also ? match.also : "", ", ", -1);
    return g_strv_contains((const char *const *)also, d->name);
}

static bool check_device(const RhRaw *raw, const RhDevice *d, GError **error)
{
    if (raw->sms_count > 0 && raw->sms_count != d->sms_count)
        return rh_fail(error, RH_ERROR_INPUT, "%s is of \"%s\" with %d SMs, %s has %d", raw->name,
                       raw->device, raw->sms_count, d->name, d->sms_count);
    if (rh_kernels_files_may_be(raw->device, d))
        return true;
    g_auto(RhDeviceName) named = {0};
    rh_ignore_failure(rh_device_by_name(raw->device, 0, &named, NULL));
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s is of \"%s\", not of %s\nnote: the catalogue has it as %s", raw->name,
                   raw->device, d->name, named.device);
}

bool rh_kernels_files_check(const GPtrArray *raws, const RhDevice *d, GError **error)
{
    const RhRaw *first = g_ptr_array_index(raws, 0);
    for (guint i = 0; i < raws->len; i++) {
        const RhRaw *raw = g_ptr_array_index(raws, i);
        if (!check_device(raw, d, error))
            return false;
        if (strcmp(raw->device, first->device) != 0)
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s is of \"%s\", %s of \"%s\": one profile is of one GPU model",
                           raw->name, raw->device, first->name, first->device);
    }
    return true;
}

char *rh_kernels_files_source(const GPtrArray *raws)
{
    g_autoptr(GString) out = g_string_new(NULL);
    const RhRaw *first = g_ptr_array_index(raws, 0);
    for (guint i = 0; i < raws->len; i++) {
        g_autofree char *file = g_path_get_basename(((RhRaw *)g_ptr_array_index(raws, i))->name);
        g_string_append_printf(out, "%s%s", i ? ", " : "", file);
    }
    g_string_append_printf(out, ": %s", first->device);
    for (guint i = 0; i < raws->len; i++) { /* each once, as equal files are adjacent */
        const char *libraries = ((RhRaw *)g_ptr_array_index(raws, i))->library_versions;
        const char *before = i ? ((RhRaw *)g_ptr_array_index(raws, i - 1))->library_versions : "";
        if (*libraries && libraries != before)
            g_string_append_printf(out, ", %s", libraries);
    }
    if (*first->date)
        g_string_append_printf(out, ", %.10s", first->date); /* the day */
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Returns whether a row tells the clock that the power limit leaves. */
static bool tells_clock(const RhRawRow *row, bool sustained)
{
    return sustained ? row->cls == RK_SUSTAINED_GEMM
                     : row->kernel.cls == RH_KERNEL_GEMM && row->seconds >= 1e-3;
}

static double median_clock_frac(const GPtrArray *raws, bool sustained)
{
    g_autoptr(GArray) clocks = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < raws->len; i++) {
        const RhRaw *raw = g_ptr_array_index(raws, i);
        for (guint k = 0; k < raw->rows->len; k++) {
            const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, k);
            double frac = rh_raw_clock_frac(raw, row);
            if (frac > 0 && tells_clock(row, sustained))
                g_array_append_val(clocks, frac);
        }
    }
    if (clocks->len == 0)
        return 0;
    gsl_sort(RH_ELEMENTS(clocks, double), 1, clocks->len);
    return gsl_stats_median_from_sorted_data(RH_ELEMENTS(clocks, double), 1, clocks->len);
}

double rh_kernels_files_clock_frac(const GPtrArray *raws)
{
    double sustained_frac = median_clock_frac(raws, true);
    return sustained_frac > 0 ? sustained_frac : median_clock_frac(raws, false);
}
