/* Estimates the cost of algorithms with one function, and chooses the one that the platform's
 * library would take. */
#include <math.h>

#include "platforms/fabric/collective_library.h"
#include "platforms/fabric/nccl_protocol.h"
#include "sim/collective/algorithm_interface.h"
#include "sim/collective/library_choice.h"

/* Time of a step and of a byte. Above a switch with `below` members uplinks have 1 / over of their
 * NICs' rate. */
typedef struct {
    double node_alpha_s, nic_alpha_s;
    double node_bytes_per_s, nic_bytes_per_s;
    /* of a member inside its node, where steps go round rings; 0: as node_bytes_per_s */
    double ring_bytes_per_s;
    int32_t climbs_count;
    struct {
        int32_t below;
        double over;
    } climbs[RH_TIERS_MAX];
} Rates;

/* Factor by which links above the NICs are slower: as many of the members below a switch as the
 * step reaches send through it. */
static double slowdown(const Rates *rates, int32_t reach)
{
    double most = 1;
    for (int32_t t = 0; t < rates->climbs_count; t++) {
        int32_t below = rates->climbs[t].below;
        most = fmax(most, (double)MIN(reach, below) / below * rates->climbs[t].over);
    }
    return most;
}

/* Bytes that a collective puts on links beyond its buffer's bytes: tokens to experts, by their routing (NULL: none),
 * and what a protocol adds. */
typedef struct {
    const RhRouting *routing;
    RhLinkBytes link;
    RhProtocolRate pace;
} Overheads;

static double cost_s(const RhAlgorithm *row, RhGroupPlace at, RhOp op, double bytes,
                     const Overheads *more, const Rates *rates)
{
    RhLinkBytes link = more->link;
    RhProtocolRate pace = more->pace;
    RhLoads loads = {.at = at};
    loads.node_frac = rh_node_frac(more->routing, at.members,
                                   at.side_by_side > 0 ? at.members / at.side_by_side : 0);
    double total_s = 0, node_bytes_per_s = rates->node_bytes_per_s;
    double inside = pace.wire_factor_inside * link.inside;
    if ((row->rings & (1U << op)) != 0 && rates->ring_bytes_per_s > 0)
        node_bytes_per_s = rates->ring_bytes_per_s;
    if (at.members > 1)
        row->cost(&loads, op, bytes);
    for (int32_t i = 0; i < loads.count; i++) {
        const RhLoad *load = &loads.load[i];
        double moving_s = fmax(inside * load->node_bytes / node_bytes_per_s,
                               pace.wire_factor * link.between * load->nic_bytes /
                                   rates->nic_bytes_per_s * slowdown(rates, load->reach));
        double alpha_s = load->leaves ? rates->nic_alpha_s : rates->node_alpha_s;
        total_s += load->steps * (alpha_s + pace.step_more_s + moving_s);
    }
    return total_s;
}

double rh_collective_closed_form_s(RhOp op, RhAlgo algo, int32_t n, double bytes, double alpha_s,
                                   double bytes_per_s)
{
    g_return_val_if_fail(rh_collective_supports(op, algo), 0);
    Rates flat = {alpha_s, alpha_s, bytes_per_s, bytes_per_s, 0, 0, {{0}}};
    return cost_s(rh_algorithm(algo), rh_placement_of(n, NULL), op, bytes,
                  &(Overheads){NULL, {1, 1}, RH_PACE_OF_LINE}, &flat);
}

static RhGroupPlace placement_on(const RhPlatform *p, int32_t members, const int32_t *node_of)
{
    RhGroupPlace at = rh_placement_of(members, node_of);
    at.nics_per_node = p->nics_per_node;
    return at;
}

/* Sets the rates of a mesh, whose pairs of GPUs differ: those of the first GPUs of each node, as
 * the place of members inside nodes is not known. */
static void set_mesh_rates(Rates *rates, const RhPlatform *p, int32_t members,
                           const int32_t *node_of)
{
    if (p->mesh.gpus == 0 || members < 2)
        return;
    g_autofree int32_t *gpus = g_new(int32_t, members);
    for (int32_t i = 0, place = 0; i < members; i++) {
        int32_t node = node_of ? node_of[i] : 0;
        bool fresh = i == 0 || (node_of && node != node_of[i - 1]);
        place = fresh ? 0 : MIN(place + 1, p->gpus_per_node - 1);
        gpus[i] = node * p->gpus_per_node + place;
    }
    g_autoptr(RhRings) rings = rh_rings_new(p, members, gpus);
    if (rings) {
        rates->ring_bytes_per_s = rings->bytes_per_s;
        rates->node_bytes_per_s = rings->pair_bytes_per_s;
    }
}

