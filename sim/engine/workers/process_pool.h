#pragma once
/* Work done in forked children: a crash, a leak or a kill there is an error here and nothing else.
 *
 * Memory is shared by fork; a child hands back bytes. What a child writes to its standard error is
 * its last words, and goes into the error when it crashes. An item whose child was killed or ran
 * out of memory is done once more; a machine that lends no more processes, descriptors or memory
 * gets fewer workers, also where a child asks it for some and is refused. Results do not depend on `jobs`. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t count;    /* items 0 .. count - 1 */
    int32_t jobs;     /* children at once, at least 1; 0 where more are to come */
    double timeout_s; /* wall clock of the whole call; 0, or longer than 1e9: none to speak of */
    /* In the child: the bytes of the item's answer (the child frees nothing), or NULL and an error,
     * which arrives with its code when its domain is RH_ERROR. */
    GByteArray *(*perform)(int32_t item, void *user, GError **error);
    /* In the caller, once per item, in order of ending: bytes, or NULL and the error (borrowed).
     * RH_ERROR_NO_ANSWER: out of time or memory; RH_ERROR_REFUSED: no child could be made, for want of a
     * resource, which it names; RH_ERROR_INTERNAL: the child crashed. */
    void (*answer)(int32_t item, const GByteArray *bytes, const GError *error, void *user);
    /* In the caller, about each second in which none ends; may be NULL. */
    void (*waiting)(void *user);
    /* In the caller, when `more_fd` is readable: raises *count by items that have come, which are as the others
     * then, and says how many children at once. False: no more will come. NULL: none does. */
    bool (*more)(int32_t *count, int32_t *jobs, void *user);
    int more_fd;
    void *user;
} RhProcessPool;

/* Returns when every item has had its answer. */
void rh_process_pool_run(const RhProcessPool *workers);
