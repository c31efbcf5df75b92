#pragma once
/* Pieces of a Chrome trace (sim/timeline.h) as text, each event ended by ",\n". Private to sim/.
 *
 * A process is a GPU that was performed. Its tracks are the lanes that ran anything, and above them
 * one of passes: "F 3" and "B 3", the forward and backward of micro-batch 3, so that a schedule is
 * seen at a glance. A counter follows the memory, arrows the messages. */
#include "sim/task_intervals.h"

/* Above the lanes' own tracks. */
#define RH_TRACE_PASSES (RH_LANES_MAX + 1)

void rh_chrome_trace_quoted(GString *out, const char *text);
/* Microseconds of `t_s`. */
void rh_chrome_trace_us(GString *out, double t_s);
const char *rh_chrome_trace_label(const RhProgram *p, int32_t label);
/* "F 3": what a task is part of; NULL for what is no part of a micro-batch. Caller frees. */
char *rh_chrome_trace_pass(const RhTask *task);

/* The passes of one performer's compute lane. */
void rh_chrome_trace_passes(GString *out, const RhTaskIntervals *index, int32_t performer);
/* Bytes of the fast memory over time, summed over its uses. */
void rh_chrome_trace_memory(GString *out, const RhTaskIntervals *index, int32_t performer);
/* From every send of the performer to its receive, where that rank or one that stands for it was
 * performed. `arrows` counts them over all performers. */
void rh_chrome_trace_arrows(GString *out, const RhTaskIntervals *index, int32_t performer,
                            int64_t *arrows);