static Rates rates_of(const RhPlatform *p, int32_t members, const int32_t *node_of)
{
    Rates rates = {.node_alpha_s = p->nvlink_latency_s.value,
                   .nic_alpha_s = p->nic_latency_s.value,
                   .node_bytes_per_s =
                       p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value,
                   .nic_bytes_per_s = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value};
    double over = 1;
    set_mesh_rates(&rates, p, members, node_of);
    for (int32_t t = 0; node_of && t + 1 < p->tiers_count; t++) {
        int32_t below = 0, nodes = p->tiers[t].nodes_per_group;
        over *= p->tiers[t].oversubscription.value;
        for (int32_t i = 0; i < members; i++)
            below += node_of[i] / nodes == node_of[0] / nodes;
        if (below == members)
            break;
        rates.climbs[t].below = below;
        rates.climbs[t].over = over;
        rates.climbs_count = t + 1;
    }
    return rates;
}

double rh_collective_estimate_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                                double bytes, const RhPlatform *platform)
{
    g_return_val_if_fail(rh_collective_supports(op, algo), 0);
    Rates rates = rates_of(platform, members, node_of);
    RhGroupPlace at = placement_on(platform, members, node_of);
    const RhAlgorithm *row = rh_algorithm(algo);
    Overheads more = {NULL, {1, 1}, rh_protocol_rate(row, op, members, at.nodes > 1, platform)};
    return cost_s(row, at, op, bytes, &more, &rates);
}

/* Is a row of NCCL (MPI has no such protocols) a candidate? A row with a protocol is where the
 * platform has the protocol, the row without one where the platform lacks protocols for all
 * sizes. */
static bool has_pace(const RhPlatform *p, const RhAlgorithm *row, RhOp op, bool between)
{
    if (row->protocol != RH_PROTOCOL_NONE)
        return rh_protocol_of(p, row->protocol, between) != NULL;
    return (row->paced & (1U << op)) == 0 || !rh_protocol_of(p, RH_PROTOCOL_SIMPLE, between);
}

/* Does the library's family have the row? An all-to-all that sends each token once has a library of
 * its own. */
static bool family_takes(const RhPlatform *p, const RhAlgorithm *row, RhOp op, RhGroupPlace at,
                         bool once)
{
    bool mpi = rh_platform_library_family(p) == RH_LIBRARY_MPI;
    unsigned nccl = row->nccl | (at.nodes > 1 ? row->nccl_between : 0);
    unsigned takes = once ? row->once : mpi ? row->mpi : nccl;
    return (takes & (1U << op)) != 0 && (at.side_by_side > 0 || !row->even_nodes) &&
           (mpi && !row->between_alone ? row->protocol == RH_PROTOCOL_NONE
                                       : has_pace(p, row, op, at.nodes > 1));
}

/* Can the row run there, whoever has it? */
static bool row_runs(const RhPlatform *p, const RhAlgorithm *row, RhOp op, RhGroupPlace at)
{
    bool pace =
        row->protocol == RH_PROTOCOL_NONE || rh_protocol_of(p, row->protocol, at.nodes > 1) != NULL;
    return (row->ops & (1U << op)) != 0 && pace && (at.side_by_side > 0 || !row->even_nodes);
}

/* A later row must be faster by more than this fraction, as estimates are not finer; assumed.
 * Between protocols, whose cost lines cross, any faster one is taken, so that time never falls as
 * sizes grow. */
#define TIE_FRAC 0.02

struct RhSite {
    const RhPlatform *platform;
    RhGroupPlace at;
    Rates rates;
    RhLibraryChoice *library; /* owned; NULL: the family's algorithms, whatever the size */
};

RhSite *rh_site_new(const RhPlatform *platform, int32_t members, const int32_t *node_of)
{
    RhSite *site = g_new0(RhSite, 1);
    site->platform = platform;
    site->at = placement_on(platform, members, node_of);
    site->rates = rates_of(platform, members, node_of);
    site->library = rh_library_choice_new(platform->library, members, site->at.per_node);
    return site;
}

void rh_site_free(RhSite *site)
{
    if (!site)
        return;
    rh_library_choice_free(site->library);
    g_free(site);
}

static bool same_rates(const Rates *a, const Rates *b)
{
    bool same = a->node_alpha_s == b->node_alpha_s && a->nic_alpha_s == b->nic_alpha_s &&
                a->node_bytes_per_s == b->node_bytes_per_s &&
                a->nic_bytes_per_s == b->nic_bytes_per_s &&
                a->ring_bytes_per_s == b->ring_bytes_per_s && a->climbs_count == b->climbs_count;
    for (int32_t t = 0; same && t < a->climbs_count; t++)
        same = a->climbs[t].below == b->climbs[t].below && a->climbs[t].over == b->climbs[t].over;
    return same;
}

