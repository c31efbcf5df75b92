/* rehearse simulate: what happens with exactly this layout? */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "cli/inputs/inputs.h"
#include "cli/multi_job/multi_job.h"
#include "cli/output/launch_files.h"
#include "cli/output/output_file.h"
#include "cli/output/pictures.h"
#include "cli/output/program_and_trace_files.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/plan/inert_limits.h"
#include "cli/program_run.h"
#include "cli/unused_settings.h"
#include "report/json/json_facts.h"
#include "report/report.h"
#include "report/traffic.h"
#include "strategies/search/memory_budget.h"

static char *page_of(const RhArguments *a, const RhInputs *in, const RhRehearsal *r,
                     const RhRun *run, const RhPictures *pictures)
{
    RhReportStyle plain = {.steps = (int)a->steps};
    g_autofree char *text = rh_report_run_text(&in->question, r, run, &plain);
    g_autofree char *json = rh_report_run_json(&in->question, r);
    g_autofree char *facts = rh_report_facts_json(&in->question);
    return rh_pictures_page(
        pictures, (RhPage){.command = "simulate", .answer = text, .json = json, .facts = facts});
}

static bool write_files(const RhArguments *a, const RhInputs *in, const RhRehearsal *r,
                        const RhProgram *program, const RhRun *run, GError **error)
{
    g_auto(RhPictures) pictures = {0};
    if (rh_pictures_need_timeline(a->outputs))
        rh_pictures_draw_run(&pictures, program, run, r->memory_capacity_bytes);
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text =
            kind == RH_OUTPUT_JSON       ? rh_report_run_json(&in->question, r)
            : kind == RH_OUTPUT_CSV      ? rh_report_run_csv(r)
            : kind == RH_OUTPUT_TRAFFIC  ? rh_report_traffic_csv(program, run, (int32_t)a->steps)
            : kind == RH_OUTPUT_MARKDOWN ? rh_report_run_markdown(&in->question, r)
            : kind == RH_OUTPUT_HTML     ? page_of(a, in, r, run, &pictures)
                                         : g_strdup(rh_pictures_of(&pictures, kind));
        if (text && !rh_output_write(path, text, error))
            return false;
    }
    if (a->trace && !rh_layout_files_trace(a->trace, program, run, error))
        return false;
    return rh_layout_files_write(a->outputs, in, program, run, error);
}

static void print_run(const RhArguments *a, const RhInputs *in, const RhRehearsal *r,
                      const RhRun *run)
{
    RhReportStyle style = {.colored = rh_terminal_colored(),
                           .verbosity = (int)a->verbosity,
                           .steps = (int)a->steps,
                           .saved_as = rh_outputs_find(a->outputs, RH_OUTPUT_JSON)};
    g_autofree char *text = a->json ? rh_report_run_json(&in->question, r)
                                    : rh_report_run_text(&in->question, r, run, &style);
    if (!a->json)
        rh_launch_files_print_stack(a, in);
    fputs(text, stdout);
    if (!r->fits)
        rh_terminal_hint(r->memory.peak_bytes > r->memory_capacity_bytes
                             ? "warning: this layout needs more memory than a GPU has"
                             : "warning: this layout needs more memory than a host has");
    else if (r->memory.peak_bytes > in->question.most_bytes)
        rh_terminal_hint("warning: this layout needs more memory than --limit allows");
    else if (r->memory.peak_bytes > in->question.safe_bytes)
        rh_terminal_hint("warning: runs as full as this have run out of memory");
}

/* --- how much of the memory it may need --- */

static bool is_asked(const RhArguments *a)
{
    return a->limits->len > 0 || rh_arguments_given(a, "--risk");
}

/* The words are read before the inputs, which take longer. */
static bool read_limits(const RhArguments *a, GArray *limits, GError **error)
{
    if (is_asked(a) && a->besides->len > 0)
        return rh_fail(error, RH_ERROR_USAGE, "--limit and --risk do not go with --beside");
    for (guint i = 0; i < a->limits->len; i++) {
        RhConstraint limit = {0};
        const char *word = g_ptr_array_index(a->limits, i);
        if (!rh_constraint_parse(word, true, &limit, error)) {
            g_prefix_error(error, "--limit: ");
            return false;
        }
        if (limit.knob)
            return rh_fail(error, RH_ERROR_USAGE,
                           "--limit %s: the layout is given, its memory alone is limited\n"
                           "help: --limit 'memory<=90%%'",
                           word);
        g_array_append_val(limits, limit);
    }
    return true;
}

static void ask_room(const RhArguments *a, const GArray *limits, RhInputs *in)
{
    RhMemoryBudget room = rh_memory_budget(&in->c, RH_ELEMENTS(limits, RhConstraint),
                                           (int32_t)limits->len, fmax(a->risk_frac, RH_RISK_LEAST));
    in->question.safe_bytes = room.ranked_bytes;
    in->question.most_bytes = room.most_bytes;
}

