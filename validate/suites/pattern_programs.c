#include "validate/suites/pattern_programs.h"

#include <string.h>

#define PATTERN_RANKS_MAX 256

static RhTask blank_task(RhTaskKind kind, RhLane lane, int32_t label)
{
    return (RhTask){.kind = (uint8_t)kind,
                    .lane = (uint8_t)lane,
                    .layer = -1,
                    .microbatch = -1,
                    .label = label,
                    .bundle = -1,
                    .group = -1,
                    .peer_task = -1};
}

RhProgram *rh_pattern_collective(int32_t ranks, RhOp op, RhAlgo algo, double bytes, int32_t repeats)
{
    RhProgram *p = rh_program_new(ranks);
    RhStride all = {1, ranks};
    int32_t group = rh_program_add_group(p, "all", &all, 1), last = -1;
    rh_program_begin_role(p, "all", 0, &all, 1);
    for (int32_t i = 0; i < repeats; i++) {
        RhTask task =
            blank_task(RH_TASK_COLLECTIVE, RH_LANE_DP, rh_program_label(p, rh_op_name(op)));
        task.op = (uint8_t)op;
        task.algo = (uint8_t)algo;
        task.group = group;
        task.bytes = bytes;
        last = rh_program_add_task(p, task, &last, 1);
    }
    rh_program_end_role(p);
    return p;
}

/* --- messages between single ranks, collected first: a role's tasks must be consecutive --- */

typedef struct {
    int32_t from, to, after; /* after: a message that `from` must have received before; -1: none */
    double bytes, compute_s; /* compute_s: before sending */
} Note;

typedef struct {
    int32_t ranks;
    GArray *notes; /* Note */
} Sketch;

static Sketch sketch_new(int32_t ranks)
{
    return (Sketch){ranks, g_array_new(FALSE, FALSE, sizeof(Note))};
}

static int32_t add_message(Sketch *s, int32_t from, int32_t to, double bytes, int32_t after,
                           double compute_s)
{
    Note n = {from, to, after, bytes, compute_s};
    g_array_append_val(s->notes, n);
    return (int32_t)s->notes->len - 1;
}

typedef struct {
    RhProgram *p;
    int32_t *send, *recv; /* per note: its tasks */
    int32_t send_label, recv_label, kernel_label;
} Drawing;

/* Lanes of messages: lanes are queues, so concurrent messages of a rank need different ones. */
static const RhLane send_lanes[] = {RH_LANE_SEND_NEXT, RH_LANE_SEND_PREV, RH_LANE_EP};
static const RhLane recv_lanes[] = {RH_LANE_RECV_PREV, RH_LANE_RECV_NEXT, RH_LANE_CP};

static void draw_recv(Drawing *d, const Note *n, int32_t i, int32_t nth)
{
    RhTask task = blank_task(RH_TASK_RECV, recv_lanes[nth % (int32_t)G_N_ELEMENTS(recv_lanes)],
                             d->recv_label);
    task.peer_delta = n->from - n->to;
    task.bytes = n->bytes;
    d->recv[i] = rh_program_add_task(d->p, task, NULL, 0);
}

static void draw_send(Drawing *d, const Note *n, int32_t i, int32_t nth)
{
    int32_t before = n->after >= 0 ? d->recv[n->after] : -1;
    if (n->compute_s > 0) {
        RhTask kernel = blank_task(RH_TASK_KERNEL, RH_LANE_COMPUTE, d->kernel_label);
        kernel.bundle = rh_program_add_wait(d->p, n->compute_s);
        before = rh_program_add_task(d->p, kernel, &before, 1);
    }
    RhTask task = blank_task(RH_TASK_SEND, send_lanes[nth % (int32_t)G_N_ELEMENTS(send_lanes)],
                             d->send_label);
    task.peer_delta = n->to - n->from;
    task.bytes = n->bytes;
    d->send[i] = rh_program_add_task(d->p, task, &before, 1);
}

static RhProgram *sketch_draw(Sketch *s)
{
    int32_t count = (int32_t)s->notes->len;
    Drawing d = {.p = rh_program_new(s->ranks),
                 .send = g_new0(int32_t, count + 1),
                 .recv = g_new0(int32_t, count + 1)};
    d.send_label = rh_program_label(d.p, "send");
    d.recv_label = rh_program_label(d.p, "receive");
    d.kernel_label = rh_program_label(d.p, "kernel");
    for (int32_t rank = 0; rank < s->ranks; rank++) {
        int32_t sends = 0, recvs = 0;
        rh_program_begin_role(d.p, "rank", rank, NULL, 0);
        for (int32_t i = 0; i < count; i++) {
            const Note *n = &g_array_index(s->notes, Note, i);
            if (n->to == rank)
                draw_recv(&d, n, i, recvs++);
            if (n->from == rank)
                draw_send(&d, n, i, sends++);
        }
        rh_program_end_role(d.p);
    }
    for (int32_t i = 0; i < count; i++)
        rh_program_match(d.p, d.send[i], d.recv[i]);
    g_array_unref(s->notes);
    g_free(d.send);
    g_free(d.recv);
    return d.p;
}

