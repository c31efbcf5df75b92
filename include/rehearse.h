#pragma once
/* librehearse: how long a training step takes on a cluster, and which layout is best.
 *
 *     models and platforms       workloads/model.h, platforms/platform.h
 *     layouts                    strategies/layout.h, strategies/software_stack.h
 *     the program of a step      strategies/train/train.h, sim/program.h
 *     planning                   strategies/search/plan.h (rehearses in processes of their own)
 *     one layout, rehearsed      strategies/search/rehearsals/rehearse.h (in a process of its own)
 *     several jobs on a fabric   sim/engine/session.h (in this process), sim/engine/multi_job.h
 *     requests of a service      workloads/requests/requests.h
 *     what becomes of them       strategies/serve/service/service.h, strategies/serve/results/service_metrics.h
 *
 * Errors are GErrors of domain RH_ERROR (base/error.h) with messages ready to print. Quantities are
 * SI, with the unit in the name. Call gsl_set_error_handler_off() first: GSL aborts otherwise.
 * examples/ has programs that plan, rehearse, serve, and perform a collective of their own. */
#include "base/cost_tree.h"
#include "base/error.h"
#include "platforms/platform.h"
#include "sim/engine/multi_job.h"
#include "sim/engine/session.h"
#include "sim/engine/workers/isolated_run.h"
#include "strategies/layout.h"
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"
#include "strategies/software_stack.h"
#include "strategies/train/train.h"
#include "strategies/training_problem.h"
#include "workloads/model.h"
#include "workloads/requests/requests.h"
