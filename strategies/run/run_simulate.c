#include "strategies/run/run_simulate.h"

#include <math.h>

#include "strategies/run/failure_stream.h"
#include "strategies/run/run_segment.h"
#include "strategies/run/run_slowness.h"
#include "strategies/run/spot/node_pool.h"

#define STUCK_TIMES                                                                                \
    100 /* as long as its work, where the run does not say: no answer that anybody waits for */
#define LOOKS_EVERY 1024 /* events between two looks at the deadline */

typedef struct {
    RhRunState state;
    RhFailureStream *stream;
    RhNodePool *pool; /* NULL: all nodes are there */
    RhRunSlowness *slowness;
    int32_t pool_missing; /* nodes that it does not give */
    double every_s;
    double stop_s; /* of the next planned stop, by the clock */
    bool waits;    /* nodes of the pool do, to join at the next checkpoint */
    bool cut;      /* by the deadline */
} Walk;

/* Speed of the nodes at work, none of them slow. */
static double size_frac(const RhRunState *s)
{
    return rh_run_speed_frac(s->run, s->missing);
}

/* Share of the nodes at work, which fail. */
static double nodes_frac(const RhRunState *s)
{
    return fmax(1 - (double)s->missing / s->run->nodes_count, 0);
}

static double slow_times(const Walk *w)
{
    return rh_run_slowness_times(w->slowness, w->state.t_s);
}

static void note(RhRunState *s, RhRunTime what, double from_s, double to_s)
{
    RhRunInterval span = {from_s, to_s, what};
    if (s->spans && to_s > from_s)
        g_array_append_val(s->spans, span);
}

static void spend(RhRunState *s, RhRunTime what, double time_s)
{
    note(s, what, s->t_s, s->t_s + time_s);
    s->spent_s[what] += time_s;
    s->t_s += time_s;
}

/* Counts what is behind a checkpoint now: work of before the segment, whose time is open, and of the segment. What
 * that took beyond the work is a smaller size, or a checkpoint that did not become whole. */
static void settle(RhRunState *s, const RhSegmentState *segment, double size, double slow)
{
    if (segment->safe_s <= 0)
        return;
    double shrunk_s = fmax(segment->compute_s / slow * (1 - size), 0);
    double slow_s = segment->compute_s * (1 - 1 / slow) + s->open_slow_s;
    double rest_s = segment->compute_s + s->open_s - segment->safe_s - shrunk_s - slow_s;
    s->spent_s[RH_RUN_COMPUTE] += segment->safe_s;
    s->spent_s[RH_RUN_SHRUNK] += shrunk_s;
    s->spent_s[RH_RUN_SLOW] += slow_s;
    s->spent_s[RH_RUN_CHECKPOINT] += segment->checkpoint_s;
    s->spent_s[s->run->policy->goes_on ? RH_RUN_SHRUNK : RH_RUN_LOST] += rest_s;
    s->done_s += segment->safe_s;
    s->open_s = s->open_slow_s = 0;
}

static RhRunSegment segment_of(const Walk *w)
{
    const RhRunState *s = &w->state;
    const RhCheckpointTimes *c = &s->run->checkpoint;
    return (RhRunSegment){.every_s = w->every_s,
                          .write_s = c->write_s,
                          .drain_s = c->drain_s,
                          .slow_frac = c->slow_frac,
                          .speed_frac = size_frac(s) / slow_times(w),
                          .left_s = s->run->work_s - s->done_s,
                          .position_s = s->position_s};
}

/* Runs for a time that no failure and no event cuts. Returns whether the run is at its end. */
static bool run_for(Walk *w, const RhRunSegment *segment, double time_s)
{
    RhRunState *s = &w->state;
    RhSegmentState after = rh_run_segment_after(segment, time_s);
    double slow = slow_times(w), size = size_frac(s);
    double from_s = after.safe_s > 0 ? 0 : s->position_s;
    rh_failure_stream_run(w->stream, nodes_frac(s), time_s);
    if (size < 1)
        note(s, RH_RUN_SHRUNK, s->t_s, s->t_s + time_s);
    else if (rh_run_slowness_is_slow(w->slowness, s->t_s))
        note(s, RH_RUN_SLOW, s->t_s, s->t_s + time_s);
    s->t_s += time_s;
    settle(s, &after, size, slow);
    s->open_slow_s += (after.position_s - from_s) * (slow - 1) / size;
    s->position_s = after.position_s;
    s->open_s += after.safe_s > 0 || after.finished ? after.open_s : time_s;
    return after.finished;
}

