/* Time that communication adds to a critical path, for the closed form. */
#include <math.h>

#include "base/garray_access.h"
#include "strategies/search/bounds/segment_private.h"

typedef struct {
    RhSegmentGraph *g;
    RhShardCost *shard;
    RhCommSteps *const *flows;
} Ends;

/* A stage where all that was sent for is long done: whatever the graph's is at when a slot starts,
 * at time 0 here, none of its lanes is free earlier. */
static RhSegmentStage stage_at_rest(const Ends *e, int32_t stage, double *room)
{
    const RhCommSteps *f = e->flows[stage];
    RhSegmentStage s = {.flows = f,
                        .times = rh_bound_layer_times(e->g->cache, e->shard, e->g->net, stage),
                        .compute_s = (double)-INFINITY,
                        .begin_s = room,
                        .sent_s = room + f->stage_program->begin.count,
                        .sent_count = f->stage_program->ahead_most,
                        .copied_s = (double)-INFINITY,
                        .begun = true};
    for (int32_t i = 0; i < f->stage_program->begin.count + f->stage_program->ahead_most + 1; i++)
        room[i] = (double)-INFINITY;
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        s.lane_s[lane] = s.before_s[lane] = (double)-INFINITY;
    return s;
}

static double *stage_room(const RhCommSteps *f)
{
    return g_new0(double, f->stage_program->begin.count + f->stage_program->ahead_most + 1);
}

/* Slots that a path runs in a row on one stage. */
typedef struct {
    const RhSchedulePathSlot *slots;
    guint count;
    bool begins, ends; /* the path */
} PathRun;

/* The stage's beginning, with nothing before it. */
static void begin(const Ends *e, RhSegmentStage *s)
{
    s->compute_s = s->copied_s = s->sent_count = 0;
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        s->lane_s[lane] = s->before_s[lane] = 0;
    s->begun = false;
    rh_segment_run_instrs(e->g, s, s->flows->stage_program->begin);
    s->begun = true;
}

/* Returns when the run is over: where the path goes on, or at the end of the stage's step. */
static double run_end_s(const Ends *e, RhSegmentStage *s, const PathRun *r)
{
    if (r->ends)
        rh_segment_run_instrs(e->g, s, s->flows->stage_program->end);
    return r->ends || r->slots[r->count - 1].leaves ? rh_max_d(s->compute_s, s->pending_s)
                                                    : s->compute_s;
}

/* Does the run do nothing but its layers? */
static bool is_plain(const Ends *e, const PathRun *r)
{
    const RhStageProgram *stage_program = e->flows[r->slots[0].stage]->stage_program;
    return r->count == 1 && !r->begins && !r->ends &&
           rh_stage_program_slot(stage_program, &r->slots[0].kind).count == 0;
}

/* Returns how much later a run is over than its layers alone, which the path's price counts. */
static double late_s(const Ends *e, const PathRun *r)
{
    int32_t stage = r->slots[0].stage;
    g_autofree double *room = stage_room(e->flows[stage]);
    RhSegmentStage s = stage_at_rest(e, stage, room);
    double alone_s = 0;
    if (r->begins)
        begin(e, &s);
    for (guint i = 0; i < r->count; i++) {
        const RhSlotKind *kind = &r->slots[i].kind;
        RhSlot slot = {.chunk = kind->chunk, .pass = kind->pass};
        int32_t at = rh_segment_place_of(e->g, stage, &slot),
                to = rh_segment_receiver_of(e->g, &slot, at);
        const RhLayerTime *alone = &e->g->spans->chunk[at]->of[kind->pass];
        RhInstrRange steps = rh_stage_program_slot(s.flows->stage_program, kind);
        s.stand = r->slots[i].stand;
        if (steps.count == 0)
            rh_segment_run(e->g, &s, alone);
        else
            rh_segment_run_instrs(e->g, &s, steps);
        if (i + 1 < r->count && to >= 0)
            rh_segment_hand_on(e->g, &s, stage, &slot, to);
        alone_s += i + 1 == r->count && r->slots[i].leaves ? alone->out_s : alone->busy_s;
    }
    return rh_max_d(0, run_end_s(e, &s, r) - alone_s);
}

static RhSegmentGraph graph_of(RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net)
{
    RhSegmentGraph g = rh_segment_graph_of(cache, l);
    return net == g.net ? g : rh_segment_graph_beside(&g, (int32_t)(net - g.net->others));
}

