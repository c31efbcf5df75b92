#include "sim/uncontended_critical_path.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/collective/collective.h"
#include "sim/collective_role_sets.h"
#include "sim/map64.h"
#include "sim/role_task_graph.h"
#include "sim/tier_copy.h"

typedef struct {
    int32_t role, task;
} Item;

/* Arrivals at the collectives of a set of roles, per ordinal. */
typedef struct {
    int32_t *arrived;
    double *t_s;
} Collective;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* Cost of a message between two roles: one entry per distinct route. */
typedef struct {
    double latency_s, s_per_byte;
} MessageCost;
#pragma GCC diagnostic pop

typedef struct {
    const RhProgram *program;
    const RhPlatform *platform;
    RhRoleTable *roles;
    RhCollectiveRoles *met;
    uint16_t **waiting;  /* per role and task */
    double **t_s;        /* latest end of a predecessor; once started, kept for the peer */
    bool **arrived;      /* SEND, RECV: reached */
    GArray *collectives; /* Collective, indexed as in RhCollectiveRoles.sets */
    GArray *ready;       /* Item */
    RhMap64 *collective_known, *message_known;
    GArray *collective_s; /* double */
    GArray *messages;     /* GArray* of MessageCost */
    double t_end_s;
    int64_t tasks_left;
} Walk;

static int32_t calls_of(const RhRoleTable *role, int32_t group)
{
    return role->calls_first[group + 1] - role->calls_first[group];
}

static void add_collectives(Walk *w)
{
    for (guint i = 0; i < w->met->sets->len; i++) {
        const RhCollectiveRoleSet *met = rh_collective_role_set(w->met, (int32_t)i);
        int32_t calls = 0;
        for (int32_t k = 0; k < met->roles_count; k++)
            calls =
                MAX(calls, calls_of(&w->roles[rh_role_of_collective(w->met, met, k)], met->group));
        Collective arrivals = {g_new0(int32_t, calls + 1), g_new0(double, calls + 1)};
        g_array_append_val(w->collectives, arrivals);
    }
}

/* --- costs --- */

/* May groups of this pattern lie differently on nodes, or under switches? */
static bool instances_differ(const Walk *w, const RhGroup *g)
{
    int32_t each = w->platform->gpus_per_node;
    bool nodes = each % MAX(g->lap, 1) == 0 || (g->lap % each == 0 && w->platform->tiers_count < 2);
    return g->lap > 0 &&
           (!nodes || !rh_platform_nodes_alike(w->platform, w->platform->nodes_count));
}

/* Seconds of the task's schedule among the group of this rank, alone on all links; negative on
 * error. */
static double alone_s(const Walk *w, const RhTask *task, int32_t rank, GError **error)
{
    int32_t members = rh_program_group(w->program, task->group)->size;
    RhStride all = {1, members};
    g_autoptr(RhProgram) one = rh_program_new(members);
    int32_t group = rh_program_add_group(one, "alone", &all, 1);
    one->gpu_of_rank = rh_group_gpus(w->program, task->group, rank);
    g_autoptr(RhSchedule) schedule =
        rh_schedule_of_task(w->program, task, w->platform, one->gpu_of_rank, error);
    return schedule ? rh_schedule_time_s(schedule, one, w->platform, group, -1) : -1;
}

/* Shortest time of the task's groups in a role, as of messages. */
static double least_alone_s(const Walk *w, int32_t role_index, const RhTask *task, GError **error)
{
    const RhGroup *g = rh_program_group(w->program, task->group);
    const RhRole *role = rh_program_role(w->program, role_index);
    double least_s = HUGE_VAL;
    for (int32_t i = 0; i < role->ranks_count && least_s > 0; i++) {
        int32_t rank = rh_role_rank(role, i), first;
        if (rh_group_place(g, rank, &first) == 0)
            least_s = MIN(least_s, alone_s(w, task, rank, error));
    }
    return least_s;
}

static bool collective_time(Walk *w, int32_t role, const RhTask *task, double *time_s,
                            GError **error)
{
    uint64_t key = rh_mix64((uint64_t)task->group << 16 | (uint64_t)task->op << 8 | task->algo,
                            rh_bits64(task->bytes));
    int32_t fresh = (int32_t)w->collective_s->len;
    uint64_t whose = (uint64_t)task->volumes << 32 | (uint64_t)role;
    int32_t at = *rh_map64_at(w->collective_known, rh_mix64(key, whose), fresh);
    if (at == fresh && instances_differ(w, rh_program_group(w->program, task->group))) {
        double s = least_alone_s(w, role, task, error);
        if (s < 0)
            return false;
        g_array_append_val(w->collective_s, s);
    } else if (at == fresh) {
        g_autofree int32_t *gpus =
            rh_group_gpus(w->program, task->group, rh_program_role(w->program, role)->first_rank);
        g_autoptr(RhSchedule) schedule =
            rh_schedule_of_task(w->program, task, w->platform, gpus, error);
        if (!schedule)
            return false;
        double s = rh_schedule_time_s(schedule, w->program, w->platform, task->group, role);
        g_array_append_val(w->collective_s, s);
    }
    *time_s = *RH_AT(w->collective_s, double, at);
    return true;
}

