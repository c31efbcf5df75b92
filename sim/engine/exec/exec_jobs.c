/* Jobs: their consecutive steps, starts and ends, and the loop of the clock. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/engine/exec/exec_private.h"

/* --- steps --- */

static void reset_actor(RhExec *x, RhExecJob *job, int32_t actor)
{
    RhActor *a = &x->actors[actor];
    memcpy(a->waiting, a->role->indegree, sizeof *a->waiting * (size_t)a->role->tasks_count);
    memset(a->state, RH_STATE_WAITING, (size_t)a->role->tasks_count);
    a->tasks_left = a->role->tasks_count;
    a->t_compute_end_s = a->t_end_s = x->t_s;
    a->last = (RhCause){-1, 0};
    job->tasks_left += a->tasks_left;
    for (int32_t task = 0; task < a->role->tasks_count; task++)
        if (a->role->indegree[task] == 0)
            rh_exec_make_ready(x, (RhReadyTask){actor, task, {-1, 0}});
}

static void begin_step(RhExec *x, int32_t index)
{
    RhExecJob *job = &x->jobs[index];
    job->t_step_s = x->t_s;
    if (x->transport->begin_step)
        x->transport->begin_step(x, index);
    job->tasks_left = 0;
    for (int32_t i = job->actors_first; i < job->actors_end; i++)
        reset_actor(x, job, i);
    for (int32_t m = job->calls_first; m < job->calls_end; m++) {
        const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, m);
        int32_t colour = *RH_AT(x->quotient->colours, int32_t, call->colours_first);
        const int32_t *calls = x->actors[colour].role->calls_first + call->group;
        memset(x->arrived[m], 0, sizeof **x->arrived * (size_t)(calls[1] - calls[0]));
    }
    if (job->tasks_left == 0)
        g_array_append_val(x->settled, index);
}

void rh_exec_tell(RhExec *x, RhEventKind kind, int32_t job, int32_t who)
{
    RhSessionEvent event = {kind, job, x->t_s, who};
    g_array_append_val(x->events, event);
    x->stops = true;
}

static void end_step(RhExec *x, int32_t index)
{
    RhExecJob *job = &x->jobs[index];
    for (int32_t i = job->actors_first; i < job->actors_end; i++) {
        RhActor *a = &x->actors[i];
        rh_exec_charge(x, a, a->t_end_s - a->t_compute_end_s, a->last);
        a->wait_s[RH_WAIT_END] += x->t_s - a->t_end_s;
    }
    double step_s = x->t_s - job->t_step_s;
    g_array_append_val(job->step_times, step_s);
    if (job->steps_left != INT32_MAX) /* otherwise it repeats until it is cancelled */
        job->steps_left--;
    if (job->steps_left > 0) {
        if (job->tells_steps)
            rh_exec_tell(x, RH_EVENT_STEP, index, -1);
        begin_step(x, index);
        return;
    }
    job->under_way = false;
    rh_exec_tell(x, RH_EVENT_ENDED, index, -1);
}

void rh_exec_settle(RhExec *x)
{
    g_autoptr(GArray) settled = g_steal_pointer(&x->settled);
    x->settled = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (uint32_t i = 0; i < settled->len; i++)
        end_step(x, *RH_AT(settled, int32_t, i));
}

void rh_exec_begin_job(RhExec *x, int32_t job)
{
    x->jobs[job].t_origin_s = x->t_s;
    begin_step(x, job);
}

/* --- interface --- */

double rh_exec_clock_s(const RhExec *x)
{
    return x->t_s;
}

double rh_exec_least_s(const RhExec *x)
{
    return x->least_s;
}

bool rh_exec_is_under_way(const RhExec *x, int32_t job)
{
    return x->jobs[job].under_way;
}

