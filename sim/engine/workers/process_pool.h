#pragma once
/* Performs work in forked children, so that a crash, a leak or a kill becomes an error.
 *
 * Memory is shared by fork; a child returns bytes. The standard error of a child is added to the
 * error when it crashes. An item whose child was killed or ran out of memory is repeated once. When
 * the machine refuses further processes, descriptors or memory, to the caller or to a child, fewer
 * workers run. Results do not depend on `jobs`. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t count;    /* items 0 .. count - 1 */
    int32_t jobs;     /* children at once, at least 1; 0 where `more` will add items */
    double timeout_s; /* wall-clock limit of the whole call; 0 or above 1e9: none */
    /* Runs in the child: returns the bytes of the item's answer (the child frees nothing), or NULL
     * and an error, which keeps its code when its domain is RH_ERROR. */
    GByteArray *(*perform)(int32_t item, void *user, GError **error);
    /* Runs in the caller once per item, in order of ending: bytes, or NULL and the error
     * (borrowed). RH_ERROR_NO_ANSWER: out of time or memory; RH_ERROR_REFUSED: no child could be
     * made, and the message names the missing resource; RH_ERROR_INTERNAL: the child crashed. */
    void (*answer)(int32_t item, const GByteArray *bytes, const GError *error, void *user);
    /* Runs in the caller about each second in which no item ends; may be NULL. */
    void (*waiting)(void *user);
    /* Runs in the caller when `more_fd` is readable: raises *count by the new items, which from
     * then on are like the others, and sets the children at once. False: no more will come. NULL:
     * there are none. */
    bool (*more)(int32_t *count, int32_t *jobs, void *user);
    int more_fd;
    /* Bytes of answers hold no address, so that another machine may read them: items may be
     * performed by other ranks (multi_machine_pool.h), of which each calls answer() for all items. */
    bool of_ranks;
    void *user;
} RhProcessPool;

/* Runs all items; returns when every item has been answered. */
void rh_process_pool_run(const RhProcessPool *workers);
