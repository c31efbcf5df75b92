#include "cli/serve/serve_plan_from_launch.h"

#include <math.h>
#include <stdio.h>

#include "cli/output/terminal.h"
#include "report/format.h"

/* The plan of exactly this deployment: the highest rate that it keeps; NULL where there is none. */
static RhServePlan *plan_of(const RhServeQuery *p, const RhDeployment *yours)
{
    RhServeQuery only = *p;
    only.given.server = yours->server;
    only.options.fixed[0] = yours->pools[0];
    only.options.gpus = rh_deployment_gpus(yours);
    only.options.rate_per_s = 0;
    only.options.mode = RH_SERVE_COLOCATED;
    only.options.timeout_s = rh_terminal_left_s(p->a->timeout_s);
    g_autoptr(GError) why = NULL;
    RhServePlan *plan = rh_serve_query_plan(&only, &why);
    if (!plan) {
        g_autofree char *line =
            g_strdup_printf("warning: %s cannot be planned: %s", p->a->from, why->message);
        rh_terminal_hint(line);
    }
    return plan;
}

static void append_entry(GString *out, const char *name, const RhServeEntry *e)
{
    g_autofree char *text = rh_deployment_format(&e->deployment);
    g_autofree char *rate = rh_text_rate(e->rate_per_s);
    g_autofree char *line = g_strdup_printf(
        "%s: %s on %d GPU%s: %s requests/s, TTFT p99 %.0f ms, TPOT p99 %.1f ms", name, text,
        e->gpus, e->gpus == 1 ? "" : "s", rate, 1e3 * e->outcome.metrics[RH_METRIC_TTFT].p99.value,
        1e3 * e->outcome.metrics[RH_METRIC_TPOT].p99.value);
    rh_text_wrap(out, line, 2, 79);
}

/* Words of the best deployment that yours does not have. */
static void append_changes(GString *out, const RhDeployment *yours, const RhDeployment *best)
{
    g_autofree char *a = rh_deployment_format(yours);
    g_autofree char *b = rh_deployment_format(best);
    g_auto(GStrv) have = g_strsplit(a, ",", -1);
    g_auto(GStrv) want = g_strsplit(b, ",", -1);
    g_autoptr(GString) line = g_string_new(NULL);
    for (int i = 0; want[i]; i++)
        if (!g_strv_contains((const char *const *)have, want[i]))
            g_string_append_printf(line, "%s%s", line->len > 0 ? ", " : "what changes: ", want[i]);
    if (line->len > 0)
        rh_text_wrap(out, line->str, 2, 79);
}

void rh_launched_beside_print(const RhServeQuery *p, const RhLaunchedDeployment *launch,
                              const RhServePlan *plan)
{
    g_autoptr(RhServePlan) own = plan_of(p, &launch->deployment);
    g_autoptr(GString) out = g_string_new("\n");
    if (!own)
        return;
    if (own->entries->len > 0)
        append_entry(out, "yours", &g_array_index(own->entries, RhServeEntry, 0));
    else
        g_string_append(out, "yours: it keeps the levels at no rate\n");
    if (plan->entries->len > 0) {
        const RhServeEntry *best = &g_array_index(plan->entries, RhServeEntry, 0);
        append_entry(out, "best", best);
        append_changes(out, &launch->deployment, &best->deployment);
    }
    fputs(out->str, stdout);
}
