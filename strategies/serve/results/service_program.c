#include "strategies/serve/results/service_program.h"

#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/collective/collective.h"
#include "strategies/serve/iteration/speculation.h"

#define STREAMS     8 /* concurrent messages of a rank; more wait for one another */
#define STREAM_WAIT RH_LANE_LAST
#define STREAM_SEND (STREAM_WAIT + 1)
#define STREAM_RECV (STREAM_SEND + STREAMS)
#define SAME_TIME_S 1e-12
#define NOBODY      (-1)

typedef struct {
    RhService *service;
    const RhServing *serving;
    const RhDeployment *d;
    const RhServiceResult *result;
    RhProgram *p;
    int32_t first_rank[RH_POOLS_MAX];                /* of a pool */
    int32_t tp[RH_POOLS_MAX], experts[RH_POOLS_MAX]; /* groups */
    int32_t *send, *recv;                            /* by transfer and rank of its sender: tasks */
    int32_t senders;                                 /* ranks of one replica */
    /* transfers, in the order in which they leave */
    guint *leaving;
    GArray *exchanges; /* RhServedExchange: work space */
    int32_t labels[4];
} Draft;

enum { LABEL_WAIT, LABEL_WORK, LABEL_EXCHANGE, LABEL_MOVE };

static int32_t pool_of(const Draft *f, int32_t replica)
{
    return replica < f->d->pools[0].replicas ? 0 : 1;
}

static int32_t rank_of(const Draft *f, int32_t replica)
{
    int32_t pool = pool_of(f, replica);
    int32_t inside = replica - (pool > 0 ? f->d->pools[0].replicas : 0);
    return f->first_rank[pool] + inside * rh_pool_gpus(&f->d->pools[pool]);
}

static RhTask blank_task(const Draft *f, RhTaskKind kind, int32_t lane, int32_t label)
{
    return (RhTask){.kind = (uint8_t)kind,
                    .lane = (uint8_t)lane,
                    .layer = -1,
                    .microbatch = -1,
                    .label = f->labels[label],
                    .bundle = -1,
                    .group = -1,
                    .peer_task = -1};
}

static int32_t add_wait(Draft *f, int32_t lane, int32_t label, double seconds, const int32_t *preds,
                        int32_t count)
{
    RhTask task = blank_task(f, RH_TASK_KERNEL, lane, label);
    task.bundle = rh_program_add_wait(f->p, fmax(seconds, 0));
    return rh_program_add_task(f->p, task, preds, count);
}

/* --- one iteration --- */

static RhAlgo algo_of(const Draft *f, int32_t replica, const RhServedExchange *e, int32_t ranks)
{
    const RhPlatform *platform =
        rh_iterations_platform(rh_service_iterations(f->service, pool_of(f, replica)));
    g_autofree int32_t *nodes = g_new(int32_t, ranks);
    int32_t first = rh_deployment_first_gpu(f->d, replica);
    for (int32_t i = 0; i < ranks; i++)
        nodes[i] = rh_platform_node_of(platform, first + i);
    return rh_collective_choose(e->op, ranks, nodes, e->bytes, platform, NULL);
}

static int32_t add_exchange(Draft *f, int32_t replica, const RhServedExchange *e, int32_t before)
{
    int32_t pool = pool_of(f, replica);
    const RhPool *shape = &f->d->pools[pool];
    int32_t ranks = e->experts ? rh_pool_expert_ranks(shape) : shape->tp;
    RhTask task =
        blank_task(f, RH_TASK_COLLECTIVE, e->experts ? RH_LANE_EP : RH_LANE_TP, LABEL_EXCHANGE);
    task.label = rh_program_label(f->p, rh_op_name(e->op));
    task.op = (uint8_t)e->op;
    task.algo = (uint8_t)algo_of(f, replica, e, ranks);
    task.group = e->experts ? f->experts[pool] : f->tp[pool];
    task.bytes = e->bytes;
    return rh_program_add_task(f->p, task, &before, 1);
}

/* Lists the exchanges for the tokens and sequences of the fullest group, which define an
 * iteration. */
