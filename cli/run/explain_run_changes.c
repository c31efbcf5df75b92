#include "cli/run/explain_run_changes.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "cli/inputs/result_file.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/parse/option_parser.h"
#include "cli/run/run_inputs.h"
#include "report/run/changes_value.h"

static const char schema[] = "rehearse.run/1";

bool rh_run_explains(const char *path)
{
    g_autoptr(RhJson) doc = rh_json_load(path, NULL);
    return doc && g_str_equal(rh_json_string_or(doc, rh_json_root(doc), "schema", ""), schema);
}

/* Words of the command line that the file records. Caller frees; NULL and an error. */
static char **recorded_words(const char *path, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return NULL;
    const RhJsonNode *list = rh_json_array(doc, rh_json_root(doc), "argv");
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    const RhJsonNode *first = list ? rh_json_first(list) : NULL; /* the command's name */
    for (const RhJsonNode *n = first ? rh_json_next(first) : NULL; n; n = rh_json_next(n))
        g_strv_builder_add(words, rh_json_node_string(doc, n));
    rh_json_consume_all(doc, rh_json_root(doc));
    return rh_json_finish(doc, error) ? g_strv_builder_end(words) : NULL;
}

static bool check(const RhArguments *a, GError **error)
{
    if (a->term || a->versus || a->why_not || a->what_ifs->len > 0 || a->sensitivity)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--term, --vs, --why-not, --what-if and --sensitivity are about a step, and "
                       "the file holds a run\nhelp: rehearse explain RUN.json");
    return true;
}

static int answer(const RhArguments *a, RhRunQuery *q, GError **error)
{
    RhRunResult result;
    bool found = rh_run_replicate(&q->run, &result, error);
    g_autoptr(GArray) changes = found ? rh_run_changes_all(&q->run, &result) : NULL;
    rh_terminal_progress_end();
    if (!found)
        return 1;
    RhRunValue worth = {.q = &q->in->question,
                        .run = &q->run,
                        .result = &result,
                        .checkpoint = &q->checkpoint,
                        .changes = changes,
                        .cut = rh_deadline_passed(q->run.deadline),
                        .usd_per_gpu_hour = rh_run_query_usd_per_gpu_hour(q, &result)};
    g_autofree char *json = rh_report_run_value_json(&worth),
                    *text = rh_report_run_value_text(&worth);
    fputs(a->json ? json : text, stdout);
    rh_output_answered();
    RhPage page = {.command = "explain", .answer = text, .json = json};
    return rh_outputs_write_page(a->outputs, &page, error) ? 0 : 3;
}

int rh_run_explain(const RhArguments *a, const char *path, GError **error)
{
    if (!check(a, error))
        return 2;
    g_auto(GStrv) words = recorded_words(path, error);
    g_auto(RhArguments) asked = {0};
    g_auto(RhRunQuery) q = {0};
    if (!words)
        return 3;
    if (!rh_options_parse(&rh_command_run, (int)g_strv_length(words), words, &asked, error)) {
        g_prefix_error(error, "%s: its argv: ", path);
        return 3;
    }
    asked.jobs = a->jobs;
    asked.timeout_s = a->timeout_s;
    int status = rh_run_query_open(&asked, &q, error);
    return status ? status : answer(a, &q, error);
}