static void add_cost(GArray *costs, MessageCost cost)
{
    for (uint32_t i = 0; i < costs->len; i++)
        if (!memcmp(RH_AT(costs, MessageCost, i), &cost, sizeof cost))
            return;
    g_array_append_val(costs, cost);
}

/* Costs of a message that all ranks of the role send at once: a link gives each its share. */
static GArray *message_costs(const Walk *w, int32_t role_index, int32_t delta)
{
    const RhProgram *p = w->program;
    const RhRole *role = rh_program_role(p, role_index);
    g_autofree int32_t *crossing = g_new0(int32_t, rh_platform_links_count(w->platform) + 1);
    GArray *costs = g_array_new(FALSE, FALSE, sizeof(MessageCost));
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < role->ranks_count; i++) {
            int32_t rank = rh_role_rank(role, i);
            RhLink route[RH_ROUTE_MAX];
            MessageCost cost = {0};
            if (rank + delta < 0 || rank + delta >= p->ranks_count)
                continue;
            int32_t src = rh_program_gpu(p, rank), dst = rh_program_gpu(p, rank + delta);
            int links = rh_platform_route(w->platform, src, dst, route);
            for (int k = 0; k < links && pass == 0; k++)
                crossing[route[k]]++;
            for (int k = 0; k < links && pass == 1; k++)
                cost.s_per_byte =
                    MAX(cost.s_per_byte,
                        crossing[route[k]] / rh_platform_link_bytes_per_s(w->platform, route[k]));
            if (pass == 1 && links > 0)
                cost.latency_s = rh_platform_route_latency_s(w->platform, src, dst);
            if (pass == 1)
                add_cost(costs, cost);
        }
    return costs;
}

/* Shortest time over the role's ranks, so that it stays a lower bound where their routes differ. */
static double message_time(Walk *w, int32_t sender_role, const RhTask *send)
{
    int32_t fresh = (int32_t)w->messages->len;
    uint64_t key = rh_mix64((uint64_t)sender_role, (uint64_t)(uint32_t)send->peer_delta);
    int32_t at = *rh_map64_at(w->message_known, key, fresh);
    if (at == fresh) {
        GArray *costs = message_costs(w, sender_role, send->peer_delta);
        g_array_append_val(w->messages, costs);
    }
    const GArray *costs = *RH_AT(w->messages, GArray *, at);
    double least_s = HUGE_VAL;
    for (uint32_t i = 0; i < costs->len; i++) {
        const MessageCost *cost = RH_AT(costs, MessageCost, i);
        least_s = MIN(least_s, cost->latency_s + send->bytes * cost->s_per_byte);
    }
    return costs->len ? least_s : 0;
}

/* --- the longest path --- */

static void finish(Walk *w, int32_t role, int32_t task, double t_end_s)
{
    const RhRoleTable *r = &w->roles[role];
    w->tasks_left--;
    w->t_end_s = MAX(w->t_end_s, t_end_s);
    for (int32_t i = r->successors_first[task]; i < r->successors_first[task + 1]; i++) {
        Item next = {role, r->successors[i]};
        w->t_s[role][next.task] = MAX(w->t_s[role][next.task], t_end_s);
        if (--w->waiting[role][next.task] == 0)
            g_array_append_val(w->ready, next);
    }
}

static bool reach_collective(Walk *w, Item item, const RhTask *task, GError **error)
{
    size_t cell = (size_t)item.role * w->program->groups->len + (size_t)task->group;
    const RhCollectiveRoleSet *met = rh_collective_role_set(w->met, w->met->of[cell]);
    Collective *set = RH_AT(w->collectives, Collective, w->met->of[cell]);
    int32_t ordinal = w->roles[item.role].ordinal[item.task];
    set->t_s[ordinal] = MAX(set->t_s[ordinal], w->t_s[item.role][item.task]);
    if (++set->arrived[ordinal] < met->roles_count)
        return true;
    double time_s;
    if (!collective_time(w, rh_role_of_collective(w->met, met, 0), task, &time_s, error))
        return false;
    for (int32_t i = 0; i < met->roles_count; i++) {
        int32_t role = rh_role_of_collective(w->met, met, i);
        const RhRoleTable *r = &w->roles[role];
        if (ordinal < calls_of(r, task->group))
            finish(w, role, r->calls[r->calls_first[task->group] + ordinal],
                   set->t_s[ordinal] + time_s);
    }
    return true;
}

