#include "sim/collective/collective.h"

#include <math.h>

#include "base/error.h"
#include "sim/collective/algorithm_interface.h"

/* Members per node when every node holds equally many and they are numbered consecutively; else
 * 0. */
static int32_t consecutive_per_node(int32_t n, const int32_t *node_of)
{
    int32_t per_node = 1;
    while (per_node < n && node_of[per_node] == node_of[0])
        per_node++;
    if (n % per_node != 0)
        return 0;
    for (int32_t i = 1; i < n; i++)
        if ((i % per_node == 0) == (node_of[i] == node_of[i - 1]))
            return 0;
    return per_node;
}

RhGroupPlace rh_placement_of(int32_t members, const int32_t *node_of)
{
    RhGroupPlace at = {members, members, members, 1, 1};
    if (!node_of || members < 1)
        return at;
    at.per_node = 0;
    for (int32_t i = 0; i < members; i++)
        at.per_node += node_of[i] == node_of[0];
    at.nodes = (members + at.per_node - 1) / at.per_node;
    at.side_by_side = consecutive_per_node(members, node_of);
    return at;
}

static bool acceptable(RhOp op, RhAlgo algo, const RhScheduleBuilder *b, GError **error)
{
    if (!rh_collective_supports(op, algo))
        return rh_fail(error, RH_ERROR_INPUT, "%s has no %s algorithm",
                       op < RH_OP_LAST ? rh_op_name(op) : "?",
                       rh_algorithm(algo) ? rh_algo_name(algo) : "?");
    if (rh_algorithm(algo)->even_nodes && b->per_node == 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s %s needs as many members on every node, side by side",
                       rh_algo_name(algo), rh_op_name(op));
    return true;
}

/* Volumes of an uneven or routed all-to-all (RhVolumes). */
typedef struct {
    const double *shares;
    int32_t shares_count;
    const RhRouting *routing;
} Volumes;

double rh_node_frac(const RhRouting *routing, int32_t members, int32_t nodes)
{
    if (!routing || nodes < 1)
        return 1;
    return rh_routing_parts(routing, nodes) / rh_routing_parts(routing, members);
}

RhLinkBytes rh_link_bytes(const RhRouting *routing, const RhPlatform *p)
{
    RhLinkBytes link = {1, 1};
    if (routing && p && routing->nvlink_frac > 0)
        link.inside = p->nvlink_efficiency_frac.value / routing->nvlink_frac;
    if (routing && p && routing->nic_frac > 0)
        link.between = p->nic_efficiency_frac.value / routing->nic_frac;
    return link;
}

static RhSchedule *make(RhSchedule like, const int32_t *node_of, const RhRings *rings,
                        Volumes volumes, RhLinkBytes link, RhProtocolRate pace, GError **error)
{
    g_autoptr(RhSchedule) s = g_memdup2(&like, sizeof like);
    int32_t members = s->members;
    s->launch_more_s = pace.launch_more_s;
    s->step_more_s = pace.step_more_s;
    s->wire_factor = pace.wire_factor;
    s->wire_factor_inside = pace.wire_factor_inside;
    s->rounds = g_array_new(FALSE, FALSE, sizeof(RhRound));
    s->flows = g_array_new(FALSE, FALSE, sizeof(RhFlow));
    RhGroupPlace at = rh_placement_of(members, node_of);
    RhScheduleBuilder b = {
        .schedule = s,
        .members = members,
        .shares = volumes.shares,
        .shares_count = volumes.shares_count,
        .rings = rings,
        .node_of = node_of,
        .link = {link.inside * pace.wire_factor_inside, link.between * pace.wire_factor},
        .per_node = at.side_by_side,
        .nodes = at.side_by_side ? members / at.side_by_side : at.nodes};
    b.node_frac = rh_node_frac(volumes.routing, members, at.side_by_side ? b.nodes : 0);
    if (!acceptable(s->op, s->algo, &b, error))
        return NULL;
    if (members > 1)
        rh_algorithm(s->algo)->generate(&b, s->op);
    else
        rh_schedule_chunks(&b, 1);
    return g_steal_pointer(&s);
}

