/* rehearse sweep: one command asked for every combination of its options. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/shell_line.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/sweep/sweep_commands.h"
#include "cli/sweep/sweep_run.h"
#include "sweep/deal.h"

/* A study and where its answers are. */
typedef struct {
    const RhArguments *a;
    const char *path;
    char *folder;
    RhStudy *study;
    RhStudyShard shard;
} Sweep;

static void sweep_clear(Sweep *s)
{
    g_free(s->folder);
    rh_study_free(s->study);
}

static bool load(Sweep *s, const char *path, GError **error)
{
    RhStudyRules rules = rh_sweep_rules();
    g_autofree char *stem = g_str_has_suffix(path, ".json")
                                ? g_strndup(path, strlen(path) - strlen(".json"))
                                : g_strdup(path);
    s->path = path;
    s->folder = s->a->folder ? g_strdup(s->a->folder) : g_strconcat(stem, ".sweep", NULL);
    s->study = rh_study_load(path, &rules, error);
    return s->study != NULL;
}

/* Takes the role that a relay gives (rehearse-mpi), where one started this process. */
static bool take_role(RhSweepDeal *deal, GError **error)
{
    const char *number = g_getenv(RH_DEAL_SOCKET);
    int64_t socket = -1;
    RhDealMessage role = {0};
    *deal = (RhSweepDeal){.socket = -1};
    if (!number)
        return true;
    if (!rh_integer_parse(number, 3, 1000000, &socket, NULL) || !rh_deal_read((int)socket, &role) ||
        role.kind != RH_DEAL_ROLE || role.item < 2)
        return rh_fail(error, RH_ERROR_USAGE,
                       RH_DEAL_SOCKET
                       " is set, but nobody deals there\nhelp: two ranks or more, of "
                       "which the first deals: mpirun -n 9 rehearse-mpi sweep ...");
    *deal = (RhSweepDeal){.socket = (int)socket, .rank = role.rank, .ranks = role.item};
    return true;
}

static bool find_shard(Sweep *s, bool dealt, GError **error)
{
    g_autofree char *from = NULL;
    if (dealt && s->a->shard)
        return rh_fail(error, RH_ERROR_USAGE, "--shard: questions are dealt out to these ranks");
    s->shard = (RhStudyShard){.index = 0, .count = 1};
    if (dealt)
        return true;
    if (s->a->shard)
        return rh_shard_parse(s->a->shard, &s->shard, error);
    if (!rh_shard_of_environment(g_getenv, &s->shard, &from, error)) {
        rh_error_help(error, "an array without gaps, as --array=1-8, or --shard K/N");
        return false;
    }
    if (from) {
        g_autofree char *line =
            g_strdup_printf("note: part %d of %d, as %s says (--shard 1/1: all of it)",
                            s->shard.index + 1, s->shard.count, from);
        rh_terminal_hint(line);
    }
    return true;
}

/* --- sweep STUDY --- */

static char *outcome_json(const Sweep *s, const RhSweepOutcome *o)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.sweep/1");
    rh_json_put_string(w, "version", RH_VERSION);
    rh_json_put_string(w, "study", s->path);
    rh_json_put_string(w, "folder", s->folder);
    rh_json_put_string(w, "command", s->study->command);
    rh_json_put_int(w, "shard", s->shard.index + 1);
    rh_json_put_int(w, "shards_count", s->shard.count);
    rh_json_put_int(w, "study_count", s->study->items->len);
    rh_json_put_int(w, "questions_count", o->count);
    rh_json_put_int(w, "known_count", o->known);
    rh_json_put_int(w, "answered_count", o->answered);
    rh_json_put_int(w, "no_count", o->no);
    rh_json_put_int(w, "refused_count", o->refused);
    rh_json_put_int(w, "failed_count", o->failed);
    rh_json_put_int(w, "left_count", rh_sweep_left(o));
    rh_json_put_number(w, "seconds", o->seconds);
    rh_json_put_number(w, "busy_s", o->busy_s);
    rh_json_put_bool(w, "stopped", o->stopped);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

static void append_count(GString *out, int64_t count, const char *what)
{
    if (count > 0)
        g_string_append_printf(out, ", %" G_GINT64_FORMAT " %s", count, what);
}