bool rh_site_equals(const RhSite *a, const RhSite *b)
{
    return a->platform == b->platform && a->at.members == b->at.members &&
           a->at.per_node == b->at.per_node && a->at.side_by_side == b->at.side_by_side &&
           a->at.nodes == b->at.nodes && a->at.nics_per_node == b->at.nics_per_node &&
           same_rates(&a->rates, &b->rates);
}

bool rh_site_is_between(const RhSite *site)
{
    return site->at.nodes > 1;
}

bool rh_site_suits(const RhSite *site, RhAlgo algo)
{
    const RhAlgorithm *row = rh_algorithm(algo);
    return !row || !row->even_nodes || site->at.side_by_side > 0;
}

/* Algorithms among which the library chooses for a size, as bits, those of them that run there. 0:
 * its table does not say, or nothing of it runs. */
static uint32_t told_algorithms(const RhSite *site, RhOp op, double bytes, bool once)
{
    uint32_t told = once ? 0 : rh_library_choice_of(site->library, op, bytes);
    for (RhAlgo algo = RH_ALGO_NONE + 1; told && algo < RH_ALGO_LAST; algo++)
        if (!row_runs(site->platform, rh_algorithm(algo), op, site->at))
            told &= ~(UINT32_C(1) << algo);
    return told;
}

static double candidate_s(const RhSite *site, RhAlgo algo, RhOp op, double bytes,
                          const RhRouting *routing)
{
    const RhPlatform *p = site->platform;
    const RhAlgorithm *row = rh_algorithm(algo);
    bool between = site->at.nodes > 1;
    Overheads more = {routing, rh_link_bytes(routing, p),
                      rh_protocol_rate(row, op, site->at.members, between, p)};
    double launch_s =
        rh_protocols_any(p, between) ? p->collective_launch_s.value + more.pace.launch_more_s : 0;
    return cost_s(row, site->at, op, bytes, &more, &site->rates) + launch_s;
}

/* Says why `best` was taken; `times` lists the candidates' estimates. */
static char *reason(const RhSite *site, RhOp op, RhAlgo best, bool told, int32_t candidates,
                    const char *times)
{
    RhGroupPlace at = site->at;
    const char *library = site->platform->library ? site->platform->library->name : NULL;
    if (candidates == 1 && told)
        return g_strdup_printf("%s: what %s takes for %d ranks, %d on a node, at this size",
                               rh_algo_name(best), library, at.members, at.per_node);
    if (candidates == 1)
        return g_strdup_printf("%s: the one algorithm for %s %s", rh_algo_name(best),
                               rh_op_name(op), at.nodes < 2 ? "inside a node" : "between nodes");
    g_autofree char *among =
        told ? g_strdup_printf(", of those that %s takes at this size", library) : g_strdup("");
    return g_strdup_printf("%s: %s over %d members on %d node%s%s", rh_algo_name(best), times,
                           at.members, at.nodes, at.nodes == 1 ? "" : "s", among);
}

RhAlgo rh_site_choose(const RhSite *site, RhOp op, double bytes, const RhRouting *routing,
                      char **why)
{
    const RhPlatform *platform = site->platform;
    uint32_t told = told_algorithms(site, op, bytes, routing != NULL);
    double tie = rh_protocols_any(platform, site->at.nodes > 1) ? 1 : 1 - TIE_FRAC;
    RhAlgo best = RH_ALGO_NONE;
    double least_s = HUGE_VAL;
    int32_t candidates = 0;
    g_autoptr(GString) times = g_string_new(NULL);
    for (RhAlgo algo = RH_ALGO_NONE + 1; algo < RH_ALGO_LAST; algo++) {
        const RhAlgorithm *row = rh_algorithm(algo);
        if (told ? (told >> algo & 1) == 0
                 : !family_takes(platform, row, op, site->at, routing != NULL))
            continue;
        double time_s = candidate_s(site, algo, op, bytes, routing);
        if (why)
            g_string_append_printf(times, "%s%s %.4g ms", candidates ? ", " : "", row->name,
                                   time_s * 1e3);
        candidates++;
        if (best == RH_ALGO_NONE || time_s < least_s * tie) {
            best = algo;
            least_s = time_s;
        }
    }
    if (why)
        *why = reason(site, op, best, told != 0, candidates, times->str);
    return best;
}

RhAlgo rh_collective_choose_routed(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                                   const RhRouting *routing, const RhPlatform *platform, char **why)
{
    RhSite *site = rh_site_new(platform, members, node_of);
    RhAlgo best = rh_site_choose(site, op, bytes, routing, why);
    rh_site_free(site);
    return best;
}

RhAlgo rh_collective_choose(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                            const RhPlatform *platform, char **why)
{
    return rh_collective_choose_routed(op, members, node_of, bytes, NULL, platform, why);
}
