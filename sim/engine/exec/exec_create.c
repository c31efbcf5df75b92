/* Creates and frees the executor: actors, jobs, timers, SimGrid's links and routes. */
#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/engine/exec/exec_private.h"
#include "sim/engine/prune_dominated_links.h"

static void add_actors(RhExec *x)
{
    x->actors_count = x->fold->colours_count;
    x->actors = g_new0(RhActor, x->actors_count + 1);
    for (int32_t i = 0; i < x->actors_count; i++) {
        RhActor *a = &x->actors[i];
        a->rank = x->fold->representative[i];
        a->ranks_count = x->fold->ranks_count[i];
        a->role_index = x->traffic->role_of_rank[a->rank];
        int32_t gpu = rh_program_gpu(x->program, a->rank);
        int32_t device = rh_platform_device_of(x->platform, gpu);
        a->role = &x->roles_on[device][a->role_index];
        a->sms = MAX(1, rh_platform_device(x->platform, device)->sms_count);
        a->waiting = g_new0(uint16_t, a->role->tasks_count + 1);
        a->state = g_new0(uint8_t, a->role->tasks_count + 1);
        a->speed = 1;
        a->own_speed = rh_platform_gpu_speed(x->platform, gpu);
        a->running = g_new0(RhRunning, x->lanes);
        for (int32_t lane = 0; lane < x->lanes; lane++)
            a->running[lane].task = -1;
        if (x->options->jitter_frac > 0 && x->options->unfolded) {
            a->rng = gsl_rng_alloc(gsl_rng_mt19937);
            gsl_rng_set(a->rng, (unsigned long)(rh_mix64(x->options->seed + 71, (uint64_t)a->rank) &
                                                0xffffffffU));
        }
    }
}

/* Adds the jobs. Colours and collective calls are numbered by their first rank or instance, and
 * ranks and groups by job, so each job's are consecutive. */
static void add_jobs(RhExec *x, const RhJoinedProgram *joined)
{
    x->jobs = g_new0(RhExecJob, x->jobs_count + 1);
    int32_t actor = 0, call = 0;
    for (int32_t i = 0; i < x->jobs_count; i++) {
        RhExecJob *job = &x->jobs[i];
        int32_t ranks_end = joined[i].ranks_first + joined[i].ranks_count;
        job->step_times = g_array_new(FALSE, FALSE, sizeof(double));
        job->timeline = g_array_new(FALSE, FALSE, sizeof(RhTaskInterval));
        job->actors_first = actor;
        while (actor < x->actors_count && x->actors[actor].rank < ranks_end)
            x->actors[actor++].job = i;
        job->actors_end = actor;
        job->calls_first = call;
        while (call < (int32_t)x->quotient->calls->len) {
            int32_t first = RH_AT(x->quotient->calls, RhCollectiveCall, call)->colours_first;
            if (*RH_AT(x->quotient->colours, int32_t, first) >= actor)
                break;
            call++;
        }
        job->calls_end = call;
    }
}

static void add_room(RhExec *x)
{
    x->jobs_slot = x->actors_count * x->lanes;
    x->stop_slot = x->jobs_slot + x->jobs_count;
    x->transport_slot = x->stop_slot + 1;
    rh_timers_init(&x->timers, x->transport_slot + x->transport->slots(x));
    x->settled = g_array_new(FALSE, FALSE, sizeof(int32_t));
    x->events = g_array_new(FALSE, FALSE, sizeof(RhSessionEvent));
    x->sends = g_array_new(FALSE, FALSE, sizeof(RhSend));
    x->arrived = rh_exec_new_arrivals(x);
    x->transport->open(x);
}

static void widen(double bytes, double *smallest, double *largest)
{
    if (bytes <= 0)
        return;
    *smallest = MIN(*smallest, bytes);
    *largest = MAX(*largest, bytes);
}

/* Units per byte. SimGrid moves whole units: the smallest flow gets 2^34 of them, unless the
 * largest would then not fit in 62 bits. Rounding is upwards, so that no flow gets shorter. */
static double units_per_byte(const RhExec *x)
{
    double smallest = HUGE_VAL, largest = 1;
    for (uint32_t i = 0; i < x->traffic->rounds->len; i++) {
        const RhTrafficRound *round = RH_AT(x->traffic->rounds, RhTrafficRound, i);
        if (round->pattern >= 0)
            widen(round->bytes * round->repeat, &smallest, &largest);
    }
    for (uint32_t i = 0; i < x->program->tasks->len; i++) {
        const RhTask *task = rh_program_task(x->program, (int32_t)i);
        if (task->kind == RH_TASK_SEND || task->kind == RH_TASK_COPY)
            widen(task->bytes, &smallest, &largest);
    }
    return exp2(floor(MIN(34 - log2(MIN(smallest, largest)), 62 - log2(largest))));
}

