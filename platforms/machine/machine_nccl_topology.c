/* Reads the topology that NCCL and RCCL write (NCCL_TOPO_DUMP_FILE): GPUs and NICs below CPUs and
 * PCIe switches, NVLinks by target.
 *
 *     <cpu numaid="0"><pci busid="0000:15:00.0" class="0x060400">
 *       <pci busid="0000:18:00.0" class="0x030200" vendor="0x10de" device="0x2330"
 *            link_speed="32.0 GT/s PCIe" link_width="16">
 *         <gpu dev="0" sm="90"><nvlink target="0000:07:00.0" count="18" tclass="0x068000"/></gpu>
 *
 * A target of class 0x0680 is an NVSwitch. Hosts that share an NVLink domain stand in one file and
 * differ by "host_hash". */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

#define DEPTH_MOST 64
#define GPUS_MOST  1024

typedef struct {
    char *bus;               /* owned */
    int32_t links, switched; /* NVLinks: all, and those to NVSwitches */
    int32_t peers;           /* GPUs that xGMI joins it to */
} Gpu;

typedef struct {
    int32_t chain[DEPTH_MOST]; /* PCI devices above it */
    int32_t depth;
    double bytes_per_s;
} Net;

typedef struct {
    char *from, *to; /* buses, owned */
    int32_t count;
} Link;

typedef struct {
    RhMachine *m;
    GArray *gpus, *nets, *links;
    GHashTable *hosts, *seen, *above; /* host hashes; NICs; PCI devices above a GPU */
    int32_t chain[DEPTH_MOST], depth, devices;
    char *bus, *id; /* of the innermost PCI device, owned */
    double link_bytes_per_s;
} Tree;

/* Bytes/s of "32.0 GT/s PCIe" on so many lanes, one way, less the code of the line. */
static double pcie_rate(const char *speed, const char *width)
{
    double transfers = g_ascii_strtod(speed, NULL), lanes = g_ascii_strtod(width, NULL);
    double code = transfers >= 8 ? 128.0 / 130 : 0.8;
    return transfers > 0 && transfers < 1e3 && lanes > 0 && lanes <= 32
               ? 1e9 / 8 * transfers * lanes * code
               : 0;
}

static void begin_pci(Tree *t, const char **names, const char **values)
{
    g_free(t->bus);
    g_free(t->id);
    t->bus = g_strdup(rh_machine_attribute(names, values, "busid"));
    const char *vendor = rh_machine_attribute(names, values, "vendor"),
               *device = rh_machine_attribute(names, values, "device");
    t->id = g_strdup_printf("%.4s:%.4s", g_str_has_prefix(vendor, "0x") ? vendor + 2 : vendor,
                            g_str_has_prefix(device, "0x") ? device + 2 : device);
    t->link_bytes_per_s = pcie_rate(rh_machine_attribute(names, values, "link_speed"),
                                    rh_machine_attribute(names, values, "link_width"));
    if (t->depth < DEPTH_MOST)
        t->chain[t->depth] = ++t->devices;
    t->depth++;
}

static void begin_gpu(Tree *t, GError **error)
{
    RhMachine *m = t->m;
    if (t->gpus->len >= GPUS_MOST) {
        g_set_error_literal(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT,
                            "more than 1024 GPUs");
        return;
    }
    Gpu gpu = {.bus = g_strdup(t->bus ? t->bus : "")};
    g_array_append_val(t->gpus, gpu);
    if (!m->gpu_name && t->id)
        m->gpu_name = g_strdup(t->id);
    if (t->link_bytes_per_s > 0 &&
        (m->host_link_bytes_per_s == 0 || t->link_bytes_per_s < m->host_link_bytes_per_s))
        m->host_link_bytes_per_s = t->link_bytes_per_s;
    for (int32_t i = 0; i + 1 < MIN(t->depth, DEPTH_MOST); i++)
        g_hash_table_add(t->above, GINT_TO_POINTER(t->chain[i]));
}

