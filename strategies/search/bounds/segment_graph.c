/* The segment graph: one node for each slot of each stage; longest path over the schedule's order,
 * messages, and the communication of the stages' stage programs, at idle speed but for p2p_interference.c: a lower
 * bound of the rehearsal, and equal to it where nothing collides.
 * Why it is one: start times are a max-plus function of durations, and sharing only lengthens
 * these. Kernels beside a collective are stretched, which is monotone too: a kernel of w seconds
 * that starts at t beside a lane that is busy until c ends at min(t + w / (1 - h), t + w + h (c -
 * t)), and that grows with t and with c. Where replicas drift apart, t stands for the last of them:
 * every collective that was sent for before t has all its members then. A message slows its sender's
 * next slot likewise, where t is the end of the slot that sends, in the rank that is last there; what
 * messages hold at their receivers counts over the whole step alone (closed_form.c). */
#include <math.h>
#include <string.h>

#include "strategies/search/bounds/segment_private.h"

int32_t rh_segment_place_of(const RhSegmentGraph *g, int32_t stage, const RhSlot *slot)
{
    return rh_pipeline_model_chunk(g->schedule, g->l->pp, stage, slot->chunk);
}

static double input_s(const RhSegmentGraph *g, const RhSlot *slot, int32_t at)
{
    bool back = rh_slot_goes_back(slot->pass);
    bool first = back ? rh_pipeline_ends(g->schedule, g->l->pp, g->l->vpp, at)
                      : rh_pipeline_begins(g->schedule, g->l->pp, at);
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || first)
        return 0; /* the stage's own work comes before */
    return g->arrival[back][(int64_t)at * g->m + slot->microbatch];
}

/* Hands an output on to the stage's own next chunk; returns when it is there. Nothing is sent, or
 * the output changes places with a twin's, and then the next run need not wait for it. The exchange
 * itself counts as nothing. */
static double keep(const RhSegmentGraph *g, RhSegmentStage *s)
{
    double out = rh_max_d(s->compute_s, s->pending_s);
    if (!g->schedule->crosses)
        return 0;
    s->pending_s = 0;
    return out;
}

/* Returns when the first member of the block has its output, at the earliest. All met in the last
 * collective; kernels behind it may be slower in the rank that is followed than in the one whose
 * message counts. */
static double leaves_s(const RhSegmentStage *s)
{
    return s->tail_s > 0 ? s->lane_s[RH_LANE_TP] + s->tail_s : rh_max_d(s->compute_s, s->pending_s);
}

/* Sends a slot's output to model chunk `to`; returns when it is there. */
double rh_segment_hand_on(const RhSegmentGraph *g, RhSegmentStage *s, int32_t stage,
                          const RhSlot *slot, int32_t to)
{
    if (rh_pipeline_stage(g->schedule, g->l->pp, to) == stage)
        return keep(g, s);
    bool down = rh_slot_goes_down(g->schedule, slot);
    const RhLinkCost *alone = down ? g->net->back : g->net->next;
    double *lane = &s->lane_s[rh_train_send_lane(g->schedule, slot)];
    bool back = rh_slot_goes_back(slot->pass);
    double bytes = rh_boundary_message_bytes(&g->messages_bytes[back ? to : to - 1], back);
    double message_s = rh_link_cost_s(&alone[stage], bytes);
    if (g->messages)
        message_s = rh_max_d(message_s, rh_link_cost_s(&g->messages[2 * stage + down], bytes));
    *lane = rh_max_d(*lane, rh_max_d(s->compute_s, s->pending_s)) + message_s;
    if (g->shares && s->tail_s >= 0) {
        const RhP2pInterference *with = g->shares + 2 * g->l->pp * (int32_t)s->stand;
        double *met_s = &s->lane_s[RH_LANE_TP];
        *met_s =
            rh_max_d(*met_s, leaves_s(s) + rh_p2p_interference_s(&with[2 * stage + down], bytes));
    }
    s->sending_s = g->net->uniform || g->shares ? s->held_s + message_s : 0;
    s->pending_s = 0; /* it waits for the output; the next run need not */
    return *lane;
}

