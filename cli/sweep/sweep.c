/* rehearse sweep: one command asked for every combination of its options. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/shell/shell_quote.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/rehearse_mpi_rank.h"
#include "cli/sweep/sweep_run.h"
#include "cli/sweep/sweep_tables.h"

typedef RhSweepStudy Sweep;

static bool find_shard(Sweep *s, bool coordinated, GError **error)
{
    g_autofree char *from = NULL;
    if (coordinated && s->a->shard)
        return rh_fail(error, RH_ERROR_USAGE, "--shard: the first rank hands out the questions");
    s->shard = (RhStudyShard){.index = 0, .count = 1};
    if (coordinated)
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

/* The study as words of a command, with its folder where it is not the usual one; caller frees. */
static char *study_words(const Sweep *s)
{
    g_autofree char *path = rh_shell_quoted(s->path), *folder = rh_shell_quoted(s->folder);
    return s->a->folder ? g_strdup_printf("%s --folder %s", path, folder) : g_strdup(path);
}

static char *outcome_text(const Sweep *s, const RhSweepOutcome *o)
{
    int64_t left = rh_sweep_left(o);
    g_autofree char *took = rh_quantity_format(o->seconds, RH_QUANTITY_S, 3);
    g_autofree char *words = study_words(s);
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
    for (guint i = 0; i < o->refusals->len; i++)
        g_string_append_printf(out, "  refused: %s\n",
                               (const char *)g_ptr_array_index(o->refusals, i));
    for (guint i = 0; i < o->troubles->len; i++)
        g_string_append_printf(out, "  failed: %s\n",
                               (const char *)g_ptr_array_index(o->troubles, i));
    if (left > 0)
        g_string_append_printf(out, "next: rehearse sweep %s --resume\n", words);
    else if (o->failed > 0)
        g_string_append_printf(out, "next: rehearse sweep %s --retry failed\n", words);
    else
        g_string_append_printf(out, "next: rehearse sweep merge %s -o study.csv\n", words);
    return g_string_free(out, FALSE);
}

static int run_study(Sweep *s, GError **error)
{
    RhSweepRun run = {.arguments = s->a, .study = s->study, .folder = s->folder};
    if (!rh_job_rank_take(&run.rank, error) || !find_shard(s, run.rank.socket >= 0, error))
        return 2;
    run.shard = s->shard;
    g_autoptr(RhSweepOutcome) outcome = rh_sweep_run(&run, error);
    if (!outcome)
        return 3;
    if (run.rank.number > 0) /* the coordinator tells the outcome */
        return 0;
    g_autofree char *text = s->a->json ? outcome_json(s, outcome) : outcome_text(s, outcome);
    fputs(text, stdout);
    return outcome->failed + rh_sweep_left(outcome) > 0 ? 1 : 0;
}

/* --- sweep STUDY --emit slurm --- */

#define TASKS_USUAL 32

/* Prints the script of an array: its tasks know their parts by Slurm's variables, and a task that is
 * ended or requeued goes on. */
