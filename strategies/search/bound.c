/* The closed-form bound: about a microsecond, never above the segment graph.
 *
 * Legend: m micro-batches, stage s of p. For every stage:
 *   pipeline   the first micro-batch must pass stages 0 .. s-1, s works m times, the last backward
 * must go back gradients  ZeRO-0/1: all of the stage's gradients leave after its last micro-batch's
 * backward began; ZeRO-2/3: every micro-batch's do; at the rate that no algorithm beats and the
 * optimizer follows. */
#include <math.h>

#include "strategies/search/screen.h"

#define PARAM_BYTES 2.0

typedef struct {
    const RhCase *c;
    const RhLayout *l;
    const RhSpans *spans;
    const RhNet *net;
    const RhPieces *pieces;
    double m;
} Terms;

/* Seconds the gradient lane of stage s is busy after `ready`. */
static double gradient_lane_s(const Terms *t, int32_t s)
{
    double params = t->spans->params[s], rate = t->net->reduce_s_per_byte;
    switch (t->l->zero) {
    case 0:
        return 2 * t->c->stack->gradient_bytes * params * rate;
    case 1:
        return t->c->stack->gradient_bytes * params * rate;
    default:
        return t->m * PARAM_BYTES * params * rate;
    }
}

/* Until the parameters of the first kernels are there. */
static double first_gather_s(const Terms *t)
{
    if (t->l->dp == 1 || t->l->zero == 0 || t->l->zero == 3)
        return 0;
    double bucket = fmin(rh_bucket_params(t->c, t->l), t->spans->params[0]);
    return PARAM_BYTES * bucket * t->net->reduce_s_per_byte;
}

/* Lane time of stage 0 before its forward number `forwards`, whole rounds of p micro-batches
 * through v chunks: those forwards, and the backwards that the schedule puts between them. */
static double before_forward_s(const Terms *t, int64_t forwards)
{
    int32_t p = t->l->pp, v = t->l->vpp;
    int64_t warmup = 2 * ((int64_t)p - 1) + (int64_t)(v - 1) * p,
            backwards = MAX(0, forwards - warmup);
    double time = 0;
    for (int32_t c = 0; c < v; c++) {
        const RhSpanCost *chunk = &t->spans->chunk[c * p];
        /* Backwards go through the chunks from the last, p micro-batches each. */
        int64_t rest = backwards % ((int64_t)p * v) - (int64_t)(v - 1 - c) * p;
        int64_t runs = backwards / ((int64_t)p * v) * p + CLAMP(rest, 0, p);
        time += (double)(forwards / v) * chunk->forward_busy_s + (double)runs * chunk->backward_s;
    }
    return time;
}

/* Seconds of messages from the first model chunk to the last, and back: the wrap is crossed once
 * less each way. */
static double all_hops_s(const Terms *t)
{
    double message = t->pieces->message_bytes;
    return t->l->vpp * (t->net->round_latency_s + t->net->round_s_per_byte * message) -
           t->net->wrap_latency_s - t->net->wrap_s_per_byte * message;
}

/* Interleaved, one path: all that stage 0 does before the last p micro-batches, the first of those
 * through every chunk, the last chunk forward and backward for each of them, and back through every
 * chunk. */
static double interleaved_path_s(const Terms *t)
{
    int32_t last = t->l->pp * t->l->vpp - 1;
    const RhSpanCost *end = &t->spans->chunk[last];
    int64_t before = ((int64_t)t->m - t->l->pp) * t->l->vpp;
    return before_forward_s(t, before) + t->spans->forward_all_s - end->forward_s +
           t->spans->backward_all_s - end->backward_s + all_hops_s(t) +
           t->l->pp * (end->forward_busy_s + end->backward_s);
}

double rh_screen_bound_s(RhScreen *screen, const RhLayout *l)
{
    const RhShardCost *shard = rh_screen_shard(screen, l);
    Terms t = {.c = screen->c, .l = l, .net = rh_screen_net(screen, l), .pieces = shard->pieces};
    t.spans = rh_screen_spans(screen, shard, rh_screen_split(screen, l), l);
    t.m = (double)rh_train_microbatches(screen->c, l);
    double message = t.pieces->message_bytes, hops = 0, worst = 0;
    double start = first_gather_s(&t);
    double home = rh_screen_optimizer_s(t.c, l, t.spans->params[0]);
    for (int32_t s = 0; s < l->pp; s++) {
        double fill = t.spans->fill_s[s] + (s ? start : 0), work = t.m * t.spans->work_s[s];
        double optimizer = rh_screen_optimizer_s(t.c, l, t.spans->params[s]);
        double here = fill + hops + work;
        double pipeline = here + MAX(t.spans->drain_s[s] + hops + home, optimizer);
        /* Interleaved, the last chunk's gradients are final up to p micro-batches of the others
         * before the end. */
        double before_end = (l->vpp > 1 ? l->pp : 1) * t.spans->backward_s[s];
        double first_ready = l->zero <= 1 ? here - before_end : fill + hops;
        double gradients = first_ready + gradient_lane_s(&t, s) + optimizer;
        /* ZeRO-3: two gathers and a reduction of every parameter share the links. */
        double gathers = l->zero == 3
                             ? 3 * t.m * PARAM_BYTES * t.spans->params[s] * t.net->reduce_s_per_byte
                             : 0;
        worst = MAX(worst, MAX(MAX(pipeline, gradients), gathers));
        if (l->pp > 1)
            hops += t.net->edge_latency_s[s] + message * t.net->edge_s_per_byte[s];
    }
    if (l->vpp > 1)
        worst = MAX(worst, start + home + interleaved_path_s(&t));
    return worst + (l->pp == 1 ? start : 0);
}