/* Detects and diagnoses a failure of a component, and lets the policy follow. */
static RhRunRecovery recover(Walk *w, int32_t component)
{
    RhRunState *s = &w->state;
    const RhTrainingRun *run = s->run;
    RhRunFailure failure = {.nodes_away = run->rates->components[component].nodes_away,
                            .repair_s = rh_run_repair_s(run, component)};
    RhRunRecovery next = {0};
    spend(s, RH_RUN_DETECTION, rh_run_detection_s(run, component));
    spend(s, RH_RUN_DIAGNOSIS, rh_run_diagnosis_s(run, component));
    run->policy->recover(s, &failure, &next);
    return next;
}

static double stuck_s(const RhTrainingRun *run)
{
    return (run->patience_times > 0 ? run->patience_times : STUCK_TIMES) * run->work_s;
}

/* A restart is whole when nothing fails in it, and its cause was found; each failure is detected first, and its
 * nodes replaced. */
static void restart(Walk *w, double restart_s, int32_t component)
{
    RhRunState *s = &w->state;
    double limit_s = stuck_s(s->run);
    while (s->t_s <= limit_s) {
        double next_s = rh_failure_stream_next_s(w->stream, fmax(nodes_frac(s), 1e-9), s->t_s);
        if (next_s >= restart_s) {
            rh_failure_stream_run(w->stream, nodes_frac(s), restart_s);
            spend(s, RH_RUN_RESTART, restart_s);
            if (component < 0 || !rh_failure_stream_missed(w->stream))
                break;
        } else {
            rh_failure_stream_run(w->stream, nodes_frac(s), next_s);
            spend(s, RH_RUN_RESTART, next_s);
            component = rh_failure_stream_strike(w->stream);
        }
        s->failures_count++;
        s->failures_hidden_count++;
        RhRunRecovery again = recover(w, component);
        spend(s, RH_RUN_WAIT, again.wait_s);
        restart_s = fmax(restart_s, again.restart_s);
    }
}

/* Nodes that the pool gives now are used. */
static void use_pool(Walk *w)
{
    RhRunState *s = &w->state;
    int32_t missing = s->run->nodes_count - rh_node_pool_use(w->pool, s->run->nodes_count);
    s->missing += missing - w->pool_missing;
    w->pool_missing = missing;
}

/* When nodes come back, or the pool changes. */
static double back_s(const Walk *w)
{
    double pool_s = w->pool ? rh_node_pool_next_s(w->pool) : HUGE_VAL;
    return fmin(rh_events_next_s(w->state.events), pool_s);
}

/* Nodes that the job goes on without come back. */
static void join(Walk *w)
{
    RhRunState *s = &w->state;
    RhTimedEvent event;
    int32_t before = s->missing;
    w->waits = false;
    while (rh_events_next_s(s->events) <= s->t_s && rh_events_next(s->events, &event))
        s->missing = MAX(s->missing - event.who, 0);
    if (w->pool)
        use_pool(w);
    bool grows = rh_run_speed_frac(s->run, s->missing) > rh_run_speed_frac(s->run, before);
    if (grows && !s->run->policy->joins_any_time)
        restart(w, rh_run_restart_s(s->run) + s->run->reshape_s, -1);
}

/* All replicas are gone: until one is back. Nodes that come restart the job at once. */
static void wait_for_nodes(Walk *w)
{
    RhRunState *s = &w->state;
    while (size_frac(s) <= 0 && back_s(w) < HUGE_VAL) {
        spend(s, RH_RUN_WAIT, fmax(back_s(w) - s->t_s, 0));
        if (w->pool)
            (void)rh_node_pool_advance(w->pool, s->t_s);
        join(w);
    }
}

