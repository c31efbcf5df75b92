#include "validate/perform/performer.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/role_task_graph.h"
#include "sim/tier_copy.h"
#include "validate/perform/clock_sync.h"
#include "validate/perform/compute.h"
#include "validate/perform/mpi_collectives.h"
#include "validate/perform/mpi_progress_wait.h"

#define WORK_NAP_S 50e-6 /* nap while another thread computes, whose end wakes nothing */

typedef enum { WAITING, STARTED, DONE } State;

/* A kernel or copy on a lane. */
typedef struct {
    int32_t task; /* -1: idle */
    double t_end_s;
} Running;

/* A collective in progress on a lane. */
typedef struct {
    int32_t task; /* -1: none */
    const RhExpansion *expansion;
    RhPayload *payload; /* the lane's */
    int32_t own, awaited;
    RhExpansionPlace at;
} Collective;

struct RhRankPerformer {
    const RhProgram *program;
    const RhPlatform *platform;
    RhPerformOptions options;
    int32_t rank;
    RhRoleTable *tables, *role; /* role: NULL when the rank has none */
    RhExpansions *expansions;
    RhMpiTransport *transport;
    RhWake *wake;
    RhCompute *compute; /* NULL: kernels are waits */
    int32_t compute_task, lanes;
    GQueue work;       /* KERNEL tasks that wait for the processor */
    int32_t *call_tag; /* per group: tag of its first collective */
    uint16_t *waiting;
    uint8_t *state;
    double *t_start_s, *t_ready_s;
    GArray *ready; /* int32_t, a stack */
    Running running[RH_LANES_MAX];
    Collective collectives[RH_LANES_MAX];
    RhPayload payloads[RH_LANES_MAX];
    MPI_Comm *comms; /* per group; only for MPI's own collectives */
    RhLibraryCall library[RH_LANES_MAX];
    int32_t library_task[RH_LANES_MAX]; /* -1: none */
    int32_t tasks_left;
    double t_origin_s;
    bool check_all;
    RhPerformed performed;
};

static const RhTask *task_at(const RhRankPerformer *r, int32_t task)
{
    return rh_program_task(r->program, r->role->tasks_first + task);
}

/* --- ends of tasks --- */

/* Ends a task. `t_end_s`: for a kernel the end of its time, however late that was noticed: its
 * successors on the device start then, as on a stream that no polling delays. */
static void end_task(RhRankPerformer *r, int32_t task, double t_end_s)
{
    RhTaskInterval span = {r->rank, r->role->tasks_first + task, r->t_start_s[task] - r->t_origin_s,
                           t_end_s - r->t_origin_s};
    r->state[task] = DONE;
    r->tasks_left--;
    r->performed.t_end_s = span.t_end_s;
    if (task_at(r, task)->kind != RH_TASK_MARK)
        g_array_append_val(r->performed.spans, span);
    for (int32_t i = r->role->successors_first[task]; i < r->role->successors_first[task + 1];
         i++) {
        int32_t next = r->role->successors[i];
        r->t_ready_s[next] = fmax(r->t_ready_s[next], t_end_s);
        if (--r->waiting[next] == 0)
            g_array_append_val(r->ready, next);
    }
}

/* --- collectives --- */

static int call_tag(const RhRankPerformer *r, int32_t task)
{
    return r->call_tag[task_at(r, task)->group] + r->role->ordinal[task];
}

/* Posts the receives of the step, then sends. */
static void start_step(RhRankPerformer *r, Collective *m)
{
    int tag = call_tag(r, m->task);
    m->awaited = 0;
    for (int32_t i = m->at.from; i < m->at.to; i++) {
        const RhFlow *flow = rh_expansion_flow(m->expansion, i);
        int64_t bytes = 4 * rh_payload_flow_words(m->payload, flow);
        if (flow->dst != m->own)
            continue;
        m->awaited++;
        rh_mpi_transport_receive(r->transport, m->expansion->members[flow->src], tag, bytes,
                                 (RhTransportOwner){.task = m->task, .flow = i});
    }
    for (int32_t i = m->at.from; i < m->at.to; i++) {
        const RhFlow *flow = rh_expansion_flow(m->expansion, i);
        if (flow->src != m->own)
            continue;
        m->awaited++;
        int64_t bytes = 4 * rh_payload_flow_words(m->payload, flow);
        uint32_t *buffer = rh_mpi_transport_buffer(r->transport, bytes);
        rh_payload_take(m->payload, flow, m->at.repeat, buffer);
        rh_mpi_transport_send(r->transport, m->expansion->members[flow->dst], tag, buffer, bytes,
                              (RhTransportOwner){.task = m->task, .flow = i});
    }
}

