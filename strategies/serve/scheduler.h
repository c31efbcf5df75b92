#pragma once
/* A scheduler: chooses the sequences of an iteration. Each has a file and a row in schedulers/; the
 * replica keeps the states of sequences (replica.h). */
#include "strategies/serve/replica/replica.h"

struct RhScheduler {
    const char *name, *about;
    /* Admits waiting sequences (rh_replica_admit) and adds the chunks of the next iteration
     * (rh_replica_chunk); returns whether the iteration decodes sequences, too. */
    bool (*plan)(RhReplica *replica);
    /* Reserves blocks for all tokens of a sequence at its admission, so that none is preempted. */
    bool reserves;
    /* Forms a batch before it begins, so that it may wait for more requests (window=) and serve
     * models that make no tokens. */
    bool gathers;
    bool closes_door; /* admits no sequence in an iteration for which one is preempted */
    /* A preempted sequence may reuse its blocks until others take them. */
    bool finds_again;
};

/* Returns the scheduler of this name, or NULL. */
const RhScheduler *rh_scheduler_by_name(const char *name);
