#include "sim/engine/exec/exec.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/engine/exec/exec_private.h"
#include "sim/map64.h"

/* --- kernels and copies --- */

G_STATIC_ASSERT(RH_LANE_LAST <= 32); /* bits of RhActor.stretching */

static int32_t slot_of(const RhExec *x, int32_t actor, int32_t lane)
{
    return actor * x->lanes + lane;
}

static void arm_running(RhExec *x, int32_t actor, int32_t lane)
{
    const RhActor *a = &x->actors[actor];
    const RhRunning *running = &a->running[lane];
    double speed = running->stretches ? a->speed : 1;
    rh_timers_arm(&x->timers, slot_of(x, actor, lane), x->t_s + running->left_s / speed);
}

/* Records that communication on the device began or ended, which changes the speed of its
 * kernels. */
void rh_exec_set_holders(RhExec *x, int32_t actor, int32_t change)
{
    RhActor *a = &x->actors[actor];
    a->holders += change;
    double speed = rh_sms_left_frac(a->sms, x->sms_held, a->holders);
    for (uint32_t lanes = a->stretching; lanes; lanes &= lanes - 1) {
        RhRunning *running = &a->running[__builtin_ctz(lanes)];
        running->left_s = MAX(0, running->left_s - (x->t_s - running->t_last_s) * a->speed);
        running->t_last_s = x->t_s;
    }
    a->speed = speed;
    for (uint32_t lanes = a->stretching; lanes; lanes &= lanes - 1)
        arm_running(x, actor, __builtin_ctz(lanes));
}

static double kernel_scale(const RhExec *x, const RhActor *a)
{
    if (a->rng) /* never below a tenth: a kernel takes some time */
        return MAX(0.1, 1 + gsl_ran_gaussian_ziggurat(a->rng, x->options->jitter_frac)) /
               a->own_speed;
    return (1 + x->options->nudge_frac) / a->own_speed;
}

static void start_timed(RhExec *x, const RhReadyTask *ready, const RhTask *task, double late_s)
{
    RhActor *a = &x->actors[ready->performer];
    double duration_s = a->role->duration_s[ready->task];
    bool kernel = task->kind == RH_TASK_KERNEL && !rh_lane_on_host(task->lane);
    if (kernel)
        duration_s *= kernel_scale(x, a);
    duration_s += late_s;
    if (kernel && task->lane == RH_LANE_COMPUTE)
        rh_exec_charge(x, a, x->t_s - a->t_compute_end_s, ready->cause);
    a->state[ready->task] = RH_STATE_RUNNING;
    a->running[task->lane] = (RhRunning){.task = ready->task,
                                         .stretches = kernel,
                                         .t_start_s = x->t_s,
                                         .t_last_s = x->t_s,
                                         .nominal_s = duration_s,
                                         .late_s = late_s,
                                         .left_s = duration_s};
    if (kernel)
        a->stretching |= 1U << task->lane;
    arm_running(x, ready->performer, task->lane);
}

/* Delay until communication that follows a kernel starts: the host must see the kernel end. */
static double reaction_s(const RhExec *x, const RhReadyTask *ready)
{
    const RhActor *a = &x->actors[ready->performer];
    if (!x->transport->reaction_s || ready->cause.task < 0 ||
        rh_actor_task(x, a, ready->cause.task)->kind != RH_TASK_KERNEL)
        return 0;
    return x->transport->reaction_s(x);
}

static void arrive(RhExec *x, int32_t actor, int32_t task)
{
    x->actors[actor].state[task] = RH_STATE_ARRIVED;
    x->transport->arrive(x, actor, task);
}

/* Starts communication that is ready, but begins late; its lane is occupied meanwhile. */
static void start_communication(RhExec *x, const RhReadyTask *ready, const RhTask *task,
                                double late_s)
{
    late_s += reaction_s(x, ready);
    if (late_s <= 0) {
        arrive(x, ready->performer, ready->task);
        return;
    }
    x->actors[ready->performer].running[task->lane] =
        (RhRunning){.task = ready->task, .left_s = late_s};
    arm_running(x, ready->performer, task->lane);
}

static bool is_communication(const RhExec *x, const RhTask *task)
{
    return task->kind == RH_TASK_COLLECTIVE || task->kind == RH_TASK_SEND ||
           task->kind == RH_TASK_RECV ||
           (task->kind == RH_TASK_COPY && x->transport->shares_copies);
}

/* Adds a finished kernel's compute and memory time to its bounds, scaled to the time that it
 * took. */