/* A job of a fixed size waits until the pool gives all its nodes. */
static void wait_for_pool(Walk *w)
{
    RhRunState *s = &w->state;
    use_pool(w);
    while (w->pool_missing > 0 && rh_node_pool_next_s(w->pool) < HUGE_VAL) {
        spend(s, RH_RUN_WAIT, fmax(rh_node_pool_next_s(w->pool) - s->t_s, 0));
        (void)rh_node_pool_advance(w->pool, s->t_s);
        use_pool(w);
    }
}

/* Undoes what was done since the last checkpoint, but for what the policy keeps; the run stood at `at_s`. */
static void lose_work(RhRunState *s, const RhRunRecovery *next, double at_s)
{
    double kept_s = !next->keeps_work ? 0
                    : next->keeps_every_s <= 0
                        ? s->position_s
                        : floor(s->position_s / next->keeps_every_s) * next->keeps_every_s;
    double kept_frac = s->position_s > 0 ? kept_s / s->position_s : 0;
    s->spent_s[RH_RUN_LOST] += s->open_s * (1 - kept_frac);
    note(s, RH_RUN_LOST, at_s - s->open_s * (1 - kept_frac), at_s);
    s->open_s *= kept_frac;
    s->open_slow_s *= kept_frac;
    s->position_s = kept_s;
}

static void fail(Walk *w)
{
    RhRunState *s = &w->state;
    s->failures_count++;
    int32_t component = rh_failure_stream_strike(w->stream);
    double at_s = s->t_s;
    RhRunRecovery next = recover(w, component);
    lose_work(s, &next, at_s);
    spend(s, RH_RUN_WAIT, next.wait_s);
    restart(w, next.restart_s, component);
    wait_for_nodes(w);
}

/* Nodes came: spares, or they join when they have started, or at the next checkpoint. */
static void take_in(Walk *w)
{
    RhRunState *s = &w->state;
    const RhTrainingRun *run = s->run;
    if (!run->policy->goes_on || w->pool_missing == 0)
        return;
    if (run->policy->joins_any_time)
        rh_events_add(s->events, s->t_s + run->startup_s + run->memory_read_s, RH_RUN_GROUP_BACK,
                      0);
    else
        w->waits = true;
}

/* The pool changed: nodes that came are spares, or join as the policy has it; used ones that left are a failure of
 * which nothing has to be found out, and nobody repairs them. */
static void change_pool(Walk *w)
{
    RhRunState *s = &w->state;
    const RhTrainingRun *run = s->run;
    bool struck = rh_node_pool_advance(w->pool, s->t_s) > 0;
    if (!struck) {
        take_in(w);
        return;
    }
    s->failures_count++;
    double at_s = s->t_s;
    spend(s, RH_RUN_DETECTION, run->detection_s);
    (void)rh_node_pool_advance(w->pool, s->t_s);
    RhRunFailure failure = {.by_pool = true};
    RhRunRecovery next = {0};
    run->policy->recover(s, &failure, &next);
    lose_work(s, &next, at_s);
    if (run->policy->goes_on)
        use_pool(w);
    else
        wait_for_pool(w);
    restart(w, next.restart_s + (run->policy->goes_on ? run->reshape_s : 0), -1);
    wait_for_nodes(w);
}

/* Machines are moved with what they have done: nothing is written, and nothing starts anew. */
static void move(Walk *w)
{
    const RhTrainingRun *run = w->state.run;
    spend(&w->state, RH_RUN_PLANNED, run->stop_s);
    while (w->stop_s <= w->state.t_s)
        w->stop_s += run->stop_every_s;
}