/* --- patterns --- */

static RhProgram *incast(int32_t ranks, double bytes)
{
    Sketch s = sketch_new(ranks);
    for (int32_t r = 1; r < ranks; r++)
        add_message(&s, r, 0, bytes, -1, 0);
    return sketch_draw(&s);
}

static RhProgram *neighbours(int32_t ranks, double bytes)
{
    Sketch s = sketch_new(ranks);
    for (int32_t r = 0; r < ranks; r++) {
        add_message(&s, r, (r + 1) % ranks, bytes, -1, 0);
        add_message(&s, r, (r + ranks - 1) % ranks, bytes, -1, 0);
    }
    return sketch_draw(&s);
}

static RhProgram *bisection(int32_t ranks, double bytes)
{
    Sketch s = sketch_new(ranks);
    for (int32_t r = 0; r < ranks; r++)
        add_message(&s, r, (r + ranks / 2) % ranks, bytes, -1, 0);
    return sketch_draw(&s);
}

/* Ring of blocks: each rank computes on one, `slow_rank` three times as long, before it sends the
 * next. */
static RhProgram *ring_of_blocks(int32_t ranks, double bytes, int32_t slow_rank)
{
    Sketch s = sketch_new(ranks);
    int32_t before[PATTERN_RANKS_MAX], now[PATTERN_RANKS_MAX];
    for (int32_t step = 0; step < ranks - 1; step++) {
        for (int32_t r = 0; r < ranks; r++)
            now[(r + 1) % ranks] = add_message(&s, r, (r + 1) % ranks, bytes, step ? before[r] : -1,
                                               r == slow_rank ? 0.03 : 0.01);
        memcpy(before, now, sizeof now);
    }
    return sketch_draw(&s);
}

/* Context parallelism: keys and values go round while each rank computes attention on the current
 * ones. */
static RhProgram *kv_ring(int32_t ranks, double bytes)
{
    return ring_of_blocks(ranks, bytes, -1);
}

static RhProgram *straggler(int32_t ranks, double bytes)
{
    return ring_of_blocks(ranks, bytes, 3);
}

/* Experts: every rank sends to every other, more to busier experts; results return. */
static RhProgram *experts(int32_t ranks, double bytes)
{
    Sketch s = sketch_new(ranks);
    for (int32_t shift = 1; shift < ranks; shift++)
        for (int32_t r = 0; r < ranks; r++) {
            int32_t to = (r + shift) % ranks;
            double share = bytes / (1 + to % 4);
            int32_t there = add_message(&s, r, to, share, -1, 0);
            add_message(&s, to, r, share, there, 0);
        }
    return sketch_draw(&s);
}

/* Prefill to decode: all but one send their keys and values to the last, layer by layer. */
static RhProgram *kv_incast(int32_t ranks, double bytes)
{
    Sketch s = sketch_new(ranks);
    for (int32_t layer = 0; layer < 3; layer++)
        for (int32_t r = 0; r < ranks - 1; r++)
            add_message(&s, r, ranks - 1, bytes, -1, 0.02);
    return sketch_draw(&s);
}

/* Tensor-parallel decode: many small all-reduces, a short kernel before each. */
static RhProgram *decode(int32_t ranks, double bytes)
{
    RhProgram *p = rh_program_new(ranks);
    RhStride all = {1, ranks};
    int32_t group = rh_program_add_group(p, "tp", &all, 1), last = -1;
    rh_program_begin_role(p, "all", 0, &all, 1);
    for (int32_t i = 0; i < 16; i++) {
        RhTask kernel = blank_task(RH_TASK_KERNEL, RH_LANE_COMPUTE, rh_program_label(p, "layer"));
        RhTask sum = blank_task(RH_TASK_COLLECTIVE, RH_LANE_TP, rh_program_label(p, "all-reduce"));
        kernel.bundle = rh_program_add_wait(p, 0.004);
        last = rh_program_add_task(p, kernel, &last, 1);
        sum.op = RH_OP_ALL_REDUCE;
        sum.algo = RH_ALGO_RECURSIVE_DOUBLING;
        sum.group = group;
        sum.bytes = bytes;
        last = rh_program_add_task(p, sum, &last, 1);
    }
    rh_program_end_role(p);
    return p;
}

const RhMessagePattern rh_message_patterns[] = {
    {"incast", "all ranks send to one", incast},
    {"neighbours", "every rank exchanges with both neighbours", neighbours},
    {"bisection", "every rank sends across the middle", bisection},
    {"kv-ring", "context parallel: keys and values go round", kv_ring},
    {"experts", "dispatch and combine with uneven loads", experts},
    {"kv-incast", "prefill to decode: keys and values of all to one", kv_incast},
    {"decode", "tensor-parallel decode: small all-reduces", decode},
    {"straggler", "a ring with one rank that computes three times as long", straggler},
    {0}};

const RhMessagePattern *rh_message_pattern_by_name(const char *name)
{
    for (const RhMessagePattern *pattern = rh_message_patterns; pattern->name; pattern++)
        if (strcmp(pattern->name, name) == 0)
            return pattern;
    return NULL;
}