/* The model chunk that waits for the slot; -1: none. */
int32_t rh_segment_receiver_of(const RhSegmentGraph *g, const RhSlot *slot, int32_t at)
{
    return rh_pipeline_receiver(g->schedule, g->l->pp, g->l->vpp, slot->pass, at);
}

static void send(RhSegmentGraph *g, int32_t stage, const RhSlot *slot, int32_t at)
{
    int32_t to = rh_segment_receiver_of(g, slot, at);
    g->stages[stage].stand = rh_slot_stand(&g->stages[stage].turn, g->stages[stage].next);
    if (to >= 0)
        g->arrival[rh_slot_goes_back(slot->pass)][(int64_t)to * g->m + slot->microbatch] =
            rh_segment_hand_on(g, &g->stages[stage], stage, slot, to);
}

/* --- pairs --- */

/* A half's state in the stage's place, and back. */
static void enter_half(RhSegmentStage *s, const RhBatchOverlap *turns, int half)
{
    s->compute_s = turns->last_s[half];
    s->pending_s = turns->pending_s[half];
}

/* Steps before the slot's next layer; the builder's order. */
static void run_to_item(const RhSegmentGraph *g, RhSegmentStage *s, RhInstrRange *steps,
                        RhBatchOverlap *turns, int half)
{
    enter_half(s, turns, half);
    while (steps->count > 0) {
        int32_t i = steps->first++;
        steps->count--;
        if (rh_stage_program_instr(s->flows->stage_program, i)->kind == RH_INSTR_RUN)
            break;
        rh_segment_run_instr(g, s, i);
    }
    turns->pending_s[half] = s->pending_s;
}

static void run_pair_items(const RhSegmentGraph *g, RhSegmentStage *s, const RhSlot *slots,
                           RhInstrRange *steps, RhBatchOverlap *turns)
{
    RhTimedLayerOps ops = {rh_bound_layer_ops(g->shard), s->times, g->ends_s};
    RhPairWalk walk =
        rh_stage_program_pair(s->flows->stage_program, slots[0].chunk, slots[1].chunk);
    for (int32_t f, b; rh_pair_next(&walk, &f, &b);) {
        if (f >= 0)
            run_to_item(g, s, &steps[0], turns, 0);
        for (int32_t i = 1; b >= 0 && i <= slots[0].beside; i++)
            run_to_item(g, s, &steps[i], turns, 1);
        rh_batch_overlap_pair(g->cache, &ops, &walk, f, b, turns);
    }
    for (int32_t i = 0; i <= slots[0].beside; i++)
        run_to_item(g, s, &steps[i], turns, i > 0);
}

static void run_pair(RhSegmentGraph *g, int32_t stage, const RhSlot *slots, const RhSlotKind *kinds,
                     const double input_s[2])
{
    RhSegmentStage *s = &g->stages[stage];
    RhBatchOverlap turns = {.free_s = s->lane_s, .since_s = s->since_s};
    RhInstrRange steps[3];
    double pending_s = 0;
    for (int32_t i = 0; i <= slots[0].beside; i++)
        steps[i] = rh_stage_program_slot(s->flows->stage_program, &kinds[i]);
    s->lane_s[RH_LANE_COMPUTE] = s->compute_s;
    for (int half = 0; half < 2; half++) {
        turns.last_s[half] = s->compute_s;
        turns.pending_s[half] = rh_max_d(s->pending_s, input_s[half]);
    }
    run_pair_items(g, s, slots, steps, &turns);
    s->held_s = (double)-INFINITY;
    s->tail_s = (double)-INFINITY;
    for (int half = 0; half < 2; half++) {
        enter_half(s, &turns, half);
        send(g, stage, &slots[half], rh_segment_place_of(g, stage, &slots[half]));
        pending_s = rh_max_d(pending_s, s->pending_s);
    }
    s->compute_s = s->lane_s[RH_LANE_COMPUTE];
    s->pending_s = pending_s;
    s->sending_s = 0;
    s->next += 1 + slots[0].beside;
}

