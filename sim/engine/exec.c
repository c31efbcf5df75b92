#include "sim/engine/exec.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/engine/exec_private.h"
#include "sim/engine/map64.h"

/* --- kernels and copies --- */

static int32_t slot_of(int32_t actor, int32_t lane)
{
    return actor * RH_LANE_LAST + lane;
}

static void arm_running(RhExec *x, int32_t actor, int32_t lane)
{
    const RhActor *a = &x->actors[actor];
    const RhRunning *running = &a->running[lane];
    double speed = running->stretches ? a->speed : 1;
    rh_timers_arm(&x->timers, slot_of(actor, lane), x->t_s + running->left_s / speed);
}

/* Communication on the device began or ended: the kernels on it go on at another speed. */
void rh_exec_set_holders(RhExec *x, int32_t actor, int32_t change)
{
    RhActor *a = &x->actors[actor];
    a->holders += change;
    double speed = MAX(1.0, x->sms - a->holders * x->sms_held) / x->sms;
    for (int32_t lane = 0; lane < RH_LANE_LAST; lane++) {
        RhRunning *running = &a->running[lane];
        if (running->task < 0 || !running->stretches)
            continue;
        running->left_s = MAX(0, running->left_s - (x->t_s - running->t_last_s) * a->speed);
        running->t_last_s = x->t_s;
    }
    a->speed = speed;
    for (int32_t lane = 0; lane < RH_LANE_LAST; lane++)
        if (a->running[lane].task >= 0 && a->running[lane].stretches)
            arm_running(x, actor, lane);
}

static double kernel_scale(const RhExec *x, const RhActor *a)
{
    if (a->rng) /* never below a tenth: a kernel cannot take no time */
        return MAX(0.1, 1 + gsl_ran_gaussian_ziggurat(a->rng, x->options->jitter_frac));
    return 1;
}

static void start_timed(RhExec *x, const RhReady *ready, const RhTask *task, double late_s)
{
    RhActor *a = &x->actors[ready->performer];
    double duration_s = a->role->duration_s[ready->task];
    bool kernel = task->kind == RH_TASK_KERNEL;
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
                                         .left_s = duration_s};
    arm_running(x, ready->performer, task->lane);
}

/* Communication that follows a kernel starts when the host has seen the kernel end. */
static double reaction_s(const RhExec *x, const RhReady *ready)
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

/* Communication is ready, but starts late: its lane waits so long. */
static void start_communication(RhExec *x, const RhReady *ready, const RhTask *task, double late_s)
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

static bool is_communication(const RhTask *task)
{
    return task->kind == RH_TASK_COLLECTIVE || task->kind == RH_TASK_SEND ||
           task->kind == RH_TASK_RECV;
}

static void running_due(RhExec *x, int32_t slot)
{
    RhActor *a = &x->actors[slot / RH_LANE_LAST];
    RhRunning running = a->running[slot % RH_LANE_LAST];
    a->running[slot % RH_LANE_LAST].task = -1;
    if (is_communication(rh_actor_task(x, a, running.task))) {
        arrive(x, slot / RH_LANE_LAST, running.task);
        return;
    }
    if (slot % RH_LANE_LAST == RH_LANE_COMPUTE && running.stretches) {
        a->wait_s[RH_WAIT_COMPUTE] += running.nominal_s;
        a->wait_s[RH_WAIT_STRETCH] += x->t_s - running.t_start_s - running.nominal_s;
        a->t_compute_end_s = x->t_s;
    }
    rh_exec_complete(x, slot / RH_LANE_LAST, running.task, running.t_start_s);
}

/* --- tasks --- */

static void release(RhExec *x, int32_t actor, int32_t task, RhCause cause)
{
    const RhActor *a = &x->actors[actor];
    const RhRoleTable *role = a->role;
    for (int32_t i = role->successors_first[task]; i < role->successors_first[task + 1]; i++) {
        RhReady ready = {actor, role->successors[i], cause};
        if (--a->waiting[ready.task] == 0)
            g_array_append_val(x->ready, ready);
    }
}

static void end_task(RhExec *x, int32_t actor, int32_t task, double t_start_s, RhCause cause)
{
    RhActor *a = &x->actors[actor];
    a->state[task] = RH_STATE_DONE;
    a->last = cause;
    a->tasks_left--;
    x->tasks_left--;
    x->events_count++;
    if (x->jitter)
        rh_jitter_end(x->jitter, actor, a->role_index, task, x->t_s);
    if (a->tasks_left == 0)
        a->t_end_s = x->t_s;
    if (x->options->timeline) {
        RhSpanOfTime span = {actor, a->role->tasks_first + task, t_start_s - x->t_origin_s,
                             x->t_s - x->t_origin_s};
        g_array_append_val(x->timeline, span);
    }
    release(x, actor, task, cause);
}

