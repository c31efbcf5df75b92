#include "cli/check_tool_output.h"

#include <string.h>

#include "base/text/gzip_file.h"
#include "calibrate/links/measured.h"
#include "platforms/machine/machine.h"
#include "validate/runs/gpu_trace.h"

#define FILE_MAX ((gsize)64 << 20)

/* Says what a machine's tool told. */
static bool note_machine(const char *path, const char *text, const char *tool, GString *notes,
                         GError **error)
{
    g_auto(RhMachine) m = {.nics = -1};
    if (!rh_machine_read(&m, path, text, strlen(text), error))
        return false;
    g_string_append_printf(notes, "output of %s\n", tool);
    if (m.gpus > 0)
        g_string_append_printf(notes, "note: %d GPU%s%s%s\n", m.gpus, m.gpus == 1 ? "" : "s",
                               m.gpu_name ? ", " : "", m.gpu_name ? m.gpu_name : "");
    if (m.nodes > 0)
        g_string_append_printf(notes, "note: %d node%s\n", m.nodes, m.nodes == 1 ? "" : "s");
    g_string_append(notes, "note: `rehearse show platforms --from-machine` makes a platform of it, "
                           "with others of the same machine\n");
    return true;
}

/* Says what a log of links holds. */
static bool note_links(const char *path, const char *text, GString *notes, GError **error)
{
    g_autoptr(RhMeasured) log = rh_measured_parse(path, text, error);
    if (!log)
        return false;
    g_string_append_printf(notes, "log of %s: %u times of collectives, %u rates%s%s\n", log->format,
                           log->rows->len, log->rates->len, *log->device ? ", " : "", log->device);
    for (guint i = 0; i < log->notes->len; i++)
        g_string_append_printf(notes, "note: %s\n", (char *)log->notes->pdata[i]);
    bool some = log->rows->len + log->rates->len > 0;
    g_string_append(notes,
                    some ? "note: `rehearse calibrate --from FILE -p PLATFORM` fits links to it\n"
                         : "note: nothing that `rehearse calibrate` fits links to is in it\n");
    return true;
}

/* Says what a log or a trace of a training run holds. */
static bool note_run(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhRunLog) log = rh_run_log_load(path, error);
    if (!log)
        return false;
    g_autofree char *how = rh_run_log_describe(log);
    g_string_append_printf(notes, "%s of a training run: %s\n", log->parts ? "trace" : "log", how);
    if (log->unit == RH_RUN_STEP)
        g_string_append_printf(notes, "note: %.4g s a step\n", log->typical.seconds);
    for (int kind = 0; kind < RH_SAID_LAST; kind++)
        if (log->said[kind].value > 0) {
            g_autofree char *value = rh_run_said_text((RhRunFigureKind)kind, log->said[kind].value);
            g_string_append_printf(notes, "note: %s %s\n", rh_run_said_name((RhRunFigureKind)kind),
                                   value);
        }
    g_string_append(notes,
                    "note: `rehearse validate --cases FILE --from LAUNCH -p PLATFORM`, or with -w "
                    "MODEL -s LAYOUT in place of --from, sets it beside its prediction; "
                    "`rehearse calibrate` with the same learns from it\n");
    return true;
}

bool rh_check_output(const char *path, GString *notes, bool *known, GError **error)
{
    *known = rh_gpu_trace_is(path);
    if (*known)
        return note_run(path, notes, error);
    g_autoptr(GByteArray) bytes = rh_bytes_load(path, FILE_MAX, NULL);
    g_autofree char *text = bytes ? g_strndup((const char *)bytes->data, bytes->len) : NULL;
    const char *tool = text ? rh_machine_tool(text) : NULL;
    bool links = text && !tool && rh_measured_begins(text);
    bool run = text && !tool && !links && rh_run_log_begins(text);
    *known = tool || links || run;
    if (run)
        return note_run(path, notes, error);
    if (tool)
        return note_machine(path, text, tool, notes, error);
    return !links || note_links(path, text, notes, error);
}
