/* rehearse calibrate: what are this machine's real numbers? */
#include <stdio.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/cleanup_supervisor.h"
#include "base/error.h"
#include "base/units.h"
#include "calibrate/links/pingpong_fit.h"
#include "cli/calibrate/calibrate_a2a.h"
#include "cli/calibrate/calibrate_kernels.h"
#include "cli/calibrate/calibrate_links.h"
#include "cli/calibrate/calibrate_one_run.h"
#include "cli/calibrate/calibrate_served.h"
#include "cli/calibrate/calibrate_stack.h"
#include "cli/calibrate/fit_tables.h"
#include "cli/check_unsupported_files.h"
#include "cli/find_perform.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "report/format.h"
#include "strategies/serve/server_software.h"
#include "strategies/software_stack.h"
#include "validate/suites/emulated_network_run.h"
#include "workloads/precision_recipe.h"

/* Ping-pong over MPI in the lab, into a file of our own. */
static char *measure_pings(const RhArguments *a, const RhPlatform *platform, GError **error)
{
    g_autofree char *path = NULL;
    g_autofree char *output = NULL;
    g_autofree char *how = NULL;
    g_autofree char *lab = g_build_filename(rh_data_dir(), "validate", "lab", NULL);
    g_autofree char *obstacle = rh_lab_obstacle(lab, &how);
    if (obstacle) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "the lab cannot be built here: %s", obstacle);
        return NULL;
    }
    path = rh_temp_file("rehearse-pingpong-XXXXXX", error);
    if (!path)
        return NULL;
    g_autofree char *perform = rh_program_beside("rehearse-perform");
    g_autofree char *ping = g_strdup_printf("--pingpong=%s", path);
    g_autofree char *on = g_strdup_printf("--platform=%s", a->platform); /* which it reads again */
    const char *argv[] = {perform, on, ping, "--runs=3", NULL};
    rh_terminal_progress("ping-pong", 0, 1, 0, NULL);
    bool ran = rh_lab_run(lab, platform, RH_LAB_PING_S, rh_terminal_left_s(a->timeout_s), argv,
                          &output, error);
    rh_terminal_progress_end();
    if (ran)
        return g_steal_pointer(&path);
    g_autoptr(GError) missing = NULL;
    if (!rh_perform_there(perform, &missing)) { /* what the lab's failure comes from */
        g_clear_error(error);
        g_propagate_error(error, g_steal_pointer(&missing));
    }
    rh_temp_remove(path);
    return NULL;
}

static void print_fit(const RhPingFit *fit, const char *saved)
{
    g_autofree char *latency = rh_quantity_format(fit->latency_s, RH_QUANTITY_S, 3),
                    *error = rh_quantity_format(fit->latency_error_s, RH_QUANTITY_S, 2);
    if (fit->efficiency_frac > 0) {
        printf("fitted: latency %s %s (±%s), bandwidth %.1f %% of the link's rate\n",
               fit->between_nodes ? "between nodes" : "inside a node", latency, error,
               100 * fit->efficiency_frac);
    } else {
        g_autofree char *noise = rh_quantity_format(fit->noise_s, RH_QUANTITY_S, 2),
                        *reaction = rh_quantity_format(fit->reaction_s, RH_QUANTITY_S, 3);
        printf("fitted: a message costs %s (±%s, with noise of %s) and %.2f ns a byte (±%.2f) of\n"
               "  software, besides its links; a host takes %s to see that a kernel has ended\n",
               latency, error, noise, 1e9 * fit->copy_s_per_byte, 1e9 * fit->copy_error_s_per_byte,
               reaction);
    }
    g_autofree char *worst = rh_quantity_format(fit->worst_bytes, RH_QUANTITY_BYTES, 3);
    printf("error of the fit over %d rows: mean %.1f %%, worst %.1f %% at %s\n", fit->rows_count,
           100 * fit->mape_frac, 100 * fit->worst_frac, worst);
    g_autoptr(GString) next = g_string_new(NULL);
    rh_fit_append_next(next, saved);
    fputs(next->str, stdout);
}

