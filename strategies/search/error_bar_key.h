#pragma once
/* Evidence keys: the properties of a problem that select its error bar in the record
 * (accuracy/error_bar_record.h). */
#include "accuracy/evaluation.h"
#include "strategies/serve/deployment.h"
#include "strategies/serve/iteration/iteration.h"
#include "strategies/training_problem.h"

/* Names are interned. Of a stack that adds nothing to the hardware, and of ranks that talk
 * message by message, the generation is NULL: nothing that was measured is like it. */
RhEvidenceKey rh_evidence_key_of(const RhProblem *c);
/* Returns the key of a service whose cache is not full; `stack` is its scheduler. The generation is NULL where
 * nothing that was measured is like it, and *why_not says why (caller frees; NULL: not asked). */
RhEvidenceKey rh_evidence_key_of_service(const RhServing *serving, const RhDeployment *deployment,
                                         char **why_not);
/* Kernels of this server on this device were not measured. Caller frees; NULL: they were. */
char *rh_evidence_key_untabled(const RhServing *serving);
