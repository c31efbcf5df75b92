#pragma once
/* Table of the fields of a job that --set and --what-if change. */
#include "strategies/training_problem.h"

/* *known is false, and nothing said, when the job has no such key. RH_ERROR_USAGE with how to mend it. */
bool rh_job_set(RhJob *job, const char *key, const char *value, bool *known,
                GError **error) G_GNUC_WARN_UNUSED_RESULT;
const char *const *rh_job_keys(void); /* NULL-ended */
