/* Writes a platform file from the tools' output: the nearest node of the catalogue, and the
 * differences. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/units.h"
#include "platforms/device_name_match.h"
#include "platforms/machine/machine.h"
#include "platforms/platform.h"

#define ALIKE_FRAC 0.02 /* fraction of the data sheet's memory: a driver reserves some of it */

/* Bytes/s of one NVLink, one direction, by generation of GPUs, and by the devices that differ from
 * theirs (NVIDIA data sheets: NVLink 1 20 GB/s, 2, 3 and 4 25 GB/s, 5 50 GB/s; bridges of cards
 * with a GA102 four links of 14.0625 GB/s, 112.5 GB/s both ways). */
static const struct {
    const char *name;
    double bytes_per_s;
} nvlinks[] = {{"rtx-3090", 14.0625e9}, {"rtx-a6000", 14.0625e9}, {"a40", 14.0625e9},
               {"pascal", 20e9},        {"volta", 25e9},          {"ampere", 25e9},
               {"hopper", 25e9},        {"blackwell", 50e9}};

static double nvlink_bytes_per_s(const RhDevice *device)
{
    for (size_t i = 0; i < G_N_ELEMENTS(nvlinks); i++)
        if (strcmp(nvlinks[i].name, device->name) == 0 ||
            g_strcmp0(nvlinks[i].name, device->generation) == 0)
            return nvlinks[i].bytes_per_s;
    return 0;
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

/* --- the network between nodes --- */

static void put_nic(const Writer *p)
{
    const RhMachine *m = p->m;
    if (m->nic_bytes_per_s == 0)
        return;
    g_autofree char *value = g_strdup_printf("%.6gGb/s", m->nic_bytes_per_s * 8 / 1e9);
    rh_json_begin_object(p->w, "nic");
    put_fact(p, "bandwidth", value, "measured",
             m->nodes_source && m->has_fabric ? m->nodes_source : m->links_source);
    rh_json_end_object(p->w);
}

/* Writes one level of switches; `nodes` 0: the topmost. */
static void put_tier(const Writer *p, int32_t level, const RhMachineTier *tier)
{
    static const char *const names[RH_MACHINE_TIERS + 1] = {"leaf", "spine", "core", "root"};
    const RhPlatform *base = p->base;
    bool last = tier->nodes == 0, said = tier->oversubscription > 0;
    const RhFact *hop = base->tiers_count > 0
                            ? &base->tiers[MIN(level, base->tiers_count - 1)].hop_latency_s
                            : NULL;
    g_autofree char *latency = g_strdup_printf("%.6gus", hop ? hop->value * 1e6 : 0);
    rh_json_begin_object(p->w, NULL);
    rh_json_put_string(p->w, "name", names[level]);
    if (!last) {
        rh_json_put_int(p->w, "nodes", tier->nodes);
        rh_json_begin_object(p->w, "oversubscription");
        rh_json_put_number(p->w, "value", said ? tier->oversubscription : 1);
        rh_json_put_string(p->w, "tag", said ? "measured" : "assumed");
        rh_json_put_string(p->w, "source",
                           said ? p->m->nodes_source : "not said: as many links up as down");
        rh_json_put_string(p->w, "date", p->date);
        rh_json_end_object(p->w);
    }
    rh_json_put_bool(p->w, "rail_optimised", tier->rails);
    put_fact(p, "hop_latency", latency, "assumed", "as the nearest node's of the catalogue");
    rh_json_end_object(p->w);
}

static void put_tiers(const Writer *p)
{
    const RhMachine *m = p->m;
    if (!m->has_fabric || p->base->outside)
        return;
    rh_json_begin_array(p->w, "tiers");
    int32_t above = 1;
    for (int32_t i = 0; i < m->tiers_count; i++) {
        RhMachineTier tier = m->tiers[i]; /* groups are whole ones of the level below */
        tier.nodes = (tier.nodes + above - 1) / above * above;
        above = tier.nodes;
        put_tier(p, i, &tier);
    }
    put_tier(p, m->tiers_count, &(RhMachineTier){.rails = m->rails});
    rh_json_end_array(p->w);
}

static void add_fabric_hints(const Writer *p)
{
    const RhMachine *m = p->m;
    if (m->fabric_note)
        g_string_append_printf(p->hints, "note: %s\n", m->fabric_note);
    if (m->has_fabric && p->base->outside)
        g_string_append_printf(p->hints, "note: nodes are wired as those of %s, not by switches\n",
                               p->base->name);
    else if (m->tiers_count > 0 && m->tiers[0].oversubscription == 0)
        g_string_append(p->hints,
                        "note: not said: oversubscription (set leaf.oversubscription=2 "
                        "where a leaf has half as many links up as down), and whether "
                        "each NIC of a node has a leaf of its own (\"rail_optimised\")\n");
    if (m->has_fabric && m->nic_bytes_per_s == 0)
        g_string_append_printf(p->hints,
                               "note: not said: the rate of a NIC, that of %s counts (set "
                               "nic.bandwidth=400Gb/s)\n",
                               p->base->name);
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

/* --- trays of an NVLink domain --- */

/* Are the machine's nodes trays, whose NVLink goes on to others: is the catalogue's node of this
 * device a larger domain, and does every GPU of a tray have all its links? */
static bool is_tray(const RhMachine *m, const RhPlatform *base, double link_bytes_per_s)
{
    int32_t links = link_bytes_per_s > 0
                        ? (int32_t)(base->nvlink_bytes_per_s.value / link_bytes_per_s + 0.5)
                        : 0;
    return base->gpus_per_node > 16 && m->gpus > 0 && m->gpus < base->gpus_per_node &&
           base->gpus_per_node % m->gpus == 0 && (!m->has_links || m->nvlinks == links);
}

/* Trays of one domain: as a scheduler's blocks say, else the most that divide the list of nodes.
 * 0: unknown. */
static int32_t trays_of(const RhMachine *m, int32_t most)
{
    if (m->domain_nodes > 0)
        return MIN(m->domain_nodes, most);
    for (int32_t trays = MIN(most, m->nodes); trays > 1; trays--)
        if (m->nodes % trays == 0)
            return trays;
    return 0;
}

/* Turns nodes that are trays into domains, which the platform counts as its nodes, and says so. */
static void join_trays(RhMachine *m, const RhPlatform *base, double link_bytes_per_s,
                       GString *notes)
{
    if (!is_tray(m, base, link_bytes_per_s))
        return;
    int32_t most = base->gpus_per_node / m->gpus, trays = trays_of(m, most);
    if (trays == 0) {
        g_string_append_printf(
            notes,
            "note: NVLink goes on to other trays: %d trays of %d make a domain of %d GPUs in a "
            "rack of %s; a list of the nodes, or Slurm's topology with its blocks, says how many "
            "there are; without them it is one tray\n",
            most, m->gpus, base->gpus_per_node, base->name);
        return;
    }
    g_string_append_printf(notes,
                           "note: %d trays of %d GPUs are one NVLink domain, which counts as a "
                           "node%s\n",
                           trays, m->gpus,
                           m->domain_nodes > 0
                               ? ", as the scheduler's blocks say"
                               : "; assumed of the number of nodes, Slurm's blocks or ClusterUUID "
                                 "of `nvidia-smi -q` say it");
    for (int32_t i = 0; i < m->tiers_count; i++)
        m->tiers[i].nodes = MAX(1, m->tiers[i].nodes / trays);
    m->gpus *= trays;
    m->island_gpus = m->gpus;
    m->nics = m->nics > 0 ? m->nics * trays : m->nics;
    m->nodes = MAX(1, m->nodes / trays);
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
    put_nic(p);
    put_tiers(p);
    rh_json_end_object(p->w);
}

/* Adds what the name leaves open. */
static void add_name_hints(const RhMachine *m, const RhDeviceName *match, GString *notes)
{
    if (match->other_gb > 0 && m->memory_bytes == 0)
        g_string_append_printf(notes,
                               "note: the catalogue has no \"%s\": %s with %g GB stands for it; "
                               "set device.hbm=%gGiB\n",
                               m->gpu_name, match->device, match->known_gb, match->other_gb);
    if (match->also)
        g_string_append_printf(notes, "note: \"%s\" is taken as %s; the name fits %s as well\n",
                               m->gpu_name, match->device, match->also);
}

char *rh_machine_platform(const RhMachine *m, const char *date, char **hints, GError **error)
{
    g_auto(RhDeviceName) match = {0};
    if (!m->gpu_name) {
        rh_fail(error, RH_ERROR_INPUT, "nothing says which GPU it is");
        return NULL;
    }
    if (!rh_device_by_name(m->gpu_name, m->memory_bytes, &match, error))
        return NULL;
    g_autoptr(RhDevice) device = rh_device_load(match.device, error);
    g_autoptr(RhPlatform) base =
        device ? rh_platform_load(rh_device_platform(device), error) : NULL;
    if (!base)
        return NULL;
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    g_autoptr(GString) notes = g_string_new(NULL);
    RhMachine joined = *m; /* borrows its texts */
    join_trays(&joined, base, nvlink_bytes_per_s(device), notes);
    Writer p = {&joined, device, base, date, nvlink_bytes_per_s(device), w, notes};
    put_platform(&p);
    add_name_hints(m, &match, notes);
    add_hints(&p);
    add_fabric_hints(&p);
    if (hints)
        *hints = g_strdup(notes->str);
    return rh_json_writer_steal(w);
}
