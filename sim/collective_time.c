/* How long a schedule takes on idle links, and the closed forms it must equal. */
#include <math.h>
#include <string.h>

#include "sim/collective.h"
#include "sim/collective_private.h"

/* --- on a platform --- */

typedef struct {
    const RhSchedule *schedule;
    const RhProgram *program;
    const RhPlatform *platform;
    int32_t *members; /* instances_count x size ranks */
    int32_t instances_count;
    double *load;    /* bytes per link, 0 between phases */
    GArray *touched; /* RhLink */
} Clock;

/* The members of every group of the role, each group once; or of the one that holds rank 0. */
static void list_instances(Clock *k, int32_t group, int32_t role)
{
    const RhGroup *g = rh_program_group(k->program, group);
    if (role < 0) {
        k->members = g_new(int32_t, g->size);
        rh_group_members(g, 0, k->members);
        k->instances_count = 1;
        return;
    }
    const RhRole *r = rh_program_role(k->program, role);
    k->members = g_new(int32_t, r->ranks_count + g->size);
    g_autofree bool *seen = g_new0(bool, k->program->ranks_count);
    for (int32_t i = 0; i < r->ranks_count; i++) {
        int32_t rank = rh_role_rank(r, i);
        if (seen[rank])
            continue;
        int32_t *out = k->members + (int64_t)k->instances_count++ * g->size;
        rh_group_members(g, rank, out);
        for (int32_t m = 0; m < g->size; m++)
            seen[out[m]] = true;
    }
}

static double add_flow(Clock *k, const RhFlow *flow, const int32_t *members)
{
    RhLink links[RH_ROUTE_MAX];
    int32_t src = rh_program_gpu(k->program, members[flow->src]);
    int32_t dst = rh_program_gpu(k->program, members[flow->dst]);
    int n = flow->bytes > 0 ? rh_platform_route(k->platform, src, dst, links) : 0;
    for (int i = 0; i < n; i++) {
        if (k->load[links[i]] == 0)
            g_array_append_val(k->touched, links[i]);
        k->load[links[i]] += flow->bytes;
    }
    return rh_platform_route_latency_s(k->platform, src, dst);
}

static double step_s(Clock *k, const RhStepPhase *phase)
{
    double latency = 0, moving = 0;
    for (int32_t g = 0; g < k->instances_count; g++)
        for (int32_t f = 0; f < phase->flows_count; f++)
            latency =
                fmax(latency,
                     add_flow(k, &g_array_index(k->schedule->flows, RhFlow, phase->flows_first + f),
                              k->members + (int64_t)g * k->schedule->members));
    for (guint i = 0; i < k->touched->len; i++) {
        RhLink link = g_array_index(k->touched, RhLink, i);
        moving = fmax(moving, k->load[link] / rh_platform_link_bytes_per_s(k->platform, link));
        k->load[link] = 0;
    }
    g_array_set_size(k->touched, 0);
    return latency + moving;
}

/* Phases that put the same bytes between the same members take the same time (an all-reduce's two
 * passes). */
static bool same_flows(const RhSchedule *s, const RhStepPhase *a, const RhStepPhase *b)
{
    if (a->flows_count != b->flows_count)
        return false;
    for (int32_t i = 0; i < a->flows_count; i++) {
        const RhFlow *x = &g_array_index(s->flows, RhFlow, a->flows_first + i);
        const RhFlow *y = &g_array_index(s->flows, RhFlow, b->flows_first + i);
        if (x->src != y->src || x->dst != y->dst || x->bytes != y->bytes)
            return false;
    }
    return true;
}

double rh_schedule_time_s(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                          int32_t group, int32_t role)
{
    if (s->phases->len == 0)
        return 0;
    Clock k = {.schedule = s, .program = p, .platform = platform};
    k.touched = g_array_new(FALSE, FALSE, sizeof(RhLink));
    k.load = g_new0(double, rh_platform_links_count(platform));
    list_instances(&k, group, role);
    double total = platform->collective_launch_s.value, step = 0;
    for (guint i = 0; i < s->phases->len; i++) {
        const RhStepPhase *phase = &g_array_index(s->phases, RhStepPhase, i);
        if (i == 0 || !same_flows(s, phase - 1, phase))
            step = step_s(&k, phase);
        total += phase->repeat * step;
    }
    g_array_unref(k.touched);
    g_free(k.load);
    g_free(k.members);
    return total;
}

/* --- closed forms: n members, alpha a step, beta a byte --- */

static double log2_ceil(int32_t n)
{
    double steps = 0;
    for (int32_t reach = 1; reach < n; reach *= 2)
        steps++;
    return steps;
}

static double ring_s(RhOp op, double n, double bytes, double alpha, double beta)
{
    double chunks = rh_tree_chunks(bytes);
    if (op == RH_OP_BROADCAST)
        return (n - 2 + chunks) * (alpha + bytes / chunks * beta);
    return (op == RH_OP_ALL_REDUCE ? 2 : 1) * (n - 1) * (alpha + bytes / n * beta);
}

/* Most chunks one member sends or receives in one step of the double tree, counted from the trees'
 * shapes. */
