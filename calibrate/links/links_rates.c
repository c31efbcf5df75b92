#include "calibrate/links/links_rates.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <string.h>

#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "platforms/platform_constants.h"

/* Rates of one kind at its largest size. */
typedef struct {
    int count;
    double least, median, most; /* bytes/s */
} Rates;

static double largest(const GPtrArray *logs, RhRateKind kind)
{
    double most = 0;
    for (guint i = 0; i < logs->len; i++) {
        const RhMeasured *log = g_ptr_array_index(logs, i);
        for (guint k = 0; k < log->rates->len; k++) {
            const RhRate *rate = &g_array_index(log->rates, RhRate, k);
            if (rate->kind == kind)
                most = MAX(most, rate->bytes);
        }
    }
    return most;
}

static Rates rates_of(const GPtrArray *logs, RhRateKind kind)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(double));
    double bytes = largest(logs, kind);
    for (guint i = 0; i < logs->len; i++) {
        const RhMeasured *log = g_ptr_array_index(logs, i);
        for (guint k = 0; k < log->rates->len; k++) {
            const RhRate *rate = &g_array_index(log->rates, RhRate, k);
            if (rate->kind == kind && rate->bytes == bytes)
                g_array_append_val(found, rate->bytes_per_s);
        }
    }
    if (found->len == 0)
        return (Rates){0};
    double *sorted = RH_ELEMENTS(found, double);
    gsl_sort(sorted, 1, found->len);
    return (Rates){(int)found->len, sorted[0],
                   gsl_stats_median_from_sorted_data(sorted, 1, found->len),
                   sorted[found->len - 1]};
}

static const RhFittedFact *fitted_of(const RhLinksFit *fit, const char *key)
{
    for (guint i = 0; i < fit->facts->len; i++) {
        const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, i);
        if (strcmp(f->key, key) == 0)
            return f;
    }
    return NULL;
}

/* Sets the fact `key` to the rates over `unit`. */
static void add_rate_fact(RhLinksFit *fit, const char *key, const Rates *rates, double unit)
{
    RhFactRow row;
    double value = rates->median / unit;
    if (rates->count == 0 || !rh_facts_find(fit->platform, key, &row))
        return;
    const RhFittedFact *fitted = fitted_of(fit, key);
    if (fitted || !rh_facts_allow(key, value)) {
        g_ptr_array_add(fit->notes,
                        g_strdup_printf("%s: %d copies say %.4g, which %s", key, rates->count,
                                        value, fitted ? "collectives do not" : "it may not be"));
        return;
    }
    RhFact *fact = rh_facts_at(fit->platform, &row);
    *fact = (RhFact){.value = value,
                     .tag = RH_TAG_MEASURED,
                     .source = rh_intern(fit->source),
                     .date = fit->date,
                     .low = rates->least / unit,
                     .high = rates->most / unit};
    RhFittedFact measured = {g_strdup(key), row.kind, *fact, false};
    g_array_append_val(fit->facts, measured);
}

void rh_links_rates_add(RhLinksFit *fit, const GPtrArray *logs)
{
    const RhPlatform *p = fit->platform;
    Rates in = rates_of(logs, RH_RATE_HOST_IN), out = rates_of(logs, RH_RATE_HOST_OUT),
          peer = rates_of(logs, RH_RATE_PEER), nodes = rates_of(logs, RH_RATE_NODES);
    if (in.count > 0 && out.count > 0)
        add_rate_fact(fit, "host.bandwidth", in.median < out.median ? &in : &out, 1);
    else if (in.count + out.count > 0)
        g_ptr_array_add(fit->notes,
                        g_strdup("host.bandwidth stays as it is: one way was measured"));
    add_rate_fact(fit, "nvlink.efficiency", &peer, p->nvlink_bytes_per_s.value);
    add_rate_fact(fit, "nic.efficiency", &nodes, p->nic_bytes_per_s.value);
}
