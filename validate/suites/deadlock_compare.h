#pragma once
/* Steps that do not end: where each rank waits, as the rehearsal and the performer tell it, a line
 * a rank ("rank 3 waits in task 42 (...)"). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* All that the ranks of a run left as FOLDER/NAME.stuck.RANK, joined; NULL when none did. Owned. */
char *rh_deadlock_collect(const char *folder, const char *name, int32_t ranks_count);
/* "both stop: ..." when both sides tell of ranks that wait, and how many of them wait in the same
 * task; NULL when one does not, with the reason in *why. Both owned. */
char *rh_deadlock_compare(const char *rehearsed, const char *performed, int32_t ranks_count,
                          char **why);