double rh_bound_path_late_s(RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net,
                            const RhSchedulePath *path)
{
    RhSegmentGraph g = graph_of(cache, l, net);
    Ends e = {&g, rh_bound_shard(cache, l), rh_bound_comm_steps(cache, l)};
    const RhSchedulePathSlot *slots = RH_ELEMENTS(path->slots, RhSchedulePathSlot);
    double sum = 0;
    for (guint first = 0, end; first < path->slots->len; first = end) {
        for (end = first + 1; end < path->slots->len && slots[end].follows; end++)
            ;
        PathRun r = {slots + first, end - first, first == 0, end == path->slots->len};
        if (!is_plain(&e, &r))
            sum += late_s(&e, &r);
    }
    g_free(g.messages_bytes);
    return sum;
}

/* --- what a message does to the slot behind --- */

static const RhLayerTime *slot_time(const Ends *e, int32_t stage, const RhSlot *slot)
{
    return &e->g->spans->chunk[rh_segment_place_of(e->g, stage, slot)]->of[slot->pass];
}

/* The stage's first slot that sends up, or down. False: there is none. */
static bool find_sender(const Ends *e, int32_t stage, bool down, RhSlot *out)
{
    const RhPipelineSchedule *schedule = e->g->schedule;
    for (int32_t i = 0; i < e->g->l->vpp * RH_SLOT_BACKWARD_WEIGHT; i++) {
        *out = (RhSlot){.chunk = i / RH_SLOT_BACKWARD_WEIGHT,
                        .pass = (RhSlotPass)(i % RH_SLOT_BACKWARD_WEIGHT)};
        int32_t to = rh_segment_receiver_of(e->g, out, rh_segment_place_of(e->g, stage, out));
        if (to >= 0 && rh_pipeline_stage(schedule, e->g->l->pp, to) != stage &&
            rh_slot_goes_down(schedule, out) == down)
            return true;
    }
    return false;
}

/* How much later a slot is over right behind the sender than the stage would be free. */
static double behind_s(const Ends *e, RhSegmentStage s, const RhLayerTime *time)
{
    double free_s = s.compute_s;
    rh_segment_run(e->g, &s, time);
    return rh_max_d(0, s.compute_s - free_s - time->busy_s);
}

/* Computes, for all cells of the stage, the delay by what was sent so. */
static void fill_behind(const Ends *e, int32_t stage, RhSlotStand stand, bool down, double *of_cell)
{
    RhSlot sender;
    if (!find_sender(e, stage, down, &sender))
        return;
    g_autofree double *room = stage_room(e->flows[stage]);
    RhSegmentStage s = stage_at_rest(e, stage, room);
    int32_t at = rh_segment_place_of(e->g, stage, &sender);
    const RhLayerTime *known = NULL;
    double known_s = 0;
    s.stand = stand;
    rh_segment_run(e->g, &s, slot_time(e, stage, &sender));
    rh_segment_hand_on(e->g, &s, stage, &sender, rh_segment_receiver_of(e->g, &sender, at));
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
        for (int32_t chunk = 0; chunk < e->g->l->vpp; chunk++) {
            RhSlot slot = {.chunk = chunk, .pass = (RhSlotPass)pass};
            const RhLayerTime *time = slot_time(e, stage, &slot);
            if (time != known)
                known_s = behind_s(e, s, time);
            known = time;
            of_cell[rh_segment_place_of(e->g, stage, &slot) * RH_SLOT_PASSES + pass] = known_s;
        }
}

double *rh_bound_path_behind_s(RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net)
{
    RhSegmentGraph g = graph_of(cache, l, net);
    Ends e = {&g, rh_bound_shard(cache, l), rh_bound_comm_steps(cache, l)};
    int32_t cells = g.chunks * RH_SLOT_PASSES;
    double *behind = g.shares ? g_new0(double, 2 * RH_STANDS * cells) : NULL;
    for (int32_t i = 0; behind && i < 2 * RH_STANDS * l->pp; i++)
        fill_behind(&e, i / (2 * RH_STANDS), (RhSlotStand)(i / 2 % RH_STANDS), i % 2,
                    behind + i % (2 * RH_STANDS) * cells);
    g_free(g.messages_bytes);
    return behind;
}
