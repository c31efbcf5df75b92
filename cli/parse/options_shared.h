#pragma once
/* Rows of options that several commands share. */
#include "cli/parse/option_parser.h"

/* The help of --seq, which inputs.c repeats where the option is missing. */
#define RH_SEQUENCE_ABOUT "tokens of one sample, 8k being 8192 (of a picture: 1)"

extern const RhOption rh_options_inputs[], rh_options_job[], rh_options_shared[];
extern const RhOption rh_options_from[];       /* --from, of a launch of the user's */
extern const RhOption rh_options_help[];       /* -h and --help: of every command, the last */
extern const RhOption rh_options_terminal[];   /* of commands that need no more: -q and --color */
extern const RhOption rh_options_clusters[];   /* inputs of several clusters */
extern const RhOption rh_options_served[];     /* inputs of a service */
extern const RhOption rh_options_requests[];   /* serve_requests.c */
extern const RhOption rh_options_deployment[]; /* serve_query.c */

/* Rows that say what wrote a log, for commands that read one; `when` begins their help texts. */
#define RH_LOGGED_RUN_ROWS(when)                                                                   \
    RH_OPTION(workload, "workload", 'w', RH_OPTION_TEXT, "FILE|NAME", when ": the model"),         \
        RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "STRATEGY",                           \
                  when ": the layout, as tp8,pp4,mb1, or a file that holds one",                   \
                  .layout_keys = true),                                                            \
        RH_OPTION(global_batch, "global-batch", 0, RH_OPTION_INTEGER, "B",                         \
                  when " that does not say it: samples per optimizer step", .low = 1,              \
                  .high = 1 << 28),                                                                \
        RH_OPTION(sequence, "seq", 0, RH_OPTION_INTEGER, "S", when ": tokens of one sample",       \
                  .low = 1, .binary = true, .high = 1 << 28),                                      \
        RH_OPTION(gpus, "gpus", 0, RH_OPTION_INTEGER, "N",                                         \
                  when ": number of GPUs (all of the platform)", .low = 1, .high = 1 << 22),       \
        RH_OPTION(dtype, "dtype", 0, RH_OPTION_CHOICE, "TYPE", when ": number formats",            \
                  .choices = RH_RECIPE_CHOICES, .otherwise = "bf16"),                              \
        RH_OPTION(sets, "set", 0, RH_OPTION_LIST, "KEY=VALUE",                                     \
                  when ": change one constant of the model, the platform or the job")
