#pragma once
/* Files about one layout that need its program or its run: .program.json, .goal, .trace.json.gz. */
#include "cli/inputs/inputs.h"
#include "sim/engine/engine.h"

/* True when any of the paths needs the timeline of a run. */
bool rh_layout_files_need_timeline(const GPtrArray *paths);
/* True when any needs a program or a run at all. */
bool rh_layout_files_wanted(const GPtrArray *paths);
/* Writes those of `paths` that are of these kinds. */
bool rh_layout_files_write(const GPtrArray *paths, const RhInputs *inputs, const RhProgram *program,
                           const RhRun *run, GError **error);
/* A trace at any path; signals wait until the file is whole. */
bool rh_layout_files_trace(const char *path, const RhProgram *program, const RhRun *run,
                           GError **error);
