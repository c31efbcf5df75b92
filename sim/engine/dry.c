/* The program without a network: longest path over the roles' tasks. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/collective/collective.h"
#include "sim/engine/engine.h"
#include "sim/engine/map64.h"
#include "sim/roles.h"

#define AT(array, Type, i) (&((Type *)(void *)(array)->data)[i])

typedef struct {
    int32_t role, task;
} Item;

/* Roles that share a group, with what has arrived per ordinal. */
typedef struct {
    int32_t roles_first, roles_count;
    int32_t *arrived;
    double *t_s;
} Meeting;

/* What a message between two roles can cost: one entry per distinct route. */
typedef struct {
    double latency_s, s_per_byte;
} MessageCost;

typedef struct {
    const RhProgram *program;
    const RhPlatform *platform;
    RhRoleTable *roles;
    int32_t *role_of_rank;
    uint16_t **waiting;    /* per role and task */
    double **t_s;          /* latest end of a predecessor; once started, kept for the peer */
    bool **arrived;        /* SEND, RECV: reached */
    int32_t *meeting_of;   /* [role * groups + group] */
    GArray *meetings;      /* Meeting */
    GArray *meeting_roles; /* int32_t */
    GArray *ready;         /* Item */
    RhMap64 *collective_known, *message_known;
    GArray *collective_s; /* double */
    GArray *messages;     /* GArray* of MessageCost */
    double t_end_s;
    int64_t tasks_left;
} Dry;

static int32_t add_meeting(Dry *d, RhMap64 *known, int32_t role, int32_t g)
{
    const RhProgram *p = d->program;
    const RhGroup *group = rh_program_group(p, g);
    g_autofree int32_t *ranks = g_new(int32_t, MAX(group->size, 1));
    g_autofree bool *taken = g_new0(bool, p->roles->len + 1);
    Meeting meeting = {.roles_first = (int32_t)d->meeting_roles->len};
    uint64_t key = rh_mix64(83, (uint64_t)g);
    int32_t most = 0;
    rh_group_members(group, rh_program_role(p, role)->first_rank, ranks);
    for (int32_t i = 0; i < group->size; i++) {
        int32_t r = ranks[i] >= 0 && ranks[i] < p->ranks_count ? d->role_of_rank[ranks[i]] : -1;
        if (r < 0 || taken[r])
            continue;
        taken[r] = true;
        key += rh_mix64((uint64_t)r, 89);
        most = MAX(most, d->roles[r].calls_first[g + 1] - d->roles[r].calls_first[g]);
        g_array_append_val(d->meeting_roles, r);
        meeting.roles_count++;
    }
    int32_t fresh = (int32_t)d->meetings->len;
    int32_t index = *rh_map64_at(known, key, fresh);
    if (index < fresh) {
        g_array_set_size(d->meeting_roles, (guint)meeting.roles_first);
        return index;
    }
    meeting.arrived = g_new0(int32_t, most + 1);
    meeting.t_s = g_new0(double, most + 1);
    g_array_append_val(d->meetings, meeting);
    return index;
}

static void add_meetings(Dry *d)
{
    g_autoptr(RhMap64) known = rh_map64_new();
    int32_t groups = (int32_t)d->program->groups->len, roles = (int32_t)d->program->roles->len;
    for (int32_t r = 0; r < roles; r++)
        for (int32_t g = 0; g < groups; g++) {
            bool used = d->roles[r].calls_first[g + 1] > d->roles[r].calls_first[g];
            d->meeting_of[r * groups + g] = used ? add_meeting(d, known, r, g) : -1;
        }
}

/* --- costs --- */

static bool collective_time(Dry *d, int32_t role, const RhTask *task, double *time_s,
                            GError **error)
{
    uint64_t key = rh_mix64((uint64_t)task->group << 16 | (uint64_t)task->op << 8 | task->algo,
                            rh_bits64(task->bytes));
    int32_t fresh = (int32_t)d->collective_s->len;
    int32_t at = *rh_map64_at(d->collective_known, rh_mix64(key, (uint64_t)role), fresh);
    if (at == fresh) {
        int32_t size = rh_program_group(d->program, task->group)->size;
        g_autofree int32_t *nodes = g_new(int32_t, MAX(size, 1));
        rh_group_members(rh_program_group(d->program, task->group),
                         rh_program_role(d->program, role)->first_rank, nodes);
        for (int32_t i = 0; i < size; i++)
            nodes[i] = rh_platform_node_of(d->platform, rh_program_gpu(d->program, nodes[i]));
        g_autoptr(RhSchedule) schedule =
            rh_schedule_new((RhOp)task->op, (RhAlgo)task->algo, size, nodes, task->bytes, error);
        if (!schedule)
            return false;
        double s = rh_schedule_time_s(schedule, d->program, d->platform, task->group, role);
        g_array_append_val(d->collective_s, s);
    }
    *time_s = *AT(d->collective_s, double, at);
    return true;
}