/* `from` is NULL for --run. */
static int run_pings(const RhArguments *a, const char *from, GError **error)
{
    if (!a->platform) {
        rh_fail(error, RH_ERROR_USAGE,
                "calibrate needs --platform FILE|NAME for a ping-pong\nhelp: -p, where the "
                "messages were or will be sent");
        return 2;
    }
    g_autoptr(RhPlatform) platform = rh_platform_load(a->platform, error);
    if (!platform)
        return 3;
    g_autofree char *path = from ? g_strdup(from) : measure_pings(a, platform, error);
    g_autoptr(GArray) pings = path ? rh_pings_load(path, error) : NULL;
    if (!pings && from)
        rh_other_file_tell(from, error);
    RhPingFit fit;
    bool fitted =
        pings && rh_pings_fit(pings, platform, rh_terminal_left_s(a->timeout_s), &fit, error);
    if (!from)
        rh_temp_remove(path);
    if (!fitted)
        return 3;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date = g_date_time_format(now, "%Y-%m");
    g_autofree char *text = rh_pings_profile(&fit, platform, from ? from : "--run", date);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), text, error))
            return 3;
    if (a->json)
        fputs(text, stdout);
    else
        print_fit(&fit, rh_outputs_find(a->outputs, RH_OUTPUT_JSON));
    return 0;
}

/* Does each word belong to what the files are of? None is passed over in silence. */
static bool words_meant(const RhArguments *a, const guint *kinds, const GPtrArray *paths,
                        GError **error)
{
    const struct {
        const char *word, *name, *of, *help;
        guint meant;
    } words[] = {
        {a->server, "server", "table of serving runs",
         "one with columns isl and osl, as validate --cases reads (docs/theory/serving.md)",
         kinds[RH_CALIBRATE_SERVED]},
        {a->only, "only", "table of serving runs or of exchanges", "leave it out, or cut the file",
         kinds[RH_CALIBRATE_SERVED] + kinds[RH_CALIBRATE_EXCHANGES]},
        {a->stack, "stack", "table of published steps",
         "leave it out: what a log of a cluster says, it says of the cluster",
         kinds[RH_CALIBRATE_STEPS]},
        {a->budget, "budget", "measurement", "leave it out: --run alone takes time", 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (words[i].word && words[i].meant != paths->len)
            return rh_fail(error, RH_ERROR_USAGE, "%s: no %s, which --%s belongs to\nhelp: %s",
                           (const char *)g_ptr_array_index(paths, 0), words[i].of, words[i].name,
                           words[i].help);
    return true;
}

/* A file that stands twice counts twice, and intervals look narrower than they are. */
static bool given_once(const GPtrArray *paths, guint i, GError **error)
{
    g_autofree char *path = g_canonicalize_filename(g_ptr_array_index(paths, i), NULL);
    for (guint k = 0; k < i; k++) {
        g_autofree char *other = g_canonicalize_filename(g_ptr_array_index(paths, k), NULL);
        if (strcmp(path, other) == 0)
            return rh_fail(error, RH_ERROR_USAGE, "%s is given twice: its times would count twice",
                           (const char *)g_ptr_array_index(paths, i));
    }
    return true;
}

static int run_from(const RhArguments *a, GError **error)
{
    guint kinds[RH_CALIBRATE_PINGS + 1] = {0};
    g_autoptr(GPtrArray) paths = g_ptr_array_new();
    g_ptr_array_extend(paths, a->froms, NULL, NULL);
    g_ptr_array_extend(paths, a->operands, NULL, NULL);
    for (guint i = 0; i < paths->len; i++) {
        if (!given_once(paths, i, error))
            return 2;
        RhCalibrateKind kind = rh_calibrate_kind(g_ptr_array_index(paths, i), error);
        if (kind == RH_CALIBRATE_NONE)
            return 3;
        kinds[kind]++;
    }
    if (!words_meant(a, kinds, paths, error))
        return 2;
    if (kinds[RH_CALIBRATE_KERNELS] == paths->len)
        return rh_calibrate_kernels(a, paths, error);
    if (a->tables->len > 0) {
        rh_fail(error, RH_ERROR_USAGE,
                "%s holds no samples of kernels, which --tables may stand beside\n"
                "help: one run with --tables, another with --from",
                (const char *)g_ptr_array_index(paths, 0));
        return 2;
    }
    if (kinds[RH_CALIBRATE_LINKS] == paths->len)
        return rh_calibrate_links(a, paths, error);
    if (kinds[RH_CALIBRATE_EXCHANGES] == paths->len)
        return rh_calibrate_exchanges(a, paths, error);
    if (kinds[RH_CALIBRATE_STEPS] == 1 && paths->len == 1)
        return rh_calibrate_steps(a, g_ptr_array_index(paths, 0), error);
    if (kinds[RH_CALIBRATE_SERVED] == 1 && paths->len == 1)
        return rh_calibrate_served(a, g_ptr_array_index(paths, 0), error);
    if (kinds[RH_CALIBRATE_PINGS] == 1 && paths->len == 1)
        return run_pings(a, g_ptr_array_index(paths, 0), error);
    rh_fail(
        error, RH_ERROR_USAGE,
        "--from: %u of %u files are samples of kernels, %u logs of links, %u tables of exchanges\n"
        "help: give several of one of these, or one ping-pong, one table of steps or one of "
        "serving runs",
        kinds[RH_CALIBRATE_KERNELS], paths->len, kinds[RH_CALIBRATE_LINKS],
        kinds[RH_CALIBRATE_EXCHANGES]);
    return 2;
}

static int run_measure(const RhArguments *a, GError **error)
{
    g_auto(GStrv) words = g_strsplit(a->measure, ",", -1);
    g_autofree char *raw_path = NULL;
    if (strcmp(a->measure, "pingpong") == 0)
        return run_pings(a, NULL, error);
    if (g_strv_contains((const char *const *)words, "pingpong")) {
        rh_fail(error, RH_ERROR_USAGE,
                "--run %s: a ping-pong is of a network, the others are of a GPU\nhelp: run them "
                "one after the other, into two profiles",
                a->measure);
        return 2;
    }
    int status = rh_calibrate_measure(a, &raw_path, error);
    if (status != 0)
        return status;
    g_autoptr(GPtrArray) paths = g_ptr_array_new();
    g_ptr_array_add(paths, raw_path);
    return rh_calibrate_kernels(a, paths, error);
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_NONE},
                          kinds_of_run[] = {RH_OUTPUT_JSON, RH_OUTPUT_CSV, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, a->measure ? kinds_of_run : kinds, error))
        return 2;
    if (rh_calibrate_is_run(a))
        return rh_calibrate_run(a, error);
    if (a->tables->len > 0 && a->measure) {
        rh_fail(error, RH_ERROR_USAGE,
                "calibrate takes --tables with --from, or alone\n"
                "help: without --run");
        return 2;
    }
    if (a->tables->len == 0 && (a->froms->len > 0) == (a->measure != NULL)) {
        rh_fail(error, RH_ERROR_USAGE,
                "calibrate needs either --from FILE.csv or --run\nnote: --run pingpong for a "
                "network, --run alone for this machine's GPU");
        return 2;
    }
    if (a->measure && a->operands->len > 0) {
        rh_fail(error, RH_ERROR_USAGE, "\"%s\": files belong to --from, not to --run",
                (char *)g_ptr_array_index(a->operands, 0));
        return 2;
    }
    if (a->holdout_frac > 0.5) {
        rh_fail(error, RH_ERROR_USAGE, "--holdout %.3g%%: at most half can be held out",
                100 * a->holdout_frac);
        return 2;
    }
    if (a->tables->len > 0 && a->froms->len == 0)
        return rh_calibrate_tables(a, error);
    return a->measure ? run_measure(a, error) : run_from(a, error);
}

