/* rehearse plan: how should I train this here? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "cli/inputs/inputs.h"
#include "cli/multi_job/plan_with_jobs.h"
#include "cli/output/launch_files.h"
#include "cli/output/output_file.h"
#include "cli/output/pictures.h"
#include "cli/output/program_and_trace_files.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/parse/hint_to_options.h"
#include "cli/plan/inert_limits.h"
#include "cli/plan/plan_any_stack.h"
#include "cli/plan/plan_from_launch.h"
#include "cli/unused_settings.h"
#include "report/format.h"
#include "report/json/json_facts.h"
#include "report/pictures/pareto.h"
#include "report/report.h"
#include "strategies/search/colocation/plan_with_jobs.h"
#include "strategies/search/near_batch.h"
#include "strategies/search/unsearched_changes.h"
#include "strategies/train/train.h"

/* --- options to RhPlanOptions --- */

static bool add_constraints(const GPtrArray *words, bool is_limit, GArray *out, GError **error)
{
    for (guint i = 0; i < words->len; i++) {
        RhConstraint constraint = {0};
        const char *word = g_ptr_array_index(words, i);
        if (!rh_constraint_parse(word, is_limit, &constraint, error)) {
            g_prefix_error(error, "--%s: ", is_limit ? "limit" : "fix");
            g_autofree char *quoted = rh_text_path(word);
            if (!is_limit && rh_constraint_parse(word, true, &constraint, NULL))
                rh_error_help(error, "use --limit %s", quoted);
            return false;
        }
        g_array_append_val(out, constraint);
    }
    return true;
}

static RhObjective objective_of(const char *name)
{
    RhObjective objective = RH_OBJECTIVE_TIME;
    rh_objective_by_name(name, &objective); /* one of the option's choices */
    return objective;
}

static RhPlanOptions options_of(const RhArguments *a, const GArray *constraints)
{
    return (RhPlanOptions){.objective = objective_of(a->objective),
                           .top = (int32_t)a->top,
                           .gap_frac = a->gap_frac,
                           .risk_frac = fmax(a->risk_frac, RH_RISK_LEAST),
                           .quick = a->quick,
                           .variants = a->variants,
                           .jobs = (int32_t)a->jobs,
                           .timeout_s = rh_terminal_left_s(a->timeout_s),
                           .constraints = RH_ELEMENTS(constraints, RhConstraint),
                           .constraints_count = (int32_t)constraints->len,
                           .progress = rh_terminal_progress};
}

static bool check_objective(const RhInputs *in, RhObjective objective, GError **error)
{
    if (objective == RH_OBJECTIVE_COST && in->hardware->price_usd_per_gpu_hour.value == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--objective cost: the price of %s is unknown\nhelp: --price "
                       "2USD, or what you pay",
                       in->platform_spec);
    for (int32_t i = 0; i < rh_platform_devices_count(in->hardware); i++) {
        const RhDevice *device = rh_platform_device(in->hardware, i);
        if (objective == RH_OBJECTIVE_ENERGY && rh_device_power_w(device) == 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "--objective energy: the power of %s is unknown\nhelp: --set "
                           "device.%s%spower=700W, or what its data sheet says",
                           device->name, i > 0 ? device->name : "", i > 0 ? "." : "");
    }
    return true;
}

/* The search says that no layout is legal; when a --fix is wrong on any machine (tp=6 heads), that
 * fact and the legal values are the better message. */
static void blame_fix(const RhInputs *in, const RhArguments *a, GError **error)
{
    for (guint i = 0; i < a->fixes->len; i++) {
        RhLayout layout = rh_train_default(&in->c);
        g_autoptr(GError) why = NULL;
        if (!rh_layout_parse(g_ptr_array_index(a->fixes, i), &layout, NULL) ||
            rh_train_fits_some_machine(&in->c, &layout, &why))
            continue;
        g_clear_error(error);
        rh_fail(error, RH_ERROR_USAGE, "%s", why->message);
        return;
    }
}

/* --- writing --- */

