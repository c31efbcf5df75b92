#include "cli/parse/options_shared.h"

#include "strategies/stack.h"
#include "workloads/model.h"
#include "workloads/recipe.h"

#define INPUT_ROWS                                                                                 \
    RH_OPTION(workload, "workload", 'w', RH_OPTION_TEXT, "FILE|NAME",                              \
              "config.json, a folder holding one, or a name of `rehearse show workloads`",         \
              .required = true, .unless = "program", .names = rh_model_names),                     \
        RH_OPTION(platform, "platform", 'p', RH_OPTION_TEXT, "FILE|NAME",                          \
                  "platform file, a name like dgx-h100:8, or one line: "                           \
                  "\"h100-sxm:8x4,ib:400Gb/s\"",                                                   \
                  .required = true, .names = rh_platform_names),                                   \
        RH_OPTION(profile, "profile", 0, RH_OPTION_TEXT, "FILE|NAME",                              \
                  "lay measured facts over the platform, as `rehearse calibrate` writes them",     \
                  .names = rh_profile_names),                                                      \
        RH_OPTION(sets, "set", 0, RH_OPTION_LIST, "KEY=VALUE",                                     \
                  "override a field of the model, the platform or the job")
#define DTYPE_ROW(help, ...)                                                                       \
    RH_OPTION(dtype, "dtype", 0, RH_OPTION_CHOICE, "TYPE",                                         \
              "number formats: one throughout, or a recipe of narrow linear layers" help,          \
              .choices = RH_RECIPE_CHOICES, .otherwise = "bf16", ##__VA_ARGS__)

const RhOption rh_options_inputs[] = {
    INPUT_ROWS,
    RH_OPTION(
        stack, "stack", 0, RH_OPTION_TEXT, "FILE|NAME",
        "training framework: a name of `rehearse show stacks` (megatron; bare over TCP) or a file; with plan also any: the best of all",
        .names = rh_stack_names),
    {0}};

const RhOption rh_options_clusters[] = {
    RH_OPTION(workload, "workload", 'w', RH_OPTION_TEXT, "FILE|NAME",
              "config.json, a folder holding one, or a name of `rehearse show workloads`",
              .required = true),
    RH_OPTION(platforms, "platform", 'p', RH_OPTION_LIST, "A,B",
              "clusters to choose from: names or files, as dgx-h100,dgx-b200", .also = "platforms",
              .required = true),
    RH_OPTION(sets, "set", 0, RH_OPTION_LIST, "KEY=VALUE",
              "override a field of the model, of every platform or of the job"),
    RH_OPTION(stack, "stack", 0, RH_OPTION_TEXT, "FILE|NAME",
              "training framework: a name of `rehearse show stacks` (megatron) or a file",
              .names = rh_stack_names),
    DTYPE_ROW("; of training also several, by commas", .several = true),
    {0}};

const RhOption rh_options_served[] = {INPUT_ROWS, DTYPE_ROW(""), {0}};

const RhOption rh_options_job[] = {
    RH_OPTION(global_batch, "global-batch", 0, RH_OPTION_INTEGER, "B",
              "samples of one optimizer step", .required = true, .unless = "program", .low = 1,
              .high = 1 << 28),
    RH_OPTION(sequence, "seq", 0, RH_OPTION_INTEGER, "S", RH_SEQUENCE_ABOUT, .unless = "program",
              .usual = true, .low = 1, .binary = true, .high = 1 << 28),
    RH_OPTION(gpus, "gpus", 0, RH_OPTION_INTEGER, "N", "how many GPUs to use (all of the platform)",
              .low = 1, .high = 1 << 22),
    DTYPE_ROW(""),
    {0}};

#define TERMINAL_ROWS                                                                              \
    RH_OPTION(quiet, "quiet", 'q', RH_OPTION_FLAG, NULL, "no progress, no hints",                  \
              .neutral = true),                                                                    \
        RH_OPTION(color, "color", 0, RH_OPTION_CHOICE, "WHEN", "colour the text",                  \
                  .choices = "auto|always|never", .otherwise = "auto", .neutral = true)

const RhOption rh_options_terminal[] = {TERMINAL_ROWS, {0}};

const RhOption rh_options_shared[] = {
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "also write the result; the ending decides the format", .neutral = true),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL, "one JSON document on stdout, nothing else",
              .neutral = true),
    RH_OPTION(seed, "seed", 0, RH_OPTION_INTEGER, "N", "seed of every random number",
              .otherwise = "1", .low = 0, .high = G_MAXINT32),
    RH_OPTION(jobs, "jobs", 'j', RH_OPTION_INTEGER, "N",
              "processes at a time, 0: one for each core; never changes the result",
              .otherwise = "0", .low = 0, .high = 1024, .neutral = true),
    RH_OPTION(timeout_s, "timeout", 0, RH_OPTION_QUANTITY, "30s",
              "stop after this long, with what is known by then", .quantity = RH_QUANTITY_S),
    RH_OPTION(verbosity, "verbose", 'v', RH_OPTION_COUNT, NULL, "say more", .neutral = true),
    TERMINAL_ROWS,
    RH_OPTION(progress_disabled, "no-progress", 0, RH_OPTION_FLAG, NULL, "no progress on stderr",
              .neutral = true),
    {0}};

const RhOption rh_options_help[] = {
    RH_OPTION(help_short, "h", 'h', RH_OPTION_FLAG, NULL, "these options", .neutral = true),
    RH_OPTION(help_long, "help", 0, RH_OPTION_FLAG, NULL, "explanation and examples",
              .neutral = true),
    {0}};
