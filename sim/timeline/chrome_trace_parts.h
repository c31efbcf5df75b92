#pragma once
/* Writers of parts of a Chrome trace (sim/timeline/timeline_file.h): each appends text to `out` and ends every
 * event with a comma and a new line. Private to sim/.
 *
 * A trace process is a simulated GPU. Its tracks are the lanes that ran anything and, above them, a
 * track of passes ("F 3" and "B 3" are the forward and backward pass of micro-batch 3), which shows
 * the schedule. A counter shows the memory, arrows show the messages. */
#include "sim/timeline/timeline_index.h"

/* Track number of the passes, which is above the numbers of all lanes. */
#define RH_TRACE_PASSES (RH_LANES_MAX + 1)

void rh_chrome_trace_quoted(GString *out, const char *text);
/* Appends a time in seconds as microseconds. */
void rh_chrome_trace_us(GString *out, double t_s);
const char *rh_chrome_trace_label(const RhProgram *p, int32_t label);
/* Returns the name of the task's pass, such as "F 3", or NULL for a task without a micro-batch.
 * Caller frees. */
char *rh_chrome_trace_pass(const RhTask *task);

/* Appends the passes of one performer's compute lane. */
void rh_chrome_trace_passes(GString *out, const RhTaskIntervals *index, int32_t performer);
/* Appends a counter of the GPU memory in use over time, summed over all uses. */
void rh_chrome_trace_memory(GString *out, const RhTaskIntervals *index, int32_t performer);
/* Appends an arrow from every send of the performer to its receive, if the receiving rank or its
 * representative was simulated. `arrows` counts them over all performers. */
void rh_chrome_trace_arrows(GString *out, const RhTaskIntervals *index, int32_t performer,
                            int64_t *arrows);