/* Rehearses the winner again for the files and pictures that need its program. */
static bool write_winner(const RhArguments *a, const RhInputs *in, const RhPlan *plan,
                         RhPictures *pictures, GError **error)
{
    bool drawn = rh_pictures_need_timeline(a->outputs);
    if ((!rh_layout_files_wanted(a->outputs) && !drawn) || plan->entries->len == 0)
        return true;
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    RhEngineOptions options = {.timeline = drawn || rh_layout_files_need_timeline(a->outputs),
                               .seed = (uint64_t)a->seed};
    g_autoptr(RhProgram) program = NULL;
    g_autoptr(RhRun) run = NULL;
    g_autoptr(RhRehearsal) r = rh_rehearse(&in->c, &best->layout, &options, &program, &run, error);
    if (r && drawn)
        rh_pictures_draw_run(pictures, program, run, best->memory_capacity_bytes);
    return r && rh_layout_files_write(a->outputs, in, program, run, error);
}

static char *page_of(const RhInputs *in, const RhPlan *plan, const RhPlanOptions *options,
                     const RhPictures *pictures)
{
    RhReportStyle plain = {.timeless = true};
    g_autofree char *text = rh_report_plan_text(&in->question, plan, options, &plain);
    g_autofree char *json = rh_report_plan_json(&in->question, plan, options);
    g_autofree char *facts = rh_report_facts_json(&in->question);
    return rh_pictures_page(
        pictures, (RhPage){.command = "plan", .answer = text, .json = json, .facts = facts});
}

static bool write_files(const RhArguments *a, const RhInputs *in, const RhPlan *plan,
                        const RhPlanOptions *options, GError **error)
{
    g_auto(RhPictures) pictures = {.pareto = rh_report_pareto_svg(plan, options->user)};
    if (!write_winner(a, in, plan, &pictures, error))
        return false;
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text =
            kind == RH_OUTPUT_JSON       ? rh_report_plan_json(&in->question, plan, options)
            : kind == RH_OUTPUT_CSV      ? rh_report_plan_csv(plan)
            : kind == RH_OUTPUT_MARKDOWN ? rh_report_plan_markdown(&in->question, plan, options)
            : kind == RH_OUTPUT_HTML     ? page_of(in, plan, options, &pictures)
                                         : g_strdup(rh_pictures_of(&pictures, kind));
        if (text && !rh_output_write(path, text, error))
            return false;
    }
    return true;
}

/* The best beside neighbours comes first, where there are any. */
static guint row_of_turn(const RhPlan *plan, guint turn)
{
    guint best =
        plan->beside ? g_array_index(plan->beside->layouts, RhColocatedJobTrial, 0).entry : 0;
    return turn == 0 ? best : turn <= best ? turn - 1 : turn;
}

static bool print_launch(const RhArguments *a, const RhInputs *in, const RhPlan *plan,
                         GError **error)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RhLaunchFiles));
    for (guint turn = 0; turn < plan->entries->len; turn++) {
        guint row = row_of_turn(plan, turn);
        const RhRehearsal *r = g_ptr_array_index(plan->entries, row);
        RhLaunchFiles launching = {&r->layout, row + 1};
        g_array_append_val(rows, launching);
    }
    return rows->len == 0 ||
           rh_launch_files_print(a, in, RH_ELEMENTS(rows, RhLaunchFiles), rows->len, error);
}

/* The first line of "nothing fits" names what the user demanded besides. */
static void print_demands(const RhArguments *a, const RhPlan *plan)
{
    if (plan->entries->len > 0 || plan->timed_out || a->fixes->len + a->limits->len == 0)
        return;
    g_autoptr(GString) words = g_string_new("with");
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < a->fixes->len; i++)
        g_string_append_printf(words, " --fix %s", (char *)g_ptr_array_index(a->fixes, i));
    for (guint i = 0; i < a->limits->len; i++)
        g_string_append_printf(words, " --limit %s", (char *)g_ptr_array_index(a->limits, i));
    g_string_append_c(words, ':');
    rh_text_wrap(out, words->str, 0, 79);
    fputs(out->str, stdout);
}