static char *outcome_text(const Sweep *s, const RhSweepOutcome *o)
{
    int64_t left = rh_sweep_left(o);
    g_autofree char *took = rh_quantity_format(o->seconds, RH_QUANTITY_S, 3);
    g_autofree char *path = rh_shell_quoted(s->path);
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "%" G_GINT64_FORMAT " questions: %" G_GINT64_FORMAT " answered",
                           o->count, o->answered);
    append_count(out, o->no, "say no");
    append_count(out, o->refused, "refused");
    append_count(out, o->failed, "failed");
    append_count(out, o->known, "known before");
    append_count(out, left, "left");
    if (o->known < o->count)
        g_string_append_printf(out, "; in %s", took);
    g_string_append_c(out, '\n');
    if (s->shard.count > 1)
        g_string_append_printf(out, "  part %d of %d of a study of %u\n", s->shard.index + 1,
                               s->shard.count, s->study->items->len);
    for (guint i = 0; i < o->troubles->len; i++)
        g_string_append_printf(out, "  failed: %s\n",
                               (const char *)g_ptr_array_index(o->troubles, i));
    if (left > 0)
        g_string_append_printf(out, "next: rehearse sweep %s --resume\n", path);
    else if (o->failed > 0)
        g_string_append_printf(out, "next: rehearse sweep %s --retry failed\n", path);
    else
        g_string_append_printf(out, "next: rehearse sweep merge %s -o study.csv\n", path);
    return g_string_free(out, FALSE);
}

static int run_study(Sweep *s, GError **error)
{
    RhSweepRun run = {.arguments = s->a, .study = s->study, .folder = s->folder};
    if (!take_role(&run.deal, error) || !find_shard(s, run.deal.socket >= 0, error))
        return 2;
    run.shard = s->shard;
    g_autoptr(RhSweepOutcome) outcome = rh_sweep_run(&run, error);
    if (!outcome)
        return 3;
    if (run.deal.rank > 0) /* whoever deals tells the outcome */
        return 0;
    g_autofree char *text = s->a->json ? outcome_json(s, outcome) : outcome_text(s, outcome);
    fputs(text, stdout);
    return outcome->failed + rh_sweep_left(outcome) > 0 ? 1 : 0;
}

/* --- sweep merge STUDY --- */

static bool write_merged(const RhMerged *merged, const char *path, GError **error)
{
    g_autofree char *text = rh_output_kind(path) == RH_OUTPUT_CSV ? rh_merged_csv(merged)
                                                                  : rh_merged_json_lines(merged);
    return rh_output_write(path, text, error);
}

static int merge(Sweep *s, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_CSV, RH_OUTPUT_JSON_LINES, RH_OUTPUT_NONE};
    if (!rh_outputs_check(s->a->outputs, kinds, error))
        return 2;
    g_autoptr(RhJournals) journals = rh_journals_load(s->folder, error);
    const RhSweepCommand *row = rh_sweep_command_by_name(s->study->command);
    g_autoptr(RhMerged) merged =
        journals ? rh_merged_new(s->study, journals, &row->merge, error) : NULL;
    if (!merged)
        return 3;
    if (s->a->outputs->len == 0) {
        g_autofree char *text = s->a->json ? rh_merged_json_lines(merged) : rh_merged_csv(merged);
        fputs(text, stdout);
    } else {
        printf("%u of %u questions, %" G_GINT64_FORMAT " of them failed\n", merged->rows->len,
               s->study->items->len, merged->failed_count);
    }
    for (guint i = 0; i < s->a->outputs->len; i++)
        if (!write_merged(merged, g_ptr_array_index(s->a->outputs, i), error))
            return 3;
    if (merged->absent_count == 0)
        return 0;
    g_autofree char *line =
        g_strdup_printf("warning: %" G_GINT64_FORMAT " of %u questions have no answer in %s",
                        merged->absent_count, s->study->items->len, s->folder);
    rh_terminal_hint(line);
    return 1;
}

/* --- the command --- */

static const char template[] =
    "{\n"
    "  \"schema\": \"rehearse.study/1\",\n"
    "  \"about\": \"Which layout of an 8B model on which nodes, and how much batches matter\",\n"
    "  \"command\": \"simulate\",\n"
    "  // of every question; {tp} and {pp} are replaced by the axes' values\n"
    "  \"options\": {\"workload\": \"llama-3.1-8b\", \"seq\": \"8k\",\n"
    "              \"strategy\": \"tp{tp},pp{pp},mb1\"},\n"
    "  // every combination of these objects; what stands in one object advances together\n"
    "  \"axes\": [\n"
    "    {\"platform\": [\"dgx-h100:4\", \"dgx-h200:4\"]},\n"
    "    {\"global-batch\": [128, 256]},\n"
    "    {\"tp\": {\"from\": 1, \"to\": 8, \"times\": 2}},\n"
    "    {\"pp\": [1, 2, 4]}\n"
    "  ],\n"
    "  \"where\": [\"tp * pp <= 16\"],\n"
    "  \"except\": [{\"platform\": \"dgx-h200:4\", \"pp\": 4}],\n"
    "  // of one question; it is then noted as failed, and the others go on\n"
    "  \"timeout\": \"5min\"\n"
    "}\n";

