/* Writes a platform file from the tools' output: the nearest node of the catalogue, and the
 * differences. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "platforms/machine/machine.h"
#include "platforms/platform.h"

#define ALIKE_FRAC 0.02 /* fraction of the data sheet's memory: a driver reserves some of it */

/* Names of the catalogue's devices in nvidia-smi: a row matches when all its words occur in the
 * name, and the first matching row applies. `link`: bytes/s of one NVLink, one direction (NVIDIA
 * data sheets: NVLink 2, 3 and 4 25 GB/s, NVLink 5 50 GB/s). */
static const struct {
    const char *words[4];
    const char *device;
    double link_bytes_per_s;
} names[] = {
    {{"GB300"}, "gb300", 50e9},
    {{"GB200"}, "gb200", 50e9},
    {{"B300"}, "b300-sxm", 50e9},
    {{"B200"}, "b200-sxm", 50e9},
    {{"GH200", "480GB"}, "gh200-96", 25e9},
    {{"GH200"}, "gh200-144", 25e9},
    {{"H200", "NVL"}, NULL, 0}, /* a PCIe card, which is not in the catalogue */
    {{"H200"}, "h200-sxm", 25e9},
    {{"H800"}, "h800-sxm", 25e9},
    {{"H20"}, "h20-sxm", 25e9},
    {{"H100", "PCIe"}, "h100-pcie", 25e9},
    {{"H100", "NVL"}, "h100-nvl", 25e9},
    {{"H100"}, "h100-sxm", 25e9},
    {{"A100", "SXM4", "40GB"}, "a100-sxm-40", 25e9},
    {{"A100", "SXM4"}, "a100-sxm-80", 25e9},
    {{"A100", "40GB"}, "a100-pcie-40", 25e9},
    {{"A100"}, "a100-pcie-80", 25e9},
    {{"V100", "PCIE"}, NULL, 0},
    {{"V100", "32GB"}, "v100-sxm-32", 25e9},
    {{"V100"}, "v100-sxm-16", 25e9},
    {{"P100", "SXM2"}, "p100-sxm-16", 20e9},
    {{"L40S"}, "l40s", 0},
    {{"L4"}, "l4", 0},
    {{"RTX", "4090"}, "rtx-4090", 0},
    {{"RTX", "PRO", "6000"}, "rtx-pro-6000", 0},
};

static bool has_word(char **words, const char *wanted)
{
    for (; *words; words++)
        if (g_ascii_strcasecmp(*words, wanted) == 0)
            return true;
    return false;
}

/* Row of a GPU's name; -1 when the catalogue has no such GPU. */
static int row_of(const char *gpu_name)
{
    g_auto(GStrv) words = g_strsplit_set(gpu_name, " -/", -1);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        bool fits = true;
        for (size_t k = 0; k < G_N_ELEMENTS(names[i].words) && names[i].words[k]; k++)
            fits = fits && has_word(words, names[i].words[k]);
        if (fits)
            return names[i].device ? (int)i : -1;
    }
    return -1;
}

/* --- the file --- */

typedef struct {
    const RhMachine *m;
    const RhDevice *device;
    const RhPlatform *base; /* the nearest node of the catalogue */
    const char *date;
    double link_bytes_per_s;
    RhJsonWriter *w;
    GString *hints;
} Writer;

static void put_fact(const Writer *p, const char *key, const char *value, const char *tag,
                     const char *source)
{
    rh_json_begin_object(p->w, key);
    rh_json_put_string(p->w, "value", value);
    rh_json_put_string(p->w, "tag", tag);
    rh_json_put_string(p->w, "source", source);
    rh_json_put_string(p->w, "date", p->date);
    rh_json_end_object(p->w);
}

static void put_rate(const Writer *p, const char *key, double bytes_per_s, const char *tag,
                     const char *source)
{
    g_autofree char *value = g_strdup_printf("%.6gGB/s", bytes_per_s / 1e9);
    put_fact(p, key, value, tag, source);
}

static int32_t gpus_of(const Writer *p)
{
    return p->m->gpus > 0 ? p->m->gpus : p->base->gpus_per_node;
}

static int32_t nics_of(const Writer *p)
{
    int32_t nics = p->m->nics > 0 ? p->m->nics : p->base->nics_per_node;
    return MIN(nics, gpus_of(p));
}

/* Number of NVLinks of a GPU, from the nearest node's data sheet; 0: it has none. */
static int32_t links_of(const Writer *p)
{
    return p->link_bytes_per_s > 0
               ? (int32_t)(p->base->nvlink_bytes_per_s.value / p->link_bytes_per_s + 0.5)
               : 0;
}

