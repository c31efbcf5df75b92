/* rehearse validate: how far off are the predictions? */
#include <stdio.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "cli/calibrate/calibrate_kernels.h"
#include "cli/find_perform.h"
#include "cli/inputs/log_inputs.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/validate/validate_cases.h"
#include "cli/validate/validate_log.h"
#include "cli/validate/validate_service.h"
#include "platforms/profile.h"
#include "report/page/page.h"
#include "report/validation/validation.h"
#include "strategies/software_stack.h"
#include "validate/cross/cross_groups.h"
#include "validate/step_kernel_lists.h"
#include "validate/step_kernels_vs_model.h"
#include "validate/suites/lab_topology_write.h"
#include "validate/suites/suite.h"
#include "workloads/precision_recipe.h"

static void progress(const char *what, int32_t done, int32_t total, void *user)
{
    (void)user;
    rh_terminal_progress(what, done, total, 0, NULL);
}

static char *page_of(const RhValidation *v)
{
    g_autofree char *text = rh_report_validation_text(v, false);
    g_autofree char *json = rh_report_validation_json(v);
    RhPage page = {.command = "validate", .answer = text, .json = json};
    return rh_report_page(&page);
}

static bool write_files(const RhArguments *a, const RhValidation *v, GError **error)
{
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text = kind == RH_OUTPUT_JSON   ? rh_report_validation_json(v)
                                : kind == RH_OUTPUT_HTML ? page_of(v)
                                                         : rh_report_validation_markdown(v);
        if (!rh_output_write(path, text, error))
            return false;
    }
    return true;
}

static int show(const RhArguments *a, const RhValidation *v, GError **error)
{
    g_autofree char *text =
        a->json ? rh_report_validation_json(v) : rh_report_validation_text(v, a->verbosity > 0);
    fputs(text, stdout);
    rh_output_answered();
    if (!write_files(a, v, error))
        return 3;
    return v->missed->len > 0 ? 1 : 0;
}

static int print_topology(const char *name, GError **error)
{
    g_autoptr(RhPlatform) p = rh_platform_load(name, error);
    g_autofree char *text = p ? rh_lab_topology(p, error) : NULL;
    if (!text)
        return 3;
    fputs(text, stdout);
    return 0;
}

static int run_suite(const RhArguments *a, GError **error)
{
    g_autofree char *perform = rh_program_beside("rehearse-perform");
    g_autofree char *lab = g_build_filename(rh_data_dir(), "validate", "lab", NULL);
    g_autofree char *smpi = rh_program_beside("rehearse-perform-smpi");
    RhSuiteOptions options = {.perform = perform,
                              .smpi = smpi,
                              .controls = a->controls,
                              .lab_folder = lab,
                              .keep_folder = a->keep,
                              .only = a->only,
                              .runs = (int32_t)a->runs,
                              .progress = progress};
    if (!rh_suite_known(a->suite, error))
        return 2;
    if (!rh_perform_there(perform, error))
        return 1;
    if (a->controls && !g_file_test(smpi, G_FILE_TEST_EXISTS)) {
        rh_fail(error, RH_ERROR_NO_ANSWER,
                "%s is not there\n"
                "help: cmake --build BUILD --target rehearse-perform-smpi",
                smpi);
        return 1;
    }
    g_autoptr(RhValidation) v = rh_suite_run(a->suite, &options, error);
    rh_terminal_progress_end();
    return v ? show(a, v, error) : 3;
}

static int write_lists(const char *folder, GError **error)
{
    if (g_mkdir_with_parents(folder, 0777) != 0) {
        rh_fail(error, RH_ERROR_IO, "cannot make %s", folder);
        return 3;
    }
    if (!rh_step_lists_write(folder, error))
        return 3;
    guint lists = 0;
    for (const char *const *name = rh_step_names(); *name; name++)
        lists += !rh_step_is_on_processor(*name);
    printf(
        "%u lists of kernels in %s\nnext: rehearse-kernels --list LIST.csv -o RAW/NAME.raw.csv for each, "
        "then rehearse validate --run step --from RAW\n",
        lists, folder);
    return 0;
}

static int run_step(const RhArguments *a, GError **error)
{
    bool processor = rh_calibrate_is_processor(a);
    g_autofree char *kernels = processor ? rh_kernels_cpu_program() : rh_kernels_program();
    if (a->device && !processor) {
        rh_fail(error, RH_ERROR_USAGE,
                "--device %s: only cpu can be named\nhelp: a GPU tells its name itself; -p names "
                "another one that shall predict",
                a->device);
        return 2;
    }
    if (processor && !a->platform) {
        rh_fail(error, RH_ERROR_USAGE,
                "--device cpu needs the processor's file\nhelp: rehearse calibrate --run kernels "
                "--device cpu -o host.json, then here -p host.device.json:1x1 --profile host.json");
        return 2;
    }
    RhStepOptions options = {.platform = a->platform,
                             .profile = a->profile,
                             .from = a->froms->len ? a->froms->pdata[0] : NULL,
                             .kernels = kernels,
                             .on_processor = processor,
                             .keep_folder = a->keep,
                             .only = a->only,
                             .progress = progress};
    if (!options.from && !kernels) {
        rh_fail(error, RH_ERROR_NO_ANSWER,
                "rehearse-kernels is not there: this rehearse was built without CUDA\n"
                "help: bench/gpu.sh measures on a machine with a GPU; --from FOLDER reads what it "
                "wrote");
        return 1;
    }
    g_autoptr(RhValidation) v = rh_step_validate(&options, error);
    rh_terminal_progress_end();
    return v ? show(a, v, error) : 3;
}

