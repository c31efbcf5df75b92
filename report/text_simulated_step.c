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
                                   rh_report_memory_name((RhMemoryUse)use),
                                   rh_text_gib(r->memory.at_peak_bytes[use]));
    g_autofree char *stage =
        r->layout.pp > 1
            ? g_strdup_printf(" on a GPU of pipeline stage %d", r->memory.stage)
            : g_strdup(rh_clients_share(&c->job.clients) ? " per process" : " per GPU");
    g_autofree char *line = g_strdup_printf(
        "peak memory: %.1f of %.1f GiB%s%s%s: %s (GiB)", rh_text_gib(r->memory.peak_bytes),
        rh_text_gib(r->memory_capacity_bytes), stage, r->memory_when ? ", in " : "",
        r->memory_when ? r->memory_when : "", parts->str);
    rh_text_wrap(out, line, 2, 79);
    double host = c->platform->host_bytes.value;
    g_autofree char *known = host > 0 ? g_strdup_printf(" of %.1f", rh_text_gib(host)) : NULL;
    if (r->memory.host_bytes > 0)
        g_string_append_printf(out, "host memory: %.1f%s GiB of a node%s\n",
                               rh_text_gib(r->memory.host_bytes), known ? known : "",
                               known ? "" : "; its capacity is unknown (set host.memory)");
    if (r->memory.nvme_bytes > 0)
        g_string_append_printf(out, "drives: %.1f of %.1f GiB of a node\n",
                               rh_text_gib(r->memory.nvme_bytes),
                               rh_text_gib(c->platform->nvme_bytes.value));
}

/* A GPU on which a kernel always runs may have most of its SMs empty. */
static void append_utilisation(GString *out, const RhRehearsal *r)
{
    if (!r->tells_busy)
        return;
    g_autofree char *line =
        g_strdup_printf("GPU utilisation: %.0f %% (a kernel runs, as nvidia-smi counts); of its "
                        "FLOPs %.1f %% are used (MFU)",
                        100 * r->busy_frac, 100 * r->mfu_frac);
    rh_text_wrap(out, line, 2, 79);
}

static void add_share(GString *parts, const char *name, double joules, double total_j)
{
    if (joules > 0)
        g_string_append_printf(parts, "%s%s %.0f %%", parts->len ? ", " : "", name,
                               100 * joules / total_j);
}

/* Splits the energy into that of nodes and of what is outside of them: ": 52.7 kJ in nodes, 7.1 kJ in switches".
 * Caller frees. */
static char *outside_nodes(const RhEnergy *e)
{
    if (e->switches_j + e->building_j <= 0)
        return g_strdup("");
    g_autofree char *nodes = rh_text_amount(e->total_j - e->switches_j - e->building_j, "J"),
                    *switches = rh_text_amount(e->switches_j, "J"),
                    *building = rh_text_amount(e->building_j, "J");
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, ": %s in nodes", nodes);
    if (e->switches_j > 0)
        g_string_append_printf(out, ", %s in switches", switches);
    if (e->building_j > 0)
        g_string_append_printf(out, ", %s in the building (PUE)", building);
    return g_string_free(out, FALSE);
}

/* Appends the energy of a step; its parts with -v. */
static void append_energy(GString *out, const RhQuestion *q, const RhRehearsal *r, bool verbose)
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
    bool host = e->host_j > 0, pue = q->hardware->pue.value > 0;
    g_autofree char *outside = outside_nodes(e);
    g_autofree char *line = g_strdup_printf("energy: %s a step%s; %s a node%s%s%s%s", joules,
                                            outside, node, host ? "" : "; hosts are not counted",
                                            pue ? "" : "; PUE is not counted (--set pue=1.2)",
                                            verbose ? "; shares: " : "", verbose ? parts->str : "");
    rh_text_wrap(out, line, 2, 79);
}

/* Appends the cost, where a price is known. */
static void append_cost(GString *out, const RhQuestion *q, const RhRehearsal *r)
{
    if (r->cost_usd <= 0)
        return;
    g_string_append_printf(out, "cost: %.4g USD a step\n", r->cost_usd);
    rh_report_price(out, q->platform_spec, q->hardware);
}

/* Appends what a lower bound or an approximation leaves out; figures of the simulation with -v. */
static void append_engine(GString *out, const RhQuestion *q, const RhRehearsal *r, bool verbose)
{
    if (r->events_count == 0)
        g_string_append(out, "from closed forms: contention on links is not simulated\n");
    g_autofree char *events = rh_text_count(r->events_count);
    double flows = r->bytes_total > 0 ? 100 * r->bytes_as_flows / r->bytes_total : 0;
    if (verbose && r->events_count > 0)
        g_string_append_printf(out,
                               "simulation: %s events, %.0f %% of the communication bytes share "
                               "links, seed %" G_GINT64_FORMAT "\n",
                               events, flows, q->seed);
    if (r->approximate) {
        g_autofree char *line = g_strdup_printf("approximate: %s", r->approximate_why);
        rh_text_wrap(out, line, 13, 79);
    }
}

