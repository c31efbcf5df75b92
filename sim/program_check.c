/* Checks every invariant of a program, and that it can end: Kahn's algorithm over roles, with a
 * message as one event of two tasks and a collective as one event of a task of every role that
 * takes part. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/collective/collective.h"
#include "sim/collective_role_sets.h"

#define RANKS_MAX (1 << 24)
#define SHARE_MAX 1e6

static bool fail_task(const RhProgram *p, int32_t i, GError **error, const char *what)
{
    const RhTask *t = rh_program_task(p, i);
    bool named = t->role >= 0 && t->role < (int32_t)p->roles->len;
    int32_t label = named ? rh_program_role(p, t->role)->label : -1;
    const char *role =
        label >= 0 && label < (int32_t)p->labels->len ? p->labels->pdata[label] : "?";
    return rh_fail(error, RH_ERROR_INPUT, "task %d of role \"%s\": %s", i, role, what);
}

static bool in_range(int32_t index, guint count)
{
    return index >= 0 && index < (int32_t)count;
}

static bool check_spans(const RhStride *spans, int32_t count, int32_t size, int32_t ranks)
{
    int64_t product = 1, reach = 0;
    for (int32_t i = 0; i < count; i++) {
        if (spans[i].extent < 1 || spans[i].stride < 1)
            return false;
        product *= spans[i].extent;
        reach += (int64_t)(spans[i].extent - 1) * spans[i].stride;
        if (product > ranks || reach >= ranks)
            return false;
    }
    return product == size;
}

/* Ranks after which a span's pattern is where it was. */
static int64_t turn_of(const RhGroup *g, int32_t k)
{
    return g->spans[k].stride < g->lap ? g->lap : rh_group_period(g, k);
}

/* Does the pattern divide the ranks into groups, each rank into at most one? Of any two spans, both in
 * a lap or both over laps, the longer stride and its period are multiples of the other's period; those
 * over laps are so of the lap. */
static bool spans_nest(const RhGroup *g)
{
    for (int32_t i = 0; i < g->spans_count; i++)
        for (int32_t k = 0; k < g->spans_count; k++) {
            bool over_laps = g->spans[i].stride < g->lap && g->spans[k].stride >= g->lap;
            int64_t turn = over_laps ? turn_of(g, i) : rh_group_period(g, i);
            if (i != k && g->spans[i].extent > 1 && g->spans[k].extent > 1 &&
                g->spans[i].stride <= g->spans[k].stride &&
                (g->spans[k].stride % turn != 0 || rh_group_period(g, k) % turn != 0))
                return false;
        }
    return true;
}

/* Does every span fit into its period? */
static bool periods_fit(const RhGroup *g, int32_t ranks)
{
    for (int32_t k = 0; k < g->spans_count; k++)
        if (g->spans[k].stride < g->lap &&
            (rh_group_period(g, k) > g->held || g->held % rh_group_period(g, k) != 0))
            return false;
    for (int32_t k = 0; k < g->spans_count; k++)
        if (g->periods[k] < 0 || g->periods[k] > ranks ||
            rh_group_period(g, k) <= (int64_t)(g->spans[k].extent - 1) * g->spans[k].stride)
            return false;
    return true;
}

static bool check_groups(const RhProgram *p, GError **error)
{
    for (guint i = 0; i < p->groups->len; i++) {
        const RhGroup *g = rh_program_group(p, (int32_t)i);
        if (g->spans_count < 0 || g->spans_count > RH_STRIDES_MAX ||
            !check_spans(g->spans, g->spans_count, g->size, p->ranks_count) ||
            !in_range(g->label, p->labels->len))
            return rh_fail(error, RH_ERROR_INPUT,
                           "group %u: its spans do not give its size within the ranks", i);
        if (!periods_fit(g, p->ranks_count))
            return rh_fail(error, RH_ERROR_INPUT, "group %u: a span is longer than its period", i);
        if (!spans_nest(g))
            return rh_fail(error, RH_ERROR_INPUT, "group %u: its spans overlap", i);
    }
    return true;
}