static bool advance_pair(RhSegmentGraph *g, int32_t stage)
{
    RhSegmentStage *s = &g->stages[stage];
    const RhSlot *slots = &s->slots[s->next];
    RhSlotKind kinds[3];
    double inputs_s[2];
    for (int half = 0; half < 2; half++) {
        inputs_s[half] = input_s(g, &slots[half], rh_segment_place_of(g, stage, &slots[half]));
        if (isnan(inputs_s[half]))
            return false;
    }
    for (int32_t i = 0; i <= slots[0].beside; i++)
        kinds[i] = rh_slot_kind_next(&slots[i], g->m, s->done);
    run_pair(g, stage, slots, kinds, inputs_s);
    return true;
}

/* --- all slots --- */

/* Runs the next slot of a stage if its input is there. */
static bool advance(RhSegmentGraph *g, int32_t stage)
{
    RhSegmentStage *s = &g->stages[stage];
    if (s->next == g->total)
        return false;
    const RhSlot *slot = &s->slots[s->next];
    if (slot->beside)
        return advance_pair(g, stage);
    int32_t at = rh_segment_place_of(g, stage, slot);
    double input = input_s(g, slot, at);
    if (isnan(input))
        return false;
    RhSlotKind kind = rh_slot_kind_next(slot, g->m, s->done);
    s->pending_s = rh_max_d(s->pending_s, input);
    RhInstrRange steps = rh_stage_program_slot(s->flows->stage_program, &kind);
    if (steps.count == 0)
        rh_segment_run(g, s, &g->spans->chunk[at]->of[slot->pass]);
    else
        rh_segment_run_instrs(g, s, steps);
    send(g, stage, slot, at);
    s->next++;
    return true;
}

static void stage_init(RhSegmentGraph *g, int32_t stage, RhShardCost *shard,
                       const RhCommSteps *flows, RhSlot *slots, int32_t *done)
{
    RhSegmentStage *s = &g->stages[stage];
    *s = (RhSegmentStage){.flows = flows, .slots = slots, .done = done};
    s->times = rh_bound_layer_times(g->cache, shard, g->net, stage);
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        s->since_s[lane] = (double)INFINITY;
    s->begin_s =
        g_new(double, flows->stage_program->begin.count + flows->stage_program->ahead_most + 1);
    s->sent_s = s->begin_s + flows->stage_program->begin.count;
    g->schedule->order(g->l->pp, g->l->vpp, g->m, stage, slots);
    s->turn = rh_slot_turn(slots, g->total);
    rh_segment_run_instrs(g, s, flows->stage_program->begin);
    s->begun = true;
    s->called = g->sums ? g_array_new(FALSE, FALSE, sizeof(RhGradientCalled)) : NULL;
}

/* Runs the stage's end until it meets others. Returns in which kind of group; RH_GROUP_LAST: it is at
 * its end. */
static RhGroupKind run_to_meeting(const RhSegmentGraph *g, RhSegmentStage *s)
{
    RhInstrRange end = s->flows->stage_program->end;
    for (; s->ended < end.count; s->ended++) {
        const RhInstr *step = rh_stage_program_instr(s->flows->stage_program, end.first + s->ended);
        if (step->kind == RH_INSTR_COMMUNICATE && rh_group_joins_stages((RhGroupKind)step->group) &&
            !rh_group_pairs_stages((RhGroupKind)step->group)) /* each pair meets by itself */
            return (RhGroupKind)step->group;
        rh_segment_run_instr(g, s, end.first + s->ended);
    }
    return RH_GROUP_LAST;
}

/* Stages that meet in a group begin when the latest of them is there. */
static void meet(RhSegmentGraph *g, RhGroupKind kind)
{
    double begin_s = 0;
    for (int32_t i = 0; i < g->l->pp; i++)
        if (run_to_meeting(g, &g->stages[i]) == kind)
            begin_s = rh_max_d(begin_s, rh_max_d(g->stages[i].compute_s, g->stages[i].pending_s));
    for (int32_t i = 0; i < g->l->pp; i++) {
        RhSegmentStage *s = &g->stages[i];
        if (run_to_meeting(g, s) != kind)
            continue;
        s->pending_s = rh_max_d(s->pending_s, begin_s);
        rh_segment_run_instr(g, s, s->flows->stage_program->end.first + s->ended++);
    }
}

