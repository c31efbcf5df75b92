#pragma once
/* Messages under way over MPI point-to-point: started here, told when done. Buffers belong to the
 * wire until then; a send's data is copied first, so its source may change at once.
 *
 * Messages beyond the piece size travel in pieces, so that an MPI library with a large enough eager
 * limit never asks for a rendezvous. */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t task; /* of this rank; local to its role */
    int32_t flow; /* collective: into the expansion's flows; -1 for RECV and SEND */
    bool receives;
} RhTransportOwner;

typedef struct RhMpiTransport RhMpiTransport;
/* Receives the buffer of a finished message (borrowed). */
typedef void (*RhTransportDone)(RhTransportOwner owner, const uint32_t *words, void *user);

RhMpiTransport *rh_mpi_transport_new(MPI_Comm comm);
void rh_mpi_transport_free(RhMpiTransport *wire);
/* A buffer of `bytes`, to fill and hand to rh_mpi_transport_send. */
uint32_t *rh_mpi_transport_buffer(RhMpiTransport *wire, int64_t bytes);
void rh_mpi_transport_send(RhMpiTransport *wire, int rank, int tag, uint32_t *buffer, int64_t bytes,
                           RhTransportOwner owner);
void rh_mpi_transport_receive(RhMpiTransport *wire, int rank, int tag, int64_t bytes,
                              RhTransportOwner owner);
/* Calls `done` for what has finished; how many that were. Does nothing where nothing was started since
 * and nothing `may_have_come`; where it may, MPI progresses, also when nothing is awaited: what came
 * early is read, or sockets would stay readable and wake the rank without end. */
int rh_mpi_transport_poll(RhMpiTransport *wire, bool may_have_come, RhTransportDone done,
                          void *user);
int rh_mpi_transport_pending(const RhMpiTransport *wire);
