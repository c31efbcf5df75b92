#pragma once
/* A scheduler: which sequences an iteration works on. A file and a row each in schedulers/; states and
 * moves of sequences are the replica's (replica.h). */
#include "strategies/serve/replica/replica.h"

struct RhScheduler {
    const char *name, *about;
    /* Takes waiting sequences in (rh_replica_admit) and lists the chunks of the next iteration
     * (rh_replica_chunk); returns whether sequences are continued in it, too. */
    bool (*plan)(RhReplica *replica);
    /* a sequence has blocks for all its tokens once it is in: none is ever put out */
    bool reserves;
    /* a batch is made before it begins: it may wait for more (window=), and hold what is asked once */
    bool gathers;
    bool closes_door; /* in an iteration for which a sequence is put out nobody comes in */
    /* blocks of a sequence that is put out are found again until others take them */
    bool finds_again;
};

/* NULL: none is called so. */
const RhScheduler *rh_scheduler_by_name(const char *name);
