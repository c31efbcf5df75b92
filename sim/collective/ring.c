/* Rings: reduce-scatter in n-1 steps, all-gather in n-1 steps (Chan et al. 2007, section 4; Thakur
 * et al. 2005). With k members on every node, k rings run at once and leave the node by k NICs, as
 * NCCL's channels do. Ring j enters even nodes at member j and walks up, leaves at j-1, enters odd
 * nodes at j-1 and walks down, leaves at j: messages between nodes stay on one rail (all of them
 * when the number of nodes is even). Where a mesh joins the GPUs of a node, members come in the
 * order of its rings (rings.h), and on one node each ring carries as many parts of the buffer as it
 * has channels. */
#include "sim/collective/algorithm_interface.h"

typedef struct {
    int32_t n, count, parts; /* members; rings; parts of the buffer, of n chunks, on all rings */
    int32_t *at;             /* count x n: members in the order of each ring; owned */
    int32_t *channels;       /* per ring: parts of the buffer; owned */
} Circuits;

/* Member at position `at` of ring j, of `rings` that walk from node to node. */
static int32_t member_at(const RhScheduleBuilder *b, int32_t rings, int32_t j, int32_t at)
{
    if (rings == 1)
        return at;
    int32_t k = b->per_node, node = at / k, step = at % k;
    int32_t local = node % 2 == 0 ? (j + step) % k : (j - 1 - step + 2 * k) % k;
    return node * k + (b->rings ? b->rings->order[local] : local);
}

static Circuits circuits_new(const RhScheduleBuilder *b)
{
    bool wide = b->nodes > 1 && b->per_node > 1, search = b->rings && b->nodes == 1;
    int32_t count = search ? b->rings->rings_count : wide ? b->per_node : 1;
    Circuits r = {b->members, count, 0, g_new(int32_t, count * b->members), g_new(int32_t, count)};
    for (int32_t j = 0; j < count; j++) {
        r.channels[j] = search ? b->rings->channels[j] : 1;
        r.parts += r.channels[j];
        for (int32_t at = 0; at < r.n; at++)
            r.at[j * r.n + at] =
                search ? b->rings->order[j * r.n + at] : member_at(b, count, j, at);
    }
    return r;
}

/* Adds one pass round all rings: at step q, position `at` sends the chunks of position at - q +
 * ahead. */
static void pass(RhScheduleBuilder *b, const Circuits *r, int32_t ahead, bool reduce)
{
    int32_t n = r->n, first = 0;
    rh_schedule_round(b, n - 1);
    for (int32_t j = 0; j < r->count; first += n * r->channels[j++])
        for (int32_t at = 0; at < n; at++)
            rh_schedule_flow_shifting(
                b, (RhFlow){.src = r->at[j * n + at],
                            .dst = r->at[j * n + (at + 1) % n],
                            .chunk_first = first + (at + ahead + n) % n * r->channels[j],
                            .chunk_count = r->channels[j],
                            .chunk_shift = -r->channels[j],
                            .wrap_first = first,
                            .wrap_count = n * r->channels[j],
                            .reduce = reduce});
}

static void own(RhScheduleBuilder *b, const Circuits *r)
{
    int32_t chunk = 0;
    for (int32_t j = 0; j < r->count; j++)
        for (int32_t i = 0; i < r->n * r->channels[j]; i++)
            b->schedule->owner[chunk++] = r->at[j * r->n + i / r->channels[j]];
}

#define CHAIN_CHUNK_BYTES 524288.0 /* NCCL's default buffer of 4 MiB per channel in its 8 slots */
#define CHAIN_CHUNKS_MAX  16       /* assumed: bounds the length of a schedule */

static int32_t chain_chunks(double bytes)
{
    return (int32_t)CLAMP(bytes / 2 / CHAIN_CHUNK_BYTES, 1.0, (double)CHAIN_CHUNKS_MAX);
}

/* Broadcast: the buffer in chunks down the chain from member 0, one step apart. */
static void add_broadcast_chain(RhScheduleBuilder *b)
{
    int32_t n = b->members, chunks = chain_chunks(b->schedule->bytes);
    rh_schedule_chunks(b, chunks);
    for (int32_t step = 0; step < n - 2 + chunks; step++) {
        rh_schedule_round(b, 1);
        for (int32_t i = 0; i < n - 1; i++)
            if (step - i >= 0 && step - i < chunks)
                rh_schedule_flow(b, i, i + 1, step - i, 1, false);
    }
}

/* Shift: one step, everyone's buffer to the next member (the exchange of ring attention; Liu et al.
 * 2023). */
static void add_shift(RhScheduleBuilder *b)
{
    int32_t n = b->members;
    rh_schedule_chunks(b, n);
    b->chunk_bytes = b->schedule->bytes;
    rh_schedule_round(b, 1);
    for (int32_t i = 0; i < n; i++)
        rh_schedule_flow(b, i, (i + 1) % n, i, 1, false);
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    if (op == RH_OP_BROADCAST) {
        add_broadcast_chain(b);
        return;
    }
    if (op == RH_OP_SHIFT) {
        add_shift(b);
        return;
    }
    Circuits r = circuits_new(b);
    rh_schedule_chunks(b, r.parts * r.n);
    own(b, &r);
    if (op != RH_OP_ALL_GATHER)
        pass(b, &r, -1, true);
    if (op != RH_OP_REDUCE_SCATTER)
        pass(b, &r, 0, false);
    g_free(r.at);
    g_free(r.channels);
}

static int32_t round_steps(RhOp op, int32_t members)
{
    return (op == RH_OP_ALL_REDUCE ? 2 : 1) * (members - 1);
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members, k = l->at.per_node, chunks = chain_chunks(bytes);
    if (op == RH_OP_BROADCAST)
        rh_loads_add(l, n - 2 + chunks, bytes / chunks, bytes / chunks, 1);
    else if (op == RH_OP_SHIFT)
        rh_loads_add(l, 1, bytes, bytes, 1);
    else
        rh_loads_add(l, round_steps(op, n), bytes / n, bytes / n / k, k);
}

#define RINGS (RH_BIT(ALL_REDUCE) | RH_BIT(REDUCE_SCATTER) | RH_BIT(ALL_GATHER))

const RhAlgorithm rh_algorithm_ring = {
    .name = "ring",
    .paced = RINGS,
    .ops = RINGS | RH_BIT(BROADCAST) | RH_BIT(SHIFT),
    .pipelined = RH_BIT(BROADCAST),
    .nccl = RINGS | RH_BIT(SHIFT),
    .mpi = RINGS | RH_BIT(BROADCAST) | RH_BIT(SHIFT),
    .neighbours = RINGS | RH_BIT(SHIFT),
    .rings = RINGS,
    .steps_beside_copy = round_steps,
    .generate = generate,
    .cost = cost,
};

#define WITH(name_, PROTOCOL)                                                                      \
    {                                                                                              \
        .name = "ring-" name_, .protocol = RH_PROTOCOL_##PROTOCOL, .plain = RH_ALGO_RING,          \
        .ops = RINGS, .nccl = RINGS, .neighbours = RINGS, .rings = RINGS,                          \
        .steps_beside_copy = round_steps, .generate = generate, .cost = cost                       \
    }
const RhAlgorithm rh_algorithm_ring_ll = WITH("ll", LL);
const RhAlgorithm rh_algorithm_ring_ll128 = WITH("ll128", LL128);
const RhAlgorithm rh_algorithm_ring_simple = WITH("simple", SIMPLE);
