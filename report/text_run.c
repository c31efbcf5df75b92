/* Formats one rehearsed layout as text. */
#include <math.h>

#include "base/units.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "report/report.h"
#include "report/warnings.h"

static void append_memory(GString *out, const RhProblem *c, const RhRehearsal *r)
{
    g_autoptr(GString) parts = g_string_new(NULL);
    for (int use = RH_MEMORY_NONE + 1; use < RH_MEMORY_LAST; use++)
        if (r->memory.at_peak_bytes[use] >= 0.05 * RH_GIB_BYTES)
            g_string_append_printf(parts, "%s%s %.1f", parts->len ? ", " : "",
                                   rh_memory_name((RhMemoryUse)use),
                                   rh_text_gib(r->memory.at_peak_bytes[use]));
    g_autofree char *line = g_strdup_printf(
        "%.1f of %.1f GiB on stage %d%s%s: %s", rh_text_gib(r->memory.peak_bytes),
        rh_text_gib(r->memory_capacity_bytes), r->memory.stage, r->memory_when ? ", in " : "",
        r->memory_when ? r->memory_when : "", parts->str);
    g_string_append(out, "memory: ");
    rh_text_wrap(out, line, 8, 79);
    double host = c->platform->host_bytes.value;
    g_autofree char *known = host > 0 ? g_strdup_printf(" of %.1f", rh_text_gib(host)) : NULL;
    if (r->memory.host_bytes > 0)
        g_string_append_printf(out, "host memory: %.1f%s GiB of a node%s\n",
                               rh_text_gib(r->memory.host_bytes), known ? known : "",
                               known ? "" : "; how many it has is not known (host.memory)");
}

static void add_share(GString *parts, const char *name, double joules, double total_j)
{
    if (joules > 0)
        g_string_append_printf(parts, "%s%s %.0f %%", parts->len ? ", " : "", name,
                               100 * joules / total_j);
}

/* Appends the energy of a step and its parts. */
static void append_energy(GString *out, const RhQuestion *q, const RhRehearsal *r)
{
    const RhEnergy *e = &r->energy;
    if (e->total_j <= 0)
        return;
    g_autoptr(GString) parts = g_string_new(NULL);
    for (int state = 0; state < RH_POWER_LAST; state++) {
        g_autofree char *name = g_strdup_printf("%s%s", state == 0 ? "GPUs at " : "",
                                                rh_power_state_name((RhPowerState)state));
        add_share(parts, name, e->device_j[state], e->total_j);
    }
    add_share(parts, "hosts", e->host_j, e->total_j);
    add_share(parts, "NICs", e->nic_j, e->total_j);
    add_share(parts, "switches", e->switches_j, e->total_j);
    add_share(parts, "building", e->building_j, e->total_j);
    g_autofree char *joules = rh_text_amount(e->total_j, "J");
    g_autofree char *node = rh_text_amount(r->node_w, "W");
    g_autofree char *line =
        g_strdup_printf("energy: %s a step, %s a node: %s%s%s", joules, node, parts->str,
                        e->host_j > 0 ? "" : "; hosts not known",
                        q->hardware->pue.value > 0 ? "" : "; the building's PUE not known");
    rh_text_wrap(out, line, 8, 79);
}

/* Appends the cost, where a price is known. */
static void append_cost(GString *out, const RhQuestion *q, const RhRehearsal *r)
{
    if (r->cost_usd <= 0)
        return;
    g_string_append_printf(out, "cost: %.4g USD a step\n", r->cost_usd);
    rh_report_price(out, q->platform_spec, q->hardware);
}

static void append_engine(GString *out, const RhQuestion *q, const RhRehearsal *r)
{
    if (r->events_count == 0) {
        g_string_append(out, "closed forms alone: no link is shared\n");
        return;
    }
    g_autofree char *events = rh_text_count(r->events_count);
    double flows = r->bytes_total > 0 ? 100 * r->bytes_as_flows / r->bytes_total : 0;
    g_string_append_printf(out,
                           "%s events, %.0f %% of the communication bytes moved as flows, seed "
                           "%" G_GINT64_FORMAT "\n",
                           events, flows, q->seed);
    if (r->approximate) {
        g_autofree char *line = g_strdup_printf("approximate: %s", r->approximate_why);
        rh_text_wrap(out, line, 13, 79);
    }
}