static void book_bounds(RhActor *a, int32_t task, double took_s)
{
    const RhBoundTimes *of = &a->role->bounds[task];
    double scale = a->role->duration_s[task] > 0 ? took_s / a->role->duration_s[task] : 0;
    a->bounds.compute_s += of->compute_s * scale;
    a->bounds.memory_s += of->memory_s * scale;
}

/* Accounts for a kernel that has ended. */
static void account_kernel(const RhExec *x, RhActor *a, int32_t lane, const RhRunning *running)
{
    double own_s = running->nominal_s - running->late_s;
    a->kernel_flops += a->role->flops[running->task];
    if (lane != RH_LANE_COMPUTE)
        return;
    a->kernel_s[rh_actor_task(x, a, running->task)->phase] += own_s;
    a->wait_s[RH_WAIT_COMPUTE] += own_s;
    book_bounds(a, running->task, x->t_s - running->t_start_s - running->late_s);
    a->wait_s[RH_WAIT_JITTER] += running->late_s;
    a->wait_s[RH_WAIT_STRETCH] += x->t_s - running->t_start_s - running->nominal_s;
    a->t_compute_end_s = x->t_s;
}

static void running_due(RhExec *x, int32_t slot)
{
    RhActor *a = &x->actors[slot / x->lanes];
    RhRunning running = a->running[slot % x->lanes];
    a->running[slot % x->lanes].task = -1;
    if (running.stretches)
        a->stretching &= ~(1U << slot % x->lanes);
    if (is_communication(x, rh_actor_task(x, a, running.task))) {
        arrive(x, slot / x->lanes, running.task);
        return;
    }
    if (running.stretches)
        account_kernel(x, a, slot % x->lanes, &running);
    rh_exec_complete(x, slot / x->lanes, running.task, running.t_start_s);
}

/* --- tasks --- */

static void release(RhExec *x, int32_t actor, int32_t task, RhCause cause)
{
    const RhActor *a = &x->actors[actor];
    const RhRoleTable *role = a->role;
    for (int32_t i = role->successors_first[task]; i < role->successors_first[task + 1]; i++) {
        int32_t next = role->successors[i];
        if (--a->waiting[next] == 0)
            rh_exec_make_ready(x, (RhReadyTask){actor, next, cause});
    }
}

static void end_task(RhExec *x, int32_t actor, int32_t task, double t_start_s, RhCause cause)
{
    RhActor *a = &x->actors[actor];
    a->state[task] = RH_STATE_DONE;
    a->last = cause;
    a->tasks_left--;
    x->events_count++;
    if (x->jitter)
        rh_jitter_end(x->jitter, actor, a->role_index, task, x->t_s);
    if (a->tasks_left == 0)
        a->t_end_s = x->t_s;
    RhExecJob *job = &x->jobs[a->job];
    if (--job->tasks_left == 0)
        g_array_append_val(x->settled, a->job);
    if (x->options->timeline) {
        RhTaskInterval span = {actor - job->actors_first, a->role->tasks_first + task,
                               t_start_s - job->t_origin_s, x->t_s - job->t_origin_s};
        g_array_append_val(job->timeline, span);
    }
    release(x, actor, task, cause);
}

/* Charges the idle time of compute to a task that ends on a stream while no kernel runs. */
static void book_stream(const RhExec *x, RhActor *a, RhCause cause)
{
    if (a->running[RH_LANE_COMPUTE].task >= 0)
        return;
    rh_exec_charge(x, a, x->t_s - a->t_compute_end_s, cause);
    a->t_compute_end_s = x->t_s;
}

void rh_exec_complete_moved(RhExec *x, int32_t actor, int32_t task, double t_start_s,
                            double moved_s)
{
    RhActor *a = &x->actors[actor];
    int32_t lane = rh_actor_task(x, a, task)->lane;
    RhCause cause = {task, moved_s};
    if (lane < RH_LANE_LAST)
        a->lane_busy_s[lane] += moved_s;
    else
        book_stream(x, a, cause);
    end_task(x, actor, task, t_start_s, cause);
}

void rh_exec_complete(RhExec *x, int32_t actor, int32_t task, double t_start_s)
{
    rh_exec_complete_moved(x, actor, task, t_start_s, x->t_s - t_start_s);
}

/* Relative difference up to which times of idle and of shared links may differ by rounding. */
#define AGREEMENT_FRAC 1e-6

/* Ends the run if the step will take longer than the caller's cutoff; the caller is notified. */
static void stop_at_cutoff(RhExec *x, const RhActor *a, int32_t task)
{
    double least_s = (x->t_s + a->remaining_s[task]) * (1 - AGREEMENT_FRAC);
    if (least_s <= x->options->cutoff_s || x->least_s > 0)
        return;
    x->least_s = least_s;
    rh_exec_tell(x, RH_EVENT_CUTOFF, a->job, -1);
}

