#pragma once
/* Writes files about one layout that need its program or its run: .program.json, .goal,
 * .trace.json.gz. */
#include "cli/inputs/inputs.h"
#include "sim/engine/engine.h"

/* Returns whether any of the paths needs the timeline of a run. */
bool rh_layout_files_need_timeline(const GPtrArray *paths);
/* Returns whether any of the paths needs a program or a run. */
bool rh_layout_files_wanted(const GPtrArray *paths);
/* Writes those of `paths` that are of these kinds. */
bool rh_layout_files_write(const GPtrArray *paths, const RhInputs *inputs, const RhProgram *program,
                           const RhRun *run, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Writes a trace; signals are blocked until the file is complete. */
bool rh_layout_files_trace(const char *path, const RhProgram *program, const RhRun *run,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
