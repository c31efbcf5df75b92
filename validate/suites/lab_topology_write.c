#include "validate/suites/lab_topology_write.h"

#include "base/error.h"
#include "platforms/fabric/wiring.h"

typedef struct {
    const RhPlatform *p;
    GString *out;
} Lab;

static double link_rate(const Lab *lab, const char *format, ...) G_GNUC_PRINTF(2, 3);
static double link_rate(const Lab *lab, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *name = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    /* the shaper sets the data sheet's rate; the fraction that arrives is the efficiency */
    RhLink link = rh_platform_link_by_name(lab->p, name);
    bool nvlink = g_str_has_prefix(name, "nvlink/");
    double efficiency =
        nvlink ? lab->p->nvlink_efficiency_frac.value : lab->p->nic_efficiency_frac.value;
    return link < 0 ? 0 : rh_platform_link_bytes_per_s(lab->p, link) / efficiency;
}

static void put_link(const Lab *lab, const char *a, const char *b, double there, double back)
{
    g_string_append_printf(lab->out, "link %s %s %.0f %.0f %.0f\n", a, b, there, back,
                           lab->p->messages.burst_bytes.value);
}

static char *host_of(int32_t gpu)
{
    return g_strdup_printf("r%d", gpu);
}

static bool has_nvlink(const RhPlatform *p)
{
    return p->gpus_per_node > 1;
}

/* Does a NIC serve one rank alone, so that it is that rank's own interface? */
static bool own_nics(const RhPlatform *p)
{
    return p->nics_per_node == p->gpus_per_node;
}

static int32_t nic_of(const RhPlatform *p, int32_t gpu)
{
    return gpu % p->gpus_per_node * p->nics_per_node / p->gpus_per_node;
}

static int32_t group_of(const RhPlatform *p, int32_t tier, int32_t node)
{
    return tier == p->tiers_count - 1 ? 0 : node / p->tiers[tier].nodes_per_group;
}

/* The switch of a rank's NIC. */
static char *gate_of(const RhPlatform *p, int32_t gpu)
{
    int32_t node = rh_platform_node_of(p, gpu);
    return own_nics(p) ? g_strdup_printf("t0g%d", group_of(p, 0, node))
                       : g_strdup_printf("n%dc%d", node, nic_of(p, gpu));
}

static void put_switches(const Lab *lab)
{
    const RhPlatform *p = lab->p;
    for (int32_t node = 0; node < p->nodes_count; node++) {
        if (has_nvlink(p))
            g_string_append_printf(lab->out, "switch n%d\n", node);
        for (int32_t c = 0; p->nodes_count > 1 && !own_nics(p) && c < p->nics_per_node; c++)
            g_string_append_printf(lab->out, "switch n%dc%d\n", node, c);
    }
    for (int32_t t = 0; p->nodes_count > 1 && t < p->tiers_count; t++)
        for (int32_t g = 0; g <= group_of(p, t, p->nodes_count - 1); g++)
            g_string_append_printf(lab->out, "switch t%dg%d\n", t, g);
}

static void put_host(const Lab *lab, int32_t gpu)
{
    const RhPlatform *p = lab->p;
    int32_t node = rh_platform_node_of(p, gpu), local = gpu % p->gpus_per_node;
    g_autofree char *host = host_of(gpu);
    g_autofree char *inner = g_strdup_printf("n%d", node);
    g_autofree char *gate = gate_of(p, gpu);
    g_string_append_printf(lab->out, "host %s 10.77.0.%d\n", host, gpu + 1);
    if (has_nvlink(p))
        put_link(lab, host, inner, link_rate(lab, "nvlink/node%d/gpu%d/up", node, local),
                 link_rate(lab, "nvlink/node%d/gpu%d/down", node, local));
    if (p->nodes_count > 1 && own_nics(p))
        put_link(lab, host, gate, link_rate(lab, "nic/node%d/%d/tx", node, local),
                 link_rate(lab, "nic/node%d/%d/rx", node, local));
    else if (p->nodes_count > 1)
        g_string_append_printf(lab->out, "link %s %s - -\n", host, gate);
}