static bool check_roles(const RhProgram *p, GError **error)
{
    g_autofree bool *taken = g_new0(bool, p->ranks_count);
    int32_t tasks = 0;
    for (guint i = 0; i < p->roles->len; i++) {
        const RhRole *r = rh_program_role(p, (int32_t)i);
        if (r->spans_count < 0 || r->spans_count > RH_STRIDES_MAX ||
            !in_range(r->label, p->labels->len) ||
            !check_spans(r->spans, r->spans_count, r->ranks_count, p->ranks_count))
            return rh_fail(error, RH_ERROR_INPUT, "role %u: its spans do not give its ranks", i);
        for (int32_t k = 0; k < r->ranks_count; k++) {
            int32_t rank = rh_role_rank(r, k);
            if (rank < 0 || rank >= p->ranks_count || taken[rank])
                return rh_fail(error, RH_ERROR_INPUT,
                               "role %u: rank %d is outside the program or in two roles", i, rank);
            taken[rank] = true;
        }
        if (r->tasks_first != tasks || r->tasks_count < 0)
            return rh_fail(error, RH_ERROR_INPUT,
                           "role %u: its tasks do not follow the last role's", i);
        tasks += r->tasks_count;
    }
    return tasks == (int32_t)p->tasks->len ||
           rh_fail(error, RH_ERROR_INPUT, "%u tasks belong to no role",
                   p->tasks->len - (guint)tasks);
}

static bool check_memory(const RhProgram *p, GError **error)
{
    for (guint i = 0; i < p->roles->len; i++) {
        const RhRole *r = rh_program_role(p, (int32_t)i);
        if (r->memory_first < 0 || r->memory_count < 0 ||
            (int64_t)r->memory_first + r->memory_count > (int64_t)p->memory->len)
            return rh_fail(error, RH_ERROR_INPUT, "role %u: memory events out of range", i);
        for (int32_t k = r->memory_first; k < r->memory_first + r->memory_count; k++) {
            const RhMemoryEvent *e = &g_array_index(p->memory, RhMemoryEvent, k);
            if (e->use >= RH_MEMORY_LAST || e->tier >= RH_MEMORY_TIER_LAST || !isfinite(e->bytes) ||
                e->at_task < r->tasks_first || e->at_task > r->tasks_first + r->tasks_count)
                return rh_fail(error, RH_ERROR_INPUT, "memory event %d of role %u is out of range",
                               k, i);
        }
    }
    return true;
}

static bool check_message(const RhProgram *p, int32_t i, GError **error)
{
    const RhTask *t = rh_program_task(p, i);
    if (!in_range(t->peer_task, p->tasks->len) || t->peer_delta == 0)
        return fail_task(p, i, error, "a message without its other end");
    const RhTask *peer = rh_program_task(p, t->peer_task);
    RhTaskKind wanted = t->kind == RH_TASK_SEND ? RH_TASK_RECV : RH_TASK_SEND;
    if (peer->kind != wanted || peer->peer_task != i || peer->bytes != t->bytes ||
        (int64_t)peer->peer_delta != -(int64_t)t->peer_delta)
        return fail_task(p, i, error, "its peer is not the other end of the same message");
    const RhRole *a = rh_program_role(p, t->role), *b = rh_program_role(p, peer->role);
    bool shifted = (int64_t)a->first_rank + t->peer_delta == b->first_rank &&
                   a->ranks_count == b->ranks_count && a->spans_count == b->spans_count &&
                   memcmp(a->spans, b->spans, (size_t)a->spans_count * sizeof(RhStride)) == 0;
    return shifted ||
           fail_task(p, i, error, "the peer's role is not this role shifted by the distance");
}

/* Checks that members have equally many experts, groups too, and that there are enough experts for
 * a token's choice. */
static bool check_routing(const RhProgram *p, int32_t i, const RhRouting *r, int64_t members,
                          GError **error)
{
    bool sizes = r->experts > 0 && r->chosen > 0 && r->groups > 0 && r->groups_chosen > 0;
    return (sizes && r->experts % members == 0 && r->experts % r->groups == 0 &&
            r->groups_chosen <= r->groups &&
            r->chosen <= r->experts / r->groups * r->groups_chosen) ||
           fail_task(p, i, error, "tokens that go to experts which the members do not have");
}

