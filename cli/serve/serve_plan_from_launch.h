#pragma once
/* serve-plan --from: the deployment that somebody starts, beside the best one that was found. */
#include "cli/serve/launched_service.h"
#include "cli/serve/serve_query.h"

/* Prints the highest rate at which the launched deployment keeps the levels, its latencies there,
 * and the keys in which the best one differs. A deployment that cannot be planned is told as a
 * hint. */
void rh_launched_beside_print(const RhServeQuery *asking, const RhLaunchedDeployment *launch,
                              const RhServePlan *plan);
