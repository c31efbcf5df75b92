#pragma once
/* Reads the results of rehearse-perform and compares them with a rehearsal. */
#include "sim/program_result.h"

typedef struct {
    double step_time_s; /* step time of the median run */
    double spread_frac; /* (slowest - quickest) / median */
    double stolen_frac; /* of the processors, by a hypervisor, during the steps that count */
    int32_t runs_count, repeated_count; /* steps that count; disturbed ones that do not */
    int64_t checked_count, wrong_count;
    char *library; /* owned */
} RhPerformedResult;

/* NAME.json. RH_ERROR_IO, RH_ERROR_INPUT. */
bool rh_performed_load(const char *path, RhPerformedResult *out,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_performed_result_clear(RhPerformedResult *result);

/* Starts of the same tasks in NAME.run.json.gz and in a rehearsal with a timeline: the median
 * difference, as a share of the real step. */
bool rh_performed_start_error(const char *trace_path, const RhProgram *p, const RhRun *rehearsal,
                              double step_time_s, double *median_frac,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