static bool check_volumes(const RhProgram *p, int32_t i, GError **error)
{
    const RhTask *t = rh_program_task(p, i);
    if (t->volumes == 0)
        return true;
    if (t->kind != RH_TASK_COLLECTIVE || t->op != RH_OP_ALL_TO_ALL ||
        !in_range(t->volumes - 1, p->volumes->len))
        return fail_task(p, i, error, "volumes that are not there, or not of an all-to-all");
    const RhVolumes *v = &g_array_index(p->volumes, RhVolumes, t->volumes - 1);
    int64_t n = rh_program_group(p, t->group)->size;
    if (v->routing.experts != 0)
        return check_routing(p, i, &v->routing, n, error);
    if (v->first < 0 || (v->count != n && v->count != n * n) ||
        (int64_t)v->first + v->count > (int64_t)p->shares->len)
        return fail_task(p, i, error, "volumes are a share for each member, or for each pair");
    for (int32_t k = v->first; k < v->first + v->count; k++) {
        double share = g_array_index(p->shares, double, k);
        if (!(share >= 0 && share <= SHARE_MAX))
            return fail_task(p, i, error, "a share is out of range");
    }
    return true;
}

static bool check_task(const RhProgram *p, int32_t i, GError **error)
{
    const RhTask *t = rh_program_task(p, i);
    if (t->kind == RH_TASK_NONE || t->kind >= RH_TASK_LAST || t->lane >= RH_LANES_MAX ||
        t->phase >= RH_PHASE_LAST)
        return fail_task(p, i, error, "unknown kind, lane or phase");
    if (!in_range(t->label, p->labels->len) || !isfinite(t->bytes) || t->bytes < 0)
        return fail_task(p, i, error, "label or bytes out of range");
    const RhRole *role = rh_program_role(p, t->role);
    if (t->preds_first < 0 || (guint)t->preds_first + t->preds_count > p->preds->len)
        return fail_task(p, i, error, "predecessors out of range");
    for (int32_t k = t->preds_first; k < t->preds_first + t->preds_count; k++) {
        int32_t pred = g_array_index(p->preds, int32_t, k);
        if (pred < role->tasks_first || pred >= role->tasks_first + role->tasks_count)
            return fail_task(p, i, error, "a predecessor is not in the same role");
    }
    if (t->kind == RH_TASK_KERNEL && !in_range(t->bundle, p->bundles->len))
        return fail_task(p, i, error, "no such kernel bundle");
    if (t->kind == RH_TASK_COLLECTIVE &&
        (!in_range(t->group, p->groups->len) || t->op == RH_OP_NONE || t->op >= RH_OP_LAST ||
         t->algo == RH_ALGO_NONE || t->algo >= RH_ALGO_LAST))
        return fail_task(p, i, error, "unknown group, operation or algorithm");
    if (t->kind == RH_TASK_COLLECTIVE && !rh_collective_supports((RhOp)t->op, (RhAlgo)t->algo))
        return fail_task(p, i, error, "the operation has no such algorithm");
    if (t->from >= RH_MEMORY_TIER_LAST || t->to >= RH_MEMORY_TIER_LAST ||
        (t->kind == RH_TASK_COPY) != (t->from != t->to || t->from == RH_MEMORY_TIER_HOST))
        return fail_task(p, i, error,
                         "a copy goes from one tier of memory to another, or is work of the host "
                         "on its own memory");
    if (!check_volumes(p, i, error))
        return false;
    return (t->kind != RH_TASK_SEND && t->kind != RH_TASK_RECV) || check_message(p, i, error);
}

static bool check_tasks(const RhProgram *p, GError **error)
{
    for (guint r = 0; r < p->roles->len; r++) {
        const RhRole *role = rh_program_role(p, (int32_t)r);
        for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
            if (rh_program_task(p, i)->role != (int32_t)r)
                return rh_fail(error, RH_ERROR_INPUT, "task %d stands in another role's place", i);
            if (!check_task(p, i, error))
                return false;
        }
    }
    return true;
}