static void put_nics(const Lab *lab, int32_t node)
{
    for (int32_t c = 0; c < lab->p->nics_per_node; c++) {
        g_autofree char *nic = g_strdup_printf("n%dc%d", node, c);
        g_autofree char *leaf = g_strdup_printf("t0g%d", group_of(lab->p, 0, node));
        put_link(lab, nic, leaf, link_rate(lab, "nic/node%d/%d/tx", node, c),
                 link_rate(lab, "nic/node%d/%d/rx", node, c));
    }
}

static void put_tiers(const Lab *lab)
{
    const RhPlatform *p = lab->p;
    for (int32_t t = 0; t + 1 < p->tiers_count; t++)
        for (int32_t g = 0; g <= group_of(p, t, p->nodes_count - 1); g++) {
            const char *name = p->tiers[t].name;
            int32_t node = g * p->tiers[t].nodes_per_group;
            g_autofree char *below = g_strdup_printf("t%dg%d", t, g);
            g_autofree char *above = g_strdup_printf("t%dg%d", t + 1, group_of(p, t + 1, node));
            put_link(lab, below, above, link_rate(lab, "%s/%d/up", name, g),
                     link_rate(lab, "%s/%d/down", name, g));
        }
}

/* Adds routes, which a host with an interface to its node and one to the rest needs. */
static void put_routes(const Lab *lab)
{
    const RhPlatform *p = lab->p;
    for (int32_t gpu = 0; gpu < rh_platform_gpus(p); gpu++)
        for (int32_t peer = 0; peer < rh_platform_gpus(p); peer++) {
            int32_t node = rh_platform_node_of(p, gpu);
            bool inside = node == rh_platform_node_of(p, peer);
            g_autofree char *gate = inside ? g_strdup_printf("n%d", node) : gate_of(p, gpu);
            if (peer != gpu)
                g_string_append_printf(lab->out, "route r%d 10.77.0.%d %s\n", gpu, peer + 1, gate);
        }
}

static bool check_lab(const RhPlatform *p, GError **error)
{
    if (p->messages.sender == RH_SHARING_NONE)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s has no \"messages\": its network is not a lab's\n"
                       "help: lab-star, lab-2x4 and lab-tree can be built",
                       p->name);
    if (p->inside || p->outside)
        return rh_fail(error, RH_ERROR_INPUT, "%s has %s, the lab has trees of switches alone",
                       p->name, p->inside ? p->inside->name : p->tiers[0].name);
    if (rh_platform_gpus(p) > RH_LAB_HOSTS_MAX)
        return rh_fail(error, RH_ERROR_INPUT, "%s has %d ranks, the lab at most %d hosts", p->name,
                       rh_platform_gpus(p), RH_LAB_HOSTS_MAX);
    for (int32_t t = 0; t < p->tiers_count; t++)
        if (p->tiers[t].rail_optimised)
            return rh_fail(error, RH_ERROR_INPUT, "%s has rails, the lab has none", p->name);
    return true;
}

char *rh_lab_topology(const RhPlatform *p, GError **error)
{
    if (!check_lab(p, error))
        return NULL;
    Lab lab = {p, g_string_new(NULL)};
    g_string_append_printf(lab.out, "# %s: %s\n", p->name, p->description);
    put_switches(&lab);
    for (int32_t gpu = 0; gpu < rh_platform_gpus(p); gpu++)
        put_host(&lab, gpu);
    for (int32_t node = 0; node < p->nodes_count && p->nodes_count > 1 && !own_nics(p); node++)
        put_nics(&lab, node);
    if (p->nodes_count > 1)
        put_tiers(&lab);
    if (has_nvlink(p) && p->nodes_count > 1)
        put_routes(&lab);
    return g_string_free(lab.out, FALSE);
}