static void add_cost(GArray *costs, MessageCost cost)
{
    for (uint32_t i = 0; i < costs->len; i++)
        if (!memcmp(AT(costs, MessageCost, i), &cost, sizeof cost))
            return;
    g_array_append_val(costs, cost);
}

/* All ranks of the role send at once: a link gives each its share. */
static GArray *message_costs(const Dry *d, int32_t role_index, int32_t delta)
{
    const RhProgram *p = d->program;
    const RhRole *role = rh_program_role(p, role_index);
    g_autofree int32_t *crossing = g_new0(int32_t, rh_platform_links_count(d->platform) + 1);
    GArray *costs = g_array_new(FALSE, FALSE, sizeof(MessageCost));
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < role->ranks_count; i++) {
            int32_t rank = rh_role_rank(role, i);
            RhLink route[RH_ROUTE_MAX];
            MessageCost cost = {0};
            if (rank + delta < 0 || rank + delta >= p->ranks_count)
                continue;
            int32_t src = rh_program_gpu(p, rank), dst = rh_program_gpu(p, rank + delta);
            int links = rh_platform_route(d->platform, src, dst, route);
            for (int k = 0; k < links && pass == 0; k++)
                crossing[route[k]]++;
            for (int k = 0; k < links && pass == 1; k++)
                cost.s_per_byte =
                    MAX(cost.s_per_byte,
                        crossing[route[k]] / rh_platform_link_bytes_per_s(d->platform, route[k]));
            if (pass == 1 && links > 0)
                cost.latency_s = rh_platform_route_latency_s(d->platform, src, dst);
            if (pass == 1)
                add_cost(costs, cost);
        }
    return costs;
}

/* The least over the role's ranks, so that it stays a bound where their routes differ. */
static double message_time(Dry *d, int32_t sender_role, const RhTask *send)
{
    int32_t fresh = (int32_t)d->messages->len;
    uint64_t key = rh_mix64((uint64_t)sender_role, (uint64_t)(uint32_t)send->peer_delta);
    int32_t at = *rh_map64_at(d->message_known, key, fresh);
    if (at == fresh) {
        GArray *costs = message_costs(d, sender_role, send->peer_delta);
        g_array_append_val(d->messages, costs);
    }
    const GArray *costs = *AT(d->messages, GArray *, at);
    double least_s = HUGE_VAL;
    for (uint32_t i = 0; i < costs->len; i++) {
        const MessageCost *cost = AT(costs, MessageCost, i);
        least_s = MIN(least_s, cost->latency_s + send->bytes * cost->s_per_byte);
    }
    return costs->len ? least_s : 0;
}

/* --- the longest path --- */

static void finish(Dry *d, int32_t role, int32_t task, double t_end_s)
{
    const RhRoleTable *r = &d->roles[role];
    d->tasks_left--;
    d->t_end_s = MAX(d->t_end_s, t_end_s);
    for (int32_t i = r->successors_first[task]; i < r->successors_first[task + 1]; i++) {
        Item next = {role, r->successors[i]};
        d->t_s[role][next.task] = MAX(d->t_s[role][next.task], t_end_s);
        if (--d->waiting[role][next.task] == 0)
            g_array_append_val(d->ready, next);
    }
}

static bool reach_collective(Dry *d, Item item, const RhTask *task, GError **error)
{
    int32_t index =
        d->meeting_of[(size_t)item.role * d->program->groups->len + (size_t)task->group];
    Meeting *meeting = AT(d->meetings, Meeting, index);
    int32_t ordinal = d->roles[item.role].ordinal[item.task];
    meeting->t_s[ordinal] = MAX(meeting->t_s[ordinal], d->t_s[item.role][item.task]);
    if (++meeting->arrived[ordinal] < meeting->roles_count)
        return true;
    const int32_t *roles = AT(d->meeting_roles, int32_t, meeting->roles_first);
    double time_s;
    if (!collective_time(d, roles[0], task, &time_s, error))
        return false;
    for (int32_t i = 0; i < meeting->roles_count; i++) {
        const RhRoleTable *r = &d->roles[roles[i]];
        if (ordinal < r->calls_first[task->group + 1] - r->calls_first[task->group])
            finish(d, roles[i], r->calls[r->calls_first[task->group] + ordinal],
                   meeting->t_s[ordinal] + time_s);
    }
    return true;
}

