#include "sim/collective_role_sets.h"

#include <string.h>

#include "base/error.h"

/* Maximum of ranks times groups examined, over all roles: a second's work. */
#define LOOKS_MAX (1 << 28)
/* Maximum of roles times groups. */
#define CELLS_MAX (1 << 24)

typedef struct {
    const RhProgram *p;
    RhCollectiveRoles *found;
    int32_t *role_of;
    bool *calls;     /* [role * groups + group] */
    int32_t *stamps; /* per role: number of the instance that named it last */
    int32_t instances;
    int64_t looks;
} Search;

int32_t rh_role_next_call(const RhProgram *p, int32_t role, int32_t group, int32_t from)
{
    const RhRole *r = rh_program_role(p, role);
    for (int32_t i = from; i < r->tasks_first + r->tasks_count; i++)
        if (rh_program_task(p, i)->kind == RH_TASK_COLLECTIVE &&
            rh_program_task(p, i)->group == group)
            return i;
    return -1;
}

static size_t cell(const Search *s, int32_t role, int32_t group)
{
    return (size_t)role * s->p->groups->len + (size_t)group;
}

static bool fail_group(const Search *s, int32_t role, int32_t group, GError **error,
                       const char *what)
{
    const RhProgram *p = s->p;
    int32_t task = rh_role_next_call(p, role, group, rh_program_role(p, role)->tasks_first);
    return rh_fail(
        error, RH_ERROR_INPUT, "task %d of role \"%s\": %s", task,
        (const char *)g_ptr_array_index(p->labels, (guint)rh_program_role(p, role)->label), what);
}

/* Adds the distinct roles of the members to the list; false when some member does not call. */
static bool list_roles(Search *s, int32_t group, const int32_t *members)
{
    s->instances++;
    for (int32_t m = 0; m < rh_program_group(s->p, group)->size; m++) {
        if (members[m] < 0 || members[m] >= s->p->ranks_count)
            return false;
        int32_t role = s->role_of[members[m]];
        if (role < 0 || !s->calls[cell(s, role, group)])
            return false;
        if (s->stamps[role] != s->instances)
            g_array_append_val(s->found->roles, role);
        s->stamps[role] = s->instances;
    }
    return true;
}

/* Records that the roles from `first` on take part in a collective together: as in an earlier
 * instance, or as a new entry. False when some of them take part with other roles. */
static bool note_role_set(Search *s, int32_t group, int32_t first)
{
    RhCollectiveRoles *found = s->found;
    RhCollectiveRoleSet fresh = {group, first, (int32_t)found->roles->len - first};
    const int32_t *roles = &g_array_index(found->roles, int32_t, first);
    int32_t known = found->of[cell(s, roles[0], group)];
    for (int32_t i = 1; i < fresh.roles_count; i++)
        if (found->of[cell(s, roles[i], group)] != known)
            return false;
    if (known >= 0) {
        bool same = rh_collective_role_set(found, known)->roles_count == fresh.roles_count;
        g_array_set_size(found->roles, (guint)first);
        return same;
    }
    for (int32_t i = 0; i < fresh.roles_count; i++)
        found->of[cell(s, roles[i], group)] = (int32_t)found->sets->len;
    g_array_append_val(found->sets, fresh);
    return true;
}

/* Examines every instance of the group from its first member. The members of the instances found
 * are counted, so that a member whose first member does not call is noticed. */
static bool search_role(Search *s, int32_t role, int32_t group, int64_t *covered, GError **error)
{
    const RhGroup *g = rh_program_group(s->p, group);
    const RhRole *r = rh_program_role(s->p, role);
    g_autofree int32_t *members = g_new(int32_t, g->size);
    for (int32_t k = 0; k < r->ranks_count; k++) {
        int32_t rank = rh_role_rank(r, k), member_0, place = rh_group_place(g, rank, &member_0);
        if (place < 0)
            return fail_group(s, role, group, error, "some of its ranks stand in no group");
        if (place > 0)
            continue;
        int32_t first = (int32_t)s->found->roles->len;
        rh_group_members(g, rank, members);
        if (!list_roles(s, group, members))
            return fail_group(s, role, group, error, "its group reaches ranks that do not call it");
        if (!note_role_set(s, group, first))
            return fail_group(s, role, group, error,
                              "its ranks do not all meet the same roles in the group");
        *covered += g->size;
    }
    return true;
}

static bool search_group(Search *s, int32_t group, GError **error)
{
    int64_t covered = 0, callers = 0;
    int32_t caller = -1;
    for (int32_t r = 0; r < (int32_t)s->p->roles->len; r++) {
        if (!s->calls[cell(s, r, group)])
            continue;
        caller = r;
        callers += rh_program_role(s->p, r)->ranks_count;
        s->looks += rh_program_role(s->p, r)->ranks_count;
        if (s->looks > LOOKS_MAX)
            return rh_fail(error, RH_ERROR_INPUT, "too many groups for this many ranks");
        if (!search_role(s, r, group, &covered, error))
            return false;
    }
    return covered == callers ||
           fail_group(s, caller, group, error, "its group reaches ranks that do not call it");
}

static bool search(Search *s, GError **error)
{
    for (guint i = 0; i < s->p->tasks->len; i++) {
        const RhTask *t = rh_program_task(s->p, (int32_t)i);
        if (t->kind == RH_TASK_COLLECTIVE)
            s->calls[cell(s, t->role, t->group)] = true;
    }
    for (int32_t g = 0; g < (int32_t)s->p->groups->len; g++)
        if (!search_group(s, g, error))
            return false;
    return true;
}

RhCollectiveRoles *rh_collective_roles_new(const RhProgram *p, GError **error)
{
    g_autoptr(RhCollectiveRoles) found = g_new0(RhCollectiveRoles, 1);
    size_t cells = (size_t)p->roles->len * p->groups->len + 1;
    if (cells > CELLS_MAX) {
        rh_fail(error, RH_ERROR_INPUT, "%u groups are too many for %u roles", p->groups->len,
                p->roles->len);
        return NULL;
    }
    g_autofree int32_t *role_of = rh_program_role_of_rank(p);
    g_autofree int32_t *stamps = g_new0(int32_t, p->roles->len + 1);
    g_autofree bool *calls = g_new0(bool, cells);
    found->of = g_new(int32_t, cells);
    memset(found->of, -1, cells * sizeof *found->of);
    found->sets = g_array_new(FALSE, FALSE, sizeof(RhCollectiveRoleSet));
    found->roles = g_array_new(FALSE, FALSE, sizeof(int32_t));
    Search s = {.p = p, .found = found, .role_of = role_of, .calls = calls, .stamps = stamps};
    return search(&s, error) ? g_steal_pointer(&found) : NULL;
}

void rh_collective_roles_free(RhCollectiveRoles *m)
{
    if (!m)
        return;
    g_free(m->of);
    if (m->sets)
        g_array_unref(m->sets);
    if (m->roles)
        g_array_unref(m->roles);
    g_free(m);
}