void rh_exec_complete_moved(RhExec *x, int32_t actor, int32_t task, double t_start_s,
                            double moved_s)
{
    RhActor *a = &x->actors[actor];
    a->lane_busy_s[rh_actor_task(x, a, task)->lane] += moved_s;
    end_task(x, actor, task, t_start_s, (RhCause){task, moved_s});
}

void rh_exec_complete(RhExec *x, int32_t actor, int32_t task, double t_start_s)
{
    rh_exec_complete_moved(x, actor, task, t_start_s, x->t_s - t_start_s);
}

static void start_task(RhExec *x, const RhReady *ready)
{
    const RhActor *a = &x->actors[ready->performer];
    const RhTask *task = rh_actor_task(x, a, ready->task);
    double late_s = 0;
    if (x->jitter)
        late_s = rh_jitter_late_s(x->jitter, ready->performer, a->role_index, ready->task, x->t_s);
    switch ((RhTaskKind)task->kind) {
    case RH_TASK_KERNEL:
    case RH_TASK_COPY:
        start_timed(x, ready, task, late_s);
        break;
    case RH_TASK_COLLECTIVE:
    case RH_TASK_SEND:
    case RH_TASK_RECV:
        start_communication(x, ready, task, late_s);
        break;
    case RH_TASK_NONE:
    case RH_TASK_MARK:
    case RH_TASK_LAST:
    default: /* what made the mark ready is what its successors waited for */
        end_task(x, ready->performer, ready->task, x->t_s, ready->cause);
        break;
    }
}

static void begin_step(RhExec *x)
{
    x->t_step_s = x->t_s;
    if (x->transport->begin_step)
        x->transport->begin_step(x);
    for (int32_t i = 0; i < x->actors_count; i++) {
        RhActor *a = &x->actors[i];
        memcpy(a->waiting, a->role->indegree, sizeof *a->waiting * (size_t)a->role->tasks_count);
        memset(a->state, RH_STATE_WAITING, (size_t)a->role->tasks_count);
        a->tasks_left = a->role->tasks_count;
        a->t_compute_end_s = a->t_end_s = x->t_s;
        a->last = (RhCause){-1, 0};
        x->tasks_left += a->tasks_left;
        for (int32_t task = 0; task < a->role->tasks_count; task++) {
            RhReady ready = {i, task, {-1, 0}};
            if (a->role->indegree[task] == 0)
                g_array_append_val(x->ready, ready);
        }
    }
    for (uint32_t m = 0; m < x->quotient->meetings->len; m++) {
        const RhMeeting *meeting = RH_AT(x->quotient->meetings, RhMeeting, m);
        int32_t colour = *RH_AT(x->quotient->colours, int32_t, meeting->colours_first);
        const int32_t *calls = x->actors[colour].role->calls_first + meeting->group;
        memset(x->arrived[m], 0, sizeof **x->arrived * (size_t)(calls[1] - calls[0]));
    }
}

static void end_step(RhExec *x)
{
    for (int32_t i = 0; i < x->actors_count; i++) {
        RhActor *a = &x->actors[i];
        rh_exec_charge(x, a, a->t_end_s - a->t_compute_end_s, a->last);
        a->wait_s[RH_WAIT_END] += x->t_s - a->t_end_s;
    }
    double step_s = x->t_s - x->t_step_s;
    g_array_append_val(x->step_times, step_s);
    if (--x->steps_left > 0)
        begin_step(x);
}

/* --- the clock --- */

static void start_ready(RhExec *x)
{
    for (;;) {
        while (x->ready_head < x->ready->len) {
            RhReady ready = *RH_AT(x->ready, RhReady, x->ready_head);
            x->ready_head++;
            start_task(x, &ready);
        }
        x->ready_head = 0;
        g_array_set_size(x->ready, 0);
        if (x->tasks_left > 0 || x->steps_left == 0)
            return;
        end_step(x);
    }
}

static void set_alarm(RhExec *x)
{
    if (x->timers.count == 0)
        return;
    double t_s = x->timers.heap[0].t_s;
    if (x->t_alarm_s <= t_s)
        return; /* wakes early, and sets it again */
    x->t_alarm_s = t_s;
    rh_bridge_alarm(t_s);
}

static void drain(RhExec *x)
{
    for (int32_t slot; (slot = rh_timers_take(&x->timers, x->t_s)) >= 0;) {
        if (slot < x->transport_slot)
            running_due(x, slot);
        else
            x->transport->due(x, slot - x->transport_slot);
        start_ready(x);
    }
    set_alarm(x);
}

