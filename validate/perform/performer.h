#pragma once
/* Performs one rank of a program for real: its lanes, its kernels, its messages over MPI.
 *
 * The schedules are the rehearsal's own (sim/collective_expansion.h); nothing is built twice. A kernel is a
 * wait of the time that the rehearsal gives it, or real work; meanwhile messages progress. A SEND
 * ends when MPI has taken the data, a RECV when it has come; a collective when this rank's part is
 * over. */
#include "sim/program_result.h"
#include "validate/perform/compute.h"
#include "validate/perform/mpi_transport.h"
#include "validate/perform/payload.h"

typedef struct {
    double kernel_scale;    /* waits are this many times as long; 1 */
    double slow_rank_scale; /* the same, of `slow_rank` alone: a straggler */
    int32_t slow_rank;      /* -1: none */
    double timeout_s;       /* of one step */
    double event_s;         /* when this rank runs `event`, after the start of the step */
    const char *event;      /* shell command; NULL: none */
    const RhWorker *worker; /* kernels are real work; NULL: waits */
    bool library;           /* collectives are MPI's own, not the program's schedules */
    bool sockets;           /* all messages use TCP, so sockets signal work */
} RhPerformOptions;

typedef struct {
    RhPayloadCheck check;
    GArray *spans;  /* RhTaskInterval, owned; performer = rank */
    double t_end_s; /* after the start of the step */
    char *stuck;    /* owned; NULL, or what this rank was waiting for when the time was up */
} RhPerformed;

typedef struct RhRankPerformer RhRankPerformer;
/* NULL with an error when the program does not suit the platform, or has more messages than MPI has
 * tags. Borrows the program and the platform. */
RhRankPerformer *rh_rank_performer_new(const RhProgram *p, const RhPlatform *platform,
                                       MPI_Comm comm, const RhPerformOptions *options,
                                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_rank_performer_free(RhRankPerformer *performer);
/* One step, from `t_start_s` of this machine's clock on. `check_all`: every word of every result.
 */
RhPerformed rh_rank_performer_step(RhRankPerformer *performer, double t_start_s, bool check_all);
void rh_performed_clear(RhPerformed *performed);
