#include "strategies/run/run_simulate.h"

#include <math.h>

#include "strategies/run/failure_stream.h"
#include "strategies/run/run_segment.h"

#define STUCK_TIMES 100  /* as long as its work: no answer that anybody waits for */
#define LOOKS_EVERY 1024 /* events between two looks at the deadline */

typedef struct {
    RhRunState state;
    RhFailureStream *stream;
    double every_s;
    bool cut; /* by the deadline */
} Walk;

static double size_frac(const RhRunState *s)
{
    return rh_run_speed_frac(s->run, s->missing);
}

static void spend(RhRunState *s, RhRunTime what, double time_s)
{
    s->spent_s[what] += time_s;
    s->t_s += time_s;
}

/* Counts what is behind a checkpoint now: work of before the segment, whose time is open, and of the segment. What
 * that took beyond the work is a smaller size, or a checkpoint that did not become whole. */
static void settle(RhRunState *s, const RhSegmentState *segment, double speed_frac)
{
    if (segment->safe_s <= 0)
        return;
    double shrunk_s = fmax(segment->compute_s * (1 - speed_frac), 0);
    double rest_s = segment->compute_s + s->open_s - segment->safe_s - shrunk_s;
    s->spent_s[RH_RUN_COMPUTE] += segment->safe_s;
    s->spent_s[RH_RUN_SHRUNK] += shrunk_s;
    s->spent_s[RH_RUN_CHECKPOINT] += segment->checkpoint_s;
    s->spent_s[s->run->policy->goes_on ? RH_RUN_SHRUNK : RH_RUN_LOST] += rest_s;
    s->done_s += segment->safe_s;
    s->open_s = 0;
}

static RhRunSegment segment_of(const Walk *w)
{
    const RhRunState *s = &w->state;
    const RhCheckpointTimes *c = &s->run->checkpoint;
    return (RhRunSegment){.every_s = w->every_s,
                          .write_s = c->write_s,
                          .drain_s = c->drain_s,
                          .slow_frac = c->slow_frac,
                          .speed_frac = size_frac(s),
                          .left_s = s->run->work_s - s->done_s,
                          .position_s = s->position_s};
}

/* Runs for a time that no failure and no event cuts. Returns whether the run is at its end. */
static bool run_for(Walk *w, const RhRunSegment *segment, double time_s)
{
    RhRunState *s = &w->state;
    RhSegmentState after = rh_run_segment_after(segment, time_s);
    rh_failure_stream_run(w->stream, segment->speed_frac, time_s);
    s->t_s += time_s;
    settle(s, &after, segment->speed_frac);
    s->position_s = after.position_s;
    s->open_s += after.safe_s > 0 || after.finished ? after.open_s : time_s;
    return after.finished;
}

/* A restart is whole when nothing fails in it; each failure is detected first, and a node of it replaced. */
static void restart(Walk *w, double restart_s)
{
    RhRunState *s = &w->state;
    double limit_s = STUCK_TIMES * s->run->work_s;
    for (;;) {
        double next_s = rh_failure_stream_next_s(w->stream, fmax(size_frac(s), 1e-9), s->t_s);
        if (next_s >= restart_s || s->t_s > limit_s)
            break;
        rh_failure_stream_run(w->stream, size_frac(s), next_s);
        spend(s, RH_RUN_RESTART, next_s);
        s->failures_count++;
        s->failures_hidden_count++;
        int32_t component = rh_failure_stream_strike(w->stream);
        RhRunRecovery again = {0};
        spend(s, RH_RUN_DETECTION, s->run->detection_s);
        s->run->policy->recover(s, s->run->rates->components[component].node_away, &again);
        spend(s, RH_RUN_WAIT, again.wait_s);
        restart_s = fmax(restart_s, again.restart_s);
    }
    rh_failure_stream_run(w->stream, size_frac(s), restart_s);
    spend(s, RH_RUN_RESTART, restart_s);
}