/* All that a stage reduced and gathered over the same links is behind it when its end begins. */
static double ends_s(RhSegmentGraph *g)
{
    double latest = rh_step_loading_s(g->cache->c, g->l);
    for (int32_t i = 0; i < g->l->pp; i++) {
        RhSegmentStage *s = &g->stages[i];
        g_assert(s->next == g->total);
        s->over = true;
        s->pending_s = rh_max_d(s->pending_s, s->flows->sums.step.moving_s +
                                                  g->m * s->flows->sums.step_each.moving_s);
    }
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        if (rh_group_joins_stages((RhGroupKind)kind) && g->net->groups[kind] >= 0)
            meet(g, (RhGroupKind)kind);
    for (int32_t i = 0; i < g->l->pp; i++) {
        RhSegmentStage *s = &g->stages[i];
        run_to_meeting(g, s);
        latest =
            rh_max_d(latest, rh_max_d(s->compute_s, s->pending_s) + s->flows->sums.optimizer_s);
        latest = rh_max_d(
            latest, rh_max_d(s->lane_s[RH_LANE_HOST], rh_max_d(s->lane_s[RH_LANE_STATES_IN],
                                                               s->lane_s[RH_LANE_DRIVES_OUT])));
    }
    return latest;
}

static void graph_run(RhSegmentGraph *g)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t s = 0; s < g->l->pp; s++)
            while (advance(g, s))
                moved = true;
    }
}

/* Initializes the graph of one block of each stage; `slots` and `done` have room for all stages,
 * and are filled anew. */
static void graph_init(RhSegmentGraph *g, RhSegmentStage *stages, RhSlot *slots, int32_t *done,
                       RhEgress *sent)
{
    size_t cells = (size_t)g->chunks * (size_t)g->m;
    RhCommSteps *const *flows = rh_bound_comm_steps(g->cache, g->l);
    g->arrival[0] = g_new(double, 2 * cells);
    g->arrival[1] = g->arrival[0] + cells;
    for (size_t i = 0; i < 2 * cells; i++)
        g->arrival[0][i] = i < (size_t)g->m ? 0 : (double)NAN;
    g->stages = stages;
    memset(done, 0, (size_t)g->l->pp * (size_t)g->l->vpp * RH_SLOT_PASSES * sizeof *done);
    for (int32_t s = 0; s < g->l->pp; s++) {
        stage_init(g, s, g->shard, flows[s], slots + s * g->total,
                   done + (size_t)s * (size_t)g->l->vpp * RH_SLOT_PASSES);
        stages[s].sent = sent ? rh_egress_stage(sent, s, slots + s * g->total, g->total) : NULL;
    }
}

RhSegmentGraph rh_segment_graph_beside(const RhSegmentGraph *g, int32_t other)
{
    RhSegmentGraph beside = *g;
    beside.net = &g->net->others[other];
    beside.spans =
        rh_bound_chunk_times(g->cache, g->shard, rh_bound_split(g->cache, g->l), beside.net);
    beside.shares = g->shares ? g->shares + (other + 1) * rh_p2p_interference_count(g->l) : NULL;
    beside.sums_first = (other + 1) * g->l->pp;
    return beside;
}

/* Gradients are summed when the last of these replicas has them. */
static double summed_s(const RhSegmentGraph *graphs, int32_t count, int32_t stage)
{
    double lane_s = 0;
    const GArray *first = graphs[0].stages[stage].called;
    for (guint k = 0; k < first->len; k++) {
        double ready_s = lane_s;
        for (int32_t i = 0; i < count; i++)
            ready_s = rh_max_d(
                ready_s,
                g_array_index(graphs[i].stages[stage].called, RhGradientCalled, k).ready_s);
        lane_s = ready_s + g_array_index(first, RhGradientCalled, k).seconds;
    }
    return lane_s;
}