/* A planned stop: all that was done is written first. */
static void stop(Walk *w)
{
    RhRunState *s = &w->state;
    const RhTrainingRun *run = s->run;
    s->spent_s[RH_RUN_COMPUTE] += s->position_s;
    s->spent_s[run->policy->goes_on ? RH_RUN_SHRUNK : RH_RUN_CHECKPOINT] +=
        s->open_s - s->position_s - s->open_slow_s;
    s->spent_s[RH_RUN_SLOW] += s->open_slow_s;
    s->done_s += s->position_s;
    s->position_s = s->open_s = s->open_slow_s = 0;
    spend(s, RH_RUN_CHECKPOINT, run->checkpoint.write_s + run->checkpoint.drain_s);
    spend(s, RH_RUN_PLANNED, run->stop_s);
    while (w->stop_s <= s->t_s)
        w->stop_s += run->stop_every_s;
    restart(w, rh_run_restart_s(run), -1);
}

/* The next moment at which a checkpoint is safe, and not a rounding error before. */
static double safe_from(const RhRunSegment *segment, double time_s)
{
    return rh_run_segment_next_safe_s(segment, time_s) * (1 + 1e-12);
}

/* Time until the run is cut, for a planned stop or to take nodes back; HUGE_VAL: nothing cuts it. */
static double cut_s(const Walk *w, const RhRunSegment *segment)
{
    const RhRunState *s = &w->state;
    double stop = fmax(w->stop_s - s->t_s, 0);
    double pool = w->pool ? fmax(rh_node_pool_next_s(w->pool) - s->t_s, 0) : HUGE_VAL;
    double slow = fmax(rh_run_slowness_next_s(w->slowness, s->t_s) - s->t_s, 0);
    double found = rh_run_slowness_found_s(w->slowness) - s->t_s;
    if (found < HUGE_VAL)
        slow = fmin(slow, safe_from(segment, fmax(found, 0)));
    double cut = fmin(fmin(stop, pool), slow);
    if (!s->run->policy->goes_on || s->missing == 0)
        return cut;
    double back = w->waits ? 0 : fmax(rh_events_next_s(s->events) - s->t_s, 0);
    if (back < HUGE_VAL && !s->run->policy->joins_any_time)
        back = safe_from(segment, back);
    return fmin(cut, back);
}

/* A slow GPU begins, ends, or is removed: its node leaves, as if it had failed, at a checkpoint. A pause. */
static void change_speed(Walk *w)
{
    RhRunState *s = &w->state;
    bool changes = rh_run_slowness_next_s(w->slowness, s->t_s) <= s->t_s;
    if (!changes && rh_run_slowness_found_s(w->slowness) <= s->t_s &&
        rh_run_slowness_is_slow(w->slowness, s->t_s)) {
        RhRunFailure failure = {.nodes_away = 1, .repair_s = s->run->repair_s};
        RhRunRecovery next = {0};
        rh_run_slowness_remove(w->slowness);
        s->run->policy->recover(s, &failure, &next);
        lose_work(s, &next, s->t_s); /* what an asynchronous checkpoint does not hold */
        spend(s, RH_RUN_WAIT, next.wait_s);
        restart(w, next.restart_s, -1);
        wait_for_nodes(w);
        return;
    }
    spend(s, RH_RUN_SLOW, rh_run_slowness_change(w->slowness, s->t_s));
}

/* Changes the state of the run at a cut. */
static void change(Walk *w)
{
    RhRunState *s = &w->state;
    if (w->stop_s <= s->t_s)
        s->run->moves.memory_bytes > 0 ? move(w) : stop(w);
    else if (w->pool && rh_node_pool_next_s(w->pool) <= s->t_s)
        change_pool(w);
    else if (s->run->policy->goes_on && (w->waits || rh_events_next_s(s->events) <= s->t_s))
        join(w);
    else
        change_speed(w);
}

/* Waits for the first nodes of the pool. */
static void begin(Walk *w)
{
    (void)rh_node_pool_advance(w->pool, 0);
    if (!w->state.run->policy->goes_on) {
        wait_for_pool(w);
        return;
    }
    use_pool(w);
    wait_for_nodes(w);
}

/* Is there anything left that the job could run on, now or later? */
static bool starves(const Walk *w)
{
    if (!w->pool || back_s(w) < HUGE_VAL)
        return false;
    return w->state.run->policy->goes_on ? size_frac(&w->state) <= 0 : w->pool_missing > 0;
}

