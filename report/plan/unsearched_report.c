#include "report/plan/unsearched_report.h"

#include <math.h>
#include <string.h>

#include "report/format.h"
#include "report/json/json_common.h"
#include "report/plan/text_plan.h"
#include "strategies/search/unsearched_changes.h"

#define WORTH_FRAC 5e-4 /* a smaller gain counts as none */

/* Does the format only save memory, so that a row gains nothing? */
static bool gains_nothing(const RhUnsearched *o)
{
    return o->numerics && o->r && fabs(o->gain_frac) < WORTH_FRAC;
}

/* Appends "dtype=fp8: 38.4 s/step (31 % faster)"; for knobs that were not rehearsed the name, and why
 * where that is known. */
static void append_one(GString *text, const RhUnsearched *o, bool verbose)
{
    const char *dtype =
        g_str_has_prefix(o->change ? o->change : "", "dtype=") ? strchr(o->change, '=') : NULL;
    if (o->numerics)
        g_string_append_printf(text, dtype ? "--dtype %s" : "--set %s",
                               dtype ? dtype + 1 : o->change);
    else
        g_string_append(text, o->r || o->limit ? o->change : o->text);
    if (o->beside)
        g_string_append_printf(text, " with %s", o->beside);
    if (o->limit)
        g_string_append_printf(text, " (%s)", o->limit);
    if (o->why && (verbose || o->change))
        g_string_append_printf(text, " (%s)", o->why);
    if (!o->r)
        return;
    g_autofree char *step = rh_quantity_format(o->r->step_time_s, RH_QUANTITY_S, 3);
    double percent = 100 * fabs(o->gain_frac);
    g_string_append_printf(text, ": %s/step (%.*f %% %s)", step,
                           percent<9.95, percent, o->gain_frac> 0 ? "faster" : "slower");
}

/* Text of all knobs, or of all formats; "" where there are none. Caller frees. */
static char *text_of(const RhPlan *plan, bool numerics, bool verbose)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; plan->outside && i < plan->outside->len; i++) {
        const RhUnsearched *o = &g_array_index(plan->outside, RhUnsearched, i);
        if (o->numerics != numerics || gains_nothing(o) || (o->cannot && !verbose))
            continue;
        g_string_append(text, text->len ? ", " : "");
        append_one(text, o, verbose);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

void rh_report_unsearched(GString *out, const RhPlan *plan, bool verbose)
{
    g_autofree char *layouts = text_of(plan, false, verbose),
                    *numbers = text_of(plan, true, verbose);
    if (*layouts)
        rh_report_append_labelled(out, "not searched", layouts);
    if (*numbers)
        rh_report_append_labelled(out, "with other number formats, which change the numerics",
                                  numbers);
}

void rh_report_unsearched_markdown(GString *out, const RhPlan *plan)
{
    g_autofree char *layouts = text_of(plan, false, true), *numbers = text_of(plan, true, true);
    if (*layouts)
        g_string_append_printf(out, "Not searched: %s.\n", layouts);
    if (*numbers)
        g_string_append_printf(out, "Other number formats, which change the numerics: %s.\n",
                               numbers);
}

void rh_put_unsearched(RhJsonWriter *w, const RhPlan *plan)
{
    rh_json_begin_array(w, "not_tried");
    for (guint i = 0; plan->outside && i < plan->outside->len; i++) {
        const RhUnsearched *o = &g_array_index(plan->outside, RhUnsearched, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "key", o->key);
        rh_json_put_string(w, "text", o->text);
        rh_json_put_bool(w, "numerics", o->numerics);
        rh_json_put_string(w, "change", o->change);
        rh_json_put_string(w, "beside", o->beside);
        rh_json_put_string(w, "limit", o->limit);
        rh_json_put_string(w, "why_not", o->why);
        rh_put_or_null(w, "step_time_s", o->r ? o->r->step_time_s : 0, o->r != NULL);
        rh_put_or_null(w, "gain_frac", o->gain_frac, o->r != NULL);
        rh_put_or_null(w, "memory_peak_bytes", o->r ? o->r->memory.peak_bytes : 0, o->r != NULL);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}
