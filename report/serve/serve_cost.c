/* Formats the cost of a service per unit of work. */
#include <math.h>

#include "report/format.h"
#include "report/serve/serve_words.h"

static void append_tokens(GString *out, const RhServiceMetrics *o)
{
    g_string_append_printf(
        out, "$%.3g per million output tokens ($%.3g per million input and output tokens)",
        1e6 * o->cost_usd_per_token, 1e6 * o->cost_usd_per_token_both);
}

void rh_report_service_cost(GString *out, const RhServiceMetrics *o, const RhFact *price,
                            const char *indent)
{
    bool dated = price->date && *price->date;
    if (!isfinite(o->once ? o->cost_usd_per_request : o->cost_usd_per_token))
        return;
    g_string_append(out, indent);
    if (o->once)
        g_string_append_printf(out, "$%.3g per million requests", 1e6 * o->cost_usd_per_request);
    else
        append_tokens(out, o);
    g_string_append_printf(out, " at $%.4g a GPU-hour%s%s%s\n", price->value, dated ? " (" : "",
                           dated ? price->date : "", dated ? ")" : "");
}