static void reach_message(Dry *d, Item item, const RhTask *task)
{
    d->arrived[item.role][item.task] = true;
    if (task->peer_task < 0)
        return;
    const RhTask *peer = rh_program_task(d->program, task->peer_task);
    int32_t other = task->peer_task - d->roles[peer->role].tasks_first;
    if (!d->arrived[peer->role][other])
        return;
    bool sends = task->kind == RH_TASK_SEND;
    double t_s = MAX(d->t_s[item.role][item.task], d->t_s[peer->role][other]);
    t_s += message_time(d, sends ? item.role : peer->role, sends ? task : peer);
    finish(d, item.role, item.task, t_s);
    finish(d, peer->role, other, t_s);
}

static bool reach(Dry *d, Item item, GError **error)
{
    const RhRoleTable *r = &d->roles[item.role];
    const RhTask *task = rh_program_task(d->program, r->tasks_first + item.task);
    if (task->kind == RH_TASK_COLLECTIVE)
        return reach_collective(d, item, task, error);
    if (task->kind == RH_TASK_SEND || task->kind == RH_TASK_RECV)
        reach_message(d, item, task);
    else
        finish(d, item.role, item.task, d->t_s[item.role][item.task] + r->duration_s[item.task]);
    return true;
}

static void begin(Dry *d)
{
    for (uint32_t r = 0; r < d->program->roles->len; r++) {
        int32_t n = d->roles[r].tasks_count;
        d->waiting[r] = g_memdup2(d->roles[r].indegree, sizeof(uint16_t) * (size_t)(n + 1));
        d->t_s[r] = g_new0(double, n + 1);
        d->arrived[r] = g_new0(bool, n + 1);
        d->tasks_left += n;
        for (int32_t task = 0; task < n; task++) {
            Item item = {(int32_t)r, task};
            if (d->waiting[r][task] == 0)
                g_array_append_val(d->ready, item);
        }
    }
}

static void dry_clear(Dry *d)
{
    int32_t roles = (int32_t)d->program->roles->len;
    for (int32_t r = 0; r < roles; r++) {
        g_free(d->waiting[r]);
        g_free(d->t_s[r]);
        g_free(d->arrived[r]);
    }
    for (uint32_t m = 0; m < d->meetings->len; m++) {
        g_free(AT(d->meetings, Meeting, m)->arrived);
        g_free(AT(d->meetings, Meeting, m)->t_s);
    }
    for (uint32_t i = 0; i < d->messages->len; i++)
        g_array_unref(*AT(d->messages, GArray *, i));
    void *blocks[] = {d->waiting, d->t_s, d->arrived, d->meeting_of, d->role_of_rank};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    GArray *arrays[] = {d->meetings, d->meeting_roles, d->ready, d->collective_s, d->messages};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    rh_map64_free(d->collective_known);
    rh_map64_free(d->message_known);
    rh_role_tables_free(d->roles, roles);
}

bool rh_dry_run(const RhProgram *p, const RhPlatform *platform, double *step_time_s, GError **error)
{
    Dry d = {.program = p, .platform = platform};
    d.roles = rh_role_tables_new(p, platform);
    d.role_of_rank = rh_program_role_of_rank(p);
    d.waiting = g_new0(uint16_t *, p->roles->len + 1);
    d.t_s = g_new0(double *, p->roles->len + 1);
    d.arrived = g_new0(bool *, p->roles->len + 1);
    d.meeting_of = g_new0(int32_t, p->roles->len * p->groups->len + 1);
    d.meetings = g_array_new(FALSE, FALSE, sizeof(Meeting));
    d.meeting_roles = g_array_new(FALSE, FALSE, sizeof(int32_t));
    d.ready = g_array_new(FALSE, FALSE, sizeof(Item));
    d.collective_s = g_array_new(FALSE, FALSE, sizeof(double));
    d.messages = g_array_new(FALSE, FALSE, sizeof(GArray *));
    d.collective_known = rh_map64_new();
    d.message_known = rh_map64_new();
    add_meetings(&d);
    begin(&d);
    bool ok = true;
    while (ok && d.ready->len > 0) {
        Item item = *AT(d.ready, Item, d.ready->len - 1);
        g_array_set_size(d.ready, d.ready->len - 1);
        ok = reach(&d, item, error);
    }
    if (ok && d.tasks_left > 0)
        ok = rh_fail(error, RH_ERROR_INPUT,
                     "the program cannot run to its end: %" G_GINT64_FORMAT
                     " tasks wait for each other or for a peer",
                     d.tasks_left);
    if (ok)
        *step_time_s = d.t_end_s;
    dry_clear(&d);
    return ok;
}