/* Nodes that the job goes on without come back. */
static void join(Walk *w)
{
    RhRunState *s = &w->state;
    RhTimedEvent event;
    int32_t before = s->missing;
    while (rh_events_next_s(s->events) <= s->t_s && rh_events_next(s->events, &event))
        s->missing = MAX(s->missing - event.who, 0);
    bool grows = rh_run_speed_frac(s->run, s->missing) > rh_run_speed_frac(s->run, before);
    if (grows && !s->run->policy->joins_any_time)
        restart(w, rh_run_restart_s(s->run) + s->run->reshape_s);
}

/* All replicas are gone: until one is back. */
static void wait_for_nodes(Walk *w)
{
    RhRunState *s = &w->state;
    while (size_frac(s) <= 0 && rh_events_next_s(s->events) < HUGE_VAL) {
        spend(s, RH_RUN_WAIT, fmax(rh_events_next_s(s->events) - s->t_s, 0));
        join(w);
    }
}

static void fail(Walk *w)
{
    RhRunState *s = &w->state;
    s->failures_count++;
    int32_t component = rh_failure_stream_strike(w->stream);
    spend(s, RH_RUN_DETECTION, s->run->detection_s);
    RhRunRecovery next = {0};
    s->run->policy->recover(s, s->run->rates->components[component].node_away, &next);
    double kept_s = !next.keeps_work ? 0
                    : next.keeps_every_s <= 0
                        ? s->position_s
                        : floor(s->position_s / next.keeps_every_s) * next.keeps_every_s;
    double kept_frac = s->position_s > 0 ? kept_s / s->position_s : 0;
    s->spent_s[RH_RUN_LOST] += s->open_s * (1 - kept_frac);
    s->open_s *= kept_frac;
    s->position_s = kept_s;
    spend(s, RH_RUN_WAIT, next.wait_s);
    restart(w, next.restart_s);
    wait_for_nodes(w);
}

/* Time until the run is cut to take nodes back; HUGE_VAL: nothing cuts it. */
static double cut_s(const Walk *w, const RhRunSegment *segment)
{
    const RhRunState *s = &w->state;
    if (!s->run->policy->goes_on || s->missing == 0)
        return HUGE_VAL;
    double back_s = fmax(rh_events_next_s(s->events) - s->t_s, 0);
    if (back_s >= HUGE_VAL || s->run->policy->joins_any_time)
        return back_s;
    return rh_run_segment_next_safe_s(segment, back_s);
}

static void walk(Walk *w)
{
    RhRunState *s = &w->state;
    bool finished = false;
    for (int64_t i = 0; !finished && s->t_s <= STUCK_TIMES * s->run->work_s; i++) {
        w->cut = i % LOOKS_EVERY == 0 && rh_deadline_passed(s->run->deadline);
        if (w->cut)
            return;
        RhRunSegment segment = segment_of(w);
        double end_s = rh_run_segment_length_s(&segment), cut = cut_s(w, &segment);
        double failure_s = rh_failure_stream_next_s(w->stream, segment.speed_frac, s->t_s);
        if (end_s <= fmin(failure_s, cut)) {
            finished = run_for(w, &segment, end_s * (1 + 1e-12));
        } else if (cut < failure_s) {
            finished = run_for(w, &segment, cut);
            if (!finished)
                join(w);
        } else {
            finished = run_for(w, &segment, failure_s);
            if (!finished)
                fail(w);
        }
    }
}

RhRunOutcome rh_run_simulate(const RhTrainingRun *run, double every_s, int32_t replication)
{
    g_autoptr(RhEvents) events = rh_events_new();
    g_autoptr(RhFailureStream) stream = rh_failure_stream_new(run, replication);
    Walk w = {
        .state = {.run = run, .hot = run->hot_spares, .cold = run->cold_spares, .events = events},
        .stream = stream,
        .every_s = fmin(every_s, run->work_s)};
    walk(&w);
    RhRunOutcome out = {.time_s = w.state.t_s,
                        .failures_count = w.state.failures_count,
                        .cut = w.cut,
                        .stuck = !w.cut && w.state.done_s < run->work_s * (1 - 1e-9)};
    for (int i = 0; i < RH_RUN_TIMES_LAST; i++)
        out.spent_s[i] = w.state.spent_s[i];
    return out;
}
