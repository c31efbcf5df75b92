/* One stage of the segment graph: its runs of layers, and what it communicates and copies beside them. */
#include "strategies/search/bounds/segment_private.h"

/* Path of a run that starts with it, until the compute lane is free or the output is there. */
typedef struct {
    double path_s, kernels_s;
    int32_t beside; /* RhLayerTime */
    const RhLayerWaits *waits;
} Path;

/* Returns the longest time without a kernel within the path's first `window_s`. */
static double waits_s(const Path *p, double window_s)
{
    const RhLayerWaits *w = p->waits;
    double exposed = p->path_s - p->kernels_s;
    if (window_s >= w->length_s)
        return rh_min_d(exposed, w->wait_s[RH_LAYER_WINDOWS - 1] + window_s - w->length_s);
    double part_s = w->length_s / RH_LAYER_WINDOWS;
    int i = (int)(window_s / part_s);
    double before_s = i > 0 ? w->wait_s[i - 1] : 0;
    return rh_min_d(exposed, rh_min_d(w->wait_s[i], before_s + window_s - i * part_s));
}

/* Returns the time that a path loses when something takes `frac` of the SMs for its first `held_s`:
 * its kernels are slower. While they are, waits on the path only come later, so that no more of
 * them lie in the window. */
static double lost_s(const Path *p, double held_s, double frac)
{
    double longest_s = p->kernels_s / (1 - frac) + p->path_s - p->kernels_s;
    double window_s = rh_min_d(held_s, longest_s);
    return frac * rh_max_d(0, window_s - waits_s(p, window_s));
}

/* Returns the time that a path from t on loses to lanes that are busy then, and to the message of
 * the slot before if that is under way for `sending_s`. */
static double stretch_s(const RhSegmentGraph *g, const RhSegmentStage *s, double t, const Path *p,
                        double sending_s)
{
    double busy_s[RH_LANE_SEND_NEXT - RH_LANE_DP + 1], sum = 0;
    int32_t count = 0;
    bool apart = !g->net->uniform; /* its own group may be done before the slowest */
    for (int lane = RH_LANE_DP; !apart && lane < RH_LANE_SEND_NEXT; lane++)
        if (s->lane_s[lane] > t)
            busy_s[count++] = s->lane_s[lane] - t;
    if (sending_s > 0)
        busy_s[count++] = sending_s;
    double frac = count > 0 ? rh_bound_taken_frac(g->cache, count, p->beside) : 0;
    for (int32_t i = 0; i < count; i++)
        sum += lost_s(p, busy_s[i], frac);
    return sum;
}

static inline bool meets_lanes(const RhSegmentStage *s, double t)
{
    bool busy = false;
    for (int lane = RH_LANE_DP; lane < RH_LANE_SEND_NEXT; lane++)
        busy |= s->lane_s[lane] > t;
    return busy;
}

/* The stage's last rank is free at compute_s and busy sending. Where it still has a collective to
 * end, what was sent for behind that begins later: then it counts alone. */
static double beside_message_s(const RhSegmentGraph *g, const RhSegmentStage *s, const Path *p)
{
    double lost = s->held_s <= 0
                      ? stretch_s(g, s, s->compute_s, p, s->sending_s)
                      : lost_s(p, s->sending_s, rh_bound_taken_frac(g->cache, 1, p->beside));
    return s->compute_s + p->path_s + lost;
}

/* A collective that the run before left under way keeps back those of this run. */
static void wait_for_lane(const RhLayerLaneTime *lane, double *lane_s, double t, RhSegmentStage *s)
{
    double c = *lane_s;
    if (lane->free_s > 0) {
        *lane_s = rh_max_d(t + lane->free_s, c + lane->lane_after_s);
        s->since_s[lane_s - s->lane_s] = (double)INFINITY;
    }
    if (c <= t)
        return;
    s->compute_s = rh_max_d(s->compute_s, c + lane->busy_after_s);
    s->pending_s = rh_max_d(s->pending_s, c + lane->out_after_s);
}

/* The rank whose input comes last and the one that sends last may be two: the later of both bounds
 * holds. */
