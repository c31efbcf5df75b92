/* Two layouts beside each other, as the answers of `explain` say it. */
#include <math.h>

#include "base/units.h"
#include "cli/explain/explain_private.h"
#include "report/format.h"
#include "report/report.h"

#define SAME_FRAC 1e-6 /* less is not said in seconds */

static void append_beyond(GString *out, const char *verb, double a, double b, const char *what)
{
    if (a > 0 && b > 0 && fabs(a / b - 1) >= 0.0005)
        g_string_append_printf(out, ", %s %.1f %% %s%s", verb, 100 * fabs(a / b - 1),
                               a > b ? "more" : "less", what);
}

/* Prices and powers change no step, and are what was asked for then. */
static void append_as_long(RhExplanation *e, const char *name_a, const RhRehearsal *a,
                           const char *name_b, const RhRehearsal *b)
{
    bool exactly = fabs(a->step_time_s - b->step_time_s) < 1e-9 * b->step_time_s;
    g_string_append_printf(e->out, "%s takes %sas long as %s", name_a, exactly ? "exactly " : "",
                           name_b);
    append_beyond(e->out, "costs", a->cost_usd, b->cost_usd, "");
    append_beyond(e->out, "takes", a->energy.total_j, b->energy.total_j, " energy");
    g_string_append_c(e->out, '\n');
}

void rh_explain_versus(RhExplanation *e, const char *name_a, const RhRehearsal *a,
                       const char *name_b, const RhRehearsal *b, const char *verdict)
{
    double less_s = b->step_time_s - a->step_time_s;
    g_autofree char *size = rh_quantity_format(fabs(less_s), RH_QUANTITY_S, 3);
    if (fabs(less_s) < SAME_FRAC * b->step_time_s)
        append_as_long(e, name_a, a, name_b, b);
    else if (less_s >= 0)
        g_string_append_printf(e->out, "%s is %s faster than %s, which takes %.1f %% more\n",
                               name_a, size, name_b, 100 * less_s / a->step_time_s);
    else
        g_string_append_printf(e->out, "%s is %s (%.1f %%) slower than %s\n", name_a, size,
                               -100 * less_s / b->step_time_s, name_b);
    if (verdict)
        g_string_append_printf(e->out, "  %s\n", verdict);
    rh_report_versus(e->out, name_a, a, name_b, b);
    bool resized = a->memory_capacity_bytes != b->memory_capacity_bytes;
    g_autofree char *of =
        resized ? g_strdup_printf(" of %.1f", a->memory_capacity_bytes / RH_GIB_BYTES) : NULL;
    g_string_append_printf(e->out, "  peak memory of a GPU: %.1f%s and %.1f of %.1f GiB\n",
                           a->memory.peak_bytes / RH_GIB_BYTES, of ? of : "",
                           b->memory.peak_bytes / RH_GIB_BYTES,
                           b->memory_capacity_bytes / RH_GIB_BYTES);
}

void rh_explain_layout(RhExplanation *e, const char *name, const RhLayout *layout, const char *more)
{
    g_autofree char *title = rh_layout_title(layout);
    g_autofree char *line = g_strdup_printf("%s: %s%s", name, title, more);
    g_string_append(e->out, "  ");
    rh_text_wrap(e->out, line, 4, 79);
}
