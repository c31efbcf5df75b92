#include "sim/collective.h"

#include <math.h>

#include "base/error.h"
#include "sim/collective_private.h"

static const RhGenerator generators[RH_ALGO_LAST] = {
    [RH_ALGO_RING] = rh_generate_ring,
    [RH_ALGO_TREE] = rh_generate_tree,
    [RH_ALGO_RECURSIVE_DOUBLING] = rh_generate_doubling,
    [RH_ALGO_RABENSEIFNER] = rh_generate_rabenseifner,
    [RH_ALGO_HIERARCHICAL] = rh_generate_hierarchical,
    [RH_ALGO_DIRECT] = rh_generate_direct,
};

#define AR  (1 << RH_OP_ALL_REDUCE)
#define RS  (1 << RH_OP_REDUCE_SCATTER)
#define AG  (1 << RH_OP_ALL_GATHER)
#define BC  (1 << RH_OP_BROADCAST)
#define A2A (1 << RH_OP_ALL_TO_ALL)
#define BAR (1 << RH_OP_BARRIER)
#define SHI (1 << RH_OP_SHIFT)

static const int supported[RH_ALGO_LAST] = {
    [RH_ALGO_RING] = AR | RS | AG | BC | SHI,     [RH_ALGO_TREE] = AR | BC,
    [RH_ALGO_RECURSIVE_DOUBLING] = AR | AG | BAR, [RH_ALGO_RABENSEIFNER] = AR,
    [RH_ALGO_HIERARCHICAL] = AR | RS | AG,        [RH_ALGO_DIRECT] = RS | AG | BC | A2A,
};

bool rh_collective_supports(RhOp op, RhAlgo algo)
{
    return op > RH_OP_NONE && op < RH_OP_LAST && algo > RH_ALGO_NONE && algo < RH_ALGO_LAST &&
           (supported[algo] & (1 << op)) != 0;
}

/* --- building --- */

void rh_schedule_chunks(RhScheduleBuilder *b, int32_t count)
{
    RhSchedule *s = b->schedule;
    s->chunks_count = count;
    s->owner = g_new(int32_t, MAX(count, 1));
    for (int32_t c = 0; c < count; c++)
        s->owner[c] = c % b->members;
    b->chunk_bytes = s->bytes / count;
}

void rh_schedule_phase(RhScheduleBuilder *b, int32_t repeat)
{
    RhStepPhase phase = {repeat, (int32_t)b->schedule->flows->len, 0};
    g_array_append_val(b->schedule->phases, phase);
}

void rh_schedule_flow_shifting(RhScheduleBuilder *b, RhFlow flow)
{
    GArray *phases = b->schedule->phases;
    flow.bytes = flow.chunk_count * b->chunk_bytes;
    g_array_append_val(b->schedule->flows, flow);
    g_array_index(phases, RhStepPhase, phases->len - 1).flows_count++;
}

void rh_schedule_flow(RhScheduleBuilder *b, int32_t src, int32_t dst, int32_t first, int32_t count,
                      bool reduce)
{
    rh_schedule_flow_shifting(b, (RhFlow){.src = src,
                                          .dst = dst,
                                          .chunk_first = first,
                                          .chunk_count = count,
                                          .wrap_count = b->schedule->chunks_count,
                                          .reduce = reduce});
}

/* Members per node when every node holds as many and they stand together; else per_node stays 0. */
static void find_nodes(RhScheduleBuilder *b, const int32_t *node_of)
{
    int32_t n = b->members, per_node = 1;
    if (!node_of) {
        b->per_node = n;
        b->nodes = 1;
        return;
    }
    while (per_node < n && node_of[per_node] == node_of[0])
        per_node++;
    b->nodes = n / per_node;
    if (n % per_node != 0)
        return;
    for (int32_t i = 0; i < n; i++) {
        bool starts = i % per_node == 0;
        if (i > 0 && starts == (node_of[i] == node_of[i - 1]))
            return;
    }
    b->per_node = per_node;
}

static bool acceptable(RhOp op, RhAlgo algo, const RhScheduleBuilder *b, GError **error)
{
    if (!rh_collective_supports(op, algo))
        return rh_fail(error, RH_ERROR_INPUT, "%s has no %s algorithm",
                       op < RH_OP_LAST ? rh_op_name(op) : "?",
                       algo < RH_ALGO_LAST ? rh_algo_name(algo) : "?");
    if (algo == RH_ALGO_HIERARCHICAL && b->per_node == 0)
        return rh_fail(
            error, RH_ERROR_INPUT,
            "a hierarchical collective needs as many members on every node, side by side");
    return true;
}

RhSchedule *rh_schedule_new(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                            double bytes, GError **error)
{
    g_autoptr(RhSchedule) s = g_new0(RhSchedule, 1);
    s->op = op;
    s->algo = algo;
    s->members = members;
    s->bytes = bytes;
    s->phases = g_array_new(FALSE, FALSE, sizeof(RhStepPhase));
    s->flows = g_array_new(FALSE, FALSE, sizeof(RhFlow));
    RhScheduleBuilder b = {.schedule = s, .members = members};
    find_nodes(&b, node_of);
    if (!acceptable(op, algo, &b, error))
        return NULL;
    if (members > 1)
        generators[algo](&b, op);
    else
        rh_schedule_chunks(&b, 1);
    return g_steal_pointer(&s);
}

void rh_schedule_free(RhSchedule *s)
{
    if (!s)
        return;
    g_array_unref(s->phases);
    g_array_unref(s->flows);
    g_free(s->owner);
    g_free(s);
}

double rh_schedule_wire_bytes(const RhSchedule *s)
{
    g_autofree double *sent = g_new0(double, s->members);
    double most = 0;
    for (guint i = 0; i < s->phases->len; i++) {
        const RhStepPhase *phase = &g_array_index(s->phases, RhStepPhase, i);
        for (int32_t f = phase->flows_first; f < phase->flows_first + phase->flows_count; f++) {
            const RhFlow *flow = &g_array_index(s->flows, RhFlow, f);
            sent[flow->src] += phase->repeat * flow->bytes;
            most = fmax(most, sent[flow->src]);
        }
    }
    return most;
}
