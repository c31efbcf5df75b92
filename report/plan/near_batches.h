#pragma once
/* Near batches that gain (strategies/search/near_batch.h). */
#include "base/json.h"
#include "report/report.h"

/* "batch: of 480 samples 13.9 % more tokens/s ..."; nothing where none is. */
void rh_report_near_batches(GString *out, const RhProblem *c, const RhPlan *plan);
void rh_put_near_batches(RhJsonWriter *w, const RhPlan *plan);
