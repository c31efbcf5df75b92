#include "cli/output/program_and_trace_files.h"

#include <signal.h>

#include "cli/output/output_file.h"
#include "sim/timeline/timeline_file.h"

bool rh_layout_files_need_timeline(const GPtrArray *paths)
{
    return rh_outputs_find(paths, RH_OUTPUT_TRACE) != NULL;
}

bool rh_layout_files_wanted(const GPtrArray *paths)
{
    return rh_layout_files_need_timeline(paths) || rh_outputs_find(paths, RH_OUTPUT_PROGRAM) ||
           rh_outputs_find(paths, RH_OUTPUT_GOAL);
}

bool rh_layout_files_trace(const char *path, const RhProgram *program, const RhRun *run,
                           GError **error)
{
    sigset_t before = rh_output_hold_signals();
    bool fine = rh_timeline_write(program, run, path, error);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return fine;
}

static bool write_one(const char *path, const RhInputs *in, const RhProgram *program,
                      const RhRun *run, GError **error)
{
    RhOutput kind = rh_output_kind(path);
    g_autofree char *text = NULL;
    if (kind == RH_OUTPUT_TRACE)
        return rh_layout_files_trace(path, program, run, error);
    if (kind == RH_OUTPUT_PROGRAM)
        text = rh_program_to_json(program);
    else if (kind == RH_OUTPUT_GOAL)
        text = rh_program_to_goal(program, in->platform, error);
    else
        return true;
    return text && rh_output_write(path, text, error);
}

bool rh_layout_files_write(const GPtrArray *paths, const RhInputs *in, const RhProgram *program,
                           const RhRun *run, GError **error)
{
    for (guint i = 0; i < paths->len; i++)
        if (!write_one(g_ptr_array_index(paths, i), in, program, run, error))
            return false;
    return true;
}
