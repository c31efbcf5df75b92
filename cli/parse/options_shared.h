#pragma once
/* Rows of options that several commands share. */
#include "cli/parse/options.h"

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
