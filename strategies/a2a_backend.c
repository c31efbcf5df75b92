#include "strategies/a2a_backend.h"

#include <math.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/json/json.h"

/* --- Time --- */

double rh_a2a_copies(const RhA2aLoad *load, int32_t parts)
{
    const RhRouting *r = &load->routing;
    if (parts <= 1)
        return 1;
    return r->experts % parts == 0 ? rh_routing_parts(r, parts) : fmin(parts, r->chosen);
}

typedef struct {
    double nic_bytes, peer_bytes;
    double copies_bytes; /* copies that SMs handle: all of them, including those that stay on their
                          * rank */
} Traffic;

static Traffic traffic_of(const RhA2aBackend *x, const RhA2aLoad *load, int32_t each, int32_t nodes)
{
    double bytes = load->tokens * load->token_bytes, ranks = load->ranks;
    if (x->once) {
        double nic = bytes * rh_a2a_copies(load, nodes) * (nodes - 1) / nodes,
               all = bytes * rh_a2a_copies(load, load->ranks);
        return (Traffic){nic, all * (each - 1) / each, all + nic};
    }
    bytes *= load->routing.chosen;
    if (x->alone)
        return (Traffic){bytes * (ranks - 1) / ranks, 0, bytes};
    return (Traffic){bytes * (ranks - each) / ranks, bytes * (each - 1) / ranks, bytes};
}

static double sms_s(const RhA2aBackend *x, const RhA2aBackendPart *part, const RhA2aLoad *load,
                    int32_t nodes, double copies_bytes)
{
    int32_t sms = load->sms_count > 0 ? load->sms_count : x->sms_count;
    double each = (nodes > 1 ? &part->sm_inter_bytes_per_s : &part->sm_bytes_per_s)->value,
           own_bytes = part->own_count.value * load->tokens * load->token_bytes;
    return sms > 0 && each > 0 ? (own_bytes + copies_bytes) / (sms * each) : 0;
}

double rh_a2a_backend_s(const RhA2aBackend *x, const RhA2aBackendPart *part, const RhPlatform *p,
                        const RhA2aLoad *load)
{
    int32_t each = MIN(load->ranks, p->gpus_per_node);
    int32_t nodes = (load->ranks + each - 1) / each;
    if (load->ranks <= 1 || load->tokens <= 0)
        return 0;
    Traffic t = traffic_of(x, load, each, nodes);
    double nic = p->nic_bytes_per_s.value * p->nics_per_node / p->gpus_per_node,
           nic_s = t.nic_bytes > 0 ? t.nic_bytes / (nic * part->nic_frac.value) : 0,
           peer_s = t.peer_bytes / (p->nvlink_bytes_per_s.value * part->peer_frac.value),
           slots = load->tokens * load->routing.experts / load->ranks;
    return part->base_s.value + (nodes > 1 ? part->inter_s.value : 0) +
           part->node_s.value * log2(nodes) + part->slot_s.value * slots +
           fmax(fmax(nic_s, peer_s), sms_s(x, part, load, nodes, t.copies_bytes));
}

/* --- Files --- */

static void *load(const char *name, GError **error);
static RhDataCatalogue shelf = {
    .noun = "all-to-all backend", .folder = "strategies/a2a_backends", .load = load};

static const struct {
    const char *key;
    RhQuantity kind;
    size_t offset;
    double low, high; /* plausible range; 0 is allowed too */
    bool needed;
} facts[] = {
    {"base", RH_QUANTITY_S, offsetof(RhA2aBackendPart, base_s), 1e-9, 1, true},
    {"inter", RH_QUANTITY_S, offsetof(RhA2aBackendPart, inter_s), 1e-9, 1, false},
    {"node", RH_QUANTITY_S, offsetof(RhA2aBackendPart, node_s), 1e-9, 1, false},
    {"slot", RH_QUANTITY_S, offsetof(RhA2aBackendPart, slot_s), 1e-12, 1, false},
    {"nic", RH_QUANTITY_FRAC, offsetof(RhA2aBackendPart, nic_frac), 0.001, 1, true},
    {"peer", RH_QUANTITY_FRAC, offsetof(RhA2aBackendPart, peer_frac), 0.001, 1, true},
    {"sm", RH_QUANTITY_BYTES_PER_S, offsetof(RhA2aBackendPart, sm_bytes_per_s), 1e8, 1e12, false},
    {"sm_inter", RH_QUANTITY_BYTES_PER_S, offsetof(RhA2aBackendPart, sm_inter_bytes_per_s), 1e8,
     1e12, false},
    {"own", RH_QUANTITY_COUNT, offsetof(RhA2aBackendPart, own_count), 0.01, 100, false},
};

/* Reads one direction. Members that both directions share stand beside them. */
static void read_part(RhJson *doc, const RhJsonNode *root, const char *key, RhA2aBackendPart *part)
{
    const RhJsonNode *own = rh_json_object_or_null(doc, root, key);
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++) {
        const RhJsonNode *node = own && rh_json_has(own, facts[i].key) ? own : root;
        RhRange range = {.low = facts[i].low, .high = facts[i].high, .zero = true};
        if (facts[i].needed || rh_json_has(node, facts[i].key))
            *(RhFact *)(void *)((char *)part + facts[i].offset) =
                rh_json_fact_within(doc, node, facts[i].key, facts[i].kind, &range);
    }
}

static void *load(const char *name, GError **error)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, name);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return NULL;
    const RhJsonNode *root = rh_json_root(doc);
    g_autofree RhA2aBackend *x = g_new0(RhA2aBackend, 1);
    x->name = rh_json_string(doc, root, "name");
    x->about = rh_json_string(doc, root, "about");
    x->once = rh_json_bool_or(doc, root, "once", false);
    x->alone = rh_json_bool_or(doc, root, "alone", false);
    x->sms_count = (int32_t)rh_json_int_or(doc, root, "sms", 1, 1024, 0);
    read_part(doc, root, "dispatch", &x->dispatch);
    read_part(doc, root, "combine", &x->combine);
    if (strcmp(x->name, name) != 0)
        rh_json_problem(doc, root, NULL, "\"%s\" stands in the file of %s", x->name, name);
    return rh_json_finish(doc, error) ? g_steal_pointer(&x) : NULL;
}

const RhA2aBackend *rh_a2a_backend_by_name(const char *name, GError **error)
{
    return rh_data_shelf_get(&shelf, name, error);
}

const char *const *rh_a2a_backend_names(void)
{
    return rh_data_shelf_names(&shelf);
}