static void meet_replicas(RhSegmentGraph *graphs, int32_t count, int32_t stage)
{
    bool meet = graphs[0].sums->replicas_meet;
    double all_s = meet ? summed_s(graphs, count, stage) : 0;
    for (int32_t i = 0; i < count; i++) {
        const RhSegmentGraph *g = &graphs[i];
        double summed = meet ? all_s : summed_s(g, 1, stage);
        RhSegmentStage *s = &g->stages[stage];
        double own = rh_gradient_stage_s(g->sums->stages[g->sums_first + stage], g->cache, s->flows,
                                         s->slots, g->total, s->called);
        s->pending_s = rh_max_d(s->pending_s, rh_max_d(summed, own));
    }
}

static double path_s(RhSegmentGraph *g)
{
    int32_t pp = g->l->pp, count = g->sums ? g->net->others_count + 1 : 1;
    g_autofree RhSegmentGraph *graphs = g_new(RhSegmentGraph, count);
    g_autofree RhSegmentStage *stages = g_new(RhSegmentStage, pp * count);
    g_autofree RhSlot *slots = g_new(RhSlot, pp * g->total);
    g_autofree int32_t *done = g_new(int32_t, pp * g->l->vpp * RH_SLOT_PASSES);
    g_autoptr(RhEgress) sent = rh_egress_new(g->cache, g->l, g->spans);
    g_autofree double *ends = rh_batch_overlap_new(rh_bound_layer_ops(g->shard));
    double end = 0;
    g->ends_s = ends;
    for (int32_t i = 0; i < count; i++) {
        graphs[i] = i == 0 ? *g : rh_segment_graph_beside(g, i - 1);
        graph_init(&graphs[i], stages + i * pp, slots, done, sent);
        graph_run(&graphs[i]);
    }
    for (int32_t s = 0; g->sums && s < pp; s++)
        meet_replicas(graphs, count, s);
    for (int32_t i = 0; i < count; i++) {
        end = rh_max_d(end, ends_s(&graphs[i]));
        g_free(graphs[i].arrival[0]);
    }
    for (int32_t i = 0; i < pp * count; i++) {
        g_free(stages[i].begin_s);
        g_clear_pointer(&stages[i].called, g_array_unref);
    }
    return rh_max_d(end, sent ? rh_egress_s(sent) : 0);
}

RhSegmentGraph rh_segment_graph_of(RhBoundCache *cache, const RhLayout *l)
{
    RhShardCost *shard = rh_bound_shard(cache, l);
    RhSegmentGraph g = {.cache = cache,
                        .l = l,
                        .schedule = rh_pipeline_of(l),
                        .shard = shard,
                        .net = rh_bound_network(cache, l),
                        .m = (int32_t)rh_train_microbatches(cache->c, l),
                        .chunks = l->pp * l->vpp};
    g.total = rh_pipeline_slots_count(g.schedule, l->vpp, g.m);
    const RhSplit *split = rh_bound_split(cache, l);
    g.spans = rh_bound_chunk_times(cache, shard, split, g.net);
    g.shares = rh_bound_p2p_interference(cache, l);
    g.messages_bytes = rh_model_cost_messages_new(shard->model_cost, split->layers, g.chunks);
    return g;
}

static double longest_s(RhBoundCache *cache, const RhLayout *l, bool links_shared)
{
    RhSegmentGraph g = rh_segment_graph_of(cache, l);
    g.messages = links_shared ? rh_bound_messages(cache, l) : NULL;
    g.sums = rh_bound_gradient_interference(cache, l);
    double path = path_s(&g);
    g_free(g.messages_bytes);
    return rh_max_d(path, rh_closed_form_s(cache, l));
}

double rh_bound_graph_s(RhBoundCache *cache, const RhLayout *l)
{
    if (rh_stages_unequal(l))
        return rh_unequal_graph_s(cache, l);
    return longest_s(cache, l, false);
}

double rh_segment_graph_s(RhBoundCache *cache, const RhLayout *l)
{
    if (rh_stages_unequal(l))
        return rh_unequal_graph_s(cache, l);
    return longest_s(cache, l, true);
}
