#pragma once
/* The least memory that any layout of a problem needs, in closed form (rh_train_memory). */
#include "base/deadline.h"
#include "strategies/search/plan.h"

/* Training states of the model, once; those of adapters are negligible. */
RhTrainingStates rh_training_states(const RhProblem *c);

typedef struct {
    bool some;         /* some layout needs at most what was allowed */
    double peak_bytes; /* of a GPU; where there is none, what was allowed */
    RhLayout layout;
} RhSmallestMemory;

/* Layouts that meet the options' constraints and need at most `most_bytes`. At the deadline, the
 * least of those that were looked at. */
RhSmallestMemory rh_memory_smallest(const RhProblem *c, const RhPlanOptions *options,
                                    RhDeadline deadline, double most_bytes);