static bool print_plan(const RhArguments *a, const RhInputs *in, const RhPlan *plan,
                       const RhPlanOptions *options, GError **error)
{
    if (a->json) {
        g_autofree char *json = rh_report_plan_json(&in->question, plan, options);
        fputs(json, stdout);
        return true;
    }
    RhReportStyle style = {.colored = rh_terminal_colored(),
                           .verbosity = (int)a->verbosity,
                           .saved_as = rh_outputs_find(a->outputs, RH_OUTPUT_JSON)};
    rh_launch_files_print_stack(a, in);
    print_demands(a, plan);
    g_autofree char *text = rh_report_plan_text(&in->question, plan, options, &style);
    fputs(text, stdout);
    rh_launched_print(in->question.launched, plan);
    return print_launch(a, in, plan, error);
}

/* Reports words without effect on the best layout beside other jobs. */
static void tell_idle_beside(const RhArguments *a, const RhInputs *in, const RhPlan *plan)
{
    const RhColocatedJobTrial *best = &g_array_index(plan->beside->layouts, RhColocatedJobTrial, 0);
    const RhRehearsal *r = g_ptr_array_index(plan->entries, best->entry);
    RhJobListUnused idle = {a, &r->layout, best->nodes, best->nodes_count};
    rh_unused_settings_tell(a, &(RhUnusedAnswer){in, &idle}, 1, rh_job_list_figures);
}

/* Reports words without effect on the rows; rows of a plan that was cut short depend on more. */
static void tell_idle_words(const RhArguments *a, const RhInputs *in, const RhPlan *plan)
{
    if (plan->timed_out)
        return;
    if (plan->beside) {
        tell_idle_beside(a, in, plan);
        return;
    }
    g_autoptr(GArray) layouts = g_array_new(FALSE, FALSE, sizeof(RhLayout));
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        g_array_append_val(layouts, r->layout);
    }
    RhEngineOptions options = {.seed = (uint64_t)a->seed,
                               .timeout_s = rh_terminal_left_s(a->timeout_s)};
    RhUnusedSteps steps = {.layouts = RH_ELEMENTS(layouts, RhLayout),
                           .count = layouts->len,
                           .options = a->quick ? NULL : &options};
    if (layouts->len > 0)
        rh_unused_settings_tell(a, &(RhUnusedAnswer){in, &steps}, 1, rh_unused_settings_steps);
}

/* 0, or the exit status with the error. */
static int search(const RhArguments *a, RhPlanOptions *options, RhInputs **in, RhPlan **plan,
                  GError **error)
{
    if (g_strcmp0(a->stack, "any") == 0)
        return rh_plan_any(a, options, options->user, in, plan, error) ? 0
               : g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE)     ? 2
                                                                       : 3;
    *in = rh_inputs_of(a, error);
    if (!*in)
        return 3;
    if (!check_objective(*in, options->objective, error))
        return 2;
    *plan = a->besides->len ? rh_plan_with_jobs_of(a, *in, options, error)
                            : rh_plan(&(*in)->c, options, error);
    if (*plan)
        return 0;
    if (g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE))
        blame_fix(*in, a, error);
    return g_error_matches(*error, RH_ERROR, RH_ERROR_INPUT) ? 3 : 2;
}

/* Is what stands beside the rows rehearsed and planned too, or is it only named? */
static bool tells_beside(const RhArguments *a)
{
    return !a->quick && a->besides->len == 0;
}

/* Looks for what stands beside the rows and takes rehearsals of its own: near batches where the one that was asked for
 * does not go well into the GPUs, and knobs that no search goes through unasked. */
