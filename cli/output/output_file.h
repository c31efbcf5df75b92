#pragma once
/* `-o FILE`: the ending decides the format. Every file is written atomically. */
#include <glib.h>
#include <signal.h>
#include <stdbool.h>

#include "cli/parse/parsed_arguments.h"
#include "report/page/page.h"

typedef enum {
    RH_OUTPUT_NONE,
    RH_OUTPUT_JSON,
    RH_OUTPUT_JSON_LINES, /* .jsonl */
    RH_OUTPUT_CSV,
    RH_OUTPUT_MARKDOWN,
    RH_OUTPUT_SVG,
    RH_OUTPUT_GANTT,  /* a picture: gantt.svg, run-gantt.svg, ... */
    RH_OUTPUT_MEMORY, /* memory.svg */
    RH_OUTPUT_PARETO, /* pareto.svg */
    RH_OUTPUT_HTML,
    RH_OUTPUT_SQLITE,  /* .sqlite */
    RH_OUTPUT_PROGRAM, /* .program.json */
    RH_OUTPUT_GOAL,
    RH_OUTPUT_TRACE,   /* .trace.json.gz */
    RH_OUTPUT_TRAFFIC, /* traffic.csv */
} RhOutput;

/* Tells that the answer is on stdout: files are written after it, without time limit. */
void rh_output_answered(void);

/* Checks paths before any work: every ending is one of `kinds` (ended by RH_OUTPUT_NONE; an ending
 * of other commands or versions is RH_ERROR_USAGE) and its folder can be written (RH_ERROR_IO). */
bool rh_outputs_check(const GPtrArray *paths, const RhOutput *kinds,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Checks that the folder of a path can be written. RH_ERROR_IO. */
bool rh_output_check_folder(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Checks that no output file is also an input: workload, platform, profile, strategy, --from, a
 * result. RH_ERROR_USAGE. */
bool rh_outputs_spare_inputs(const RhArguments *arguments,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhOutput rh_output_kind(const char *path);
/* Returns the first path of a kind; NULL when there is none. */
const char *rh_outputs_find(const GPtrArray *paths, RhOutput kind);
/* Blocks signals that end the program while a file is written; returns the mask to restore. */
sigset_t rh_output_hold_signals(void);
/* Writes `text`, gzipped if the path ends in .gz; signals are blocked until the file is complete.
 */
bool rh_output_write(const char *path, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Writes bytes as rh_output_write does text. */
bool rh_output_write_bytes(const char *path, GBytes *bytes,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Writes the page to every path that ends in .html, and its JSON to the others. */
bool rh_outputs_write_page(const GPtrArray *paths, const RhPage *page,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