static void begin_nvlink(Tree *t, const char **names, const char **values)
{
    if (t->gpus->len == 0)
        return;
    Gpu *gpu = &g_array_index(t->gpus, Gpu, t->gpus->len - 1);
    int32_t count = (int32_t)CLAMP(
        g_ascii_strtoll(rh_machine_attribute(names, values, "count"), NULL, 10), 0, 255);
    bool is_switch = g_str_has_prefix(rh_machine_attribute(names, values, "tclass"), "0x0680");
    gpu->links += count;
    gpu->switched += is_switch ? count : 0;
    if (is_switch)
        return;
    Link link = {g_strdup(gpu->bus), g_strdup(rh_machine_attribute(names, values, "target")),
                 count};
    g_array_append_val(t->links, link);
}

/* Adds a NIC of 10 Gb/s and more, each port once. */
static void begin_net(Tree *t, const char **names, const char **values)
{
    double mbit = g_ascii_strtod(rh_machine_attribute(names, values, "speed"), NULL);
    if (!(mbit >= 10e3 && mbit < 1e8))
        return;
    char *key = g_strdup_printf("%s %s", rh_machine_attribute(names, values, "dev"),
                                rh_machine_attribute(names, values, "guid"));
    if (!g_hash_table_add(t->seen, key)) /* which frees the key */
        return;
    Net net = {.depth = MIN(t->depth, DEPTH_MOST), .bytes_per_s = mbit * 1e6 / 8};
    memcpy(net.chain, t->chain, sizeof net.chain);
    g_array_append_val(t->nets, net);
}

static void start(GMarkupParseContext *context, const char *element, const char **names,
                  const char **values, void *user, GError **error)
{
    (void)context;
    Tree *t = user;
    if (strcmp(element, "cpu") == 0)
        g_hash_table_add(t->hosts, g_strdup(rh_machine_attribute(names, values, "host_hash")));
    else if (strcmp(element, "pci") == 0)
        begin_pci(t, names, values);
    else if (strcmp(element, "gpu") == 0)
        begin_gpu(t, error);
    else if (strcmp(element, "nvlink") == 0)
        begin_nvlink(t, names, values);
    else if (strcmp(element, "xgmi") == 0 && t->gpus->len > 0)
        g_array_index(t->gpus, Gpu, t->gpus->len - 1).peers++;
    else if (strcmp(element, "net") == 0)
        begin_net(t, names, values);
}

static void end(GMarkupParseContext *context, const char *element, void *user, GError **error)
{
    (void)context, (void)error;
    Tree *t = user;
    if (strcmp(element, "pci") == 0)
        t->depth = MAX(0, t->depth - 1);
}

/* NICs below a PCIe switch that also has a GPU; all where none is. */
static void settle_nics(const Tree *t)
{
    int32_t close = 0;
    double fastest = 0;
    for (guint i = 0; i < t->nets->len; i++) {
        const Net *net = &g_array_index(t->nets, Net, i);
        bool beside = false;
        for (int32_t k = 0; k < net->depth; k++)
            beside |= g_hash_table_contains(t->above, GINT_TO_POINTER(net->chain[k]));
        close += beside;
        fastest = MAX(fastest, net->bytes_per_s);
    }
    if (t->nets->len == 0)
        return;
    t->m->nics = close > 0 ? close : (int32_t)t->nets->len;
    t->m->nic_bytes_per_s = fastest;
}

static int32_t gpu_at(const Tree *t, const char *bus)
{
    for (guint i = 0; i < t->gpus->len; i++)
        if (strcmp(g_array_index(t->gpus, Gpu, i).bus, bus) == 0)
            return (int32_t)i;
    return -1;
}

/* Direct NVLinks between GPUs of one host, where the machine has room for them. */
static void settle_mesh(const Tree *t)
{
    RhMachine *m = t->m;
    if (t->gpus->len > RH_MESH_MAX)
        return;
    for (guint i = 0; i < t->links->len; i++) {
        const Link *link = &g_array_index(t->links, Link, i);
        int32_t a = gpu_at(t, link->from), b = gpu_at(t, link->to);
        if (a >= 0 && b >= 0 && a != b)
            m->joined[a][b] = (uint8_t)MIN(255, m->joined[a][b] + link->count);
    }
}

