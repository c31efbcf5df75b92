#include "cli/sweep/sweepable_commands.h"

#include <string.h>

#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/sweep/item_work_estimate.h"

#define COLUMNS(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

#define STEP                                                                                       \
    "step_time_s", "tokens_per_s_per_gpu", "mfu_frac", "memory_peak_bytes", "fits", "error_frac",  \
        "energy_j", "cost_usd"
#define LAYOUT "layout.*"
#define SERVED                                                                                     \
    "throughput_tokens_per_s", "throughput_tokens_per_s_per_gpu", "request_rate_per_s",            \
        "ttft_s.p50", "ttft_s.p99", "tpot_s.p50", "tpot_s.p99", "e2e_s.p50", "e2e_s.p99",          \
        "slo_met_frac", "cost_usd_per_million_tokens", "energy_j_per_token"

static const RhSweepCommand commands[] = {
    {.command = &rh_command_simulate,
     .work = rh_item_work_training,
     .merge = {.columns = COLUMNS(STEP)}},
    {.command = &rh_command_plan,
     .work = rh_item_work_training,
     .merge = {.list = "plans", .columns = COLUMNS(STEP, LAYOUT)}},
    {.command = &rh_command_serve_simulate,
     .work = rh_item_work_service,
     .merge = {.columns = COLUMNS("deployment", "gpus_count", SERVED, "overloaded")}},
    {.command = &rh_command_serve_plan,
     .work = rh_item_work_service,
     .merge = {.list = "plans",
               .columns = COLUMNS("deployment", "gpus_count", "rate_max_per_s", SERVED)}},
    {.command = &rh_command_capacity,
     .work = rh_item_work_capacity,
     .merge = {.list = "cells",
               .best = "best",
               .columns = COLUMNS("platform", "gpus_count", "seconds", "usd", "goodput_frac",
                                  "meets", "binds", STEP, LAYOUT)}},
    {.command = &rh_command_run,
     .work = rh_item_work_training,
     .merge = {.columns = COLUMNS("goodput_frac", "ettr_frac", "time_s.*", "usd.mean", "gpu_hours",
                                  "step_time_s", "checkpoint.every_s", "failures.mtbf_s")}},
    {.command = &rh_command_rl_plan,
     .work = rh_item_work_rl,
     .merge = {.list = "entries",
               .columns =
                   COLUMNS("placement", "ahead_count", "trainer.layout.*", "servers.deployment",
                           "step_s", "age_mean_count", "gpu_hours", "cost_usd")}},
};

const RhSweepCommand *rh_sweep_command_by_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(commands[i].command->name, name) == 0)
            return &commands[i];
    return NULL;
}

const char *const *rh_sweep_command_names(void)
{
    static const char *names[G_N_ELEMENTS(commands) + 1];
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        names[i] = commands[i].command->name;
    return names;
}

/* Options of a command that decide its answer; others are the sweep's own to set, but for a time
 * limit, after which an answer would depend on the machine. */
static RhStudyOption kind_of(const char *command, const char *name)
{
    const RhSweepCommand *row = rh_sweep_command_by_name(command);
    const RhOption *o = row ? rh_options_find(row->command, name, strlen(name)) : NULL;
    if (!o)
        return RH_STUDY_OPTION_NONE;
    if ((o->neutral && strcmp(o->name, "from") != 0) || strcmp(o->name, "timeout") == 0)
        return RH_STUDY_OPTION_REFUSED;
    return o->kind == RH_OPTION_FLAG || o->kind == RH_OPTION_COUNT ? RH_STUDY_OPTION_FLAG
                                                                   : RH_STUDY_OPTION_VALUE;
}

static bool check_words(const char *command, char **words, GError **error)
{
    g_auto(RhArguments) arguments = {0};
    const RhSweepCommand *row = rh_sweep_command_by_name(command);
    return rh_options_parse(row->command, (int)g_strv_length(words), words, &arguments, error);
}

double rh_sweep_item_work(const RhStudyItem *item, void *command)
{
    g_auto(RhArguments) arguments = {0};
    const RhSweepCommand *row = rh_sweep_command_by_name(command);
    if (!rh_options_parse(row->command, (int)g_strv_length(item->words), item->words, &arguments,
                          NULL))
        return 0;
    bool shown = rh_terminal_hints(false);
    double work = row->work(&arguments);
    rh_terminal_hints(shown);
    return work;
}

RhStudyRules rh_sweep_rules(void)
{
    return (RhStudyRules){.commands = rh_sweep_command_names(),
                          .option = kind_of,
                          .check = check_words,
                          .version = RH_VERSION};
}