static const RhOption own[] = {
    RH_OPTION(froms, "from", 0, RH_OPTION_LIST, "FILE",
              "fit these measurements: raw samples of kernels, logs of nccl-tests, tables of "
              "all-to-all exchanges (also more files), a ping-pong, a table of published "
              "training steps or serving runs, or a training log (and the launch that wrote it)"),
    RH_OPTION(run_was_s, "run-was", 0, RH_OPTION_QUANTITY, "73s",
              "step time that was measured of plan.json#RANK, or of -w, -p and -s",
              .quantity = RH_QUANTITY_S),
    RH_LOGGED_RUN_ROWS("with --run-was or a training log"),
    RH_OPTION(tables, "tables", 0, RH_OPTION_LIST, "FILE",
              "fit these published tables of a serving engine's kernels (also more files)"),
    RH_OPTION(measure, "run", 0, RH_OPTION_TEXT, "WHAT",
              "measure first, on this machine: gemm,copy,attention... (without WHAT: all), or "
              "pingpong",
              .implied = "all"),
    RH_OPTION(device, "device", 'd', RH_OPTION_TEXT, "FILE|NAME",
              "the GPU that was measured: a file, or a name like h200-sxm (recognised from "
              "the samples); with --run, cpu is this machine's processor"),
    RH_OPTION(platform, "platform", 'p', RH_OPTION_TEXT, "FILE|NAME",
              "platform on which a ping-pong, collectives or a run were, or will be, measured"),
    RH_OPTION(stack, "stack", 0, RH_OPTION_TEXT, "FILE|NAME",
              "stack whose constants are fitted to a table of steps, or that ran (megatron)",
              .names = rh_stack_names),
    RH_OPTION(server, "server", 0, RH_OPTION_TEXT, "NAME",
              "server whose constants are fitted to a table of serving runs (that of its "
              "rows)",
              .names = rh_server_names),
    RH_OPTION(only, "only", 0, RH_OPTION_TEXT, "TEXT",
              "use only rows of a table of serving runs or exchanges whose source, model or "
              "note contains TEXT"),
    RH_OPTION(holdout_frac, "holdout", 0, RH_OPTION_QUANTITY, "20%",
              "share of shapes and sizes to keep out of the fit, to judge it",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "20%"),
    RH_OPTION(budget, "budget", 0, RH_OPTION_TEXT, "5m", "longest time of --run on a GPU"),
    {0}};
