#pragma once
/* One-way times between two ranks, half a round trip, while the others sleep. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes rows `source,destination,bytes,seconds` for messages of 4 B to 1 MiB between rank 0 and
 * `peer`; as many rows per size as `runs`, each the median of some round trips. Collective. False
 * when the file could not be written (rank 0). */
bool rh_pingpong(MPI_Comm comm, int peer, int runs, FILE *out);
