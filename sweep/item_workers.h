#pragma once
/* Forked workers that each ask many questions, one after the other.
 *
 * A process for each question would cost more than short questions do, and one process for all would
 * end with the first that crashes. A worker that dies, or is ended at the time limit, loses its item
 * alone, and another takes its place; an item whose worker was killed is given out once more. A
 * worker whose caller is gone ends its item and leaves. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* How an item ended. */
typedef struct {
    int32_t status;    /* what perform() returned; RH_JOURNAL_LATE and the like where it was lost */
    double seconds;    /* that it took */
    bool lost;         /* the worker was gone before perform() had returned */
    const char *error; /* borrowed: why it was lost, or what perform() left on standard error */
} RhItemOutcome;

typedef enum {
    RH_NEXT_NONE, /* no item will come any more */
    RH_NEXT_ITEM,
    RH_NEXT_LATER, /* none now: more_fd becomes readable when there may be one */
} RhNextItemStatus;

typedef struct {
    int32_t jobs;     /* workers at a time */
    double timeout_s; /* of an item; 0: none */
    /* Runs in a worker, with standard output and error in memory. Returns a status. */
    int32_t (*perform)(int32_t item, void *user);
    /* Runs in the caller: what is to be done next. */
    RhNextItemStatus (*next)(int32_t *item, void *user);
    int more_fd; /* looked at where next() said later */
    /* Runs in the caller as each item ends. False ends the run: workers finish their items. */
    bool (*ended)(int32_t item, const RhItemOutcome *end, void *user);
    /* Runs in the caller about each second in which no item ends. */
    void (*waiting)(void *user);
    /* Is asked before each item: true ends the run, as above. */
    bool (*stopped)(void *user);
    void *user;
} RhItemPool;

/* Runs until next() has no more and all items have ended. RH_ERROR_REFUSED: no worker could be
 * started. */
bool rh_item_pool_run(const RhItemPool *what, GError **error) G_GNUC_WARN_UNUSED_RESULT;