static void on_alarm(void *user)
{
    RhExec *x = user;
    x->t_s = MAX(x->t_s, x->t_alarm_s);
    x->t_alarm_s = HUGE_VAL;
    drain(x);
}

static void on_flow_done(int32_t flow, void *user)
{
    RhExec *x = user;
    x->t_s = MAX(x->t_s, rh_bridge_clock_s());
    x->events_count++;
    rh_exec_flow_done(x, flow);
    start_ready(x);
    drain(x);
}

/* --- setting up --- */

static void add_actors(RhExec *x)
{
    x->actors_count = x->fold->colours_count;
    x->actors = g_new0(RhActor, x->actors_count + 1);
    for (int32_t i = 0; i < x->actors_count; i++) {
        RhActor *a = &x->actors[i];
        a->rank = x->fold->representative[i];
        a->ranks_count = x->fold->ranks_count[i];
        a->role_index = x->traffic->role_of_rank[a->rank];
        a->role = &x->roles[a->role_index];
        a->waiting = g_new0(uint16_t, a->role->tasks_count + 1);
        a->state = g_new0(uint8_t, a->role->tasks_count + 1);
        a->speed = 1;
        for (int32_t lane = 0; lane < RH_LANE_LAST; lane++)
            a->running[lane].task = -1;
        if (x->options->jitter_frac > 0 && x->options->unfolded) {
            a->rng = gsl_rng_alloc(gsl_rng_mt19937);
            gsl_rng_set(a->rng, (unsigned long)(rh_mix64(x->options->seed + 71, (uint64_t)a->rank) &
                                                0xffffffffU));
        }
    }
}

static void add_room(RhExec *x)
{
    x->transport_slot = x->actors_count * RH_LANE_LAST;
    rh_timers_init(&x->timers, x->transport_slot + x->transport->slots(x));
    x->transport->open(x);
    x->ready = g_array_new(FALSE, FALSE, sizeof(RhReady));
    x->timeline = g_array_new(FALSE, FALSE, sizeof(RhSpanOfTime));
    x->step_times = g_array_new(FALSE, FALSE, sizeof(double));
    x->arrived = g_new0(uint16_t *, x->quotient->meetings->len + 1);
    for (uint32_t m = 0; m < x->quotient->meetings->len; m++) {
        const RhMeeting *meeting = RH_AT(x->quotient->meetings, RhMeeting, m);
        int32_t most = 0;
        for (int32_t i = 0; i < meeting->colours_count; i++) {
            int32_t colour = *RH_AT(x->quotient->colours, int32_t, meeting->colours_first + i);
            const int32_t *calls = x->actors[colour].role->calls_first + meeting->group;
            most = MAX(most, calls[1] - calls[0]);
        }
        x->arrived[m] = g_new0(uint16_t, most + 1);
    }
}

static void widen(double bytes, double *smallest, double *largest)
{
    if (bytes <= 0)
        return;
    *smallest = MIN(*smallest, bytes);
    *largest = MAX(*largest, bytes);
}

/* SimGrid moves whole units: the smallest flow gets 2^34 of them, unless the largest would then
 * not fit in 62 bits. Rounding is upwards, so that no flow gets shorter. */
static double units_per_byte(const RhExec *x)
{
    double smallest = HUGE_VAL, largest = 1;
    for (uint32_t i = 0; i < x->traffic->phases->len; i++) {
        const RhTrafficPhase *phase = RH_AT(x->traffic->phases, RhTrafficPhase, i);
        if (phase->pattern >= 0)
            widen(phase->bytes * phase->repeat, &smallest, &largest);
    }
    for (uint32_t i = 0; i < x->program->tasks->len; i++) {
        const RhTask *task = rh_program_task(x->program, (int32_t)i);
        if (task->kind == RH_TASK_SEND)
            widen(task->bytes, &smallest, &largest);
    }
    return exp2(floor(MIN(34 - log2(MIN(smallest, largest)), 62 - log2(largest))));
}

static const char *start_bridge(RhExec *x)
{
    const RhQuotient *q = x->quotient;
    int32_t links = (int32_t)q->links->len, routes = (int32_t)q->classes->len;
    g_autofree double *units_per_s = g_new0(double, links + 1);
    g_autofree int32_t *hops_first = g_new0(int32_t, routes + 1);
    for (int32_t i = 0; i < links; i++)
        units_per_s[i] = RH_AT(q->links, RhQuotientLink, i)->bytes_per_s * x->units_per_byte;
    for (int32_t i = 0; i < routes; i++)
        hops_first[i] = RH_AT(q->classes, RhFlowClass, i)->hops_first;
    hops_first[routes] = (int32_t)q->hops->len;
    RhBridgePlatform platform = {.links_count = links,
                                 .units_per_s = units_per_s,
                                 .routes_count = routes,
                                 .hops_first = hops_first,
                                 .hops = (const RhBridgeHop *)(void *)q->hops->data};
    RhBridgeCallbacks callbacks = {on_flow_done, on_alarm, x};
    return rh_bridge_start(&platform, callbacks);
}