/* Do the roles make the same calls of the group, in one order? */
static bool check_calls(const RhProgram *p, int32_t group, int32_t a, int32_t b, GError **error)
{
    int32_t i = rh_program_role(p, a)->tasks_first, k = rh_program_role(p, b)->tasks_first;
    for (;; i++, k++) {
        i = rh_role_next_call(p, a, group, i);
        k = rh_role_next_call(p, b, group, k);
        if (i < 0 && k < 0)
            return true;
        if (i < 0 || k < 0)
            return fail_task(p, MAX(i, k), error,
                             "a role that it meets does not call the group as often");
        const RhTask *t = rh_program_task(p, i), *other = rh_program_task(p, k);
        if (t->op != other->op || t->algo != other->algo || t->bytes != other->bytes ||
            t->volumes != other->volumes)
            return fail_task(p, k, error,
                             "a role that it meets calls the group with another operation, size "
                             "or algorithm");
    }
}

static bool check_collectives(const RhProgram *p, const RhCollectiveRoles *role_sets,
                              GError **error)
{
    for (guint m = 0; m < role_sets->sets->len; m++) {
        const RhCollectiveRoleSet *set = rh_collective_role_set(role_sets, (int32_t)m);
        for (int32_t i = 1; i < set->roles_count; i++)
            if (!check_calls(p, set->group, rh_role_of_collective(role_sets, set, 0),
                             rh_role_of_collective(role_sets, set, i), error))
                return false;
    }
    return true;
}

static bool check_bundles(const RhProgram *p, GError **error)
{
    for (guint i = 0; i < p->bundles->len; i++) {
        const RhBundle *b = &g_array_index(p->bundles, RhBundle, i);
        if (b->first < 0 || b->count < 0 ||
            (int64_t)b->first + b->count > (int64_t)p->kernels->len || !isfinite(b->seconds))
            return rh_fail(error, RH_ERROR_INPUT, "bundle %u: kernels out of range", i);
    }
    return true;
}

/* --- absence of deadlocks --- */

typedef struct {
    const RhProgram *p;
    int32_t *waits;        /* per task: predecessors, and the task before it on its lane, that have
                            * not ended */
    int32_t *first, *next; /* successor lists: explicit and lane */
    int32_t *mate;         /* per task: the next of those that end together, in a ring */
    int32_t *leader;       /* per task: the one of its ring that counts arrivals */
    int32_t *awaited;      /* per leader: tasks of its ring that are not reached yet */
    int32_t *stack;
    int32_t depth, done;
} Order;

/* Counts a task as reached; tasks that end together are pushed on the stack when all are. */
static void reach_task(Order *o, int32_t i)
{
    if (--o->awaited[o->leader[i]] > 0)
        return;
    int32_t k = i;
    do {
        o->stack[o->depth++] = k;
        k = o->mate[k];
    } while (k != i);
}

/* Adds task i, alone so far, to the ring of `leader`. */
static void join_ring(Order *o, int32_t i, int32_t leader)
{
    o->mate[i] = o->mate[leader];
    o->mate[leader] = i;
    o->leader[i] = leader;
    o->awaited[leader]++;
}

static void join_tasks(Order *o, const RhCollectiveRoles *role_sets)
{
    for (int32_t i = 0; i < (int32_t)o->p->tasks->len; i++) {
        o->mate[i] = o->leader[i] = i;
        o->awaited[i] = 1;
    }
    for (int32_t i = 0; i < (int32_t)o->p->tasks->len; i++)
        if (rh_program_task(o->p, i)->kind == RH_TASK_RECV)
            join_ring(o, i, rh_program_task(o->p, i)->peer_task);
    for (guint m = 0; m < role_sets->sets->len; m++) {
        const RhCollectiveRoleSet *set = rh_collective_role_set(role_sets, (int32_t)m);
        int32_t role = rh_role_of_collective(role_sets, set, 0), group = set->group;
        for (int32_t r = 1; r < set->roles_count; r++) {
            int32_t other = rh_role_of_collective(role_sets, set, r);
            int32_t i = rh_program_role(o->p, role)->tasks_first - 1;
            int32_t k = rh_program_role(o->p, other)->tasks_first - 1;
            while ((i = rh_role_next_call(o->p, role, group, i + 1)) >= 0 &&
                   (k = rh_role_next_call(o->p, other, group, k + 1)) >= 0)
                join_ring(o, k, i);
        }
    }
}

