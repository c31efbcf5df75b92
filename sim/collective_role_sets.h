#pragma once
/* Finds which roles take part together in the collectives of a group. All ranks of a role that call
 * a group share it with the same roles, so a role waits as a whole. Stages that sum the gradients
 * of a shared matrix form one such set of roles; the ranks of one role that call a group of their
 * own form another. */
#include <glib.h>
#include <stdint.h>

#include "sim/program.h"

typedef struct {
    int32_t group;
    int32_t roles_first, roles_count; /* into roles */
} RhCollectiveRoleSet;

typedef struct {
    /* owned; [role * groups + group]: index into sets, -1: the role never calls it */
    int32_t *of;
    GArray *sets;  /* RhCollectiveRoleSet */
    GArray *roles; /* int32_t, in the order of the group's members */
} RhCollectiveRoles;

/* Finds the sets of roles of all groups. RH_ERROR_INPUT when a rank calls a group of which it is no
 * member, when a member does not call it, when ranks of one role share a group with different
 * roles, and when there are too many ranks to check. */
RhCollectiveRoles *rh_collective_roles_new(const RhProgram *p,
                                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_collective_roles_free(RhCollectiveRoles *sets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCollectiveRoles, rh_collective_roles_free)

static inline const RhCollectiveRoleSet *rh_collective_role_set(const RhCollectiveRoles *m,
                                                                int32_t i)
{
    return &g_array_index(m->sets, RhCollectiveRoleSet, i);
}
/* Returns role number i (0 .. roles_count - 1) of a set. */
static inline int32_t rh_role_of_collective(const RhCollectiveRoles *m,
                                            const RhCollectiveRoleSet *set, int32_t i)
{
    return g_array_index(m->roles, int32_t, set->roles_first + i);
}
/* Returns the next task at or after `from` (an index into the program's tasks) in which the role
 * calls the group; -1 when there is none. */
int32_t rh_role_next_call(const RhProgram *p, int32_t role, int32_t group, int32_t from);
