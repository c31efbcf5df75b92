#include "report/program_run_report.h"

#include <math.h>
#include <string.h>

#include "report/format.h"
#include "report/json/json_common.h"
#include "sim/run_cost_tree.h"

/* The largest top term of a mean GPU's step. */
static const RhCost *largest_term(const RhCost *costs)
{
    const RhCost *largest = g_ptr_array_index(costs->children, 0);
    for (guint i = 1; i < costs->children->len; i++) {
        const RhCost *term = g_ptr_array_index(costs->children, i);
        if (term->value_s > largest->value_s)
            largest = term;
    }
    return largest;
}

/* --- text --- */

static void append_first(GString *out, const RhProgramAnswer *a, const RhCost *costs,
                         const RhReportStyle *style)
{
    double step_s = a->run->step_time_s;
    const RhCost *term = largest_term(costs);
    g_autofree char *step = rh_quantity_format(step_s, RH_QUANTITY_S, 3);
    g_autofree char *path = rh_quantity_format(a->path_s, RH_QUANTITY_S, 3);
    g_string_append_printf(out, "%s%s/step%s", style->colored ? "\033[1m" : "", step,
                           style->colored ? "\033[0m" : "");
    if (style->steps > 1)
        g_string_append_printf(out, " (mean of %d steps)", style->steps);
    if (step_s > 0)
        g_string_append_printf(out, ", %.0f %% of it %s", 100 * term->value_s / step_s, term->name);
    g_string_append_printf(out, "\nlower bound: longest path with idle links %s", path);
    if (step_s > 0)
        g_string_append_printf(out, " (%+.1f %%)", 100 * (a->path_s / step_s - 1));
    g_autofree char *tasks = rh_text_count(a->program->tasks->len);
    const char *profile = a->hardware->profile; /* its name, ": " and what it describes */
    g_autofree char *links =
        profile ? g_strdup_printf(", profile %.*s", (int)strcspn(profile, ":"), profile)
                : g_strdup("");
    g_autofree char *whose = g_strdup_printf(
        "%s: %d rank%s, %s tasks; %s, stack %s%s", a->format, a->program->ranks_count,
        a->program->ranks_count == 1 ? "" : "s", tasks, a->hardware->name, a->stack, links);
    g_string_append_c(out, '\n');
    rh_text_wrap(out, whose, 2, 79);
    g_string_append_c(out, '\n');
}

static void append_notes(GString *out, const RhProgramAnswer *a)
{
    if (a->left_out > 0) {
        g_autofree char *line = g_strdup_printf(
            "note: %" G_GINT64_FORMAT
            " control dependencies are passed over: on callers that the trace leaves "
            "out, or that end after what they call",
            a->left_out);
        rh_text_wrap(out, line, 6, 79);
    }
    if (a->untimed > 0) {
        g_autofree char *line = g_strdup_printf(
            "note: %" G_GINT64_FORMAT " computation%s no duration and take%s no "
            "time: a trace of a device's own times has duration_micros",
            a->untimed, a->untimed == 1 ? " has" : "s have", a->untimed == 1 ? "s" : "");
        rh_text_wrap(out, line, 6, 79);
    }
    if (a->queued > 0) {
        g_autofree char *line = g_strdup_printf(
            "approximate: %" G_GINT64_FORMAT
            " operations also waited for one before them: more than %d of a rank at once",
            a->queued, RH_STREAMS_MAX);
        rh_text_wrap(out, line, 13, 79);
    }
    if (a->run->approximate) {
        g_autofree char *line = g_strdup_printf("approximate: %s", a->run->approximate_why);
        rh_text_wrap(out, line, 13, 79);
    }
}

char *rh_report_program_text(const RhProgramAnswer *a, const RhReportStyle *style)
{
    const RhRun *run = a->run;
    GString *out = g_string_new(NULL);
    g_autoptr(RhCost) costs = rh_run_costs(run, run->step_time_s);
    append_first(out, a, costs, style);
    if (style->verbosity > 0)
        rh_report_tree(out, costs, run->step_time_s, false);
    else
        rh_report_terms(out, costs, run->step_time_s, run);
    rh_report_links(out, run->links);
    g_autofree char *events = rh_text_count(run->events_count);
    double flows = run->bytes_total > 0 ? 100 * run->bytes_as_flows / run->bytes_total : 0;
    g_string_append_printf(out,
                           "\n%s events, %.0f %% of the communication bytes moved as flows, seed "
                           "%" G_GINT64_FORMAT "\n",
                           events, flows, a->seed);
    append_notes(out, a);
    return g_string_free(out, FALSE);
}

/* --- JSON --- */

static void put_inputs(RhJsonWriter *w, const RhProgramAnswer *a)
{
    rh_json_begin_object(w, "inputs");
    rh_json_begin_object(w, "program");
    rh_json_put_string(w, "spec", a->spec);
    rh_json_put_string(w, "name", a->format);
    rh_json_put_string(w, "sha256", a->hash);
    rh_json_end_object(w);
    rh_json_begin_object(w, "platform");
    rh_json_put_string(w, "spec", a->platform_spec);
    rh_json_put_string(w, "name", a->hardware->name);
    rh_json_put_string(w, "sha256", a->hardware->hash);
    rh_json_end_object(w);
    rh_json_put_string(w, "stack", a->stack);
    rh_put_words(w, "sets", a->sets);
    rh_json_put_int(w, "seed", a->seed);
    rh_json_end_object(w);
}

char *rh_report_program_json(const RhProgramAnswer *a)
{
    const RhRun *run = a->run;
    g_autoptr(RhCost) costs = rh_run_costs(run, run->step_time_s);
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.program-run/1");
    rh_json_put_string(w, "version", a->version);
    rh_put_words(w, "argv", a->argv);
    put_inputs(w, a);
    rh_json_put_int(w, "ranks_count", a->program->ranks_count);
    rh_json_put_int(w, "tasks_count", a->program->tasks->len);
    rh_json_put_number(w, "step_time_s", run->step_time_s);
    rh_json_put_string(w, "bound_by", largest_term(costs)->name);
    rh_json_put_number(w, "bound_path_s", a->path_s);
    rh_json_put_int(w, "events_count", run->events_count);
    rh_json_put_number(w, "communication_bytes", run->bytes_total);
    rh_json_put_number(w, "communication_flows_bytes", run->bytes_as_flows);
    rh_json_put_string(w, "approximate", run->approximate ? run->approximate_why : NULL);
    rh_json_put_int(w, "left_out_count", a->left_out);
    rh_json_put_int(w, "untimed_count", a->untimed);
    rh_json_put_int(w, "queued_count", a->queued);
    rh_put_cost(w, "costs", costs);
    rh_put_links(w, run->links);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