/* Appends a difference: " (-1.2 %)"; for a bound that the step equals, that. */
static void append_off(GString *out, double bound_s, double step_s)
{
    double off = bound_s / step_s - 1;
    if (fabs(off) < 1e-9)
        g_string_append(out, " (the step)");
    else if (fabs(off) < 5e-4)
        g_string_append_printf(out, " (%+.1g %%)", 100 * off);
    else
        g_string_append_printf(out, " (%+.1f %%)", 100 * off);
}

static void append_bound(GString *out, const RhQuestion *q, const RhRehearsal *r)
{
    bool estimates = q->c->platform->messages.sender != RH_SHARING_NONE;
    if (r->bound_closed_s <= 0 || r->events_count == 0)
        return;
    g_autofree char *closed = rh_quantity_format(r->bound_closed_s, RH_QUANTITY_S, 3);
    g_string_append_printf(out, "\n%s: closed form %s",
                           estimates ? "estimates in lockstep" : "lower bounds", closed);
    append_off(out, r->bound_closed_s, r->step_time_s);
    if (r->bound_segment_s > 0) {
        g_autofree char *segment = rh_quantity_format(r->bound_segment_s, RH_QUANTITY_S, 3);
        g_string_append_printf(out, ", segment graph %s", segment);
        append_off(out, r->bound_segment_s, r->step_time_s);
    }
}

/* Verdict on memory, which is a matter of odds: a layout that fits may still run out. Caller
 * frees. */
static char *verdict(const RhQuestion *q, const RhRehearsal *r)
{
    bool within = q->most_bytes <= 0 || r->memory.peak_bytes <= q->most_bytes;
    bool safe = q->safe_bytes <= 0 || r->memory.peak_bytes <= q->safe_bytes;
    if (!r->fits)
        return g_strdup("DOES NOT FIT in memory");
    if (!within)
        return g_strdup("MORE MEMORY than the limit");
    if (!safe && r->odds)
        return g_strdup_printf("MAY RUN OUT of memory: %.0f %%", 100 * r->risk_frac);
    return g_strdup("fits");
}

char *rh_report_run_text(const RhQuestion *q, const RhRehearsal *r, const RhRun *run,
                         const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *title = rh_layout_title(&r->layout);
    g_autofree char *tokens = rh_text_rate(r->tokens_per_s_per_gpu);
    g_autofree char *fit = verdict(q, r);
    g_autoptr(GPtrArray) watches = rh_report_run_warnings(q, r);
    g_string_append_printf(out, "%s%s/step%s", style->colored ? "\033[1m" : "", step,
                           style->colored ? "\033[0m" : "");
    if (rh_report_error_frac(r) > 0) {
        g_autofree char *error = rh_text_number(100 * rh_report_error_frac(r), 2);
        g_string_append_printf(out, " +-%s %%", error);
    }
    if (style->steps > 1)
        g_string_append_printf(out, " (mean of %d steps)", style->steps);
    append_bound(out, q, r);
    g_string_append_printf(out, "\n%s\n%.1f %% MFU   %.1f %% HFU   %s %s/s/GPU   %s\n\n", title,
                           100 * r->mfu_frac, 100 * r->hfu_frac, tokens,
                           rh_report_unit(r->pictures), fit);
    if (!rh_report_mfu_plain(r)) {
        g_autofree char *peak = rh_report_mfu_peak(r);
        g_string_truncate(out, out->len - 1);
        g_string_append_printf(out, "MFU, HFU %s\n\n", peak);
    }
    if (r->costs && style->verbosity > 0)
        rh_report_tree(out, r->costs, r->step_time_s);
    else if (r->costs)
        rh_report_terms(out, r->costs, r->step_time_s, run);
    append_memory(out, q->c, r);
    append_energy(out, q, r);
    append_cost(out, q, r);
    rh_report_trust(out, r);
    rh_report_warnings_text(out, watches);
    rh_report_links(out, r->links);
    g_string_append_c(out, '\n');
    append_engine(out, q, r);
    rh_report_sources(out, q);
    g_autofree char *path = style->saved_as ? rh_text_path(style->saved_as) : NULL;
    if (path)
        g_string_append_printf(out, "next: rehearse explain %s\n", path);
    else
        g_string_append(out, "next: the same with -o run.json; then rehearse explain run.json\n");
    return g_string_free(out, FALSE);
}