typedef int Judge(const RhArguments *arguments, GError **error);

/* Returns the judge of a file of one run, the first that recognises it; NULL: it is a table of many. */
static Judge *judge_of(const char *path)
{
    static const struct {
        bool (*recognise)(const char *path);
        Judge *judge;
    } kinds[] = {{rh_validate_is_service, rh_validate_service}, {rh_log_is, rh_validate_log}};
    for (size_t i = 0; path && i < G_N_ELEMENTS(kinds); i++)
        if (kinds[i].recognise(path))
            return kinds[i].judge;
    return NULL;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_MARKDOWN, RH_OUTPUT_HTML,
                                     RH_OUTPUT_NONE},
                          drawn[] = {RH_OUTPUT_JSON, RH_OUTPUT_MARKDOWN, RH_OUTPUT_HTML,
                                     RH_OUTPUT_SVG, RH_OUTPUT_NONE};
    if (a->lists)
        return write_lists(a->lists, error);
    if (a->lab)
        return print_topology(a->lab, error);
    if (!rh_outputs_check(a->outputs, a->suite || a->measure ? kinds : drawn, error))
        return 2;
    if (a->measure && strcmp(a->measure, "step") != 0) {
        rh_fail(error, RH_ERROR_USAGE, "--run %s: step is what can be run", a->measure);
        return 2;
    }
    if ((a->suite != NULL) + (a->measure != NULL) + (a->cases != NULL) > 1) {
        rh_fail(
            error, RH_ERROR_USAGE,
            "validate takes one of --cases FILE.csv, --suite NAME and --run step, or none: then "
            "the published runs it comes with");
        return 2;
    }
    if (a->record && (a->suite || a->measure)) {
        rh_fail(error, RH_ERROR_USAGE, "--record is of published runs, not of --suite and --run");
        return 2;
    }
    if (a->record && !a->cross) {
        rh_fail(error, RH_ERROR_USAGE,
                "--record makes error bars of errors on groups that were never seen\n"
                "help: add --cross model+gpu");
        return 2;
    }
    if (a->record && !rh_output_check_folder(a->record, error))
        return 2;
    if (a->cross && (a->suite || a->measure)) {
        rh_fail(error, RH_ERROR_USAGE, "--cross is of published runs, not of --suite and --run");
        return 2;
    }
    if (a->cross && !rh_cross_by_parse(a->cross)) {
        rh_fail(error, RH_ERROR_USAGE, "--cross %s: groups are by one of %s", a->cross,
                rh_cross_by_choices());
        return 2;
    }
    if (rh_arguments_given(a, "--tolerance") && (a->suite || a->measure)) {
        rh_fail(error, RH_ERROR_USAGE, "--tolerance is for --cases: suites have bars of their own");
        return 2;
    }
    Judge *judge = judge_of(a->cases);
    if (a->profile && !a->measure && !judge) {
        rh_fail(error, RH_ERROR_USAGE,
                "--profile is of one machine: with --run step, or --cases with a log of a run or "
                "a benchmark's result of a server; a row of a table names its platform");
        return 2;
    }
    if (a->suite || a->measure)
        return a->suite ? run_suite(a, error) : run_step(a, error);
    return judge ? judge(a, error) : rh_validate_cases(a, error);
}