static int emit(Sweep *s, GError **error)
{
    RhStudyShard shard = {.count = MIN(TASKS_USUAL, (int32_t)s->study->items->len)};
    if (s->a->shard && !rh_shard_parse(s->a->shard, &shard, error))
        return 2;
    g_autofree char *words = study_words(s), *base = g_path_get_basename(s->folder);
    g_autofree char *name = rh_shell_quoted(base);
    printf("#!/bin/bash\n"
           "#SBATCH --job-name=%s\n"
           "#SBATCH --array=1-%d\n"
           "#SBATCH --ntasks=1\n"
           "#SBATCH --cpus-per-task=1\n"
           "#SBATCH --time=01:00:00\n"
           "#SBATCH --signal=B:TERM@60    # a minute to end the question under way\n"
           "#SBATCH --requeue\n"
           "# %u questions of %s. In one job instead: srun -n %d rehearse sweep %s --resume -j 1,\n"
           "# or mpirun -n %d rehearse-mpi sweep %s --resume, which evens out uneven costs.\n"
           "# Then: rehearse sweep merge %s -o study.html\n"
           "exec rehearse sweep %s --resume -j \"${SLURM_CPUS_PER_TASK:-1}\" --no-progress\n",
           name, shard.count, s->study->items->len, s->study->command, shard.count, words,
           shard.count + 1, words, words, words);
    return 0;
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

static int answer(Sweep *s, GError **error)
{
    const GPtrArray *operands = s->a->operands;
    const char *first = operands->len > 0 ? g_ptr_array_index(operands, 0) : NULL;
    if (!first) {
        rh_fail(error, RH_ERROR_USAGE,
                "sweep needs STUDY.json\nhelp: `rehearse sweep --template` prints one");
        return 2;
    }
    const RhSweepTable *verb = rh_sweep_table_by_name(first);
    guint wanted = verb ? 1 + (guint)verb->studies : 1;
    if (operands->len != wanted) {
        rh_fail(error, RH_ERROR_USAGE,
                "sweep%s%s: %s\nnote: usage: rehearse sweep [merge|...] STUDY.json",
                verb ? " " : "", verb ? first : "",
                operands->len < wanted ? "a study is missing" : "a word too many");
        return 2;
    }
    if (!rh_sweep_study_load(s, g_ptr_array_index(operands, verb ? 1 : 0), error))
        return 3;
    if (s->a->emit)
        return emit(s, error);
    return verb ? verb->run(s, error) : run_study(s, error);
}

static int run(const RhArguments *a, GError **error)
{
    Sweep s = {.a = a};
    if (a->templated) {
        fputs(template, stdout);
        return 0;
    }
    int status = answer(&s, error);
    rh_sweep_study_clear(&s);
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
    RH_OPTION(emit, "emit", 0, RH_OPTION_CHOICE, "slurm",
              "print a batch script that runs the study as an array of jobs (--shard 1/N: of N)",
              .choices = "slurm"),
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "of merge: write the table to FILE, as .csv, .jsonl, .json, .html or .sqlite",
              .neutral = true),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL,
              "counts as one JSON document; of merge: JSON lines", .neutral = true),
    RH_OPTION(jobs, "jobs", 'j', RH_OPTION_INTEGER, "N",
              "questions at a time, 0: one per core; never changes an answer", .otherwise = "0",
              .low = 0, .high = 1024, .neutral = true),
    RH_OPTION(progress_disabled, "no-progress", 0, RH_OPTION_FLAG, NULL,
              "no progress lines on stderr", .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_terminal, rh_options_help, NULL};

static const RhTopic topics[] = {{"merge", NULL}, {"sensitivity", NULL}, {"compare", NULL}, {0}};

const RhCommand rh_command_sweep = {
    .name = "sweep",
    .operands = "[merge|sensitivity|compare] STUDY.json",
    .topics = topics,
    .operands_low = 0,
    .operands_high = 3,
    .summary = "one command for every combination of its options, in parts",
    .about = "A study names a command (plan, simulate, serve-plan, serve-simulate, capacity,\n"
             "run, rl-plan), options of every question, and axes with their values: options,\n"
             "or words that stand as {name} in options. Every combination is a question, but\n"
             "for those that \"where\" and \"except\" leave out.\n\n"
             "Each process appends what it learns to a journal of its own in the study's\n"
             "folder: answers, failures and time-outs, under the hash of all inputs. Whatever\n"
             "ends a process, the question under way is lost and no other; --resume goes on.\n"
             "SIGTERM, SIGINT and SIGUSR1 let questions end and leave; a second one does not\n"
             "wait. Exit 0: no question of this part failed or is left; 1: some.\n\n"
             "Where Slurm, PMI or Open MPI started several of these, each takes its part:\n"
             "questions go to shards by their hashes, so any number asks the same set.\n\n"
             "merge makes one table, in the study's order, of what all journals hold: the\n"
             "same bytes for any number of processes. sensitivity tells which axis moves each\n"
             "figure; compare A.json B.json sets the questions that two studies share side by\n"
             "side.\n",
    .examples = "rehearse sweep --template >study.json\nrehearse sweep study.json\n"
                "rehearse sweep study.json --resume -j 8\n"
                "srun -n 64 rehearse sweep study.json --resume -j 1\n"
                "rehearse sweep merge study.json -o study.csv",
    .tables = tables,
    .ranks = RH_RANKS_OWN,
    .run = run,
};
