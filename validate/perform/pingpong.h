#pragma once
/* One-way times between pairs of ranks, half a round trip. Rank i of the lower half and its partner
 * of the upper half pass a message back and forth, all pairs at once: a message costs more where
 * every rank of a machine is busy, as in a step. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes rows `source,destination,bytes,seconds` for messages of 4 B to 1 MiB: half of every round
 * trip, some of each pair and size in each of `runs` rounds. Collective, over an even number of
 * ranks. False when the file could not be written (rank 0). */
bool rh_pingpong(MPI_Comm comm, int runs, FILE *out);