static void list_exchanges(Draft *f, const RhServiceWork *w)
{
    int32_t pool = pool_of(f, w->replica);
    RhIterations *it = rh_service_iterations(f->service, pool);
    int32_t groups = f->d->pools[pool].dp, judged = rh_pool_verified(&f->d->pools[pool]);
    int32_t tokens = w->continued * judged + w->prompt_tokens;
    int32_t sequences = w->continued * judged + w->prompts_ended;
    g_array_set_size(f->exchanges, 0);
    rh_iteration_exchanges(it, (tokens + groups - 1) / groups, (sequences + groups - 1) / groups,
                           f->exchanges);
}

static double exchanges_s(Draft *f, int32_t replica)
{
    RhIterations *it = rh_service_iterations(f->service, pool_of(f, replica));
    double s = 0;
    for (guint i = 0; i < f->exchanges->len; i++)
        s += rh_served_exchange_s(it, &g_array_index(f->exchanges, RhServedExchange, i));
    return s;
}

/* Adds an iteration; returns its last task. The time that is not exchanges lies in equal parts
 * before and after each of them. */
static int32_t add_work(Draft *f, const RhServiceWork *w, const int32_t *preds, int32_t count)
{
    list_exchanges(f, w);
    guint parts = f->exchanges->len + 1;
    double part_s = (w->t_end_s - w->t_begin_s - w->late_s - exchanges_s(f, w->replica)) / parts;
    int32_t last = add_wait(f, RH_LANE_COMPUTE, LABEL_WORK, part_s, preds, count);
    for (guint i = 0; i < f->exchanges->len; i++) {
        last = add_exchange(f, w->replica, &g_array_index(f->exchanges, RhServedExchange, i), last);
        last = add_wait(f, RH_LANE_COMPUTE, LABEL_WORK, part_s, &last, 1);
    }
    return last;
}

/* --- one rank, or all of a replica --- */

typedef struct {
    int32_t replica, rank; /* rank inside the replica; NOBODY: all of them */
    int32_t last;          /* last task of its latest iteration */
    double t_last_s, t_waited_s;
} Track;

static const RhKvMove *move_at(const Draft *f, guint i)
{
    return &g_array_index(f->result->moves, RhKvMove, i);
}

/* Stream of a message. Messages of a stream go in the order in which their prompts end, at both
 * ends. */
static int32_t message_stream(int32_t first, guint place)
{
    return first + (int32_t)(place % STREAMS);
}

static bool sends_here(const Draft *f, const Track *t, int32_t sender)
{
    return t->rank != NOBODY && sender % rh_pool_gpus(&f->d->pools[1]) == t->rank;
}

/* Adds all receives at the beginning: sender i sends its part to rank i % there. */
static void add_recvs(Draft *f, const Track *t)
{
    for (guint place = 0; place < f->result->moves->len; place++) {
        guint k = f->leaving[place];
        const RhKvMove *m = move_at(f, k);
        for (int32_t i = 0; m->to == t->replica && i < f->senders; i++) {
            if (!sends_here(f, t, i))
                continue;
            RhTask task =
                blank_task(f, RH_TASK_RECV, message_stream(STREAM_RECV, place), LABEL_MOVE);
            task.peer_delta = rank_of(f, m->from) + i - rank_of(f, m->to) - t->rank;
            task.bytes = m->bytes;
            f->recv[(int32_t)k * f->senders + i] = rh_program_add_task(f->p, task, NULL, 0);
        }
    }
}

static void add_sends(Draft *f, const Track *t, const RhServiceWork *w)
{
    int32_t there = rh_pool_gpus(&f->d->pools[1]);
    for (guint place = 0; place < f->result->moves->len; place++) {
        guint k = f->leaving[place];
        const RhKvMove *m = move_at(f, k);
        if (m->from != t->replica || fabs(m->t_left_s - w->t_end_s) > SAME_TIME_S)
            continue;
        RhTask task = blank_task(f, RH_TASK_SEND, message_stream(STREAM_SEND, place), LABEL_MOVE);
        task.peer_delta = rank_of(f, m->to) + t->rank % there - rank_of(f, m->from) - t->rank;
        task.bytes = m->bytes;
        f->send[(int32_t)k * f->senders + t->rank] = rh_program_add_task(f->p, task, &t->last, 1);
    }
}