static const RhOption own[] = {
    RH_OPTION(cases, "cases", 0, RH_OPTION_TEXT, "FILE",
              "your measured runs: CSV with a run per row, .jsonl with what a server did, or a "
              "training log, a trace of PyTorch's profiler, or a benchmark's result of a server "
              "(docs/guide/validation.md)"),
    RH_OPTION(tolerance_frac, "tolerance", 0, RH_OPTION_QUANTITY, "FRAC",
              "with --cases: exit with status 1 if the mean error is larger, as 10%",
              .quantity = RH_QUANTITY_FRAC),
    RH_OPTION(cross, "cross", 0, RH_OPTION_TEXT, "GROUPS",
              "predict each group of runs without what was chosen or fitted on it: groups by "
              "model+gpu, engine-version, source or device"),
    RH_OPTION(record, "record", 0, RH_OPTION_TEXT, "FILE.json",
              "write the error bars and memory curves that plans use "
              "(validate/data/record.json)",
              .neutral = true),
    RH_OPTION(suite, "suite", 0, RH_OPTION_TEXT, "NAME",
              "compare simulated with real MPI programs: mpi-quick (8 ranks, four minutes) or "
              "mpi-full (16 ranks, half an hour)"),
    RH_OPTION(measure, "run", 0, RH_OPTION_TEXT, "step",
              "time the kernels of training and decode steps on this machine's GPU, and "
              "compare"),
    RH_OPTION(
        froms, "from", 0, RH_OPTION_LIST, "FOLDER",
        "with --run step: read what bench/gpu.sh measured elsewhere; with a training log or a "
        "benchmark's result of a server: the file that started it"),
    RH_OPTION(device, "device", 'd', RH_OPTION_TEXT, "cpu",
              "with --run step: on this machine's processor, and not on its GPU"),
    RH_OPTION(platform, "platform", 'p', RH_OPTION_TEXT, "FILE|NAME",
              "platform whose device is modelled: with --run step, the GPU that was measured if "
              "none is named; with --cases x.jsonl, h200-sxm:1x1; with a training log, the one "
              "it ran on"),
    RH_LOGGED_RUN_ROWS("with a training log"),
    RH_OPTION(stack, "stack", 0, RH_OPTION_TEXT, "FILE|NAME",
              "with a training log: the framework (megatron)", .names = rh_stack_names),
    RH_OPTION(profile, "profile", 0, RH_OPTION_TEXT, "FILE|NAME",
              "with --run step, a log or a result: constants that `calibrate` measured"),
    RH_OPTION(lists, "lists", 0, RH_OPTION_TEXT, "FOLDER",
              "write the lists of kernels that --run step times, and end"),
    RH_OPTION(runs, "runs", 0, RH_OPTION_INTEGER, "N", "measured steps of each case of a suite",
              .otherwise = "3", .low = 1, .high = 100),
    RH_OPTION(only, "only", 0, RH_OPTION_TEXT, "TEXT",
              "only cases whose name contains TEXT, as --only 'layout:'; with --cases, rows "
              "whose source, model or note does"),
    RH_OPTION(keep, "keep", 0, RH_OPTION_TEXT, "FOLDER",
              "keep programs, results, timelines and the profile in FOLDER", .neutral = true),
    RH_OPTION(controls, "controls", 0, RH_OPTION_FLAG, NULL,
              "with --suite: also predict with SMPI, and time MPI's own collectives"),
    RH_OPTION(lab, "lab", 0, RH_OPTION_TEXT, "PLATFORM",
              "print the network that the lab builds for this platform, and end"),
    {0}};
static const RhOption *const tables[] = {own, rh_options_shared, rh_options_help, NULL};

const RhCommand rh_command_validate = {
    .name = "validate",
    .operands = "",
    .summary = "how far off are the predictions?",
    .about = "Without options, predicts published training runs, which are part of rehearse,\n"
             "and compares them with their measurements. --cases FILE.csv predicts your\n"
             "runs: model, GPU, layout and step time, one row each, plain or gzipped; a row\n"
             "without a time ran out of memory. Runs that cannot be modelled are skipped with\n"
             "the reason. Runs that constants were fitted to are listed apart from held-out\n"
             "runs. -o x.svg plots predicted against measured times. With a training log of\n"
             "a framework in place of a table, -w, -p and -s say what ran; the answer is the\n"
             "measured and the predicted step and memory.\n\n"
             "--cross GROUPS predicts every group of runs as if it had never been seen:\n"
             "rules that were chosen on it are withheld, and constants that were fitted to it\n"
             "are fitted to the other groups. Its errors, and the error bars made of them,\n"
             "are what to expect of a run that nobody measured. Exit status 1 where error\n"
             "bars from the other groups hold less than 70 or more than 92 % of the runs.\n\n"
             "--suite simulates programs, runs them with MPI in a network lab on this\n"
             "machine (network namespaces, veth, token buckets), and compares the timelines.\n"
             "The lab is calibrated by ping-pong on a star alone. Exit status 1 if a limit\n"
             "is missed or a case could not run; the answer names them.\n\n"
             "Other models are listed beside our error: `fluid`, the same simulation with\n"
             "fluid sharing of links; `alpha-beta`, the longest path without sharing; and\n"
             "with --controls SMPI, the same program and MPI calls in SimGrid's SMPI, and the\n"
             "times of MPI's own collectives in place of the programs' schedules.\n\n"
             "--run step times the kernels of one rank's steps on a GPU, alone and as a\n"
             "whole, and compares them with the model: training shards, decode steps,\n"
             "experts.\n",
    .examples = "rehearse validate\n"
                "rehearse validate --cases runs.csv --tolerance 10%\n"
                "rehearse validate --cases slurm-1.out -w llama-3.1-8b -p dgx-h100:2 \\\n"
                "    --seq 8192 -s tp2,mb1\n"
                "rehearse validate --cases serving.csv --cross model+gpu\n"
                "rehearse validate --suite mpi-quick\n"
                "rehearse validate --run step --from gpu --profile h200.json\n"
                "rehearse validate --suite mpi-quick --only 'layout:' --keep runs -v\n"
                "rehearse validate --lab lab-2x4",
    .tables = tables,
    .run = run,
};