static const struct {
    const char *name;
    int (*run)(Sweep *s, GError **error);
} verbs[] = {{"merge", merge}};

static int answer(Sweep *s, GError **error)
{
    const GPtrArray *operands = s->a->operands;
    const char *first = operands->len > 0 ? g_ptr_array_index(operands, 0) : NULL;
    if (!first) {
        rh_fail(error, RH_ERROR_USAGE,
                "sweep needs STUDY.json\nhelp: `rehearse sweep --template` prints one");
        return 2;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (strcmp(first, verbs[i].name) == 0) {
            if (operands->len < 2) {
                rh_fail(error, RH_ERROR_USAGE, "sweep %s needs STUDY.json", first);
                return 2;
            }
            return load(s, g_ptr_array_index(operands, 1), error) ? verbs[i].run(s, error) : 3;
        }
    if (operands->len > 1) {
        rh_fail(error, RH_ERROR_USAGE, "sweep: \"%s\" is one word too many",
                (const char *)g_ptr_array_index(operands, 1));
        return 2;
    }
    return load(s, first, error) ? run_study(s, error) : 3;
}

static int run(const RhArguments *a, GError **error)
{
    Sweep s = {.a = a};
    if (a->templated) {
        fputs(template, stdout);
        return 0;
    }
    int status = answer(&s, error);
    sweep_clear(&s);
    return status;
}

static const RhOption own[] = {
    RH_OPTION(templated, "template", 0, RH_OPTION_FLAG, NULL,
              "print a study, from which to begin one's own", .neutral = true),
    RH_OPTION(folder, "folder", 0, RH_OPTION_TEXT, "DIR",
              "where the journals are (the study's name, ending in .sweep)", .neutral = true),
    RH_OPTION(shard, "shard", 0, RH_OPTION_TEXT, "K/N",
              "ask the Kth of N parts (as Slurm, PMI or Open MPI say, where they started this; "
              "else all)"),
    RH_OPTION(resumed, "resume", 0, RH_OPTION_FLAG, NULL, "ask what the journals do not answer",
              .neutral = true),
    RH_OPTION(retry, "retry", 0, RH_OPTION_CHOICE, "failed",
              "as --resume, and ask what failed once more", .choices = "failed", .neutral = true),
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "of merge: write the table to FILE, as .csv or .jsonl", .neutral = true),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL,
              "counts as one JSON document; of merge: JSON lines", .neutral = true),
    RH_OPTION(jobs, "jobs", 'j', RH_OPTION_INTEGER, "N",
              "questions at a time, 0: one per core; never changes an answer", .otherwise = "0",
              .low = 0, .high = 1024, .neutral = true),
    RH_OPTION(progress_disabled, "no-progress", 0, RH_OPTION_FLAG, NULL,
              "no progress lines on stderr", .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_terminal, rh_options_help, NULL};

const RhCommand rh_command_sweep = {
    .name = "sweep",
    .operands = "[merge] STUDY.json",
    .operands_low = 0,
    .operands_high = 2,
    .summary = "one command for every combination of its options, in parts",
    .about = "A study names a command (plan, simulate, serve-plan, serve-simulate, capacity,\n"
             "run), options of every question, and axes with their values: options, or words\n"
             "that stand as {name} in options. Every combination is a question, but for those\n"
             "that \"where\" and \"except\" leave out.\n\n"
             "Each process appends what it learns to a journal of its own in the study's\n"
             "folder: answers, failures and time-outs, under the hash of all inputs. Whatever\n"
             "ends a process, the question under way is lost and no other; --resume goes on.\n"
             "SIGTERM, SIGINT and SIGUSR1 let questions end and leave; a second one does not\n"
             "wait. Exit 0: no question of this part failed or is left; 1: some.\n\n"
             "Where Slurm, PMI or Open MPI started several of these, each takes its part:\n"
             "questions are dealt by their hashes, so any number asks the same set.\n\n"
             "merge makes one table, in the study's order, of what all journals hold: the\n"
             "same bytes for any number of processes.\n",
    .examples = "rehearse sweep --template >study.json\nrehearse sweep study.json\n"
                "rehearse sweep study.json --resume -j 8\n"
                "srun -n 64 rehearse sweep study.json --resume -j 1\n"
                "rehearse sweep merge study.json -o study.csv",
    .tables = tables,
    .run = run,
};