static double tree_s(RhOp op, int32_t n, double bytes, double alpha, double beta)
{
    if (op == RH_OP_BROADCAST)
        return log2_ceil(n) * (alpha + bytes * beta);
    g_autoptr(RhSchedule) s = rh_schedule_new(op, RH_ALGO_TREE, n, NULL, bytes, NULL);
    g_autofree double *sent = g_new0(double, 2 * (size_t)n);
    double total = 0;
    for (guint i = 0; i < s->phases->len; i++) {
        const RhStepPhase *phase = &g_array_index(s->phases, RhStepPhase, i);
        double most = 0;
        memset(sent, 0, 2 * (size_t)n * sizeof(double));
        for (int32_t f = phase->flows_first; f < phase->flows_first + phase->flows_count; f++) {
            const RhFlow *flow = &g_array_index(s->flows, RhFlow, f);
            most = fmax(most,
                        fmax(sent[flow->src] += flow->bytes, sent[n + flow->dst] += flow->bytes));
        }
        total += alpha + most * beta;
    }
    return total;
}

static double doubling_s(RhOp op, int32_t n, double bytes, double alpha, double beta)
{
    int32_t extra = n;
    double steps = -1;
    for (int32_t power = 1; power <= n; power *= 2, steps++)
        extra = n - power;
    if (op == RH_OP_BARRIER)
        return log2_ceil(n) * alpha;
    if (op == RH_OP_ALL_GATHER)
        return steps * alpha + (n - 1.0) / n * bytes * beta;
    return (steps + (extra ? 2 : 0)) * (alpha + bytes * beta);
}

static double rabenseifner_s(int32_t n, double bytes, double alpha, double beta)
{
    double power = 1, steps = 0;
    for (; 2 * power <= n; power *= 2)
        steps++;
    double fold = n > power ? 2 * (alpha + bytes * beta) : 0;
    return 2 * steps * alpha + 2 * (power - 1) / power * bytes * beta + fold;
}

double rh_collective_closed_form_s(RhOp op, RhAlgo algo, int32_t n, double bytes, double alpha_s,
                                   double bytes_per_s)
{
    double beta = 1 / bytes_per_s;
    g_return_val_if_fail(rh_collective_supports(op, algo), 0);
    if (n <= 1)
        return 0;
    switch (algo) {
    case RH_ALGO_TREE:
        return tree_s(op, n, bytes, alpha_s, beta);
    case RH_ALGO_RECURSIVE_DOUBLING:
        return doubling_s(op, n, bytes, alpha_s, beta);
    case RH_ALGO_RABENSEIFNER:
        return rabenseifner_s(n, bytes, alpha_s, beta);
    case RH_ALGO_DIRECT:
        return (n - 1) * (alpha_s + (op == RH_OP_BROADCAST ? bytes : bytes / n) * beta);
    case RH_ALGO_RING:
    case RH_ALGO_HIERARCHICAL: /* on one node: a ring */
        return ring_s(op, n, bytes, alpha_s, beta);
    case RH_ALGO_NONE:
    case RH_ALGO_LAST:
        break;
    }
    return 0;
}

/* --- choosing, as NCCL does for large jobs: rings for scatter and gather, ring or double tree for
 * all-reduce --- */

typedef struct {
    double alpha_s,
        bytes_per_s; /* of one ring or tree edge, all NICs of the node's members together */
    int32_t nodes;
} Edge;

static Edge edge_of(const RhPlatform *p, int32_t members, const int32_t *node_of)
{
    int32_t here = 0;
    for (int32_t i = 0; i < members; i++)
        here += !node_of || node_of[i] == node_of[0];
    double nvlink = p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value;
    double nic = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
    if (here == members)
        return (Edge){p->nvlink_latency_s.value, nvlink, 1};
    return (Edge){p->nic_latency_s.value, fmin(nvlink, MIN(here, p->nics_per_node) * nic),
                  members / here};
}

RhAlgo rh_collective_choose(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                            const RhPlatform *platform, char **why)
{
    Edge edge = edge_of(platform, members, node_of);
    if (op != RH_OP_ALL_REDUCE || edge.nodes < 2) {
        RhAlgo only = op == RH_OP_ALL_TO_ALL ? RH_ALGO_DIRECT
                      : op == RH_OP_BARRIER  ? RH_ALGO_RECURSIVE_DOUBLING
                                             : RH_ALGO_RING;
        if (why)
            *why =
                g_strdup_printf("%s: the one algorithm for %s %s", rh_algo_name(only),
                                rh_op_name(op), edge.nodes < 2 ? "inside a node" : "between nodes");
        return only;
    }
    double ring = ring_s(op, members, bytes, edge.alpha_s, 1 / edge.bytes_per_s);
    double chunks = rh_tree_chunks(bytes);
    double nic = platform->nic_bytes_per_s.value * platform->nic_efficiency_frac.value;
    double tree =
        (2 * log2_ceil(members) + chunks - 1) * (edge.alpha_s + 4 * bytes / (2 * chunks) / nic);
    if (why)
        *why = g_strdup_printf(
            "%s: ring %.4g ms, double binary tree %.4g ms over %d members on %d nodes",
            ring <= tree ? "ring" : "tree", ring * 1e3, tree * 1e3, members, edge.nodes);
    return ring <= tree ? RH_ALGO_RING : RH_ALGO_TREE;
}