/* Lists the predecessors of an iteration besides the one before it: received caches, or a request's
 * arrival. */
static void list_preds(Draft *f, Track *t, const RhServiceWork *w, GArray *preds)
{
    bool second = pool_of(f, t->replica) > 0;
    g_array_append_val(preds, t->last);
    for (guint k = 0; second && k < f->result->moves->len; k++) {
        const RhKvMove *m = move_at(f, k);
        if (m->to != t->replica || m->t_there_s <= t->t_waited_s ||
            m->t_there_s > w->t_begin_s + SAME_TIME_S)
            continue;
        for (int32_t i = 0; i < f->senders; i++)
            if (sends_here(f, t, i))
                g_array_append_val(preds, f->recv[(int32_t)k * f->senders + i]);
    }
    if (!second && w->t_begin_s > t->t_last_s + SAME_TIME_S) {
        int32_t wait = add_wait(f, STREAM_WAIT, LABEL_WAIT, w->t_begin_s - t->t_waited_s, NULL, 0);
        g_array_append_val(preds, wait);
        t->t_waited_s = w->t_begin_s;
    }
    if (second)
        t->t_waited_s = w->t_begin_s + SAME_TIME_S;
}

static void add_track(Draft *f, Track t)
{
    RhStride span = {1, rh_pool_gpus(&f->d->pools[pool_of(f, t.replica)])};
    bool whole = t.rank == NOBODY;
    g_autofree char *name = g_strdup_printf("server %d", t.replica);
    rh_program_begin_role(f->p, name, rank_of(f, t.replica) + (whole ? 0 : t.rank), &span, whole);
    g_autoptr(GArray) preds = g_array_new(FALSE, FALSE, sizeof(int32_t));
    add_recvs(f, &t);
    for (guint i = 0; i < f->result->works->len; i++) {
        const RhServiceWork *w = &g_array_index(f->result->works, RhServiceWork, i);
        if (w->replica != t.replica)
            continue;
        g_array_set_size(preds, 0);
        list_preds(f, &t, w, preds);
        t.last = add_work(f, w, RH_ELEMENTS(preds, int32_t), (int32_t)preds->len);
        t.t_last_s = w->t_end_s;
        if (!whole)
            add_sends(f, &t, w);
    }
    rh_program_end_role(f->p);
}

/* --- the whole program --- */

static bool check_draft(const Draft *f, GError **error)
{
    int32_t tasks = 0;
    if (f->result->once)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s is asked once, by passes that are no iterations over tokens: it has no "
                       "program",
                       f->serving->model->name);
    for (int32_t p = 0; p < f->d->pools_count; p++) {
        const RhPool *pool = &f->d->pools[p];
        if (pool->dp > 1 && (f->serving->server->exchange_few || f->serving->server->exchange_many))
            return rh_fail(
                error, RH_ERROR_USAGE,
                "%s exchanges tokens by kernels of its own, of which no messages are known",
                f->serving->server->name);
        if (pool->pp > 1)
            return rh_fail(
                error, RH_ERROR_USAGE,
                "pp%d: batches of a server's stages overlap, which is told as a mean and "
                "has no program",
                pool->pp);
    }
    for (guint i = 0; i < f->result->works->len; i++) {
        const RhServiceWork *w = &g_array_index(f->result->works, RhServiceWork, i);
        g_return_val_if_fail(w->iterations == 1, false);
        list_exchanges((Draft *)f, w);
        int32_t copies =
            f->d->pools_count > 1 ? rh_pool_gpus(&f->d->pools[pool_of(f, w->replica)]) : 1;
        tasks += copies * (2 * (int32_t)f->exchanges->len + 1);
        if (tasks > RH_SERVICE_TASKS_MAX)
            return rh_fail(error, RH_ERROR_USAGE,
                           "what was served is a program of more than %d tasks",
                           RH_SERVICE_TASKS_MAX);
    }
    return true;
}