/* Appends the difference of a bound from the step: " (-1.2 %)". */
static void append_off(GString *out, double bound_s, double step_s)
{
    double off = bound_s / step_s - 1;
    if (fabs(off) < 1e-9)
        g_string_append(out, " (equal to the step)");
    else if (fabs(off) < 5e-4)
        g_string_append_printf(out, " (%+.1g %%)", 100 * off);
    else
        g_string_append_printf(out, " (%+.1f %%)", 100 * off);
}

/* Appends the step's lower bounds, with their differences from the simulated step. */
static void append_bound(GString *out, const RhQuestion *q, const RhRehearsal *r)
{
    bool estimates = q->c->platform->messages.sender != RH_SHARING_NONE;
    if (r->bound_closed_s <= 0 || r->events_count == 0)
        return;
    g_autofree char *closed = rh_quantity_format(r->bound_closed_s, RH_QUANTITY_S, 3);
    g_string_append_printf(out, "%s of the step: closed form %s",
                           estimates ? "estimates" : "lower bounds", closed);
    append_off(out, r->bound_closed_s, r->step_time_s);
    if (r->bound_segment_s > 0) {
        g_autofree char *segment = rh_quantity_format(r->bound_segment_s, RH_QUANTITY_S, 3);
        g_string_append_printf(out, ", longest path %s", segment);
        append_off(out, r->bound_segment_s, r->step_time_s);
    }
    g_string_append_c(out, '\n');
}

/* Says whether the layout fits in memory: a layout that fits may still run out. Caller frees. */
static char *verdict(const RhQuestion *q, const RhRehearsal *r)
{
    bool within = q->most_bytes <= 0 || r->memory.peak_bytes <= q->most_bytes;
    bool safe = q->safe_bytes <= 0 || r->memory.peak_bytes <= q->safe_bytes;
    if (!r->fits)
        return g_strdup_printf("DOES NOT FIT (memory %.0f %% full)",
                               100 * r->memory.peak_bytes / r->memory_capacity_bytes);
    if (!within)
        return g_strdup("MORE MEMORY than --limit allows");
    if (!safe && r->odds)
        return g_strdup_printf("MAY RUN OUT of memory (%.0f %% likely)", 100 * r->risk_frac);
    return g_strdup("fits in memory");
}

/* Returns the title of the layout, with what plan might have added and this layout does without.
 * Caller frees. */
static char *whole_title(const RhProblem *c, const RhLayout *l)
{
    g_autofree char *title = rh_report_layout_title(c, l);
    bool plain = l->tp > 1 && l->sequence_parallel && !l->tensor_overlap;
    return g_strconcat(title, plain ? "; no TP overlap" : "", NULL);
}

/* Appends the first lines: the step, its rates, the layout, the job. */
static void append_answer(GString *out, const RhQuestion *q, const RhRehearsal *r,
                          const RhReportStyle *style)
{
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *title = whole_title(q->c, &r->layout);
    g_autofree char *tokens = rh_text_rate(r->tokens_per_s_per_gpu);
    g_autofree char *fit = verdict(q, r);
    g_autofree char *error = rh_text_number(100 * rh_report_error_frac(r), 2);
    g_string_append_printf(out, "%s%s/step%s", style->colored ? "\033[1m" : "", step,
                           style->colored ? "\033[0m" : "");
    if (rh_report_error_frac(r) > 0)
        g_string_append_printf(out, " ±%s %%", error);
    if (style->steps > 1)
        g_string_append_printf(out, " (mean of %d steps)", style->steps);
    g_string_append_printf(out, "   %.1f %% MFU   ", 100 * r->mfu_frac);
    if (style->verbosity > 0)
        g_string_append_printf(out, "%.1f %% HFU   ", 100 * r->hfu_frac);
    g_string_append_printf(out, "%s %s/s/GPU   %s\n", tokens, rh_report_unit(r->pictures), fit);
    g_autofree char *peak = rh_report_mfu_plain(r) ? NULL : rh_report_mfu_peak(r);
    if (peak)
        g_string_append_printf(out, "MFU %s\n", peak);
    rh_text_wrap(out, title, 2, 79);
    rh_report_job(out, q);
    g_string_append_c(out, '\n');
}

char *rh_report_run_text(const RhQuestion *q, const RhRehearsal *r, const RhRun *run,
                         const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    bool verbose = style->verbosity > 0;
    g_autoptr(GPtrArray) watches = rh_report_run_warnings(q, r);
    append_answer(out, q, r, style);
    if (r->costs && verbose)
        rh_report_tree(out, r->costs, r->step_time_s, false);
    else if (r->costs)
        rh_report_terms(out, r->costs, r->step_time_s, run);
    append_memory(out, q->c, r);
    append_utilisation(out, r);
    append_energy(out, q, r, verbose);
    append_cost(out, q, r);
    rh_report_trust(out, r);
    rh_report_warnings_text(out, watches);
    append_engine(out, q, r, verbose);
    if (verbose) {
        append_bound(out, q, r);
        rh_report_links(out, r->links);
        rh_report_sources(out, q);
    }
    if (r->memory.peak_bytes > r->memory_capacity_bytes)
        g_string_append(out, "next: `rehearse plan` with these options, without -s, finds layouts "
                             "that fit\n");
    else
        rh_report_next(out, style, "run.json", "");
    return g_string_free(out, FALSE);
}