static bool fail_of_network(const char *why, GError **error)
{
    return rh_fail(error, rh_bridge_lacked_memory() ? RH_ERROR_NO_ANSWER : RH_ERROR_INTERNAL,
                   "the rehearsal's network failed: %s", why);
}

/* Runs `steps` steps from the clock's present on. */
static bool perform(RhExec *x, int32_t steps, GError **error)
{
    x->steps_left = steps;
    x->t_origin_s = x->t_s;
    begin_step(x);
    start_ready(x);
    drain(x);
    const char *failure = rh_bridge_run();
    if (failure)
        return fail_of_network(failure, error);
    if (x->steps_left > 0)
        return rh_exec_fail_stuck(x, error);
    return true;
}

static double mean_step_s(const RhExec *x)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < x->step_times->len; i++)
        sum_s += *RH_AT(x->step_times, double, i);
    return x->step_times->len ? sum_s / x->step_times->len : 0;
}

static void forget(RhExec *x)
{
    for (int32_t i = 0; i < x->actors_count; i++) {
        memset(x->actors[i].wait_s, 0, sizeof x->actors[i].wait_s);
        memset(x->actors[i].lane_busy_s, 0, sizeof x->actors[i].lane_busy_s);
    }
    x->transport->forget(x);
    x->bytes_total = x->bytes_as_flows = 0;
    x->events_count = 0;
    g_array_set_size(x->step_times, 0);
    g_array_set_size(x->timeline, 0);
}

static void exec_clear(RhExec *x)
{
    x->transport->close(x);
    for (int32_t i = 0; i < x->actors_count; i++) {
        g_free(x->actors[i].waiting);
        g_free(x->actors[i].state);
        if (x->actors[i].rng)
            gsl_rng_free(x->actors[i].rng);
    }
    for (uint32_t m = 0; m < x->quotient->meetings->len; m++)
        g_free(x->arrived[m]);
    g_free(x->actors);
    g_free(x->arrived);
    GArray *arrays[] = {x->ready, x->timeline, x->step_times};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    rh_timers_clear(&x->timers);
    rh_jitter_free(x->jitter);
    rh_role_tables_free(x->roles, (int32_t)x->program->roles->len);
}

/* A folded run has no stragglers; the order-statistic correction is what they add. */
static bool perform_all(RhExec *x, double *correction_s, GError **error)
{
    int32_t steps = MAX(1, x->options->steps);
    bool corrected = x->options->jitter_frac > 0 && !x->options->unfolded;
    if (corrected) {
        if (!perform(x, 1, error))
            return false;
        *correction_s = -mean_step_s(x);
        forget(x);
        x->jitter = rh_jitter_new(x->program, x->roles, x->options->jitter_frac, x->actors_count);
    }
    if (!perform(x, steps, error))
        return false;
    if (corrected)
        *correction_s += mean_step_s(x);
    return true;
}

RhRun *rh_exec_run(const RhExecInput *input, GError **error)
{
    if (rh_bridge_started()) {
        rh_fail(error, RH_ERROR_INPUT,
                "this process has had its rehearsal: SimGrid cannot be "
                "started twice\nhelp: rh_rehearse_apart performs each in a "
                "process of its own");
        return NULL;
    }
    bool packets = input->traffic->platform->messages.sender != RH_SHARING_NONE;
    RhExec x = {.transport = packets ? &rh_transport_packets : &rh_transport_fluid,
                .program = input->traffic->program,
                .platform = input->traffic->platform,
                .traffic = input->traffic,
                .fold = input->fold,
                .quotient = input->quotient,
                .options = input->options,
                .t_alarm_s = HUGE_VAL,
                .sms = MAX(1, input->traffic->platform->device->sms_count),
                .sms_held = input->traffic->platform->collective_sms};
    x.roles = rh_role_tables_new(x.program, x.platform);
    add_actors(&x);
    add_room(&x);
    x.units_per_byte = units_per_byte(&x);
    RhRun *run = NULL;
    double correction_s = 0;
    const char *failure = start_bridge(&x);
    if (failure)
        fail_of_network(failure, error);
    else if (perform_all(&x, &correction_s, error)) {
        run = rh_exec_report(&x);
        run->jitter_correction_s = correction_s;
    }
    exec_clear(&x);
    return run;
}