/* Are the GPUs joined directly, with no more links than a GPU has? A switch would join each GPU to
 * all others with all its links; for two GPUs a direct link is equivalent to a switch. */
static bool has_mesh(const Writer *p)
{
    const RhMachine *m = p->m;
    return m->has_links && m->nvlinks_most > 0 && m->nvlinks_most <= links_of(p) &&
           (m->uneven || m->island_gpus > 2);
}

static void put_description(const Writer *p)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const RhMachine *m = p->m;
    g_string_append_printf(text, "%d x %s a node", gpus_of(p), m->gpu_name);
    if (has_mesh(p))
        g_string_append(text, ", a mesh of NVLinks");
    else if (m->nvlinks > 0)
        g_string_append_printf(text, ", NV%d", m->nvlinks);
    const char *sources[] = {m->gpus_source, m->links_source, m->host_source, m->nodes_source};
    const char *before = "; from ";
    for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
        if (sources[i]) {
            g_string_append_printf(text, "%s%s", before, sources[i]);
            before = ", ";
        }
    rh_json_put_string(p->w, "description", text->str);
}

static void put_nvlink(const Writer *p)
{
    const RhMachine *m = p->m;
    if (m->nvlinks == 0 || p->link_bytes_per_s == 0 || has_mesh(p))
        return;
    g_autofree char *source =
        g_strdup_printf("%s: NV%d, links of %.0f GB/s by NVIDIA's data sheets", m->links_source,
                        m->nvlinks, p->link_bytes_per_s / 1e9);
    rh_json_begin_object(p->w, "nvlink");
    put_rate(p, "bandwidth", m->nvlinks * p->link_bytes_per_s, "datasheet", source);
    rh_json_end_object(p->w);
}

static void put_rows(const Writer *p)
{
    for (int32_t a = 0; a < gpus_of(p); a++) {
        rh_json_begin_array(p->w, NULL);
        for (int32_t b = 0; b < gpus_of(p); b++)
            rh_json_put_int(p->w, NULL, p->m->joined[a][b]);
        rh_json_end_array(p->w);
    }
}

/* Writes an empty mesh where the nearest node has one and this machine has none, or has more GPUs
 * than that one joins. */
static void put_mesh(const Writer *p)
{
    bool here = has_mesh(p);
    bool other = p->base->mesh.gpus > 0 && (p->m->has_links || gpus_of(p) > p->base->mesh.gpus);
    if (!here && !other)
        return;
    rh_json_begin_object(p->w, "mesh");
    if (here) {
        g_autofree char *source =
            g_strdup_printf("%s: links between each two GPUs; how many a GPU has, by NVIDIA's data "
                            "sheets",
                            p->m->links_source);
        g_autofree char *links = g_strdup_printf("%d", links_of(p));
        put_fact(p, "links", links, "measured", source);
    }
    rh_json_begin_array(p->w, "joined");
    if (here)
        put_rows(p);
    rh_json_end_array(p->w);
    rh_json_end_object(p->w);
}

/* Bandwidth of PCIe below a GPU: from hwloc, else the nearest node's. */
static double host_link(const Writer *p)
{
    return p->m->host_link_bytes_per_s > 0 ? p->m->host_link_bytes_per_s
                                           : p->base->host_bytes_per_s.value;
}

static void put_islands(const Writer *p)
{
    const RhMachine *m = p->m;
    bool joined = m->island_gpus >= gpus_of(p) && p->base->island_gpus == 0;
    if (!m->has_links || m->uneven || m->island_gpus == 0 || joined)
        return;
    g_autofree char *source = g_strdup_printf(
        "a GPU's PCIe link, for what leaves %s, as %s",
        m->nvlinks > 0 ? "GPUs that NVLink joins" : "a PCIe switch",
        m->host_link_bytes_per_s > 0 ? "lstopo says" : "the nearest node of the catalogue");
    rh_json_begin_object(p->w, "islands");
    rh_json_put_int(p->w, "gpus", m->island_gpus);
    put_rate(p, "bandwidth", host_link(p), "assumed", source);
    rh_json_end_object(p->w);
}

/* Number of GPUs that share a link to the host, where the nearest node has shared ones: those below
 * a PCIe switch, and no more than there are. 0: as in that node. */
static int32_t gpus_per_link(const Writer *p)
{
    const RhMachine *m = p->m;
    double base = p->base->host_gpus_per_link.value;
    bool switches = m->has_links && !m->uneven && m->nvlinks == 0 && m->island_gpus > 0;
    double here = switches ? m->island_gpus : fmin(base, gpus_of(p));
    return base > 0 && here != base ? (int32_t)here : 0;
}

