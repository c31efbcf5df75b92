#pragma once
/* Traffic over a step, as a monitor of a cluster's links and processes would log it (OSU INAM): a table of CSV.
 *
 * Columns: what ("link", "rank"), name, ranks (that the row stands for), kind of traffic ("point-to-point",
 * "collective", "copy"; links: "all"), begin_s, end_s, bytes. A row for each of RH_LINK_BINS equal parts of the run
 * in which something moved: of the busiest links (RhRun.link_loads), and of each rank that was performed what it
 * sent. A transfer's bytes lie evenly over its time. */
#include "sim/program_result.h"

/* Returns the table of a run of so many steps that has a timeline; caller frees. */
char *rh_report_traffic_csv(const RhProgram *program, const RhRun *run, int32_t steps);
