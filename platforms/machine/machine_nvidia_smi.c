/* Reads GPUs as nvidia-smi lists them: its long list (-q), its short one (-L), its table, or a CSV
 * of name, memory.total and power.limit. All GPUs of a node must be alike; others are an error. */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

#define MIB 1048576.0

/* Counts one more GPU of this name. */
static bool add_gpu(RhMachine *m, const char *file, int32_t line, const char *name, int32_t count,
                    GError **error)
{
    if (count > 1 && strcmp(m->gpu_name, name) != 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:%d:1: GPU %d is \"%s\", those before it are \"%s\"\nhelp: nodes "
                       "of different GPUs are not supported; give a file with equal GPUs",
                       file, line, count, name, m->gpu_name);
    g_free(m->gpu_name);
    m->gpu_name = g_strdup(name);
    m->gpus = count;
    return true;
}

/* Converts "81559 MiB" to bytes and "700.00 W" to watts; 0 where it is neither. */
static double amount(const char *text)
{
    char *end = NULL;
    double value = g_ascii_strtod(text, &end);
    if (!(value > 0 && value < 1e9))
        return 0;
    g_strstrip(end);
    return strcmp(end, "MiB") == 0 ? value * MIB : value;
}

/* --- nvidia-smi -q --- */

static bool owns_query(const char *text)
{
    return strstr(text, "NVSMI LOG") != NULL;
}

static bool read_query(RhMachine *m, const char *name, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    bool in_memory = false;
    int32_t count = 0;
    for (int32_t i = 0; lines[i]; i++) {
        g_auto(GStrv) parts = g_strsplit(lines[i], ":", 2);
        const char *key = parts[0] ? g_strstrip(parts[0]) : "";
        char *value = parts[0] && parts[1] ? g_strstrip(parts[1]) : NULL;
        if (!value) {
            in_memory = *key ? strcmp(key, "FB Memory Usage") == 0 : in_memory;
        } else if (strcmp(key, "Product Name") == 0) {
            if (!add_gpu(m, name, i + 1, value, ++count, error))
                return false;
        } else if (in_memory && strcmp(key, "Total") == 0) {
            m->memory_bytes = amount(value);
        } else if (strcmp(key, "Current Power Limit") == 0 || strcmp(key, "Power Limit") == 0) {
            double watts = amount(value);
            m->power_w = watts > 0 ? watts : m->power_w;
        }
    }
    return count > 0 ||
           rh_fail(error, RH_ERROR_INPUT, "%s: no \"Product Name\" stands in it", name);
}

const RhMachineReader rh_machine_query = {"nvidia-smi -q", owns_query, read_query,
                                          G_STRUCT_OFFSET(RhMachine, gpus_source)};

/* --- CSV --- */

static bool owns_csv(const char *text)
{
    const char *line = text + strspn(text, " \t\r\n");
    g_autofree char *header = g_strndup(line, strcspn(line, "\n"));
    g_auto(GStrv) cells = g_strsplit(header, ",", -1);
    for (char **cell = cells; *cell; cell++)
        if (strcmp(g_strstrip(*cell), "name") == 0)
            return true;
    return false;
}

/* Amount in a cell. "memory.total [MiB]" names the unit, which stands in the cells too, except with
 * nounits. */
static double cell_amount(const char *header, const char *cell)
{
    g_autofree char *text = strstr(header, "[MiB]") && !strstr(cell, "MiB")
                                ? g_strconcat(cell, " MiB", NULL)
                                : g_strdup(cell);
    return amount(text);
}

static bool read_csv(RhMachine *m, const char *name, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text + strspn(text, " \t\r\n"), "\n", -1);
    g_auto(GStrv) header = g_strsplit(lines[0], ",", -1);
    int32_t count = 0;
    for (int32_t i = 1; lines[i]; i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
        if (!*g_strstrip(lines[i]))
            continue;
        if (g_strv_length(cells) != g_strv_length(header))
            return rh_fail(error, RH_ERROR_INPUT, "%s:%d:1: %u cells, the header has %u", name,
                           i + 1, g_strv_length(cells), g_strv_length(header));
        for (int32_t k = 0; header[k]; k++) {
            const char *key = g_strstrip(header[k]), *cell = g_strstrip(cells[k]);
            if (strcmp(key, "name") == 0 && !add_gpu(m, name, i + 1, cell, ++count, error))
                return false;
            if (g_str_has_prefix(key, "memory.total"))
                m->memory_bytes = cell_amount(key, cell);
            if (g_str_has_prefix(key, "power.limit"))
                m->power_w = amount(cell);
        }
    }
    return count > 0 || rh_fail(error, RH_ERROR_INPUT, "%s: a header and no GPU", name);
}

const RhMachineReader rh_machine_csv = {"nvidia-smi, CSV", owns_csv, read_csv,
                                        G_STRUCT_OFFSET(RhMachine, gpus_source)};

/* --- nvidia-smi -L, and the table of nvidia-smi without words --- */

static bool owns_list(const char *text)
{
    return g_regex_match_simple("^GPU \\d+: .+ \\(UUID: ", text, G_REGEX_MULTILINE, 0) ||
           (strstr(text, "| NVIDIA-SMI ") != NULL && strstr(text, "Driver Version") != NULL);
}

/* Takes what a line of the table says of memory and power: "| 35W / 350W | 1MiB / 46068MiB |". */
static void read_amounts(RhMachine *m, const char *line)
{
    static const char *const forms[] = {"/ *([0-9]+)MiB", "/ *([0-9]+)W"};
    double found[G_N_ELEMENTS(forms)] = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autoptr(GRegex) form = g_regex_new(forms[i], 0, 0, NULL);
        g_autoptr(GMatchInfo) match = NULL;
        if (!g_regex_match(form, line, 0, &match))
            continue;
        g_autofree char *number = g_match_info_fetch(match, 1);
        found[i] = g_ascii_strtod(number, NULL);
    }
    m->memory_bytes = found[0] > 0 ? found[0] * MIB : m->memory_bytes;
    m->power_w = found[1] > 0 ? found[1] : m->power_w;
}

static bool read_list(RhMachine *m, const char *name, const char *text, GError **error)
{
    g_autoptr(GRegex) form =
        g_regex_new("^(?:GPU \\d+: (.+?) \\(UUID: |\\| +\\d+ +(.+?) +(?:On|Off) +\\|)", 0, 0, NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    int32_t count = 0;
    for (int32_t i = 0; lines[i]; i++) {
        g_autoptr(GMatchInfo) match = NULL;
        read_amounts(m, lines[i]);
        if (!g_regex_match(form, lines[i], 0, &match))
            continue;
        g_autofree char *listed = g_match_info_fetch(match, 1),
                        *tabled = g_match_info_fetch(match, 2);
        const char *gpu = listed && *listed ? listed : tabled;
        if (g_str_has_suffix(gpu, "..."))
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s:%d:1: the name \"%s\" is cut off\nhelp: nvidia-smi -L has all of it",
                           name, i + 1, gpu);
        if (!add_gpu(m, name, i + 1, gpu, ++count, error))
            return false;
    }
    return count > 0 || rh_fail(error, RH_ERROR_INPUT, "%s: it names no GPU", name);
}

const RhMachineReader rh_machine_list = {"nvidia-smi", owns_list, read_list,
                                         G_STRUCT_OFFSET(RhMachine, gpus_source)};