static void reach_message(Walk *w, Item item, const RhTask *task)
{
    w->arrived[item.role][item.task] = true;
    if (task->peer_task < 0)
        return;
    const RhTask *peer = rh_program_task(w->program, task->peer_task);
    int32_t other = task->peer_task - w->roles[peer->role].tasks_first;
    if (!w->arrived[peer->role][other])
        return;
    bool sends = task->kind == RH_TASK_SEND;
    double t_s = MAX(w->t_s[item.role][item.task], w->t_s[peer->role][other]);
    t_s += message_time(w, sends ? item.role : peer->role, sends ? task : peer);
    finish(w, item.role, item.task, t_s);
    finish(w, peer->role, other, t_s);
}

static bool reach(Walk *w, Item item, GError **error)
{
    const RhRoleTable *r = &w->roles[item.role];
    const RhTask *task = rh_program_task(w->program, r->tasks_first + item.task);
    if (task->kind == RH_TASK_COLLECTIVE)
        return reach_collective(w, item, task, error);
    if (task->kind == RH_TASK_SEND || task->kind == RH_TASK_RECV)
        reach_message(w, item, task);
    else
        finish(w, item.role, item.task, w->t_s[item.role][item.task] + r->duration_s[item.task]);
    return true;
}

static void begin_walk(Walk *w)
{
    for (uint32_t r = 0; r < w->program->roles->len; r++) {
        int32_t n = w->roles[r].tasks_count;
        w->waiting[r] = g_memdup2(w->roles[r].indegree, sizeof(uint16_t) * (size_t)(n + 1));
        w->t_s[r] = g_new0(double, n + 1);
        w->arrived[r] = g_new0(bool, n + 1);
        w->tasks_left += n;
        for (int32_t task = 0; task < n; task++) {
            Item item = {(int32_t)r, task};
            if (w->waiting[r][task] == 0)
                g_array_append_val(w->ready, item);
        }
    }
}

static void walk_clear(Walk *w)
{
    int32_t roles = (int32_t)w->program->roles->len;
    for (int32_t r = 0; r < roles; r++) {
        g_free(w->waiting[r]);
        g_free(w->t_s[r]);
        g_free(w->arrived[r]);
    }
    for (uint32_t m = 0; m < w->collectives->len; m++) {
        g_free(RH_AT(w->collectives, Collective, m)->arrived);
        g_free(RH_AT(w->collectives, Collective, m)->t_s);
    }
    for (uint32_t i = 0; i < w->messages->len; i++)
        g_array_unref(*RH_AT(w->messages, GArray *, i));
    void *blocks[] = {w->waiting, w->t_s, w->arrived};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    GArray *arrays[] = {w->collectives, w->ready, w->collective_s, w->messages};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    rh_map64_free(w->collective_known);
    rh_map64_free(w->message_known);
    rh_role_tables_free(w->roles, roles);
    rh_collective_roles_free(w->met);
}

bool rh_critical_path_s(const RhProgram *p, const RhPlatform *platform, double *step_time_s,
                        GError **error)
{
    Walk w = {.program = p, .platform = platform};
    w.met = rh_copies_possible(p, platform, error) ? rh_collective_roles_new(p, error) : NULL;
    if (!w.met)
        return false;
    w.roles = rh_role_tables_new(p, platform);
    w.waiting = g_new0(uint16_t *, p->roles->len + 1);
    w.t_s = g_new0(double *, p->roles->len + 1);
    w.arrived = g_new0(bool *, p->roles->len + 1);
    w.collectives = g_array_new(FALSE, FALSE, sizeof(Collective));
    w.ready = g_array_new(FALSE, FALSE, sizeof(Item));
    w.collective_s = g_array_new(FALSE, FALSE, sizeof(double));
    w.messages = g_array_new(FALSE, FALSE, sizeof(GArray *));
    w.collective_known = rh_map64_new();
    w.message_known = rh_map64_new();
    add_collectives(&w);
    begin_walk(&w);
    bool ok = true;
    while (ok && w.ready->len > 0) {
        Item item = *RH_AT(w.ready, Item, w.ready->len - 1);
        g_array_set_size(w.ready, w.ready->len - 1);
        ok = reach(&w, item, error);
    }
    if (ok && w.tasks_left > 0)
        ok = rh_fail(error, RH_ERROR_INPUT,
                     "the program cannot run to its end: %" G_GINT64_FORMAT
                     " tasks wait for each other or for a peer",
                     w.tasks_left);
    if (ok)
        *step_time_s = w.t_end_s;
    walk_clear(&w);
    return ok;
}