/* The answer is no where somebody asked for more than there is. */
static int status_of(const RhArguments *a, const RhInputs *in, const RhRehearsal *r)
{
    bool safe = r->fits && r->memory.peak_bytes <= in->question.safe_bytes;
    return is_asked(a) && !safe ? 1 : 0;
}

/* A script starts one job alone. */
static bool check_launch(const RhArguments *a, GError **error)
{
    if (a->emit && (a->program || a->besides->len > 0))
        return rh_fail(error, RH_ERROR_USAGE, "--emit does not go with %s",
                       a->program ? "--program" : "--beside");
    return rh_launch_files_check(a, error);
}

/* With --json there is a document, whatever the answer. */
static void print_unanswered(const RhArguments *a, const RhInputs *in, const RhLayout *layout,
                             const GError *why)
{
    if (!a->json || (!g_error_matches(why, RH_ERROR, RH_ERROR_NO_ANSWER) &&
                     !g_error_matches(why, RH_ERROR, RH_ERROR_REFUSED)))
        return;
    bool late = a->timeout_s > 0 && rh_terminal_left_s(a->timeout_s) <= 1e-3;
    g_autofree char *text =
        rh_report_run_unanswered_json(&in->question, layout, late, why->message);
    fputs(text, stdout);
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON,    RH_OUTPUT_CSV,    RH_OUTPUT_MARKDOWN,
                                     RH_OUTPUT_GANTT,   RH_OUTPUT_MEMORY, RH_OUTPUT_HTML,
                                     RH_OUTPUT_PROGRAM, RH_OUTPUT_GOAL,   RH_OUTPUT_TRACE,
                                     RH_OUTPUT_TRAFFIC, RH_OUTPUT_NONE};
    g_autoptr(GArray) limits = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    if (!rh_outputs_check(a->outputs, kinds, error) || !read_limits(a, limits, error) ||
        (a->trace && !rh_output_check_folder(a->trace, error)) || !check_launch(a, error))
        return 2;
    if (a->program)
        return rh_program_run(a, error);
    g_autoptr(RhInputs) in = rh_inputs_of(a, error);
    RhLayout layout;
    if (!in || !rh_inputs_layout(in, a->strategy, &layout, error))
        return 3;
    if (a->besides->len > 0)
        return rh_multi_job_run(a, in, &layout, error);
    if (a->on) {
        rh_fail(error, RH_ERROR_USAGE, "--on places a job beside others: it goes with --beside");
        return 2;
    }
    RhEngineOptions options = {.unfolded = a->unfolded,
                               .timeline = a->trace || rh_layout_files_need_timeline(a->outputs) ||
                                           rh_pictures_need_timeline(a->outputs),
                               .jitter_frac = a->jitter_frac,
                               .seed = (uint64_t)a->seed,
                               .steps = (int32_t)a->steps,
                               .timeout_s = a->timeout_s};
    ask_room(a, limits, in);
    g_autoptr(RhProgram) program = NULL;
    g_autoptr(RhRun) raw = NULL;
    rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
    g_autoptr(RhRehearsal) r = rh_rehearse(&in->c, &layout, &options, &program, &raw, error);
    rh_terminal_progress_end();
    if (!r)
        print_unanswered(a, in, &layout, *error);
    if (!r)
        return 3;
    print_run(a, in, r, raw);
    RhLaunchFiles only = {&layout, 0};
    bool launched = a->json || rh_launch_files_print(a, in, &only, 1, error);
    rh_output_answered();
    rh_inert_limits_tell(a, &in->c, limits);
    options.timeline = false;
    options.timeout_s = rh_terminal_left_s(a->timeout_s);
    RhUnusedSteps steps = {.layouts = &layout, .count = 1, .options = &options};
    rh_unused_settings_tell(a, &(RhUnusedAnswer){in, &steps}, 1, rh_unused_settings_steps);
    bool written = write_files(a, in, r, program, raw, launched ? error : NULL);
    return launched && written ? status_of(a, in, r) : 3;
}

static const RhOption own[] = {
    RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "STRATEGY",
              "layout: like tp8,pp4,mb1,recompute=full, a file that holds one, or "
              "plan.json#RANK",
              .required = true, .unless = "program", .layout_keys = true),
    RH_OPTION(program, "program", 0, RH_OPTION_TEXT, "FILE",
              "simulate this task graph instead of a training step: .program.json, .goal, or "
              "PREFIX.0.et of a Chakra trace"),
    RH_OPTION(steps, "steps", 0, RH_OPTION_INTEGER, "N",
              "number of optimizer steps, one after the other", .otherwise = "1", .low = 1,
              .high = 1000),
    RH_OPTION(unfolded, "unfolded", 0, RH_OPTION_FLAG, NULL,
              "simulate every rank, not one of each kind (slow; up to about 1,000 GPUs)"),
    RH_OPTION(jitter_frac, "jitter", 0, RH_OPTION_QUANTITY, "5%",
              "standard deviation of kernel times (none)", .quantity = RH_QUANTITY_FRAC),
    RH_OPTION(besides, "beside", 0, RH_OPTION_LIST, "FILE",
              "another job or service that shares the network: what the sharing costs each",
              .unless = "program"),
    RH_OPTION(on, "on", 0, RH_OPTION_TEXT, "NODES",
              "with --beside: the nodes of this job, like 0-3,8 (the first ones)",
              .unless = "program"),
    RH_OPTION(scenarios, "scenario", 0, RH_OPTION_LIST, "WHAT|FILE",
              "a fault: straggler:node3.gpu5=0.9 (speed of a GPU) or link:NAME=0.5 (bandwidth "
              "of a link); or a file with one per line, also KEY=VALUE of --set"),
    RH_OPTION(limits, "limit", 0, RH_OPTION_LIST, "memory<=X",
              "exit with status 1 if the layout needs more of a GPU's memory than this, as "
              "90% or 70GiB",
              .unless = "program"),
    RH_OPTION(risk_frac, "risk", 0, RH_OPTION_QUANTITY, "RISK",
              "exit with status 1 if the layout is likelier than this to run out of memory",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "5%", .unless = "program"),
    RH_OPTION(trace, "trace", 0, RH_OPTION_TEXT, "FILE",
              "write the timeline as a gzipped Chrome trace, for Perfetto", .neutral = true),
    {0}};
