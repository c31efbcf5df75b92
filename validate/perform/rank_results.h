#pragma once
/* Collects the results of all ranks of a step on rank 0. Every function is collective. */
#include "validate/perform/performer.h"

/* The largest of a value over all ranks. */
double rh_record_max(MPI_Comm comm, double value);
/* Sums of a check over all ranks. */
RhPayloadCheck rh_record_check(MPI_Comm comm, RhPayloadCheck own);
/* All spans as a run with one performer per rank, on rank 0; else NULL. */
RhRun *rh_record_run(MPI_Comm comm, const RhProgram *p, const GArray *spans, double step_time_s);
