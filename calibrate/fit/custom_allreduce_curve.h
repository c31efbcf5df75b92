#pragma once
/* Curves of all-reduce inside a node (platforms/devices/custom_allreduce.h) from an engine's table and NCCL's. */
#include "calibrate/fit/fit_rows.h"
#include "calibrate/surfaces/published_kernel_tables.h"
#include "platforms/devices/custom_allreduce.h"

/* `tables`: RhKernelTables. Of each size the quicker one, and never longer than a larger size. `held_out`:
 * errors at every second size when it is left out. False: there is no such table. */
bool rh_fit_peers(const GPtrArray *tables, const char *date, RhPeerReduce *peers,
                  RhFitFigures *held_out);
