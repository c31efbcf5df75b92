#pragma once
/* MPI's own collectives in place of a program's schedules: what a library makes of the same
 * operations (of a shift, which MPI does not have, a send and a receive). Every word of a result is
 * checked. */
#include <mpi.h>

#include "sim/collective/collective.h"
#include "validate/perform/payload.h"

/* One collective under way, its buffers kept for the next. Zeroed is fine at first. */
typedef struct {
    RhOp op;
    int own, members;
    int block_words;         /* what one member sends, or receives, of one other */
    uint32_t *in, *out;      /* owned; in: NULL where MPI works in place */
    MPI_Request requests[2]; /* a shift has two */
} RhLibraryCall;

/* Starts the operation on `bytes` as RhTask.bytes has them, rounded up to whole words a member. */
void rh_library_start(RhLibraryCall *call, RhOp op, double bytes, MPI_Comm comm);
/* Lets MPI progress; true when it is over. */
bool rh_library_poll(RhLibraryCall *call);
RhPayloadCheck rh_library_check(const RhLibraryCall *call);
void rh_library_clear(RhLibraryCall *call);