static const RhOption *const tables[] = {own, rh_options_shared, rh_options_help, NULL};

const RhCommand rh_command_calibrate = {
    .name = "calibrate",
    .operands = "[FILE...]",
    .operands_high = 1 << 16,
    .summary = "what are this machine's real numbers?",
    .about = "Fits constants of the model to measurements and writes them as a profile (-o)\n"
             "for `--profile`; each with its value, 95 % interval, source and date.\n\n"
             "A GPU: --run starts `rehearse-kernels` (built if the CUDA toolkit is there)\n"
             "and keeps its raw samples beside the profile as NAME.raw.csv; --from fits such\n"
             "samples again, without a GPU. The table shows the error of fitted and held-out\n"
             "shapes. Exit status 1: there is no GPU to measure.\n\n"
             "Kernels of a serving engine: --tables reads aiconfigurator's tables of GEMMs\n"
             "by format, attention and casts, and stores them compressed in the profile, as\n"
             "factors and decision trees. With --from, fitted constants are stored as well.\n\n"
             "A network: the cost of a message besides its links. --run pingpong measures it\n"
             "in the network lab, on the platform's own network. On a real cluster, measure\n"
             "with\n"
             "    mpirun -n 2 rehearse-perform -p PLATFORM --pingpong FILE.csv\n"
             "one rank on each of two nodes, and give the file to --from.\n\n"
             "Links of a cluster: logs of nccl-tests (all_reduce_perf ...), OSU's tests,\n"
             "nvbandwidth, p2pBandwidthLatencyTest or ib_write_bw as they were pasted; -p is\n"
             "where they were measured. The answer is the latency and rate of links inside a\n"
             "node and between nodes, and the error of held-out sizes.\n\n"
             "A training framework: its constants, and the clocks that devices sustain, from\n"
             "a table of published training steps, each of which is simulated; with the\n"
             "error of held-out groups and sources. Takes minutes. The values belong in\n"
             "strategies/software_stack.c; docs/theory/stacks.md describes the table.\n\n"
             "One measured run: --run-was 73s plan.json#1, or --from a training log with -w,\n"
             "-p and -s. The answer says what would have to be wrong for that time, each\n"
             "alone: kernels, links, a GPU that others wait for, the host; and the profile\n"
             "has one scale of the kernels' rates, with which later answers of that model\n"
             "and stack have the error bar that remains among runs of one job.\n\n"
             "A server: the time of its host and clients besides the kernels, from a table\n"
             "of published serving runs (as `validate --cases` reads it); with intervals and\n"
             "the error of held-out rows. Takes minutes. The values belong in\n"
             "strategies/serve/servers/NAME.json.\n\n"
             "Expert all-to-all: the constants of its kernels (DeepEP, pplx-kernels), from\n"
             "tables of their times as `validate --cases` reads them, including those of\n"
             "aiconfigurator; with the error of held-out sizes. The values belong in\n"
             "strategies/exchangers/NAME.json.\n",
    .examples = "rehearse calibrate --run -o gpu.json\n"
                "rehearse calibrate --run gemm,attention --budget 2m -o gpu.json\n"
                "rehearse calibrate --from gpu.raw.csv --holdout 20% -o gpu.json\n"
                "rehearse calibrate -d h200-sxm --tables gemm_perf.csv.gz -o serving.json\n"
                "rehearse calibrate -p lab-star --run pingpong -o lab.json\n"
                "rehearse calibrate -p lab-star --from pingpong.csv -o lab.json\n"
                "rehearse calibrate -p dgx-h100:2 --from all_reduce.log -o links.json\n"
                "rehearse calibrate --run-was 73s plan.json#1 -o mine.json\n"
                "rehearse calibrate --from slurm.out -w llama-3.1-8b -p dgx-h100:2 --seq 8192 \\\n"
                "    -s tp2,mb1 -o mine.json\n"
                "rehearse calibrate --stack megatron --from published-steps.csv -o fit.json\n"
                "rehearse calibrate --from wideep_deepep_ll_perf.csv -o exchanges.json\n"
                "rehearse calibrate --server vllm-0.12 --from runs.csv --holdout 50%",
    .tables = tables,
    .run = run,
};
