#pragma once
/* Reports near batch sizes that are more efficient (strategies/search/near_batch.h). */
#include "base/json/json.h"
#include "report/report.h"

/* "batch: 48 GPUs do not divide 512 samples well; with layouts that this rules out, 480 samples give
 * 13.9 % more ..." of RhNearBatch; nothing where there is none, or `near` is NULL. */
void rh_report_near_batches(GString *out, const RhJob *job, const GArray *near);
void rh_put_near_batches(RhJsonWriter *w, const RhPlan *plan);