RhSchedule *rh_schedule_new(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                            double bytes, GError **error)
{
    RhSchedule like = {.op = op, .algo = algo, .members = members, .bytes = bytes};
    return make(like, node_of, NULL, (Volumes){0}, (RhLinkBytes){1, 1}, RH_PACE_OF_LINE, error);
}

static RhSchedule *make_on(RhSchedule like, const RhPlatform *platform, const int32_t *gpus,
                           Volumes volumes, GError **error)
{
    g_autofree int32_t *nodes = platform ? g_new(int32_t, MAX(like.members, 1)) : NULL;
    for (int32_t i = 0; nodes && i < like.members; i++)
        nodes[i] = rh_platform_node_of(platform, gpus[i]);
    const RhAlgorithm *row = rh_algorithm(like.algo);
    bool rings_asked =
        rh_collective_supports(like.op, like.algo) && (row->rings & (1U << like.op)) != 0;
    RhProtocolRate pace = RH_PACE_OF_LINE;
    if (row)
        pace = rh_protocol_rate(row, like.op, like.members, rh_is_between(like.members, nodes),
                                platform);
    g_autoptr(RhRings) rings = rings_asked ? rh_rings_new(platform, like.members, gpus) : NULL;
    return make(like, nodes, rings, volumes, rh_link_bytes(volumes.routing, platform), pace, error);
}

RhSchedule *rh_schedule_on(const RhCollectiveSpec *spec, int32_t members,
                           const RhPlatform *platform, const int32_t *gpus, GError **error)
{
    RhSchedule like = {
        .op = spec->op, .algo = spec->algo, .members = members, .bytes = spec->bytes};
    Volumes volumes = {.routing = spec->routing.experts > 0 ? &spec->routing : NULL};
    return make_on(like, platform, gpus, volumes, error);
}

RhSchedule *rh_schedule_of_task(const RhProgram *p, const RhTask *t, const RhPlatform *platform,
                                const int32_t *gpus, GError **error)
{
    RhSchedule like = {.op = (RhOp)t->op,
                       .algo = (RhAlgo)t->algo,
                       .members = rh_program_group(p, t->group)->size,
                       .bytes = t->bytes};
    Volumes volumes = {.routing = rh_task_routing(p, t)};
    volumes.shares = rh_task_shares(p, t, &volumes.shares_count);
    return make_on(like, platform, gpus, volumes, error);
}

int32_t *rh_group_gpus(const RhProgram *p, int32_t group, int32_t rank)
{
    const RhGroup *g = rh_program_group(p, group);
    int32_t *gpus = g_new(int32_t, MAX(g->size, 1));
    rh_group_members(g, rank, gpus);
    for (int32_t i = 0; i < g->size; i++)
        gpus[i] = rh_program_gpu(p, gpus[i]);
    return gpus;
}

void rh_schedule_free(RhSchedule *s)
{
    if (!s)
        return;
    g_array_unref(s->rounds);
    g_array_unref(s->flows);
    g_free(s->owner);
    g_free(s->chunk_bytes);
    g_free(s);
}

double rh_flow_payload_bytes(const RhSchedule *s, const RhFlow *flow)
{
    return flow->bytes / (flow->inside ? s->wire_factor_inside : s->wire_factor);
}

double rh_schedule_wire_bytes(const RhSchedule *s)
{
    g_autofree double *sent = g_new0(double, s->members);
    double most = 0;
    for (guint i = 0; i < s->rounds->len; i++) {
        const RhRound *round = &g_array_index(s->rounds, RhRound, i);
        for (int32_t f = round->flows_first; f < round->flows_first + round->flows_count; f++) {
            const RhFlow *flow = &g_array_index(s->flows, RhFlow, f);
            sent[flow->src] += round->repeat * rh_flow_payload_bytes(s, flow);
            most = fmax(most, sent[flow->src]);
        }
    }
    return most;
}