static const char *start_bridge(RhExec *x)
{
    const RhFoldedNetwork *q = x->quotient;
    int32_t links = (int32_t)q->links->len, routes = (int32_t)q->classes->len;
    g_autofree double *units_per_s = g_new0(double, links + 1);
    g_autofree int32_t *hops_first = g_new0(int32_t, routes + 1);
    g_autoptr(GArray) hops = rh_bottleneck_hops(q, hops_first);
    for (int32_t i = 0; i < links; i++)
        units_per_s[i] = RH_AT(q->links, RhFoldedLink, i)->bytes_per_s * x->units_per_byte;
    RhBridgePlatform platform = {.links_count = links,
                                 .units_per_s = units_per_s,
                                 .routes_count = routes,
                                 .hops_first = hops_first,
                                 .hops = RH_ELEMENTS(hops, RhBridgeHop)};
    RhBridgeCallbacks callbacks = {rh_exec_on_flow_done, rh_exec_on_alarm, x};
    return rh_bridge_start(&platform, callbacks);
}

/* --- life --- */

bool rh_exec_folds(const RhPlatform *platform)
{
    return platform->messages.sender == RH_SHARING_NONE;
}

static RhExec *exec_of(const RhExecInput *input)
{
    const RhPlatform *platform = input->traffic->platform;
    RhExec *x = g_new0(RhExec, 1);
    *x = (RhExec){
        .transport = rh_exec_folds(platform) ? &rh_transport_fluid : &rh_transport_packets,
        .program = input->traffic->program,
        .platform = platform,
        .traffic = input->traffic,
        .fold = input->fold,
        .quotient = input->quotient,
        .options = input->options,
        .jobs_count = input->jobs_count,
        .t_alarm_s = HUGE_VAL,
        .sms_held = platform->collective_sms.value,
    };
    x->lanes = rh_program_lanes(x->program);
    x->roles_on = g_new0(RhRoleTable *, rh_platform_devices_count(platform));
    for (int32_t i = 0; i < rh_platform_devices_count(platform); i++)
        x->roles_on[i] = rh_role_tables_on(x->program, platform, i);
    x->roles = x->roles_on[0];
    return x;
}

/* Are times on idle links lower bounds in this run? Rounded weights of shared links may be too
 * small, and kernels with jitter may be shorter. */
static bool remaining_are_bounds(const RhExec *x)
{
    const RhEngineOptions *o = x->options;
    return o->cutoff_s > 0 && x->transport == &rh_transport_fluid && x->jobs_count == 1 &&
           o->steps <= 1 && o->jitter_frac == 0 && o->nudge_frac >= 0 &&
           !x->quotient->weights_rounded;
}

RhExec *rh_exec_new(const RhExecInput *input, GError **error)
{
    if (rh_bridge_started()) {
        rh_fail(error, RH_ERROR_INPUT,
                "this process has had its session: SimGrid cannot be started twice\n"
                "help: rh_rehearse_isolated performs each in a process of its own");
        return NULL;
    }
    RhExec *x = exec_of(input);
    add_actors(x);
    add_jobs(x, input->jobs);
    add_room(x);
    x->units_per_byte = units_per_byte(x);
    if (remaining_are_bounds(x))
        rh_exec_find_remaining_paths(x);
    const char *failure = start_bridge(x);
    if (!failure)
        return x;
    rh_fail(error, rh_bridge_lacked_memory() ? RH_ERROR_NO_ANSWER : RH_ERROR_INTERNAL,
            "the simulation's network failed: %s", failure);
    rh_exec_free(x);
    return NULL;
}

void rh_exec_free(RhExec *x)
{
    if (!x)
        return;
    x->transport->close(x);
    for (int32_t i = 0; i < x->actors_count; i++) {
        g_free(x->actors[i].waiting);
        g_free(x->actors[i].state);
        g_free(x->actors[i].remaining_s);
        g_free(x->actors[i].running);
        if (x->actors[i].rng)
            gsl_rng_free(x->actors[i].rng);
    }
    for (int32_t i = 0; i < x->jobs_count; i++) {
        g_array_unref(x->jobs[i].step_times);
        g_array_unref(x->jobs[i].timeline);
    }
    for (uint32_t m = 0; m < x->quotient->calls->len; m++)
        g_free(x->arrived[m]);
    void *blocks[] = {x->actors, x->jobs, x->arrived, x->ready.all};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    GArray *arrays[] = {x->settled, x->events, x->sends};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    rh_timers_clear(&x->timers);
    rh_jitter_free(x->jitter);
    for (int32_t i = 0; i < rh_platform_devices_count(x->platform); i++)
        rh_role_tables_free(x->roles_on[i], (int32_t)x->program->roles->len);
    g_free(x->roles_on);
    g_free(x);
}