void rh_segment_run(const RhSegmentGraph *g, RhSegmentStage *s, const RhLayerTime *time)
{
    double t = rh_max_d(s->compute_s, s->pending_s);
    if (s->sent)
        rh_egress_run(s->sent, s->compute_s);
    Path busy = {time->busy_s, time->kernels_s, time->beside, &time->waits};
    Path leaves = {time->out_s, time->out_kernels_s, time->beside, &time->waits};
    bool met = meets_lanes(s, t);
    double late = met ? stretch_s(g, s, t, &busy, 0) : 0, out_late = late;
    if (met && time->out_kernels_s < time->kernels_s) /* the output does not wait for all kernels */
        out_late = stretch_s(g, s, t, &leaves, 0);
    double end = t + time->busy_s + late, out = t + time->out_s + out_late;
    if (s->sending_s > t - s->compute_s) {
        end = rh_max_d(end, beside_message_s(g, s, &busy));
        out = rh_max_d(out, beside_message_s(g, s, &leaves));
    }
    s->compute_s = end;
    s->pending_s = out;
    s->held_s = time->held_s;
    s->tail_s = time->tail_s;
    s->sending_s = 0;
    for (int lane = 0; lane < time->lanes_end; lane++)
        wait_for_lane(&time->lane[lane], &s->lane_s[RH_LANE_TP + lane], t, s);
}

/* Returns when these lanes are free. */
static double lanes_s(const RhSegmentStage *s, uint32_t lanes)
{
    double latest = (double)-INFINITY;
    for (int lane = 0; lanes >> lane; lane++)
        if (lanes & RH_LANE_BIT(lane))
            latest = rh_max_d(latest, s->lane_s[lane]);
    return latest;
}

/* Returns when the steps that a communication depends on are done. */
static double ready_s(const RhSegmentStage *s, const RhInstr *step)
{
    int32_t ring = s->flows->stage_program->ahead_most;
    double ready = s->sent_count >= step->ahead && step->ahead > 0
                       ? s->sent_s[(s->sent_count - step->ahead) % ring]
                       : 0;
    if (step->ahead == 0)
        ready = rh_max_d(s->compute_s, s->pending_s);
    return rh_max_d(ready, lanes_s(s, step->after));
}

/* A gather and a scatter that could begin at one time share a link until the one with fewer bytes is over, but
 * while the other waits for latencies, its own and those of what its lane had left. While a lane is busy with
 * what crosses other links, the other's bytes move alone; and then it is not known until when. */
static void share_link(RhSegmentStage *s, const RhSegmentTransfer *own,
                       const RhSegmentTransfer *other)
{
    double alone_s = s->crossed & RH_LANE_BIT(own->lane) ? own->waits_s : 0;
    double shared_s =
        rh_min_d(own->moving_s - 2 * other->fixed_s, other->moving_s - 2 * own->fixed_s - alone_s);
    if (!(s->crossed & RH_LANE_BIT(other->lane)))
        s->lane_s[own->lane] += rh_max_d(0, shared_s);
}

static void occupy_lane(const RhSegmentGraph *g, RhSegmentStage *s, int32_t i)
{
    const RhInstr *step = rh_stage_program_instr(s->flows->stage_program, i);
    double seconds = s->flows->step_s[i], moving = s->flows->moving_s[i], ready = ready_s(s, step);
    double *lane_s = &s->lane_s[step->lane], waits = rh_max_d(0, *lane_s - ready);
    *lane_s = rh_max_d(*lane_s, ready) + seconds;
    if (moving <= 0)
        s->crossed |= RH_LANE_BIT(step->lane);
    if (moving <= 0 || !g->net->uniform)
        return;
    RhSegmentTransfer now = {(RhLane)step->lane, ready, moving, seconds - moving, waits};
    if (s->transfer.lane != now.lane && s->transfer.ready_s == ready) {
        share_link(s, &now, &s->transfer);
        share_link(s, &s->transfer, &now);
    }
    s->transfer = now;
}

