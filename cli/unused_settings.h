#pragma once
/* Reports --set words without effect, by comparing the answer with the one without them. */
#include "cli/inputs/inputs.h"
#include "strategies/serve/results/service_metrics.h"

/* Returns an answer as numbers in a fixed order, caller frees; NULL: no answer with these inputs.
 * `cheap` uses closed forms; if these do not differ, the answer is computed in full. */
typedef GArray *(*RhUnusedFigures)(const RhInputs *inputs, bool cheap, const void *user);

/* Part of an answer: its inputs, and the argument of `figures`. */
typedef struct {
    const RhInputs *inputs;
    const void *user;
} RhUnusedAnswer;

/* Prints a note on stderr for each setting without which all figures are equal. A setting whose
 * reason was already given is left out; after the timeout nothing is printed. */
void rh_unused_settings_tell(const RhArguments *arguments, const RhUnusedAnswer *answers,
                             guint count, RhUnusedFigures figures);

/* Training layouts as RhUnusedFigures: time, memory, energy and cost of all by their bounds, and of
 * the first by its rehearsal. */
typedef struct {
    const RhLayout *layouts;
    guint count;
    int64_t global_batch;           /* 0: the inputs' */
    const RhEngineOptions *options; /* NULL: bounds only */
} RhUnusedSteps;
GArray *rh_unused_settings_steps(const RhInputs *inputs, bool cheap, const void *steps);

/* Append figures of a step, or of a service without its SLO verdicts, which follow from them. */
void rh_unused_settings_add_step(GArray *figures, const RhRehearsal *rehearsal);
void rh_unused_settings_add_outcome(GArray *figures, const RhServiceMetrics *outcome);
