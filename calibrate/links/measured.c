#include "calibrate/links/measured_private.h"

#include <math.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/log_prefix_strip.h"
#include "base/text/text_input.h"

static const RhMeasuredFormat *const formats[] = {
    &rh_format_nvbandwidth_json, &rh_format_nccl_tests, &rh_format_tables,  &rh_format_osu,
    &rh_format_nvbandwidth,      &rh_format_peers,      &rh_format_perftest};

/* --- files --- */

static const RhMeasuredFormat *format_of(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (formats[i]->begins(text))
            return formats[i];
    return NULL;
}

bool rh_measured_begins(const char *text)
{
    g_autofree char *plain = rh_log_without_prefixes(text, false);
    return format_of(plain) != NULL;
}

RhMeasured *rh_measured_parse(const char *name, const char *text, GError **error)
{
    g_autofree char *plain = rh_log_without_prefixes(text, false);
    const RhMeasuredFormat *format = format_of(plain);
    g_autoptr(RhMeasured) out = g_new0(RhMeasured, 1);
    out->name = g_strdup(name);
    out->device = out->library = rh_intern("");
    out->rows = g_array_new(FALSE, FALSE, sizeof(RhTimed));
    out->rates = g_array_new(FALSE, FALSE, sizeof(RhRate));
    out->notes = g_ptr_array_new_with_free_func(g_free);
    if (!format) {
        rh_fail(error, RH_ERROR_INPUT, "%s:1:1: no log of a benchmark that is known", name);
        return NULL;
    }
    out->format = format->name;
    return format->read(out, plain, error) ? g_steal_pointer(&out) : NULL;
}

RhMeasured *rh_measured_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_measured_parse(path, text, error) : NULL;
}

void rh_measured_free(RhMeasured *measured)
{
    if (!measured)
        return;
    g_free(measured->name);
    g_array_unref(measured->rows);
    g_array_unref(measured->rates);
    g_ptr_array_unref(measured->notes);
    g_free(measured);
}

char *rh_timed_class(const RhTimed *row)
{
    return g_strdup_printf("%s of %d rank%s on %d node%s",
                           row->message ? "message" : rh_op_name(row->op), row->ranks,
                           row->ranks == 1 ? "" : "s", row->nodes, row->nodes == 1 ? "" : "s");
}
