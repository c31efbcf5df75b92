#include "cli/parse/options_shared.h"

#include "strategies/software_stack.h"
#include "workloads/model.h"
#include "workloads/precision_recipe.h"

#define INPUT_ROWS                                                                                 \
    RH_OPTION(workload, "workload", 'w', RH_OPTION_TEXT, "FILE|NAME",                              \
              "model: a config.json, its folder, or a name of `rehearse show workloads`",          \
              .required = true, .unless = "program", .or_else = "from", .names = rh_model_names),  \
        RH_OPTION(platform, "platform", 'p', RH_OPTION_TEXT, "FILE|NAME",                          \
                  "cluster: a file, NAME:NODES as dgx-h100:8, or one line: "                       \
                  "\"h100-sxm:8x4,ib:400Gb/s\"",                                                   \
                  .required = true, .names = rh_platform_names),                                   \
        RH_OPTION(profile, "profile", 0, RH_OPTION_TEXT, "FILE|NAME",                              \
                  "measured constants of the device or links, a file of `rehearse calibrate`",     \
                  .names = rh_profile_names),                                                      \
        RH_OPTION(sets, "set", 0, RH_OPTION_LIST, "KEY=VALUE",                                     \
                  "change one constant of the model, the platform or the job"),                    \
        RH_OPTION(prices, "price", 0, RH_OPTION_LIST, "USD[@MONTH]",                               \
                  "price of a GPU-hour, as 2.50USD@2026-11 (MONTH: when it was valid)")
#define DTYPE_ROW(help, ...)                                                                       \
    RH_OPTION(dtype, "dtype", 0, RH_OPTION_CHOICE, "TYPE",                                         \
              "number formats; fp8 and narrower ones are of linear layers alone" help,             \
              .choices = RH_RECIPE_CHOICES, .otherwise = "bf16", ##__VA_ARGS__)

const RhOption rh_options_inputs[] = {
    INPUT_ROWS,
    RH_OPTION(stack, "stack", 0, RH_OPTION_TEXT, "FILE|NAME",
              "training framework, whose kernels, overlap and buffers are modelled: a name of "
              "`rehearse show stacks` (megatron; over TCP bare) or a file; any (plan only): "
              "the best of all",
              .also = "framework", .names = rh_stack_names),
    {0}};

const RhOption rh_options_clusters[] = {
    RH_OPTION(workload, "workload", 'w', RH_OPTION_TEXT, "FILE|NAME",
              "model: a config.json, its folder, or a name of `rehearse show workloads`",
              .required = true),
    RH_OPTION(platforms, "platform", 'p', RH_OPTION_LIST, "A,B",
              "clusters to choose from: names or files, as dgx-h100,dgx-b200", .also = "platforms",
              .required = true),
    RH_OPTION(profile, "profile", 0, RH_OPTION_TEXT, "FILE|NAME",
              "constants that `calibrate` measured, of every platform"),
    RH_OPTION(sets, "set", 0, RH_OPTION_LIST, "KEY=VALUE",
              "change one constant of the model, of every platform or of the job"),
    RH_OPTION(stack, "stack", 0, RH_OPTION_TEXT, "FILE|NAME",
              "training framework: a name of `rehearse show stacks` (megatron) or a file",
              .also = "framework", .names = rh_stack_names),
    DTYPE_ROW("; for training also several, separated by commas", .several = true),
    {0}};

const RhOption rh_options_served[] = {INPUT_ROWS, DTYPE_ROW(""), {0}};

const RhOption rh_options_job[] = {
    RH_OPTION(global_batch, "global-batch", 0, RH_OPTION_INTEGER, "B",
              "global batch: samples (sequences) per optimizer step", .required = true,
              .unless = "program", .low = 1, .high = 1 << 28),
    RH_OPTION(sequence, "seq", 0, RH_OPTION_INTEGER, "S", RH_SEQUENCE_ABOUT, .unless = "program",
              .usual = true, .low = 1, .binary = true, .high = 1 << 28),
    RH_OPTION(gpus, "gpus", 0, RH_OPTION_INTEGER, "N",
              "number of GPUs to use (all of the platform)", .low = 1, .high = 1 << 22),
    DTYPE_ROW(""),
    {0}};

const RhOption rh_options_from[] = {
    RH_OPTION(
        launch, "from", 0, RH_OPTION_TEXT, "FILE",
        "your own launch: a script of Megatron-LM, TorchTitan, DeepSpeed, NeMo or MaxText, or "
        "a configuration file of these, axolotl or LLaMA-Factory; options given beside it go "
        "first",
        .neutral = true),
    {0}};

#define TERMINAL_ROWS                                                                              \
    RH_OPTION(quiet, "quiet", 'q', RH_OPTION_FLAG, NULL, "only the answer: no progress, no hints", \
              .neutral = true),                                                                    \
        RH_OPTION(color, "color", 0, RH_OPTION_CHOICE, "WHEN", "color of the text",                \
                  .choices = "auto|always|never", .otherwise = "auto", .neutral = true)

const RhOption rh_options_terminal[] = {TERMINAL_ROWS, {0}};

const RhOption rh_options_shared[] = {
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "also write the result to FILE; its ending decides the format (--help lists the "
              "endings)",
              .neutral = true),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL, "one JSON document on stdout, nothing else",
              .neutral = true),
    RH_OPTION(seed, "seed", 0, RH_OPTION_INTEGER, "N", "seed of all random numbers",
              .otherwise = "1", .low = 0, .high = G_MAXINT32),
    RH_OPTION(jobs, "jobs", 'j', RH_OPTION_INTEGER, "N",
              "processes at a time, 0: one per core; never changes the result", .otherwise = "0",
              .low = 0, .high = 1024, .neutral = true),
    RH_OPTION(timeout_s, "timeout", 0, RH_OPTION_QUANTITY, "30s",
              "stop after this time and print what is known by then (no limit)",
              .quantity = RH_QUANTITY_S),
    RH_OPTION(verbosity, "verbose", 'v', RH_OPTION_COUNT, NULL,
              "more detail: sources, bounds, all rows", .neutral = true),
    TERMINAL_ROWS,
    RH_OPTION(progress_disabled, "no-progress", 0, RH_OPTION_FLAG, NULL,
              "no progress lines on stderr", .neutral = true),
    {0}};

const RhOption rh_options_help[] = {
    RH_OPTION(help_short, "h", 'h', RH_OPTION_FLAG, NULL, "these options", .neutral = true),
    RH_OPTION(help_long, "help", 0, RH_OPTION_FLAG, NULL, "explanation and examples",
              .neutral = true),
    {0}};