void rh_exec_submit(RhExec *x, int32_t job, double t_s, int32_t steps, bool tell_steps)
{
    x->jobs[job].under_way = true;
    x->jobs[job].steps_left = steps > 0 ? steps : INT32_MAX;
    x->jobs[job].tells_steps = tell_steps;
    rh_timers_arm(&x->timers, x->jobs_slot + job, fmax(t_s, x->t_s));
}

bool rh_exec_post(RhExec *x, const RhSessionMessage *message, GError **error)
{
    if (!x->transport->post)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a service on %s: its ranks talk by packets, which programs alone send",
                       x->platform->name);
    x->transport->post(x, message);
    rh_exec_start_ready(x);
    return true;
}

void rh_exec_cancel(RhExec *x, int32_t index)
{
    RhExecJob *job = &x->jobs[index];
    job->under_way = false;
    job->steps_left = 0;
    job->tasks_left = 0;
    rh_timers_disarm(&x->timers, x->jobs_slot + index);
    x->transport->cancel(x, index);
    for (int32_t i = job->actors_first; i < job->actors_end; i++) {
        RhActor *a = &x->actors[i];
        for (int32_t lane = 0; lane < x->lanes; lane++) {
            a->running[lane].task = -1;
            rh_timers_disarm(&x->timers, i * x->lanes + lane);
        }
        a->stretching = 0;
        a->holders = 0;
        a->speed = 1;
    }
}

static bool take_event(RhExec *x, RhSessionEvent *event)
{
    *event = (RhSessionEvent){.kind = RH_EVENT_NONE, .job = -1, .t_s = x->t_s, .who = -1};
    if (x->events_head < x->events->len) {
        *event = *RH_AT(x->events, RhSessionEvent, x->events_head);
        x->events_head++;
        return true;
    }
    g_array_set_size(x->events, 0);
    x->events_head = 0;
    return false;
}

static bool fail_if_stuck(const RhExec *x, GError **error)
{
    for (int32_t i = 0; i < x->jobs_count; i++)
        if (x->jobs[i].under_way)
            return rh_exec_fail_stuck(x, error);
    return true;
}

bool rh_exec_run(RhExec *x, double until_s, RhSessionEvent *event, GError **error)
{
    if (take_event(x, event))
        return true;
    bool timed = isfinite(until_s);
    if (timed)
        rh_timers_arm(&x->timers, x->stop_slot, fmax(until_s, x->t_s));
    x->stops = false;
    rh_exec_drain(x);
    const char *failure = x->stops ? NULL : rh_bridge_run();
    bool in_time = timed && x->timers.position[x->stop_slot] < 0;
    rh_timers_disarm(&x->timers, x->stop_slot);
    if (failure)
        return rh_fail(error, rh_bridge_lacked_memory() ? RH_ERROR_NO_ANSWER : RH_ERROR_INTERNAL,
                       "the simulation's network failed: %s", failure);
    return take_event(x, event) || in_time || fail_if_stuck(x, error);
}

void rh_exec_begin_jitter(RhExec *x)
{
    for (int32_t i = 0; i < x->actors_count; i++) {
        memset(x->actors[i].wait_s, 0, sizeof x->actors[i].wait_s);
        memset(x->actors[i].kernel_s, 0, sizeof x->actors[i].kernel_s);
        x->actors[i].kernel_flops = 0;
        x->actors[i].bounds = (RhBoundTimes){0};
        memset(x->actors[i].lane_busy_s, 0, sizeof x->actors[i].lane_busy_s);
    }
    x->transport->forget(x);
    x->events_count = 0;
    for (int32_t i = 0; i < x->jobs_count; i++) {
        x->jobs[i].bytes_total = x->jobs[i].bytes_as_flows = 0;
        g_array_set_size(x->jobs[i].step_times, 0);
        g_array_set_size(x->jobs[i].timeline, 0);
    }
    if (!x->options->unfolded)
        x->jitter = rh_jitter_new(x->program, x->roles, x->options->jitter_frac, x->actors_count);
}
