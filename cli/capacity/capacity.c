/* rehearse capacity: which cluster, how much of it, by when and for how much? */
#include <string.h>

#include "base/error.h"
#include "cli/capacity/capacity_service.h"
#include "cli/capacity/capacity_training.h"
#include "cli/inputs/launch_input.h"
#include "cli/output/output_file.h"
#include "cli/parse/commands.h"

#define TOKENS_MAX                                                                                 \
    INT64_C(10000000000000000) /* a thousand times what the largest runs read: a typing error */

/* Options of the one kind of question are none of the other. */
static const char *const of_runs[] = {"--global-batch", "--seq",       "--stack",    "--gap",
                                      "--risk",         "--price-kwh", "--failures", NULL};
static const char *const of_services[] = {
    "--strategy", "--mode", "--rate", "--concurrency", "--turnaround", "--arrivals", "--count",
    "--skip-bad", "--ttft", "--tpot", "--tbt",         "--e2e",        NULL};

static bool check_kind(const RhArguments *a, bool service, GError **error)
{
    const char *const *unsuitable = service ? of_runs : of_services;
    for (guint i = 0; i < a->recorded->len; i++)
        if (g_strv_contains(unsuitable, g_ptr_array_index(a->recorded, i)))
            return rh_fail(error, RH_ERROR_USAGE, "%s is of %s\nhelp: %s",
                           (const char *)g_ptr_array_index(a->recorded, i),
                           service ? "training, and --requests and --lengths are of a service"
                                   : "a service, and --tokens is of training",
                           service ? "leave it out, or ask for --tokens"
                                   : "leave it out, or ask for --requests or --lengths");
    return !service || !strchr(a->dtype, ',') ||
           rh_fail(error, RH_ERROR_USAGE, "--dtype %s: a service is asked of one", a->dtype);
}

/* Runs the subcommand for training or serving. */
static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_CSV,    RH_OUTPUT_MARKDOWN,
                                     RH_OUTPUT_HTML, RH_OUTPUT_PARETO, RH_OUTPUT_NONE};
    bool service = a->requests || a->lengths;
    if (!rh_outputs_check(a->outputs, kinds, error) || !check_kind(a, service, error))
        return 2;
    rh_launch_input_tell(a);
    return service ? rh_capacity_service(a, error) : rh_capacity_training(a, error);
}