static void finish(Order *o, int32_t i)
{
    o->done++;
    for (int32_t edge = o->first[i]; edge >= 0; edge = o->next[2 * edge + 1])
        if (--o->waits[o->next[2 * edge]] == 0)
            reach_task(o, o->next[2 * edge]);
}

static void link_tasks(Order *o, int32_t from, int32_t to, int32_t *edges)
{
    int32_t edge = (*edges)++;
    o->next[2 * edge] = to;
    o->next[2 * edge + 1] = o->first[from];
    o->first[from] = edge;
    o->waits[to]++;
}

static void link_role(Order *o, const RhRole *role, int32_t *edges)
{
    int32_t last[RH_LANES_MAX];
    memset(last, -1, sizeof(last));
    for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
        const RhTask *t = rh_program_task(o->p, i);
        for (int32_t k = t->preds_first; k < t->preds_first + t->preds_count; k++)
            link_tasks(o, g_array_index(o->p->preds, int32_t, k), i, edges);
        if (last[t->lane] >= 0)
            link_tasks(o, last[t->lane], i, edges);
        last[t->lane] = i;
    }
}

static bool fail_order(const Order *o, GError **error)
{
    for (int32_t i = 0; i < (int32_t)o->p->tasks->len; i++)
        if (o->waits[i] > 0 || o->awaited[o->leader[i]] > 0)
            return fail_task(o->p, i, error,
                             "it can never start: its predecessors, messages or collectives wait "
                             "for each other");
    return fail_task(o->p, 0, error, "a message can never start");
}

static bool check_order(const RhProgram *p, const RhCollectiveRoles *role_sets, GError **error)
{
    size_t tasks = p->tasks->len, most = tasks + p->preds->len + 1;
    g_autofree int32_t *waits = g_new0(int32_t, tasks + 1), *first = g_new(int32_t, tasks + 1);
    g_autofree int32_t *next = g_new(int32_t, 2 * most), *stack = g_new(int32_t, tasks + 1);
    g_autofree int32_t *rings = g_new(int32_t, 3 * tasks + 1);
    Order o = {.p = p,
               .waits = waits,
               .first = first,
               .next = next,
               .mate = rings,
               .leader = rings + tasks,
               .awaited = rings + 2 * tasks,
               .stack = stack};
    int32_t edges = 0;
    memset(first, -1, (tasks + 1) * sizeof(int32_t));
    join_tasks(&o, role_sets);
    for (guint r = 0; r < p->roles->len; r++)
        link_role(&o, rh_program_role(p, (int32_t)r), &edges);
    for (int32_t i = 0; i < (int32_t)tasks; i++)
        if (waits[i] == 0)
            reach_task(&o, i);
    while (o.depth > 0)
        finish(&o, stack[--o.depth]);
    return o.done == (int32_t)tasks || fail_order(&o, error);
}

bool rh_program_check(const RhProgram *p, GError **error)
{
    if (p->ranks_count < 1 || p->ranks_count > RANKS_MAX)
        return rh_fail(error, RH_ERROR_INPUT, "%d ranks; a program has 1 to %d", p->ranks_count,
                       RANKS_MAX);
    if (!check_groups(p, error) || !check_roles(p, error) || !check_memory(p, error) ||
        !check_bundles(p, error) || !check_tasks(p, error))
        return false;
    g_autoptr(RhCollectiveRoles) role_sets = rh_collective_roles_new(p, error);
    return role_sets && check_collectives(p, role_sets, error) && check_order(p, role_sets, error);
}
