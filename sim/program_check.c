/* Every invariant of a program, and that it can end: Kahn's algorithm over roles, with a message as
 * one event of two tasks. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/collective/collective.h"

#define RANKS_MAX (1 << 24)
/* Ranks times groups looked at, over all roles: a second's work. */
#define LOOKS_MAX (1 << 28)

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

static bool check_spans(const RhSpan *spans, int32_t count, int32_t size, int32_t ranks)
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

/* Does the pattern cut the ranks into groups: each rank in exactly one? Of any two spans the longer
 * stride is whole turns of the other. */
static bool spans_nest(const RhSpan *spans, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < count; k++)
            if (i != k && spans[i].extent > 1 && spans[k].extent > 1 &&
                spans[i].stride <= spans[k].stride &&
                spans[k].stride % ((int64_t)spans[i].stride * spans[i].extent) != 0)
                return false;
    return true;
}

static bool check_groups(const RhProgram *p, GError **error)
{
    for (guint i = 0; i < p->groups->len; i++) {
        const RhGroup *g = rh_program_group(p, (int32_t)i);
        if (g->spans_count < 0 || g->spans_count > RH_SPANS_MAX ||
            !check_spans(g->spans, g->spans_count, g->size, p->ranks_count) ||
            !in_range(g->label, p->labels->len))
            return rh_fail(error, RH_ERROR_INPUT,
                           "group %u: its spans do not give its size within the ranks", i);
        if (!spans_nest(g->spans, g->spans_count))
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
        if (r->spans_count < 0 || r->spans_count > RH_SPANS_MAX ||
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

static bool is_first_member(const RhGroup *g, int32_t rank)
{
    for (int32_t k = 0; k < g->spans_count; k++)
        if (rank / g->spans[k].stride % g->spans[k].extent != 0)
            return false;
    return true;
}

/* Is the role made of whole groups? Looks at each from its first member, and counts. */
static bool role_of_whole_groups(const RhProgram *p, const RhRole *role, const RhGroup *g,
                                 const int32_t *role_of)
{
    g_autofree int32_t *members = g_new(int32_t, g->size);
    int32_t wanted = role_of[role->first_rank];
    int64_t covered = 0;
    for (int32_t k = 0; k < role->ranks_count; k++) {
        int32_t rank = rh_role_rank(role, k);
        if (!is_first_member(g, rank))
            continue;
        rh_group_members(g, rank, members);
        for (int32_t m = 0; m < g->size; m++)
            if (members[m] < 0 || members[m] >= p->ranks_count || role_of[members[m]] != wanted)
                return false;
        covered += g->size;
    }
    return covered == role->ranks_count;
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
                   memcmp(a->spans, b->spans, (size_t)a->spans_count * sizeof(RhSpan)) == 0;
    return shifted ||
           fail_task(p, i, error, "the peer's role is not this role shifted by the distance");
}

static bool check_task(const RhProgram *p, int32_t i, GError **error)
{
    const RhTask *t = rh_program_task(p, i);
    if (t->kind == RH_TASK_NONE || t->kind >= RH_TASK_LAST || t->lane >= RH_LANE_LAST ||
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

static bool check_collectives(const RhProgram *p, GError **error)
{
    g_autofree int32_t *role_of = rh_program_role_of_rank(p);
    g_autofree int32_t *seen = g_new0(int32_t, p->groups->len + 1); /* 1 + role that used it last */
    int64_t looks = 0;
    for (int32_t r = 0; r < (int32_t)p->roles->len; r++) {
        const RhRole *role = rh_program_role(p, r);
        for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
            const RhTask *t = rh_program_task(p, i);
            if (t->kind != RH_TASK_COLLECTIVE || seen[t->group] == r + 1)
                continue;
            seen[t->group] = r + 1;
            looks += role->ranks_count;
            if (looks > LOOKS_MAX)
                return rh_fail(error, RH_ERROR_INPUT, "too many groups for this many ranks");
            if (!role_of_whole_groups(p, role, rh_program_group(p, t->group), role_of))
                return fail_task(p, i, error, "its group reaches ranks outside the role");
        }
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

/* --- the order --- */

typedef struct {
    const RhProgram *p;
    int32_t
        *waits; /* per task: unfinished predecessors, lane and message partner's readiness apart */
    int32_t *first, *next; /* successor lists: explicit and lane */
    bool *ready;
    int32_t *stack;
    int32_t depth, done;
} Order;

/* A message ends when both ends are ready; everything else at once. */
static void reach(Order *o, int32_t i)
{
    const RhTask *t = rh_program_task(o->p, i);
    o->ready[i] = true;
    bool message = t->kind == RH_TASK_SEND || t->kind == RH_TASK_RECV;
    if (!message)
        o->stack[o->depth++] = i;
    else if (o->ready[t->peer_task]) {
        o->stack[o->depth++] = i;
        o->stack[o->depth++] = t->peer_task;
    }
}

static void finish(Order *o, int32_t i)
{
    o->done++;
    for (int32_t edge = o->first[i]; edge >= 0; edge = o->next[2 * edge + 1])
        if (--o->waits[o->next[2 * edge]] == 0)
            reach(o, o->next[2 * edge]);
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
    int32_t last[RH_LANE_LAST];
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

static bool check_order(const RhProgram *p, GError **error)
{
    size_t tasks = p->tasks->len, most = tasks + p->preds->len + 1;
    g_autofree int32_t *waits = g_new0(int32_t, tasks + 1), *first = g_new(int32_t, tasks + 1);
    g_autofree int32_t *next = g_new(int32_t, 2 * most), *stack = g_new(int32_t, 2 * tasks + 2);
    g_autofree bool *ready = g_new0(bool, tasks + 1);
    Order o = {
        .p = p, .waits = waits, .first = first, .next = next, .ready = ready, .stack = stack};
    int32_t edges = 0;
    memset(first, -1, (tasks + 1) * sizeof(int32_t));
    for (guint r = 0; r < p->roles->len; r++)
        link_role(&o, rh_program_role(p, (int32_t)r), &edges);
    for (int32_t i = 0; i < (int32_t)tasks; i++)
        if (waits[i] == 0 && !ready[i])
            reach(&o, i);
    while (o.depth > 0)
        finish(&o, stack[--o.depth]);
    if (o.done == (int32_t)tasks)
        return true;
    for (int32_t i = 0; i < (int32_t)tasks; i++)
        if (waits[i] > 0 || !ready[i])
            return fail_task(
                p, i, error,
                "it can never start: its predecessors or messages wait for each other");
    return fail_task(p, 0, error, "a message can never start");
}

bool rh_program_check(const RhProgram *p, GError **error)
{
    if (p->ranks_count < 1 || p->ranks_count > RANKS_MAX)
        return rh_fail(error, RH_ERROR_INPUT, "%d ranks; a program has 1 to %d", p->ranks_count,
                       RANKS_MAX);
    return check_groups(p, error) && check_roles(p, error) && check_memory(p, error) &&
           check_bundles(p, error) && check_tasks(p, error) && check_collectives(p, error) &&
           check_order(p, error);
}