static void look_around(const RhArguments *a, const RhInputs *in, const RhPlanOptions *options,
                        RhPlan *plan)
{
    RhPlanOptions own = *options;
    bool timed = a->timeout_s > 0;
    own.timeout_s = timed ? rh_terminal_left_s(a->timeout_s) : 0;
    bool in_time = tells_beside(a) && (!timed || own.timeout_s > 0);
    if (!plan->outside)
        plan->outside = rh_unsearched_new(&in->c, &own, plan, in_time);
    own.timeout_s = timed ? rh_terminal_left_s(a->timeout_s) : 0;
    if (!in_time || plan->others || (timed && own.timeout_s <= 0) ||
        options->objective != RH_OBJECTIVE_TIME)
        return;
    plan->near_batches = rh_near_batches_plan(&in->c, &own, plan);
    rh_terminal_progress_end();
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON,   RH_OUTPUT_CSV,     RH_OUTPUT_MARKDOWN,
                                     RH_OUTPUT_HTML,   RH_OUTPUT_GANTT,   RH_OUTPUT_MEMORY,
                                     RH_OUTPUT_PARETO, RH_OUTPUT_PROGRAM, RH_OUTPUT_GOAL,
                                     RH_OUTPUT_TRACE,  RH_OUTPUT_NONE};
    g_autoptr(GArray) constraints = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    if (!rh_outputs_check(a->outputs, kinds, error) ||
        !add_constraints(a->fixes, false, constraints, error) ||
        !add_constraints(a->limits, true, constraints, error) ||
        !rh_plan_with_jobs_check(a, error) || !rh_launch_files_check(a, error))
        return 2;
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(RhParetoPoint));
    RhPlanOptions options = options_of(a, constraints);
    /* Whoever sees all rehearsals has them performed to their ends, which takes longer. */
    if (rh_outputs_find(a->outputs, RH_OUTPUT_PARETO) ||
        rh_outputs_find(a->outputs, RH_OUTPUT_HTML))
        options.seen = rh_pareto_see;
    options.user = seen;
    options.outside = tells_beside(a);
    g_autoptr(RhBoundCache) kept = NULL;
    options.kept = &kept;
    g_autoptr(RhInputs) in = NULL;
    g_autoptr(RhPlan) plan = NULL;
    int status = search(a, &options, &in, &plan, error);
    rh_terminal_progress_end();
    if (status != 0)
        return status;
    look_around(a, in, &options, plan);
    g_autoptr(RhLaunchedBeside) launched = rh_launched_beside_new(a, in, plan);
    in->question.launched = launched;
    bool printed = print_plan(a, in, plan, &options, error);
    rh_output_answered();
    rh_inert_limits_tell(a, &in->c, constraints);
    tell_idle_words(a, in, plan);
    bool written = write_files(a, in, plan, &options, printed ? error : NULL);
    return !printed || !written ? 3 : plan->entries->len > 0 && !plan->lost_may_win ? 0 : 1;
}

static const RhOption own[] = {
    RH_OPTION(objective, "objective", 0, RH_OPTION_CHOICE, "WHAT",
              "what the best layout has least of", .choices = "time|cost|memory|energy",
              .otherwise = "time"),
    RH_OPTION(fixes, "fix", 0, RH_OPTION_LIST, "KEY=VALUE",
              "search only layouts with this value, as tp=8 or recompute=full",
              .layout_keys = true),
    RH_OPTION(limits, "limit", 0, RH_OPTION_LIST, "KEY<=VALUE",
              "search only layouts within this limit, as \"tp<=8\", \"memory<=90%\" or "
              "\"memory<=70GiB\"",
              .layout_keys = true),
    RH_OPTION(risk_frac, "risk", 0, RH_OPTION_QUANTITY, "RISK",
              "highest chance of running out of memory that a ranked layout may have, by "
              "curves fitted to measured runs",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "5%"),
    RH_OPTION(top, "top", 0, RH_OPTION_INTEGER, "K", "number of layouts to list", .otherwise = "5",
              .low = 1, .high = 100),
    RH_OPTION(variants, "variants", 0, RH_OPTION_FLAG, NULL,
              "list layouts that differ only in rank order, vpp or partition as rows of their "
              "own, not the best of them alone"),
    RH_OPTION(quick, "quick", 0, RH_OPTION_FLAG, NULL,
              "rank by lower bounds of the step time, and simulate only the first few layouts"),
    RH_OPTION(besides, "beside", 0, RH_OPTION_LIST, "FILE",
              "another job or service that shares the network: what the sharing costs each, "
              "and which nodes avoid it"),
    RH_OPTION(on, "on", 0, RH_OPTION_TEXT, "NODES",
              "with --beside: the nodes of this job, like 0-3,8 (the first free ones)"),
    RH_OPTION(gap_frac, "gap", 0, RH_OPTION_QUANTITY, "GAP",
              "search until no layout that was not simulated can be faster than the first row "
              "by more than this",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "1%"),
    {0}};
