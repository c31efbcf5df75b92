#include "cli/sweep/sweep_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/sweep/sweepable_commands.h"
#include "report/page/page.h"
#include "report/sweep/study_compare.h"
#include "report/sweep/study_report.h"
#include "report/sweep/study_sqlite.h"

static bool write_merged(const RhSweepStudy *s, const RhMerged *merged, const char *path,
                         GError **error)
{
    g_autofree char *json = rh_report_study_json(s->study, merged, RH_VERSION),
                    *text = rh_report_study_text(s->study, merged), *page = NULL, *table = NULL;
    RhPage of_study = {.command = "sweep", .answer = text, .json = json, .of_study = true};
    RhOutput kind = rh_output_kind(path);
    if (kind == RH_OUTPUT_SQLITE) {
        g_autoptr(GBytes) bytes = rh_report_study_sqlite(s->study, merged, RH_VERSION, error);
        return bytes && rh_output_write_bytes(path, bytes, error);
    }
    if (kind == RH_OUTPUT_HTML)
        page = rh_report_page(&of_study);
    else if (kind != RH_OUTPUT_JSON)
        table = kind == RH_OUTPUT_CSV ? rh_merged_csv(merged) : rh_merged_json_lines(merged);
    return rh_output_write(path, page ? page : table ? table : json, error);
}

/* The table of a study's answers, of which some may be absent. */
static RhMerged *table_of(const RhSweepStudy *s, GError **error)
{
    g_autoptr(RhJournals) journals = rh_journals_load(s->folder, error);
    const RhSweepCommand *row = rh_sweep_command_by_name(s->study->command);
    return journals ? rh_merged_new(s->study, journals, &row->merge, error) : NULL;
}

/* Exit status of an answer; says how much of it is absent. */
static int status_of(const RhSweepStudy *s, const RhMerged *merged)
{
    if (merged->absent_count == 0)
        return 0;
    g_autofree char *line =
        g_strdup_printf("warning: %" G_GINT64_FORMAT " of %u questions have no answer in %s",
                        merged->absent_count, s->study->items->len, s->folder);
    rh_terminal_hint(line);
    return 1;
}

static int merge(RhSweepStudy *s, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_CSV,  RH_OUTPUT_JSON_LINES, RH_OUTPUT_JSON,
                                     RH_OUTPUT_HTML, RH_OUTPUT_SQLITE,     RH_OUTPUT_NONE};
    if (!rh_outputs_check(s->a->outputs, kinds, error))
        return 2;
    g_autoptr(RhMerged) merged = table_of(s, error);
    if (!merged)
        return 3;
    if (s->a->outputs->len == 0) {
        g_autofree char *text = s->a->json ? rh_merged_json_lines(merged) : rh_merged_csv(merged);
        fputs(text, stdout);
    } else {
        g_autofree char *text = rh_report_study_text(s->study, merged);
        fputs(text, stdout);
    }
    for (guint i = 0; i < s->a->outputs->len; i++)
        if (!write_merged(s, merged, g_ptr_array_index(s->a->outputs, i), error))
            return 3;
    return status_of(s, merged);
}

static int sensitivity(RhSweepStudy *s, GError **error)
{
    g_autoptr(RhMerged) merged = table_of(s, error);
    if (!merged)
        return 3;
    g_autofree char *json = rh_report_study_json(s->study, merged, RH_VERSION);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int32_t c = merged->axes_count + 2; c < (int32_t)merged->names->len; c++) {
        g_autofree char *part = rh_report_effects_text(merged, c);
        g_string_append(text, part ? part : "");
    }
    if (text->len == 0)
        g_string_append(text, "no figure differs between the questions\n");
    fputs(s->a->json ? json : text->str, stdout);
    return status_of(s, merged);
}

static int compare(RhSweepStudy *s, GError **error)
{
    g_auto(RhSweepStudy) other = {.a = s->a};
    if (s->a->folder) {
        rh_fail(error, RH_ERROR_USAGE, "sweep compare: --folder would be that of both studies");
        return 2;
    }
    if (!rh_sweep_study_load(&other, g_ptr_array_index(s->a->operands, 2), error))
        return 3;
    g_autoptr(RhMerged) a = table_of(s, error);
    g_autoptr(RhMerged) b = a ? table_of(&other, error) : NULL;
    g_autofree char *text = b ? rh_report_study_compare(s->study, a, other.study, b, error) : NULL;
    if (!text)
        return 3;
    fputs(text, stdout);
    return MAX(status_of(s, a), status_of(&other, b));
}

static const RhSweepTable verbs[] = {
    {"merge", 1, merge}, {"sensitivity", 1, sensitivity}, {"compare", 2, compare}};

const RhSweepTable *rh_sweep_table_by_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}