static const RhOption own[] = {
    RH_OPTION(tokens, "tokens", 0, RH_OPTION_QUANTITY, "15T",
              "tokens to train on; without it, as many as deadline and budget allow",
              .quantity = RH_QUANTITY_TOKENS, .positive = true, .high = TOKENS_MAX,
              .required = true, .unless = "requests|lengths", .or_else = "by|budget"),
    RH_OPTION(by_s, "by", 0, RH_OPTION_QUANTITY, "30d",
              "deadline: longest time of the run; for a service, the time that is paid for",
              .also = "deadline", .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(budget_usd, "budget", 0, RH_OPTION_QUANTITY, "1M$",
              "highest cost of the run, or of the service until --by", .quantity = RH_QUANTITY_USD,
              .positive = true),
    RH_OPTION(sizes, "gpus", 0, RH_OPTION_TEXT, "256..4096",
              "numbers of GPUs to compare: a range (in steps of a half: 256, 384, 512, ...), "
              "numbers, or both, separated by commas (as many nodes as the deadline needs; "
              "for a service the fewest that serve it, on any number of nodes where NAME has "
              "no :NODES)",
              .usual = true),
    RH_OPTION(batches, "global-batch", 0, RH_OPTION_TEXT, "1024..4096",
              "samples (sequences) per step: a number, a range to choose from, or several "
              "with commas, each with rows of its own (4 to 16 M tokens, or 256 to 32,768 "
              "pictures)"),
    RH_OPTION(sequence, "seq", 0, RH_OPTION_INTEGER, "S", RH_SEQUENCE_ABOUT, .usual = true,
              .low = 1, .binary = true, .high = 1 << 28),
    RH_OPTION(prices, "price", 0, RH_OPTION_LIST, "[NAME=]USD[@MONTH]",
              "price of a GPU-hour on platform NAME, or on all, as dgx-h100=2.50USD@2026-11 "
              "(MONTH: when it was valid)"),
    RH_OPTION(usd_per_kwh, "price-kwh", 0, RH_OPTION_QUANTITY, "0.08USD",
              "price of a kWh of electricity, added to the price of GPU-hours, or alone",
              .quantity = RH_QUANTITY_USD, .positive = true),
    RH_OPTION(pue, "pue", 0, RH_OPTION_QUANTITY, "1.2",
              "power usage effectiveness of the building, for every platform (that of the "
              "platform's file, or not counted)",
              .quantity = RH_QUANTITY_COUNT, .positive = true),
    RH_OPTION(failures, "failures", 0, RH_OPTION_CHOICE, "RATES",
              "rates of failures, which make runs of more than a day longer (`rehearse run`)",
              .choices = "llama-3|meta-rsc-1|meta-rsc-2|none", .otherwise = "llama-3"),
    RH_OPTION(gap_frac, "gap", 0, RH_OPTION_QUANTITY, "GAP",
              "search until no layout that was not simulated can be faster than the chosen "
              "one by more than this",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "1%"),
    RH_OPTION(risk_frac, "risk", 0, RH_OPTION_QUANTITY, "RISK",
              "highest chance of running out of memory that a layout may have, by curves "
              "fitted to measured runs",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "5%"),
    {0}};
static const RhOption *const tables[] = {
    rh_options_clusters, rh_options_from, own, rh_options_requests, rh_options_deployment,
    rh_options_shared,   rh_options_help, NULL};

const RhCommand rh_command_capacity = {
    .name = "capacity",
    .operands = "",
    .summary = "which cluster, how much of it, by when, for how much?",
    .about = "Plans the model on every platform at every size, with at most three global\n"
             "batches of the range, and converts steps to days, dollars and energy of the\n"
             "whole run.\n\n"
             "The answer is the cheapest run that finishes within --by; with --budget alone\n"
             "the fastest within it; without both the cheapest. Both limits hold with every\n"
             "step longer by its error bar (--error-bar none: as predicted). Exit status 1 if\n"
             "nothing meets them: then the fastest and the cheapest are named. Without prices\n"
             "cost is counted in GPU-hours; --price-kwh and --pue add electricity.\n\n"
             "Runs of more than a day are longer by failures, restarts and checkpoints, as\n"
             "`rehearse run` says with its defaults; --failures none leaves them out.\n\n"
             "Without --tokens the answer is the most tokens that the budget or the deadline\n"
             "allows. Without --gpus a platform of several nodes (dgx-h100:32) is used as a\n"
             "whole, and a single one with as many nodes as the deadline takes. --dtype\n"
             "bf16,fp8 and --global-batch 1024,2048 give separate rows.\n\n"
             "`largest` is the largest part of a step besides compute: exposed communication,\n"
             "waiting for pipeline stages (a larger batch helps), or recompute (memory). A\n"
             "price is called old if it is a year older than the newest figure of its\n"
             "platform.\n\n"
             "--requests or --lengths plan a service instead: the cheapest platform, number\n"
             "of GPUs and deployment that meets the service levels (--ttft, --tpot ...) at\n"
             "--rate, or at the rate of the trace. Each platform is planned as in\n"
             "`serve-plan --rate`; a row is the deployment with the lowest latency at its\n"
             "size (--gpus; part of a node is priced by GPU), so that cost can be weighed\n"
             "against latency. --by 30d adds the cost of that time, which --budget limits.\n",
    .examples = "rehearse capacity -w llama-3.1-70b --tokens 15T --by 60d --seq 8192 \\\n"
                "    -p dgx-h100,dgx-b200 --gpus 256..4096 --price dgx-h100=2.4USD \\\n"
                "    --price dgx-b200=3.9USD\n"
                "rehearse capacity -w llama-3.1-8b --tokens 1T --budget 300k$ --seq 8192 \\\n"
                "    -p dgx-h100 --gpus 64,128,576 --global-batch 512..1024 --price 2.4USD\n"
                "rehearse capacity -w llama-3.1-70b -p dgx-h100,dgx-h200 --gpus 8..64 \\\n"
                "    --lengths in=1024,out=256,spread=0.8 --rate 20/s --ttft 'p99<2s' \\\n"
                "    --tpot 'p99<40ms' --price dgx-h100=2.4USD --price dgx-h200=3USD",
    .tables = tables,
    .ranks = RH_RANKS_POOLS,
    .run = run,
};