static void communicate(const RhSegmentGraph *g, RhSegmentStage *s, int32_t i)
{
    const RhInstr *step = rh_stage_program_instr(s->flows->stage_program, i);
    double ready = ready_s(s, step);
    if (i >= s->begun_until || step->ahead == 0)
        occupy_lane(g, s, i);
    if (step->ahead > 0)
        s->sent_s[s->sent_count++ % s->flows->stage_program->ahead_most] = s->compute_s;
    if (s->called && s->begun && !s->over && step->lane == RH_LANE_DP)
        g_array_append_val(s->called,
                           ((RhGradientCalled){s->compute_s, ready, s->flows->step_s[i]}));
    if (!s->begun)
        s->begin_s[s->begin_count++] = s->lane_s[step->lane];
}

/* A communication that the stage program has behind a run, from step i on, but that may start before it is over, is
 * under way beside it. */
static void begin_ahead(const RhSegmentGraph *g, RhSegmentStage *s, int32_t i, int32_t end)
{
    uint32_t awaited = 0;
    for (; i < end; i++) {
        const RhInstr *step = rh_stage_program_instr(s->flows->stage_program, i);
        if (step->kind == RH_INSTR_RUN)
            return;
        if (step->kind == RH_INSTR_WAIT)
            awaited |= RH_LANE_BIT(step->lane);
        if (step->kind == RH_INSTR_COMMUNICATE && step->ahead > 0) {
            if (awaited & RH_LANE_BIT(step->lane))
                return;
            occupy_lane(g, s, i);
            s->begun_until = i + 1;
            return;
        }
    }
}

/* Activations come back as soon as what ran when the copy before was sent for is done; that their own way
 * out comes before is left out. Weights are taken to be sent for at once. */
static void copy(RhSegmentStage *s, const RhInstr *step, double seconds)
{
    double ready = rh_max_d(s->compute_s, s->pending_s), *lane_s = &s->lane_s[step->lane];
    ready = rh_max_d(ready, lanes_s(s, step->after));
    if (step->lane == RH_LANE_WEIGHTS_IN && step->ahead > 0) {
        ready = *lane_s;
    } else if (step->ahead > 0) {
        ready = s->copied_s;
        s->copied_s = s->compute_s;
    }
    s->before_s[step->lane] = *lane_s;
    *lane_s = rh_max_d(*lane_s, ready) + seconds;
}

void rh_segment_run_instr(const RhSegmentGraph *g, RhSegmentStage *s, int32_t i)
{
    const RhStageProgram *stage_program = s->flows->stage_program;
    const RhInstr *step = rh_stage_program_instr(stage_program, i);
    if (step->kind == RH_INSTR_RUN)
        rh_segment_run(
            g, s,
            s->times->of[rh_stage_program_layer(stage_program, step->item)->kind][step->pass]);
    else if (step->kind == RH_INSTR_KERNEL)
        s->compute_s = rh_max_d(s->compute_s, s->pending_s) + s->flows->step_s[i];
    else if (step->kind == RH_INSTR_COMMUNICATE)
        communicate(g, s, i);
    else if (step->kind == RH_INSTR_COPY)
        copy(s, step, s->flows->step_s[i]);
    else {
        double awaited_s = step->begin_index >= 0 ? s->begin_s[step->begin_index]
                           : step->ahead > 0      ? s->before_s[step->lane]
                                                  : s->lane_s[step->lane];
        if (s->sent && step->begin_index >= 0)
            awaited_s =
                rh_max_d(awaited_s, s->sent->gathered_s[step->begin_index] + s->sent->over_s);
        s->pending_s = rh_max_d(s->pending_s, awaited_s);
        s->held_s = (double)-INFINITY; /* an output that waits for this may leave any time later */
        s->tail_s = (double)-INFINITY;
    }
}

void rh_segment_run_instrs(const RhSegmentGraph *g, RhSegmentStage *s, RhInstrRange steps)
{
    int32_t end = steps.first + steps.count;
    s->begun_until = 0;
    for (int32_t i = steps.first; i < end; i++) {
        if (rh_stage_program_instr(s->flows->stage_program, i)->kind == RH_INSTR_RUN)
            begin_ahead(g, s, i + 1, end);
        rh_segment_run_instr(g, s, i);
    }
    s->begun_until = 0;
}
