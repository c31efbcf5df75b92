#include "report/run/changes_value.h"

#include <math.h>

#include "base/text/text_table.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "report/json/json_common.h"

#define HOUR_S     3600.0
#define GAIN_LEAST 5e-4 /* of the GPU-hours: less is noise of the draws */
#define COPIES     2    /* in the memory of peers, while the next one is taken */

static double gpu_hours(const RhRunValue *w, double node_s)
{
    return node_s / HOUR_S * w->run->node_gpus;
}

/* GPU-hours that a change saves, idle spares counted. */
static double saved_hours(const RhRunValue *w, const RhRunChange *change)
{
    return gpu_hours(w, w->result->node_s - change->node_s);
}

static bool pays(const RhRunValue *w, const RhRunChange *change)
{
    return saved_hours(w, change) > GAIN_LEAST * gpu_hours(w, w->result->node_s);
}

/* Returns the cost of a change in words. Caller frees. */
static char *cost_of(const RhRunValue *w, const RhRunChange *change)
{
    double bytes = w->checkpoint->bytes;
    if (change->storage_times > 0 && bytes > 0) {
        double rate = w->checkpoint->storage.bytes_per_s.value;
        g_autofree char *now = rh_quantity_format(rate, RH_QUANTITY_BYTES_PER_S, 3),
                        *then = rh_quantity_format(rate * change->storage_times,
                                                   RH_QUANTITY_BYTES_PER_S, 3);
        return g_strdup_printf("%s in place of %s", then, now);
    }
    if (change->copies_in_memory && bytes > 0) {
        g_autofree char *each =
            rh_quantity_format(COPIES * bytes / w->run->nodes_count, RH_QUANTITY_BYTES, 3);
        return g_strdup_printf("%s of host memory on each node", each);
    }
    return g_strdup(change->cost);
}

static char *signed_text(double value, char *(*format)(double value))
{
    g_autofree char *text = format(fabs(value));
    return g_strdup_printf("%s%s", value < 0 ? "-" : value > 0 ? "+" : "", text);
}

/* The change that saves most; NULL: none pays. */
static const RhRunChange *best_of(const RhRunValue *w)
{
    const RhRunChange *best = NULL;
    for (guint i = 0; i < w->changes->len; i++) {
        const RhRunChange *one = &g_array_index(w->changes, RhRunChange, i);
        if (pays(w, one) && (!best || one->node_s < best->node_s))
            best = one;
    }
    return best;
}

/* "1.3 M GPU-hours ($3.2 M)". Caller frees. */
static char *hours_text(const RhRunValue *w, double hours)
{
    g_autofree char *number = rh_text_large(hours);
    if (w->usd_per_gpu_hour <= 0)
        return g_strdup_printf("%s GPU-hours", number);
    g_autofree char *usd = rh_report_money(w->usd_per_gpu_hour * hours);
    return g_strdup_printf("%s GPU-hours (%s)", number, usd);
}

static void append_verdict(GString *out, const RhRunValue *w)
{
    const RhRunResult *r = w->result;
    const RhRunChange *best = best_of(w);
    g_autofree char *time = rh_report_duration(r->time_s.mean),
                    *hours = hours_text(w, gpu_hours(w, r->node_s)),
                    *saves = best ? hours_text(w, saved_hours(w, best)) : NULL;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "%s, goodput %.1f %%, %s; ", time, 100 * r->goodput_frac, hours);
    if (best)
        g_string_append_printf(line, "pays most: %s, which saves %s", best->change, saves);
    else
        g_string_append(line, "no change that was tried pays");
    rh_text_wrap(out, line->str, 2, 79);
}

static void append_rows(GString *out, const RhRunValue *w)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>");
    const char *kind = "";
    rh_table_rowf(table, "one thing changed|goodput|time|GPU-hours");
    for (guint i = 0; i < w->changes->len; i++) {
        const RhRunChange *one = &g_array_index(w->changes, RhRunChange, i);
        g_autofree char *time =
            signed_text(one->time_s - w->result->time_s.mean, rh_report_duration);
        g_autofree char *hours = signed_text(-saved_hours(w, one), rh_text_large);
        if (!g_str_equal(kind, one->kind))
            rh_table_rowf(table, "%s", one->kind);
        kind = one->kind;
        rh_table_rowf(table, "%s %s|%.1f %%|%s|%s", pays(w, one) ? " *" : "  ", one->change,
                      100 * one->goodput_frac, time, hours);
    }
    rh_table_append(table, out, "");
}

/* Appends the costs of the changes that pay. */
static void append_costs(GString *out, const RhRunValue *w)
{
    bool any = false;
    for (guint i = 0; i < w->changes->len; i++) {
        const RhRunChange *one = &g_array_index(w->changes, RhRunChange, i);
        g_autofree char *cost = cost_of(w, one);
        if (!pays(w, one) || !*cost)
            continue;
        g_autofree char *worth = hours_text(w, saved_hours(w, one)),
                        *line =
                            g_strdup_printf("  %s: %s; worth up to %s", one->change, cost, worth);
        if (!any)
            g_string_append(out, "\n*: pays; what it takes\n");
        any = true;
        rh_text_wrap(out, line, 4, 79);
    }
}

char *rh_report_run_value_text(const RhRunValue *w)
{
    GString *out = g_string_new(NULL);
    append_verdict(out, w);
    rh_report_job(out, w->q);
    g_string_append_c(out, '\n');
    append_rows(out, w);
    append_costs(out, w);
    if (w->cut)
        g_string_append(out, "not all was tried before --timeout\n");
    return g_string_free(out, FALSE);
}

char *rh_report_run_value_json(const RhRunValue *w)
{
    g_autoptr(RhJsonWriter) j = rh_json_writer_new(true);
    rh_json_begin_object(j, NULL);
    rh_put_head(j, "rehearse.run-changes/1", w->q);
    rh_json_put_number(j, "goodput_frac", w->result->goodput_frac);
    rh_json_put_number(j, "time_s", w->result->time_s.mean);
    rh_json_put_number(j, "gpu_hours", gpu_hours(w, w->result->node_s));
    rh_put_known(j, "usd_per_gpu_hour", w->usd_per_gpu_hour);
    rh_json_put_bool(j, "timed_out", w->cut);
    rh_json_begin_array(j, "changes");
    for (guint i = 0; i < w->changes->len; i++) {
        const RhRunChange *one = &g_array_index(w->changes, RhRunChange, i);
        g_autofree char *cost = cost_of(w, one);
        rh_json_begin_object(j, NULL);
        rh_json_put_string(j, "kind", one->kind);
        rh_json_put_string(j, "change", one->change);
        rh_json_put_string(j, "takes", cost);
        rh_json_put_number(j, "goodput_frac", one->goodput_frac);
        rh_json_put_number(j, "time_s", one->time_s);
        rh_json_put_number(j, "saved_gpu_hours", saved_hours(w, one));
        rh_json_put_bool(j, "pays", pays(w, one));
        rh_json_end_object(j);
    }
    rh_json_end_array(j);
    rh_json_end_object(j);
    return rh_json_writer_steal(j);
}