static void add_check(RhRankPerformer *r, RhPayloadCheck check)
{
    r->performed.check.checked_count += check.checked_count;
    r->performed.check.wrong_count += check.wrong_count;
}

static void advance_collective(RhRankPerformer *r, Collective *m)
{
    while (rh_expansion_next(m->expansion, m->own, &m->at)) {
        start_step(r, m);
        if (m->awaited > 0)
            return;
    }
    add_check(r, rh_payload_check(m->payload, r->check_all));
    int32_t task = m->task;
    m->task = -1;
    end_task(r, task, rh_clock_now_s());
}

static void start_collective(RhRankPerformer *r, int32_t task)
{
    const RhTask *t = task_at(r, task);
    Collective *m = &r->collectives[t->lane];
    int32_t own;
    const RhExpansion *e = rh_expansion_get(r->expansions, t, r->rank, &own, NULL);
    g_assert(e != NULL && m->task < 0); /* checked when made; lanes are in order */
    *m = (Collective){.task = task,
                      .expansion = e,
                      .payload = &r->payloads[t->lane],
                      .own = own,
                      .at = rh_expansion_begin(e, own)};
    rh_payload_begin(m->payload, e->schedule, own);
    advance_collective(r, m);
}

static void start_library(RhRankPerformer *r, int32_t task)
{
    const RhTask *t = task_at(r, task);
    r->library_task[t->lane] = task;
    rh_library_start(&r->library[t->lane], (RhOp)t->op, t->bytes, r->comms[t->group]);
}

static bool poll_library(RhRankPerformer *r)
{
    bool any = false;
    for (int lane = 0; lane < r->lanes; lane++) {
        int32_t task = r->library_task[lane];
        if (task < 0 || !rh_library_poll(&r->library[lane]))
            continue;
        double t_end_s = rh_clock_now_s();
        if (r->check_all)
            add_check(r, rh_library_check(&r->library[lane]));
        r->library_task[lane] = -1;
        end_task(r, task, t_end_s);
        any = true;
    }
    return any;
}

/* --- messages --- */

static int message_tag(const RhRankPerformer *r, int32_t receive)
{
    return r->call_tag[r->program->groups->len] + receive;
}

/* Word of a message, which identifies its receive. */
static uint32_t message_word(int32_t receive)
{
    return 0x9e3779b9U * (uint32_t)(receive + 1);
}

static void start_message(RhRankPerformer *r, int32_t task)
{
    const RhTask *t = task_at(r, task);
    bool sends = t->kind == RH_TASK_SEND;
    int32_t receive = sends ? t->peer_task : r->role->tasks_first + task;
    int64_t words = (int64_t)fmax(1, ceil(t->bytes / 4));
    RhTransportOwner owner = {.task = task, .flow = -1};
    if (!sends) {
        rh_mpi_transport_receive(r->transport, r->rank + t->peer_delta, message_tag(r, receive),
                                 4 * words, owner);
        return;
    }
    uint32_t *buffer = rh_mpi_transport_buffer(r->transport, 4 * words);
    for (int64_t i = 0; i < words; i++)
        buffer[i] = message_word(receive);
    rh_mpi_transport_send(r->transport, r->rank + t->peer_delta, message_tag(r, receive), buffer,
                          4 * words, owner);
}

static void check_message(RhRankPerformer *r, int32_t task, const uint32_t *words)
{
    int64_t last = (int64_t)fmax(1, ceil(task_at(r, task)->bytes / 4)) - 1;
    uint32_t want = message_word(r->role->tasks_first + task);
    r->performed.check.checked_count += 2;
    r->performed.check.wrong_count += (words[0] != want) + (words[last] != want);
}

