/* Reads `lstopo --of xml`: memory of the host, a GPU's PCIe link, and NICs where no topology names
 * them. Objects nest; only their attributes are read. */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

typedef struct {
    RhMachine *m;
    int32_t gpus, openfabrics;
    double slowest_bytes_per_s; /* the slowest of the GPUs' links */
} Tree;

/* Is it a GPU: PCI class 0300 or 0302, display or 3D controller, of NVIDIA (10de) or AMD (1002)? */
static bool is_gpu(const char *pci_type)
{
    return (g_str_has_prefix(pci_type, "0302") || g_str_has_prefix(pci_type, "0300")) &&
           (strstr(pci_type, "[10de:") || strstr(pci_type, "[1002:"));
}

static void start(GMarkupParseContext *context, const char *element, const char **names,
                  const char **values, void *user, GError **error)
{
    (void)context, (void)error;
    Tree *t = user;
    if (strcmp(element, "object") != 0)
        return;
    const char *type = rh_machine_attribute(names, values, "type");
    if (strcmp(type, "NUMANode") == 0) {
        double bytes = g_ascii_strtod(rh_machine_attribute(names, values, "local_memory"), NULL);
        t->m->host_bytes += bytes > 0 && bytes < 1e18 ? bytes : 0;
    } else if (strcmp(type, "PCIDev") == 0 &&
               is_gpu(rh_machine_attribute(names, values, "pci_type"))) {
        double gb_per_s =
            g_ascii_strtod(rh_machine_attribute(names, values, "pci_link_speed"), NULL);
        t->gpus++;
        if (gb_per_s > 0 && gb_per_s < 1e4 &&
            (t->slowest_bytes_per_s == 0 || gb_per_s * 1e9 < t->slowest_bytes_per_s))
            t->slowest_bytes_per_s = gb_per_s * 1e9;
    } else if (strcmp(type, "OSDev") == 0 &&
               strcmp(rh_machine_attribute(names, values, "osdev_type"), "3") == 0) {
        t->openfabrics++; /* HWLOC_OBJ_OSDEV_OPENFABRICS */
    }
}

static bool owns(const char *text)
{
    return strstr(text, "<topology") != NULL;
}

static bool read_lstopo(RhMachine *m, const char *name, const char *text, GError **error)
{
    static const GMarkupParser parser = {.start_element = start};
    Tree t = {.m = m};
    m->host_bytes = 0;
    g_autoptr(GError) local = NULL;
    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, &t, NULL);
    if (!g_markup_parse_context_parse(context, text, -1, &local) ||
        !g_markup_parse_context_end_parse(context, &local)) {
        int line = 0, column = 0;
        g_markup_parse_context_get_position(context, &line, &column);
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: this is not XML of lstopo: %s", name, line,
                       column, local->message);
    }
    if (!m->has_links && m->gpus == 0)
        m->gpus = t.gpus;
    if (m->nics < 0 && t.openfabrics > 0)
        m->nics = t.openfabrics;
    m->host_link_bytes_per_s = t.slowest_bytes_per_s;
    return true;
}

const RhMachineReader rh_machine_hwloc = {"lstopo", owns, read_lstopo,
                                          G_STRUCT_OFFSET(RhMachine, host_source)};
