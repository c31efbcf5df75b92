#pragma once
/* Rows of published serving tables that repeat others, contradict others, or cannot be. */
#include "validate/serving/served_translate.h"

/* Set-ups of a table's rows, and what they say of each other; it borrows the rows. */
typedef struct RhServedSetups RhServedSetups;

RhServedSetups *rh_served_setups_new(const RhCaseTable *table);
void rh_served_setups_free(RhServedSetups *setups);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServedSetups, rh_served_setups_free)
/* Returns why a row repeats another row's figures; NULL for an original. Caller frees. */
char *rh_served_repeats(const RhServedSetups *setups, const RhCaseRow *row);
/* Returns why the rows of this row's set-up contradict each other: at one pool of servers, the time of a
 * token falls by more than in any repeated run while clients grow in number. NULL: they do not. Caller frees. */
char *rh_served_contradicts(const RhServedSetups *setups, const RhServedCase *c,
                            const RhCaseRow *row);
/* Returns why a row is impossible, because its GPUs cannot compute that much; NULL when it is
 * possible or unknown. Caller frees. */
char *rh_served_outruns(const RhServedCase *c, const RhCaseRow *row);