static void start_task(RhExec *x, const RhReadyTask *ready)
{
    const RhActor *a = &x->actors[ready->performer];
    const RhTask *task = rh_actor_task(x, a, ready->task);
    double late_s = 0;
    if (a->remaining_s)
        stop_at_cutoff(x, a, ready->task);
    if (x->jitter)
        late_s = rh_jitter_late_s(x->jitter, ready->performer, a->role_index, ready->task, x->t_s);
    if (is_communication(x, task)) {
        start_communication(x, ready, task, late_s);
        return;
    }
    switch ((RhTaskKind)task->kind) {
    case RH_TASK_KERNEL:
    case RH_TASK_COPY:
        start_timed(x, ready, task, late_s);
        break;
    case RH_TASK_NONE:
    case RH_TASK_COLLECTIVE:
    case RH_TASK_SEND:
    case RH_TASK_RECV:
    case RH_TASK_MARK:
    case RH_TASK_LAST:
    default: /* successors of a mark wait for the mark's own cause */
        end_task(x, ready->performer, ready->task, x->t_s, ready->cause);
        break;
    }
}

/* --- the clock --- */

void rh_exec_start_ready(RhExec *x)
{
    RhReadyQueue *queue = &x->ready;
    do {
        while (queue->head < queue->count) {
            RhReadyTask ready = queue->all[queue->head++];
            start_task(x, &ready);
        }
        queue->head = queue->count = 0;
        if (x->settled->len > 0)
            rh_exec_settle(x);
    } while (queue->count > 0 || x->settled->len > 0);
}

static void set_alarm(RhExec *x, double t_s)
{
    if (x->t_alarm_s <= t_s)
        return; /* wakes early, and is set again */
    x->t_alarm_s = t_s;
    rh_bridge_alarm(t_s);
}

static void take_due(RhExec *x)
{
    for (int32_t slot; (slot = rh_timers_take(&x->timers, x->t_s)) >= 0;) {
        if (slot < x->jobs_slot)
            running_due(x, slot);
        else if (slot >= x->transport_slot)
            x->transport->due(x, slot - x->transport_slot);
        else if (slot == x->stop_slot)
            x->stops = true;
        else
            rh_exec_begin_job(x, slot - x->jobs_slot);
        rh_exec_start_ready(x);
    }
}

void rh_exec_drain(RhExec *x)
{
    take_due(x);
    if (x->stops)
        rh_bridge_stop();
    if (x->timers.count > 0)
        set_alarm(x, x->timers.heap[0].t_s);
}

/* Processes timers while SimGrid has no event due and needs none: its clock stays behind, which
 * saves it a round for each. */
static void run_ahead(RhExec *x)
{
    double t_quiet_s = rh_bridge_quiet_until_s();
    while (x->timers.count > 0 && x->timers.heap[0].t_s < t_quiet_s && x->sends->len == 0 &&
           !x->stops) {
        x->ahead = true;
        x->t_s = x->timers.heap[0].t_s;
        take_due(x);
    }
}

/* Starts a flow once SimGrid's clock has caught up. */
void rh_exec_send(RhExec *x, RhSend send)
{
    if (x->ahead)
        g_array_append_val(x->sends, send);
    else
        rh_bridge_flow(send.route, send.units, send.flow);
}

static void catch_up(RhExec *x)
{
    x->ahead = false;
    if (x->sends->len == 0)
        return;
    for (uint32_t i = 0; i < x->sends->len; i++)
        rh_exec_send(x, *RH_AT(x->sends, RhSend, i));
    g_array_set_size(x->sends, 0);
}

void rh_exec_on_alarm(void *user)
{
    RhExec *x = user;
    x->t_s = MAX(x->t_s, x->t_alarm_s);
    x->t_alarm_s = HUGE_VAL;
    catch_up(x);
    take_due(x);
    if (!x->stops)
        run_ahead(x);
    if (x->ahead && (x->stops || x->sends->len > 0))
        set_alarm(x, x->t_s);
    else
        rh_exec_drain(x);
}

void rh_exec_on_flow_done(int32_t flow, void *user)
{
    RhExec *x = user;
    x->t_s = MAX(x->t_s, rh_bridge_clock_s());
    x->events_count++;
    catch_up(x); /* so that tasks which follow the flow without latency start now */
    rh_exec_flow_done(x, flow);
    rh_exec_start_ready(x);
    rh_exec_drain(x);
}
