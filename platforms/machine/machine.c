#include "platforms/machine/machine.h"

#include <string.h>

#include "base/error.h"
#include "base/text/text_input.h"

/* Readers by order of trial; the last one takes what no other does. */
static const RhMachineReader *const readers[] = {
    &rh_machine_hwloc,      &rh_machine_nccl, &rh_machine_topology,   &rh_machine_query,
    &rh_machine_list,       &rh_machine_rocm, &rh_machine_infiniband, &rh_machine_slurm,
    &rh_machine_slurm_yaml, &rh_machine_csv,  &rh_machine_nodes};

void rh_machine_clear(RhMachine *m)
{
    char *texts[] = {m->gpu_name,    m->gpus_source,  m->links_source,
                     m->host_source, m->nodes_source, m->fabric_note};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    *m = (RhMachine){.nics = -1};
}

/* Removes terminal escapes ("\033[4m"), which nvidia-smi prints even into files. Caller frees. */
static char *without_escapes(const char *text, size_t length)
{
    GString *out = g_string_sized_new(length);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\033' && i + 1 < length && text[i + 1] == '[') {
            for (i += 2; i < length && !g_ascii_isalpha(text[i]); i++)
                ;
            continue;
        }
        g_string_append_c(out, text[i]);
    }
    return g_string_free(out, FALSE);
}

const char *rh_machine_tool(const char *text)
{
    g_autofree char *plain = without_escapes(text, strlen(text));
    for (size_t i = 0; i + 1 < G_N_ELEMENTS(readers); i++)
        if (readers[i]->owns(plain))
            return readers[i]->tool;
    return NULL;
}

bool rh_machine_read(RhMachine *m, const char *name, const char *text, size_t length,
                     GError **error)
{
    g_autofree char *plain = without_escapes(text, length);
    const char *start = rh_text_check(name, plain, strlen(plain), error);
    if (!start)
        return false;
    if (!start[strspn(start, " \t\r\n")])
        return rh_fail(error, RH_ERROR_INPUT, "%s: the file is empty", name);
    for (size_t i = 0; i < G_N_ELEMENTS(readers); i++) {
        if (!readers[i]->owns(start))
            continue;
        char **source = (char **)(void *)((char *)m + readers[i]->source);
        g_free(*source);
        *source = g_strdup_printf("%s: %s", readers[i]->tool, name);
        return readers[i]->read(m, name, start, error);
    }
    g_return_val_if_reached(false);
}
