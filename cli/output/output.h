#pragma once
/* `-o FILE`: the ending decides. Every file is written whole or not at all. */
#include <glib.h>
#include <signal.h>
#include <stdbool.h>

#include "cli/parse/arguments.h"
#include "report/page/page.h"

typedef enum {
    RH_OUTPUT_NONE,
    RH_OUTPUT_JSON,
    RH_OUTPUT_CSV,
    RH_OUTPUT_MARKDOWN,
    RH_OUTPUT_SVG,
    RH_OUTPUT_GANTT,  /* a picture: gantt.svg, run-gantt.svg, ... */
    RH_OUTPUT_MEMORY, /* memory.svg */
    RH_OUTPUT_PARETO, /* pareto.svg */
    RH_OUTPUT_HTML,
    RH_OUTPUT_PROGRAM, /* .program.json */
    RH_OUTPUT_GOAL,
    RH_OUTPUT_TRACE, /* .trace.json.gz */
} RhOutput;

/* The answer is on stdout, for others to read: files are written after it, in the time they take. */
void rh_output_answered(void);

/* Checks before any work is done: every ending is one of `kinds` (ended by RH_OUTPUT_NONE; an
 * ending of other commands or versions is RH_ERROR_USAGE) and its folder can be written
 * (RH_ERROR_IO). */
bool rh_outputs_check(const GPtrArray *paths, const RhOutput *kinds, GError **error);
/* One path of any ending: RH_ERROR_IO when its folder cannot be written. */
bool rh_output_check_folder(const char *path, GError **error);
/* RH_ERROR_USAGE when a file that is to be written is one that is read: workload, platform,
 * profile, strategy, --from, a result. */
bool rh_outputs_spare_inputs(const RhArguments *arguments, GError **error);
RhOutput rh_output_kind(const char *path);
/* The first path of that kind; NULL when there is none. */
const char *rh_outputs_find(const GPtrArray *paths, RhOutput kind);
/* Signals that end the program wait until the mask that this returns is set again: while a file is written. */
sigset_t rh_output_hold_signals(void);
/* Writes `text`, packed where the path ends in .gz; signals wait until the file is whole. */
bool rh_output_write(const char *path, const char *text, GError **error);
/* To every path the page, or where it does not end in .html the JSON behind it. */
bool rh_outputs_write_page(const GPtrArray *paths, const RhPage *page, GError **error);
