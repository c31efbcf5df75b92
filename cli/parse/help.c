/* rehearse help [COMMAND] */
#include <stdio.h>

#include "cli/parse/commands.h"
#include "cli/parse/manual.h"

void rh_help_commands(FILE *to)
{
    fputs("rehearse - try a training job on a cluster before you have the cluster\n\n"
          "usage: rehearse COMMAND -w WORKLOAD -p PLATFORM [-s STRATEGY] [options]\n\n",
          to);
    for (const RhCommand *const *c = rh_commands; *c; c++)
        fprintf(to, "  %-14s %s\n", (*c)->name, (*c)->summary);
    fputs("\n", to);
    fputs(rh_help_inputs, to);
    fputs("`rehearse COMMAND -h` lists options, `--help` explains them.\n\n"
          "  rehearse plan -w llama-3.1-70b -p dgx-h100:8 --global-batch 512 --seq 8192\n\n"
          "next: rehearse help plan\n",
          to);
}

static int run(const RhArguments *a, GError **error)
{
    if (a->manual) {
        g_autofree char *page = rh_manual();
        fputs(page, stdout);
        return 0;
    }
    if (a->operands->len == 0) {
        rh_help_commands(stdout);
        return 0;
    }
    const char *name = g_ptr_array_index(a->operands, 0);
    const RhCommand *command = rh_command_by_name(name);
    if (!command) {
        rh_command_fail_unknown(name, error);
        return 2;
    }
    g_autofree char *text = rh_options_help_long(command);
    fputs(text, stdout);
    return 0;
}

static const RhOption own[] = {
    RH_OPTION(manual, "man", 0, RH_OPTION_FLAG, NULL,
              "the whole manual, rehearse(1), as roff: rehearse help --man | man -l -",
              .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_help, NULL};

const RhCommand rh_command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .operands_high = 1,
    .summary = "list the commands, or explain one",
    .about = "Without a word: the commands and how inputs are written. With a command: its\n"
             "long help, the same text as `rehearse COMMAND --help`.\n",
    .examples = "rehearse help\nrehearse help plan",
    .tables = tables,
    .run = run,
};
