#pragma once
/* Jobs that shared a fabric, as text and JSON; jobs[0] is the command line's. Caller frees. */
#include "report/question.h"
#include "strategies/search/together.h"

char *rh_report_together_text(const RhQuestion *q, const RhNeighbour *jobs,
                              const RhNeighbourhood *answer);
char *rh_report_together_json(const RhQuestion *q, const RhNeighbour *jobs,
                              const RhNeighbourhood *answer);