static void on_transport_done(RhTransportOwner owner, const uint32_t *words, void *user)
{
    RhRankPerformer *r = user;
    if (owner.flow < 0) {
        if (owner.receives)
            check_message(r, owner.task, words);
        end_task(r, owner.task, rh_clock_now_s());
        return;
    }
    Collective *m = &r->collectives[task_at(r, owner.task)->lane];
    if (owner.receives)
        rh_payload_put(m->payload, rh_expansion_flow(m->expansion, owner.flow), m->at.repeat,
                       words);
    if (--m->awaited == 0)
        advance_collective(r, m);
}

/* --- kernels as real work --- */

/* Starts a kernel, one at a time, as the rank has one processor. */
static void start_work(RhRankPerformer *r)
{
    if (r->compute_task >= 0 || g_queue_is_empty(&r->work))
        return;
    r->compute_task = GPOINTER_TO_INT(g_queue_pop_head(&r->work));
    r->t_start_s[r->compute_task] = rh_clock_now_s();
    rh_compute_start(r->compute, task_at(r, r->compute_task)->bundle);
}

static bool poll_work(RhRankPerformer *r)
{
    double t_end_s = 0;
    if (!r->compute || !rh_compute_poll(r->compute, &t_end_s))
        return false;
    int32_t task = r->compute_task;
    r->compute_task = -1;
    if (t_end_s < 0) {
        r->performed.stuck =
            g_strdup_printf("rank %d: %s could not do the kernels of task %d", r->rank,
                            r->options.worker->name, r->role->tasks_first + task);
        return true;
    }
    end_task(r, task, t_end_s);
    start_work(r);
    return true;
}

/* --- the step --- */

static void start_task(RhRankPerformer *r, int32_t task)
{
    const RhTask *t = task_at(r, task);
    r->state[task] = STARTED;
    bool timed = t->kind == RH_TASK_KERNEL || t->kind == RH_TASK_COPY || t->kind == RH_TASK_MARK;
    r->t_start_s[task] = timed ? r->t_ready_s[task] : rh_clock_now_s();
    if (r->compute && t->kind == RH_TASK_KERNEL) {
        g_queue_push_tail(&r->work, GINT_TO_POINTER(task));
        start_work(r);
        return;
    }
    switch ((RhTaskKind)t->kind) {
    case RH_TASK_KERNEL:
    case RH_TASK_COPY: {
        double slow = r->rank == r->options.slow_rank ? r->options.slow_rank_scale : 1;
        double wait_s = r->role->duration_s[task] * r->options.kernel_scale * slow;
        r->running[t->lane] = (Running){task, r->t_start_s[task] + wait_s};
        break;
    }
    case RH_TASK_COLLECTIVE:
        if (r->options.library)
            start_library(r, task);
        else
            start_collective(r, task);
        break;
    case RH_TASK_SEND:
    case RH_TASK_RECV:
        start_message(r, task);
        break;
    case RH_TASK_NONE:
    case RH_TASK_MARK:
    case RH_TASK_LAST:
    default:
        end_task(r, task, r->t_ready_s[task]);
        break;
    }
}

static bool start_ready(RhRankPerformer *r)
{
    bool any = r->ready->len > 0;
    while (r->ready->len > 0) {
        int32_t task = g_array_index(r->ready, int32_t, r->ready->len - 1);
        g_array_set_size(r->ready, r->ready->len - 1);
        start_task(r, task);
    }
    return any;
}

/* Ends the waits that are over; *t_next_s: end of the next one. */
static bool end_waits(RhRankPerformer *r, double *t_next_s)
{
    bool any = false;
    double now_s = rh_clock_now_s();
    for (int lane = 0; lane < r->lanes; lane++) {
        Running *running = &r->running[lane];
        if (running->task < 0)
            continue;
        if (running->t_end_s > now_s) {
            *t_next_s = fmin(*t_next_s, running->t_end_s);
            continue;
        }
        int32_t task = running->task;
        running->task = -1;
        end_task(r, task, running->t_end_s);
        any = true;
    }
    return any;
}

static void begin_step(RhRankPerformer *r, double t_start_s, bool check_all)
{
    r->t_origin_s = t_start_s;
    r->check_all = check_all;
    r->performed = (RhPerformed){.spans = g_array_new(FALSE, FALSE, sizeof(RhTaskInterval))};
    for (int lane = 0; lane < r->lanes; lane++)
        r->running[lane].task = r->collectives[lane].task = r->library_task[lane] = -1;
    r->tasks_left = r->role ? r->role->tasks_count : 0;
    for (int32_t i = 0; i < r->tasks_left; i++) {
        r->waiting[i] = r->role->indegree[i];
        r->state[i] = WAITING;
        r->t_ready_s[i] = t_start_s;
        if (r->waiting[i] == 0)
            g_array_append_val(r->ready, i);
    }
    rh_wake_refresh(r->wake);
    while (rh_clock_now_s() < t_start_s)
        rh_clock_nap(t_start_s - rh_clock_now_s());
}