/* Places pools so that each begins where its groups do; ranks between them do nothing. */
static int32_t place_pools(Draft *f)
{
    int32_t ranks = 0;
    for (int32_t p = 0; p < f->d->pools_count; p++) {
        int32_t each = rh_pool_gpus(&f->d->pools[p]);
        f->first_rank[p] = (ranks + each - 1) / each * each;
        ranks = f->first_rank[p] + each * f->d->pools[p].replicas;
    }
    return ranks;
}

static void begin_draft(Draft *f)
{
    static const char *const names[] = {"requests", "kernels", "exchange", "keys and values"};
    int32_t ranks = place_pools(f), gpu = 0;
    f->p = rh_program_new(ranks);
    f->p->gpu_of_rank = g_new0(int32_t, ranks + 1);
    for (int i = 0; i < 4; i++)
        f->labels[i] = rh_program_label(f->p, names[i]);
    for (int32_t p = 0; p < f->d->pools_count; p++) {
        const RhPool *pool = &f->d->pools[p];
        RhStride tp = {1, pool->tp}, experts = {1, rh_pool_expert_ranks(pool)};
        f->tp[p] = rh_program_add_group(f->p, "tp", &tp, 1);
        f->experts[p] = rh_program_add_group(f->p, "ep", &experts, 1);
        for (int32_t i = 0; i < rh_pool_gpus(pool) * pool->replicas; i++)
            f->p->gpu_of_rank[f->first_rank[p] + i] = gpu++;
    }
}

static void match_moves(const Draft *f)
{
    for (guint k = 0; k < f->result->moves->len; k++)
        for (int32_t i = 0; i < f->senders; i++) {
            guint at = k * (guint)f->senders + (guint)i;
            rh_program_match(f->p, f->send[at], f->recv[at]);
        }
}

static int by_leaving(const void *a, const void *b, void *user)
{
    const Draft *f = user;
    guint i = *(const guint *)a, k = *(const guint *)b;
    double x = move_at(f, i)->t_left_s, y = move_at(f, k)->t_left_s;
    return x != y ? (x < y ? -1 : 1) : i < k ? -1 : 1;
}

static void order_moves(Draft *f)
{
    for (guint i = 0; i < f->result->moves->len; i++)
        f->leaving[i] = i;
    if (f->result->moves->len > 1)
        g_qsort_with_data(f->leaving, (int)f->result->moves->len, sizeof *f->leaving, by_leaving,
                          f);
}

RhProgram *rh_service_program(RhService *service, const RhServing *serving, const RhDeployment *d,
                              const RhServiceResult *result, GError **error)
{
    g_autoptr(GArray) exchanges = g_array_new(FALSE, FALSE, sizeof(RhServedExchange));
    Draft f = {.service = service,
               .serving = serving,
               .d = d,
               .result = result,
               .exchanges = exchanges,
               .senders = rh_pool_gpus(&d->pools[0])};
    if (!check_draft(&f, error))
        return NULL;
    guint moves = result->moves->len * (guint)f.senders;
    g_autofree int32_t *send = g_new0(int32_t, moves + 1);
    g_autofree int32_t *recv = g_new0(int32_t, moves + 1);
    g_autofree guint *leaving = g_new0(guint, result->moves->len + 1);
    f.send = send;
    f.recv = recv;
    f.leaving = leaving;
    order_moves(&f);
    begin_draft(&f);
    int32_t replica = 0;
    for (int32_t p = 0; p < d->pools_count; p++)
        for (int32_t i = 0; i < d->pools[p].replicas; i++, replica++) {
            int32_t tracks = d->pools_count > 1 ? rh_pool_gpus(&d->pools[p]) : 1;
            for (int32_t rank = 0; rank < tracks; rank++)
                add_track(&f, (Track){.replica = replica,
                                      .rank = d->pools_count > 1 ? rank : NOBODY,
                                      .last = NOBODY});
        }
    match_moves(&f);
    return f.p;
}