static void put_gpus_per_link(const Writer *p, int32_t gpus)
{
    rh_json_begin_object(p->w, "gpus_per_link");
    rh_json_put_int(p->w, "value", gpus);
    rh_json_put_string(p->w, "tag", "assumed");
    rh_json_put_string(p->w, "source", "GPUs below one PCIe switch share its uplink");
    rh_json_put_string(p->w, "date", p->date);
    rh_json_end_object(p->w);
}

static void put_host(const Writer *p)
{
    const RhMachine *m = p->m;
    int32_t sharing = gpus_per_link(p);
    if (m->host_link_bytes_per_s == 0 && m->host_bytes == 0 && sharing == 0)
        return;
    rh_json_begin_object(p->w, "host");
    if (m->host_link_bytes_per_s > 0) {
        g_autofree char *source = g_strconcat(m->host_source, ", pci_link_speed", NULL);
        put_rate(p, "bandwidth", m->host_link_bytes_per_s, "measured", source);
    }
    if (m->host_bytes > 0) {
        g_autofree char *value = g_strdup_printf("%.6gGiB", m->host_bytes / RH_GIB_BYTES);
        g_autofree char *source = g_strconcat(m->host_source, ", NUMA nodes", NULL);
        put_fact(p, "memory", value, "measured", source);
    }
    if (sharing > 0)
        put_gpus_per_link(p, sharing);
    rh_json_end_object(p->w);
}

/* Adds hints about facts that a platform file cannot hold, or that are unknown. */
static void add_hints(const Writer *p)
{
    const RhMachine *m = p->m;
    const RhDevice *d = p->device;
    if (m->power_w > 0 && d->power_w.value > 0 &&
        fabs(m->power_w / d->power_w.value - 1) > ALIKE_FRAC)
        g_string_append_printf(p->hints,
                               "note: the GPUs' power limit is %.0f W, %s has %.0f W: set "
                               "device.power_limit=%.0fW\n",
                               m->power_w, d->name, d->power_w.value, m->power_w);
    if (m->memory_bytes > 0 && fabs(m->memory_bytes / d->hbm_bytes.value - 1) > ALIKE_FRAC)
        g_string_append_printf(p->hints,
                               "note: the GPUs have %.2f GiB, %s has %.2f GiB: set "
                               "device.hbm=%.2fGiB\n",
                               m->memory_bytes / RH_GIB_BYTES, d->name,
                               d->hbm_bytes.value / RH_GIB_BYTES, m->memory_bytes / RH_GIB_BYTES);
    if (m->uneven && !has_mesh(p))
        g_string_append_printf(
            p->hints,
            "note: GPUs are not joined alike: links inside the node are those of "
            "%s\n",
            p->base->name);
    if (!m->has_links)
        g_string_append_printf(p->hints,
                               "note: no topology was read: links and NICs are those of %s\n",
                               p->base->name);
    if (m->nodes == 0)
        g_string_append(p->hints, "note: no list of nodes was read: one node\n");
}

static void put_platform(const Writer *p)
{
    rh_json_begin_object(p->w, NULL);
    rh_json_put_string(p->w, "name", "this-machine");
    rh_json_put_string(p->w, "derives", p->base->name);
    put_description(p);
    rh_json_put_string(p->w, "device", p->device->name);
    rh_json_put_int(p->w, "gpus_per_node", gpus_of(p));
    rh_json_put_int(p->w, "nodes", MAX(p->m->nodes, 1));
    rh_json_put_int(p->w, "nics_per_node", nics_of(p));
    put_nvlink(p);
    put_mesh(p);
    put_islands(p);
    put_host(p);
    rh_json_end_object(p->w);
}

static bool fail_name(const RhMachine *m, GError **error)
{
    if (!m->gpu_name)
        return rh_fail(error, RH_ERROR_INPUT, "nothing says which GPU it is");
    return rh_fail(error, RH_ERROR_INPUT, "the catalogue has no \"%s\"", m->gpu_name);
}

char *rh_machine_platform(const RhMachine *m, const char *date, char **hints, GError **error)
{
    int row = m->gpu_name ? row_of(m->gpu_name) : -1;
    if (row < 0) {
        fail_name(m, error);
        return NULL;
    }
    g_autoptr(RhDevice) device = rh_device_load(names[row].device, error);
    g_autoptr(RhPlatform) base =
        device ? rh_platform_load(rh_device_platform(device), error) : NULL;
    if (!base)
        return NULL;
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    g_autoptr(GString) notes = g_string_new(NULL);
    Writer p = {m, device, base, date, names[row].link_bytes_per_s, w, notes};
    put_platform(&p);
    add_hints(&p);
    if (hints)
        *hints = g_strdup(notes->str);
    return rh_json_writer_steal(w);
}