static void walk(Walk *w)
{
    RhRunState *s = &w->state;
    bool finished = false;
    if (w->pool)
        begin(w);
    for (int64_t i = 0; !finished && !starves(w) && s->t_s <= stuck_s(s->run); i++) {
        w->cut = i % LOOKS_EVERY == 0 && rh_deadline_passed(s->run->deadline);
        if (w->cut)
            return;
        RhRunSegment segment = segment_of(w);
        double end_s = rh_run_segment_length_s(&segment), cut = cut_s(w, &segment);
        double failure_s = rh_failure_stream_next_s(w->stream, nodes_frac(s), s->t_s);
        if (end_s <= fmin(failure_s, cut)) {
            finished = run_for(w, &segment, end_s * (1 + 1e-12));
        } else if (cut < failure_s) {
            finished = run_for(w, &segment, cut);
            if (!finished)
                change(w);
        } else {
            finished = run_for(w, &segment, failure_s);
            if (!finished)
                fail(w);
        }
    }
}

/* Nodes at the mean price of the run's time. */
static double paid_for(const RhTrainingRun *run, double node_s, double time_s)
{
    return time_s > 0
               ? node_s / time_s * rh_spot_price_sum(run->prices, run->prices_count, 0, time_s)
               : 0;
}

/* Adds what is done once before the run's clock begins. */
static void add_tuning(const RhTrainingRun *run, RhRunOutcome *out)
{
    if (run->tuning_s <= 0)
        return;
    double nodes_s = run->tuning_s * (run->nodes_count + run->hot_spares);
    out->paid += out->node_s > 0 ? out->paid / out->node_s * nodes_s : 0; /* at the mean price */
    out->time_s += run->tuning_s;
    out->node_s += nodes_s;
    out->spent_s[RH_RUN_TUNING] = run->tuning_s;
}

RhRunOutcome rh_run_simulate(const RhTrainingRun *run, double every_s, int32_t replication)
{
    return rh_run_simulate_spans(run, every_s, replication, NULL);
}

RhRunOutcome rh_run_simulate_spans(const RhTrainingRun *run, double every_s, int32_t replication,
                                   GArray *spans)
{
    if (run->policy->simulate) {
        RhRunOutcome own;
        run->policy->simulate(run, every_s, replication, &own);
        own.paid = paid_for(run, own.node_s, own.time_s);
        add_tuning(run, &own);
        return own;
    }
    g_autoptr(RhEvents) events = rh_events_new();
    g_autoptr(RhFailureStream) stream = rh_failure_stream_new(run, replication);
    g_autoptr(RhRunSlowness) slowness = rh_run_slowness_new(run, replication);
    g_autoptr(RhNodePool) pool = run->spot ? rh_node_pool_new(run->spot, run->spot_count) : NULL;
    if (pool) {
        pool->prices = run->prices;
        pool->prices_count = run->prices_count;
    }
    Walk w = {.state = {.run = run,
                        .hot = run->hot_spares,
                        .cold = run->cold_spares,
                        .events = events,
                        .spans = spans},
              .stream = stream,
              .pool = pool,
              .slowness = slowness,
              .stop_s = run->stop_every_s > 0 ? run->stop_every_s : HUGE_VAL,
              .every_s = fmin(every_s, run->work_s)};
    walk(&w);
    RhRunOutcome out = {.time_s = w.state.t_s,
                        .failures_count = w.state.failures_count,
                        .cut = w.cut,
                        .stuck = !w.cut && w.state.done_s < run->work_s * (1 - 1e-9)};
    if (pool)
        (void)rh_node_pool_advance(pool, w.state.t_s);
    out.node_s = pool ? pool->node_s : out.time_s * (run->nodes_count + run->hot_spares);
    out.paid = pool ? pool->paid : paid_for(run, out.node_s, out.time_s);
    out.starved = starves(&w);
    for (int i = 0; i < RH_RUN_TIMES_LAST; i++)
        out.spent_s[i] = w.state.spent_s[i];
    add_tuning(run, &out);
    return out;
}
