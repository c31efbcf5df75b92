#include "cli/show/show_machine.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/gzip_file.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "platforms/machine/machine.h"

#define FILE_MAX ((gsize)64 << 20)

/* Commands run on this machine, in this order; missing tools are skipped. */
static const char *const commands[] = {
    "nvidia-smi --query-gpu=name,memory.total,power.limit --format=csv", "nvidia-smi topo -m",
    "lstopo --of xml"};

static bool read_files(const RhArguments *a, RhMachine *m, GError **error)
{
    for (guint i = 1; i < a->operands->len; i++) {
        const char *path = g_ptr_array_index(a->operands, i);
        g_autoptr(GByteArray) bytes = rh_bytes_load(path, FILE_MAX, error);
        if (!bytes || !rh_machine_read(m, path, (const char *)bytes->data, bytes->len, error))
            return false;
    }
    return true;
}

static bool ask_tools(RhMachine *m, GError **error)
{
    const char *nodes = g_getenv("SLURM_JOB_NODELIST");
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        g_autofree char *text = NULL, *aside = NULL;
        int status = 0;
        if (!g_spawn_command_line_sync(commands[i], &text, &aside, &status, NULL) || status != 0 ||
            !*text)
            continue;
        if (!rh_machine_read(m, "this machine", text, strlen(text), error))
            return false;
    }
    if (nodes && *nodes && !rh_machine_read(m, "SLURM_JOB_NODELIST", nodes, strlen(nodes), error))
        return false;
    if (m->gpu_name)
        return true;
    return rh_fail(error, RH_ERROR_NO_ANSWER,
                   "this machine does not say which GPUs it has: no nvidia-smi that answers\n"
                   "help: name files that hold what `nvidia-smi --query-gpu=name,memory.total,"
                   "power.limit --format=csv`, `nvidia-smi topo -m` and `lstopo --of xml` print, "
                   "and a list of nodes");
}

static bool write_or_print(const RhArguments *a, const char *json, GError **error)
{
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), json, error))
            return false;
    if (a->outputs->len == 0)
        fputs(json, stdout);
    return true;
}

static void hint(const char *hints)
{
    g_auto(GStrv) lines = g_strsplit(hints, "\n", -1);
    for (char **line = lines; *line; line++)
        if (**line)
            rh_terminal_hint(*line);
}

bool rh_show_machine(const RhArguments *a, GError **error)
{
    g_auto(RhMachine) m = {.nics = -1};
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date = g_date_time_format(now, "%Y-%m"), *hints = NULL;
    if (a->operands->len > 1 ? !read_files(a, &m, error) : !ask_tools(&m, error))
        return false;
    g_autofree char *json = rh_machine_platform(&m, date, &hints, error);
    if (!json && m.gpu_name)
        rh_error_help(error, "`rehearse show devices h100-sxm --template` prints a file to begin "
                             "one's own from");
    else if (!json)
        rh_error_help(error, "add a file of nvidia-smi --query-gpu=name,memory.total,power.limit "
                             "--format=csv, of nvidia-smi -q, or of rocm-smi --showproductname");
    if (!json || !write_or_print(a, json, error))
        return false;
    hint(hints);
    return true;
}