static char *stuck_text(const RhRankPerformer *r)
{
    for (int32_t i = 0; i < r->role->tasks_count; i++) {
        const RhTask *t = task_at(r, i);
        if (r->state[i] == STARTED)
            return g_strdup_printf(
                "rank %d waits in task %d (%s \"%s\", micro-batch %d) since %.3f s", r->rank,
                r->role->tasks_first + i, rh_task_kind_name((RhTaskKind)t->kind),
                (const char *)g_ptr_array_index(r->program->labels, (guint)t->label), t->microbatch,
                r->t_start_s[i] - r->t_origin_s);
    }
    return g_strdup_printf("rank %d has %d tasks left and none started", r->rank, r->tasks_left);
}

/* Runs the command of the event once, when it is due. */
static void run_event(const RhRankPerformer *r, double now_s, bool *due)
{
    if (!*due || now_s - r->t_origin_s < r->options.event_s)
        return;
    const char *argv[] = {"sh", "-c", r->options.event, NULL};
    *due = false;
    g_spawn_async(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL);
}

RhPerformed rh_rank_performer_step(RhRankPerformer *r, double t_start_s, bool check_all)
{
    bool due = r->options.event && !check_all, may_have_come = true;
    begin_step(r, t_start_s, check_all);
    while (r->tasks_left > 0 || rh_mpi_transport_pending(r->transport) > 0) {
        double now_s = rh_clock_now_s();
        double t_next_s = r->compute_task >= 0 ? now_s + WORK_NAP_S : HUGE_VAL;
        bool moved = start_ready(r);
        moved |= rh_mpi_transport_poll(r->transport, may_have_come, on_transport_done, r) > 0;
        moved |= poll_library(r);
        moved |= poll_work(r);
        moved |= end_waits(r, &t_next_s);
        run_event(r, now_s, &due);
        if (now_s - t_start_s > r->options.timeout_s && !r->performed.stuck)
            r->performed.stuck = stuck_text(r);
        if (r->performed.stuck)
            break;
        may_have_come = rh_wake_wait(r->wake, moved ? 0 : t_next_s - now_s);
    }
    return r->performed;
}

void rh_performed_clear(RhPerformed *performed)
{
    g_clear_pointer(&performed->spans, g_array_unref);
    g_clear_pointer(&performed->stuck, g_free);
}

/* --- life --- */

/* Numbers tags: collectives group by group, then receives. */
static bool number_tags(RhRankPerformer *r, MPI_Comm comm, GError **error)
{
    const RhProgram *p = r->program;
    int64_t tag = 0;
    int *limit, found = 0;
    r->call_tag = g_new0(int32_t, p->groups->len + 1);
    MPI_Comm_get_attr(comm, MPI_TAG_UB, (void *)&limit, &found);
    for (guint g = 0; g < p->groups->len; g++) {
        int32_t most = 0;
        for (guint i = 0; i < p->roles->len; i++)
            most = MAX(most, r->tables[i].calls_first[g + 1] - r->tables[i].calls_first[g]);
        r->call_tag[g] = (int32_t)tag;
        tag += most;
    }
    r->call_tag[p->groups->len] = (int32_t)tag;
    tag += p->tasks->len;
    if (tag > (found ? *limit : 32767))
        return rh_fail(error, RH_ERROR_INPUT,
                       "the program needs %" G_GINT64_FORMAT " message tags, this MPI library has "
                       "%d\nhelp: fewer micro-batches or layers",
                       tag, found ? *limit : 32767);
    return true;
}

static bool expand_all(RhRankPerformer *r, GError **error)
{
    for (int32_t i = 0; r->role && i < r->role->tasks_count; i++) {
        int32_t own;
        if (r->options.library && task_at(r, i)->volumes)
            return rh_fail(
                error, RH_ERROR_INPUT,
                "task %d: an all-to-all of uneven volumes is performed by our steps, not "
                "by the library's\nhelp: without --library",
                r->role->tasks_first + i);
        if (task_at(r, i)->kind == RH_TASK_COLLECTIVE &&
            !rh_expansion_get(r->expansions, task_at(r, i), r->rank, &own, error))
            return false;
    }
    return true;
}