static const RhOption *const tables[] = {
    rh_options_inputs, rh_options_from,   rh_options_job,  own,
    rh_options_launch, rh_options_shared, rh_options_help, NULL};

const RhCommand rh_command_simulate = {
    .name = "simulate",
    .operands = "[PLAN.json#RANK]",
    .operands_high = 1,
    .operand_is_layout = true,
    .summary = "what happens, second by second, with exactly this layout?",
    .about = "Simulates one optimizer step: kernels, collectives and transfers of all ranks\n"
             "on a network with shared links. The table splits the step of the mean GPU and\n"
             "names the rank that spends most time on each part. -v adds the lower bounds\n"
             "that `plan` uses, the busiest links and the sources of constants. A layout\n"
             "that does not fit in memory is simulated all the same; the text, and \"fits\"\n"
             "in the JSON, say so. The answer also says how likely the layout is to fit, by\n"
             "a curve of measured runs; with --risk or --limit memory<=X, exit status 1\n"
             "says that it is not safe enough.\n\n"
             "PLAN.json#RANK, a file of `plan -o` or `simulate -o`, stands for -w, -p and the\n"
             "other options of its question; what is given beside it goes first.\n\n"
             "--from FILE simulates what your own launch trains: a script or a configuration\n"
             "of Megatron-LM, TorchTitan, DeepSpeed, NeMo, MaxText, axolotl or LLaMA-Factory\n"
             "(docs/guide/launch-files.md). Options that are given go before what it says.\n\n"
             "With --beside, jobs share the fabric. A FILE holds one job as JSON:\n"
             "  {\"workload\": \"llama-3.1-8b\", \"layout\": \"tp8,dp4\", \"nodes\": \"4-7\",\n"
             "   \"global_batch\": 64, \"sequence\": 4096, \"start\": \"0.5s\", \"steps\": 3}\n"
             "(\"name\", \"dtype\", \"start\" and \"steps\" are optional; platform and stack are\n"
             "those of -p and --stack). Every job is simulated alone and beside the others;\n"
             "the answer names the links they share and what that costs each. All jobs\n"
             "repeat their steps until the last has finished its own, so that contention is\n"
             "steady. A FILE may also hold a disaggregated service, whose KV cache crosses\n"
             "the fabric from the prefill pool to the decode pool:\n"
             "  {\"workload\": \"llama-3.1-8b\", \"deployment\": \"tp8/tp8\", \"nodes\": \"1,5\",\n"
             "   \"lengths\": \"in=8192,out=64\", \"rate\": \"5/s\", \"count\": 100}\n"
             "with the keys of serve-simulate; the answer adds the delay of its requests.\n\n"
             "--program simulates a program from a file instead of a model and a layout:\n"
             "what -o x.program.json or x.goal wrote, GOAL files of LogGOPSim, or Chakra\n"
             "traces (PREFIX.N.et or PREFIX.N.json for rank N; a single one is run by\n"
             "--gpus N equal ranks). Its ranks are placed on the first GPUs of the platform;\n"
             "the stack is bare unless --stack is given. A Chakra trace's collectives take the\n"
             "catalogue's rates fitted to such links, as `collective` does; with --stack or a\n"
             "--profile of links those given.\n\n"
             "`rehearse show strategies` lists the keys of a layout and their defaults.\n",
    .examples = "rehearse simulate -w llama-3.1-70b -p dgx-h100:8 --global-batch 512 \\\n"
                "    --seq 8192 -s tp4,pp8,mb1,recompute=selective\n"
                "rehearse simulate plan.json#2 --trace run.trace.json.gz -o run.json\n"
                "rehearse simulate -w llama-3.1-8b -p llama3-roce:8 --gpus 32 \\\n"
                "    --global-batch 64 --seq 4096 -s tp8,dp4 --on 0,2,4,6 --beside other.json\n"
                "rehearse simulate --program all_reduce.0.et -p dgx-h100 -o run.json",
    .tables = tables,
    .run = run,
};
