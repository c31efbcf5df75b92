#pragma once
/* The failures of a run as a file: when they struck, or how often what fails.
 *
 *     seconds,component            component,per_1000_node_days,nodes,detection,diagnosis,repair
 *     3600,GPU                     GPU,2.1,1,,5min,2d
 *     90000,                       switch,0.05,16,30s,,4h
 *
 * Left out or empty: the component is drawn by the rates; the run's times; the nodes stay. `per_gpu_hour`
 * may stand for `per_1000_node_days`, of nodes of 8 GPUs. */
#include "strategies/run/training_run_spec.h"

/* A file with the column `seconds`, ascending, is appended to `trace` (RhTimedFailure), with components of
 * `rates`; one with the column `component` becomes `rates`. RH_ERROR_INPUT with file:line:col, RH_ERROR_IO. */
bool rh_failure_file_load(const char *path, RhFailureRates *rates, GArray *trace,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
