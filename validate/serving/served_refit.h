#pragma once
/* Constants of servers that were fitted to a group of published runs, fitted again without it: to rows of the
 * other groups that the same server ran, or any server of its engine where there are fewer than ROWS_LEAST; up to
 * ROWS_OF_GROUP of each group, one of each in turn until there are ROWS_MOST, each of these groups
 * weighing the same. Descents begin at the same values whatever the server's file has. What else was
 * fitted, and rh_served_constant_kinds does not list, is as the server has it that this one derives from. */
#include "validate/serving/served_row_predict.h"

typedef struct RhServedRefits RhServedRefits;

/* `shipped`: RhServedRun by all rules, with their groups; `groups`: const char*, interned. All
 * borrowed. */
RhServedRefits *rh_served_refits_new(const GArray *shipped, const GPtrArray *groups,
                                     const RhCasesOptions *options, RhDeadline deadline);
/* Asks for the constants of a server without a group; nothing is to be done where none were fitted to
 * it. */
void rh_served_refits_need(RhServedRefits *refits, const char *group, const RhServer *server);
/* Fits what was asked for since the last time. */
void rh_served_refits_perform(RhServedRefits *refits);
/* Has the server other constants without the group? */
bool rh_served_refits_changes(const RhServedRefits *refits, const char *group,
                              const RhServer *server);
/* Gives a case the server without the group. Returns why there is none; NULL: there is one. Caller
 * frees. */
char *rh_served_refits_place(const RhServedRefits *refits, const char *group, RhServedCase *c);
/* Counts the servers whose constants other groups tell, and the others. */
void rh_served_refits_count(const RhServedRefits *refits, int32_t *told, int32_t *untold);
void rh_served_refits_free(RhServedRefits *refits);