/* Makes a communicator for every group in which this rank takes part; all ranks in the order of the
 * groups. */
static void make_comms(RhRankPerformer *r, MPI_Comm comm)
{
    MPI_Group world;
    MPI_Comm_group(comm, &world);
    r->comms = g_new(MPI_Comm, r->program->groups->len + 1);
    for (guint g = 0; g < r->program->groups->len; g++) {
        const RhTask *call = NULL;
        for (int32_t i = 0; r->role && i < r->role->tasks_count && !call; i++)
            if (task_at(r, i)->kind == RH_TASK_COLLECTIVE && task_at(r, i)->group == (int32_t)g)
                call = task_at(r, i);
        r->comms[g] = MPI_COMM_NULL;
        if (!call)
            continue;
        int32_t own;
        const RhExpansion *e = rh_expansion_get(r->expansions, call, r->rank, &own, NULL);
        MPI_Group members;
        MPI_Group_incl(world, e->schedule->members, e->members, &members);
        MPI_Comm_create_group(comm, members, (int)g, &r->comms[g]);
        MPI_Group_free(&members);
    }
    MPI_Group_free(&world);
}

/* Index of this rank among those on its host, from 0. */
static int place_on_host(MPI_Comm comm)
{
    MPI_Comm host;
    int place;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_free(&host);
    return place;
}

RhRankPerformer *rh_rank_performer_new(const RhProgram *p, const RhPlatform *platform,
                                       MPI_Comm comm, const RhPerformOptions *options,
                                       GError **error)
{
    if (!rh_copies_possible(p, platform, error))
        return NULL;
    RhRankPerformer *r = g_new0(RhRankPerformer, 1);
    int rank;
    MPI_Comm_rank(comm, &rank);
    r->program = p;
    r->platform = platform;
    r->options = *options;
    r->rank = rank;
    r->lanes = rh_program_lanes(p);
    r->tables = rh_role_tables_new(p, platform);
    g_autofree int32_t *role_of = rh_program_role_of_rank(p);
    r->role = role_of[rank] < 0 ? NULL : &r->tables[role_of[rank]];
    r->expansions = rh_expansions_new(p, platform);
    r->transport = rh_mpi_transport_new(comm);
    r->wake = rh_wake_new(options->sockets);
    r->compute_task = -1;
    int32_t tasks = r->role ? r->role->tasks_count : 0;
    r->waiting = g_new0(uint16_t, tasks + 1);
    r->state = g_new0(uint8_t, tasks + 1);
    r->t_start_s = g_new0(double, tasks + 1);
    r->t_ready_s = g_new0(double, tasks + 1);
    r->ready = g_array_new(FALSE, FALSE, sizeof(int32_t));
    int place = options->worker ? place_on_host(comm) : 0;
    if (number_tags(r, comm, error) && expand_all(r, error) &&
        (!options->worker || (r->compute = rh_compute_new(options->worker, p, place, error)))) {
        if (options->library)
            make_comms(r, comm);
        return r;
    }
    rh_rank_performer_free(r);
    return NULL;
}

void rh_rank_performer_free(RhRankPerformer *r)
{
    if (!r)
        return;
    rh_role_tables_free(r->tables, (int32_t)r->program->roles->len);
    rh_expansions_free(r->expansions);
    rh_mpi_transport_free(r->transport);
    rh_wake_free(r->wake);
    rh_compute_free(r->compute);
    g_queue_clear(&r->work);
    void *blocks[] = {r->call_tag, r->waiting, r->state, r->t_start_s, r->t_ready_s};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    for (int lane = 0; lane < r->lanes; lane++) {
        rh_payload_clear(&r->payloads[lane]);
        rh_library_clear(&r->library[lane]);
    }
    for (guint g = 0; r->comms && g < r->program->groups->len; g++)
        if (r->comms[g] != MPI_COMM_NULL)
            MPI_Comm_free(&r->comms[g]);
    g_free(r->comms);
    g_array_unref(r->ready);
    g_free(r);
}
