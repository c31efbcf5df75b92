#pragma once
/* One-way times between pairs of ranks, half a round trip: a program of sends and receives, by the
 * same performer as any other, so that its own software is in them. Rank i of the lower half and
 * its partner of the upper half pass messages back and forth, all pairs at once: a message costs
 * more where every rank of a machine is busy, as in a step. */
#include <stdio.h>

#include "validate/perform/performer.h"

/* The program for an even number of ranks; caller frees. */
RhProgram *rh_pingpong_program(int32_t ranks);
#define RH_PINGPONG_HEADER "kind,source,destination,bytes,seconds"
/* Writes rows from the spans of all ranks: "trip", half of every round trip but the first of each
 * size; "reaction", from the end of a kernel to the send that waited for it. False when the file
 * could not be written. */
bool rh_pingpong_rows(const RhProgram *p, const GArray *spans, FILE *out);