static void settle_links(const Tree *t)
{
    RhMachine *m = t->m;
    int32_t least = INT32_MAX, most = 0, switched = 0, peers = INT32_MAX;
    for (guint i = 0; i < t->gpus->len; i++) {
        const Gpu *gpu = &g_array_index(t->gpus, Gpu, i);
        least = MIN(least, gpu->links);
        most = MAX(most, gpu->links);
        switched += gpu->switched;
        peers = MIN(peers, gpu->peers);
    }
    m->has_links = true;
    m->gpus = (int32_t)t->gpus->len;
    m->uneven = most != least;
    m->nvlinks = switched > 0 && !m->uneven ? most : 0;
    bool joined = (switched > 0 && !m->uneven) || (peers > 0 && peers + 1 >= m->gpus);
    m->island_gpus = joined ? m->gpus : 1;
    if (switched == 0 && most > 0) {
        settle_mesh(t);
        m->nvlinks_most = most;
        m->uneven = true; /* which pairs have how many is the mesh's */
    }
}

/* Hosts in one file share an NVLink domain. */
static void settle_hosts(const Tree *t)
{
    int32_t hosts = (int32_t)g_hash_table_size(t->hosts);
    if (hosts < 2 || t->m->gpus % hosts != 0)
        return;
    t->m->gpus /= hosts;
    t->m->island_gpus = MIN(t->m->island_gpus, t->m->gpus);
    t->m->nics = t->m->nics > 0 ? MAX(1, t->m->nics / hosts) : t->m->nics;
    t->m->nodes = hosts;
    t->m->domain_nodes = hosts;
}

static void gpu_clear(void *data)
{
    g_free(((Gpu *)data)->bus);
}

static void link_clear(void *data)
{
    g_free(((Link *)data)->from);
    g_free(((Link *)data)->to);
}

static void tree_init(Tree *t, RhMachine *m)
{
    *t = (Tree){.m = m};
    t->gpus = g_array_new(FALSE, TRUE, sizeof(Gpu));
    t->nets = g_array_new(FALSE, TRUE, sizeof(Net));
    t->links = g_array_new(FALSE, TRUE, sizeof(Link));
    g_array_set_clear_func(t->gpus, gpu_clear);
    g_array_set_clear_func(t->links, link_clear);
    t->hosts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    t->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    t->above = g_hash_table_new(NULL, NULL);
}

static void tree_clear(Tree *t)
{
    g_array_unref(t->gpus);
    g_array_unref(t->nets);
    g_array_unref(t->links);
    g_hash_table_unref(t->hosts);
    g_hash_table_unref(t->seen);
    g_hash_table_unref(t->above);
    g_free(t->bus);
    g_free(t->id);
}

static bool parse(Tree *t, const char *name, const char *text, GError **error)
{
    static const GMarkupParser parser = {.start_element = start, .end_element = end};
    g_autoptr(GError) local = NULL;
    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, t, NULL);
    if (g_markup_parse_context_parse(context, text, -1, &local) &&
        g_markup_parse_context_end_parse(context, &local))
        return true;
    int line = 0, column = 0;
    g_markup_parse_context_get_position(context, &line, &column);
    return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: this is not XML of NCCL's topology: %s", name,
                   line, column, local->message);
}

static bool read_text(RhMachine *m, const char *name, const char *text, GError **error)
{
    Tree t;
    tree_init(&t, m);
    bool fine = parse(&t, name, text, error);
    if (fine && t.gpus->len == 0)
        fine = rh_fail(error, RH_ERROR_INPUT,
                       "%s: no GPU stands in it\nhelp: NCCL_TOPO_DUMP_FILE of a run writes them; "
                       "a file for NCCL_TOPO_FILE may leave them out",
                       name);
    if (fine) {
        settle_links(&t);
        settle_nics(&t);
        settle_hosts(&t);
        if (m->host_link_bytes_per_s > 0 && !m->host_source)
            m->host_source = g_strdup_printf("NCCL's topology: %s", name);
    }
    tree_clear(&t);
    return fine;
}

static bool owns(const char *text)
{
    return strstr(text, "<system version") != NULL && strstr(text, "<cpu ") != NULL;
}

const RhMachineReader rh_machine_nccl = {"NCCL's topology", owns, read_text,
                                         G_STRUCT_OFFSET(RhMachine, links_source)};