static const RhOption *const tables[] = {
    rh_options_inputs, rh_options_from,   rh_options_job,  own,
    rh_options_launch, rh_options_shared, rh_options_help, NULL};

const RhCommand rh_command_plan = {
    .name = "plan",
    .operands = "",
    .summary = "how should I train this here?",
    .about = "Searches all layouts of the job on the GPUs that the framework of --stack can\n"
             "run: degrees of tensor, pipeline, context, expert and data parallelism,\n"
             "micro-batch, schedule, ZeRO stage and its groups, recomputed modules and\n"
             "layers, overlap of collectives, rank order. Layouts that do not fit in memory\n"
             "are dropped, lower bounds are computed for the rest, and the most promising\n"
             "ones are simulated until no other layout can be faster than the first by more\n"
             "than --gap.\n\n"
             "Only layouts that very likely fit are ranked: --risk limits how likely they\n"
             "may run out of memory (by a curve fitted to measured runs), --limit memory<=X\n"
             "how much they may use. A faster layout that is less likely to fit is shown\n"
             "separately. Each row is the best of layouts that differ only in rank order,\n"
             "vpp and partition; --variants shows those too.\n\n"
             "--beside FILE (see simulate --help) simulates the best layouts beside another\n"
             "job on the nodes of --on: what sharing the fabric costs each job, which links\n"
             "they share, which layout is the best there, and which nodes avoid the sharing.\n\n"
             "--set lora.rank=16 plans LoRA: adapters of that rank with frozen weights, on\n"
             "all linear layers, or on those of --set lora.modules=linear_qkv+linear_proj.\n"
             "--set lora.base=nf4 holds these in 4 bits (QLoRA).\n"
             "--emit nemo or --emit deepspeed prints a script that trains them.\n\n"
             "--from FILE plans what your own launch trains: the layout that it has is\n"
             "simulated too, and shown beside the best one with the settings of its framework\n"
             "that make the difference (docs/guide/launch-files.md).\n\n"
             "The first line is the answer. In the table, `stages` is the share of the step\n"
             "spent waiting for other pipeline stages, `comm` the share of exposed\n"
             "communication. `not searched` and `other formats` list what the search leaves\n"
             "out, with the gain for the first row. -v adds where constants come from.\n"
             "Endings of -o: .json .csv .md for the table, .html for a self-contained\n"
             "report, pareto.svg for its picture; gantt.svg memory.svg .program.json .goal\n"
             ".trace.json.gz (for Perfetto) for the best layout.\n",
    .examples = "rehearse plan -w llama-3.1-70b -p dgx-h100:8 --global-batch 512 --seq 8192\n"
                "rehearse plan -w my-model/config.json -p \"h100-sxm:8x4,ib:400Gb/s\" \\\n"
                "    --global-batch 256 --seq 4096 --fix tp=8 --limit 'memory<=85%' \\\n"
                "    -o plan.json\n"
                "rehearse plan -w llama-3.1-8b -p dgx-h100 --gpus 16 --global-batch 128 \\\n"
                "    --seq 8192 --emit megatron\n"
                "rehearse plan -w llama-3.1-8b -p dgx-h100:8 --gpus 32 --global-batch 128 \\\n"
                "    --seq 8192 --beside their-job.json",
    .tables = tables,
    .ranks = RH_RANKS_POOLS,
    .run = run,
};
