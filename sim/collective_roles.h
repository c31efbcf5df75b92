#pragma once
/* Which roles meet in the collectives of a group. All ranks of a role that call a group meet the
 * same roles there, so that a role waits as a whole: stages that sum the gradients of a matrix they
 * share meet once, and so do the ranks of one role that call a group of their own. */
#include <glib.h>
#include <stdint.h>

#include "sim/program.h"

typedef struct {
    int32_t group;
    int32_t roles_first, roles_count; /* into roles */
} RhCollectiveRole;

typedef struct {
    int32_t *of;      /* owned; [role * groups + group]: into meetings, -1 where it calls none */
    GArray *meetings; /* RhCollectiveRole */
    GArray *roles;    /* int32_t, in the order of the group's members */
} RhCollectiveRoles;

/* RH_ERROR_INPUT when a rank calls a group of which it is no member or a member does not call it,
 * when ranks of one role meet other roles than the rest of it, and when there is too much to look
 * at. */
RhCollectiveRoles *rh_collective_roles_new(const RhProgram *p, GError **error);
void rh_collective_roles_free(RhCollectiveRoles *meetings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCollectiveRoles, rh_collective_roles_free)

static inline const RhCollectiveRole *rh_collective_role(const RhCollectiveRoles *m, int32_t i)
{
    return &g_array_index(m->meetings, RhCollectiveRole, i);
}
/* Role number i (0 .. roles_count - 1) of a meeting. */
static inline int32_t rh_role_of_collective(const RhCollectiveRoles *m,
                                            const RhCollectiveRole *meeting, int32_t i)
{
    return g_array_index(m->roles, int32_t, meeting->roles_first + i);
}
/* The next task at or after `from`, counted over the program, in which the role calls the group;
 * -1 when there is none. */
int32_t rh_role_next_call(const RhProgram *p, int32_t role, int32_t group, int32_t from);
