#pragma once
/* Words of --set that change nothing: told, by what the answer comes to without them. */
#include "cli/inputs/inputs.h"
#include "strategies/serve/results/service_metrics.h"

/* What an answer comes to, as numbers in a fixed order, caller frees; NULL: there is none with these
 * inputs. First `cheap`, from closed forms; where these tell nothing apart, as the answer itself is made. */
typedef GArray *(*RhIdleFigures)(const RhInputs *inputs, bool cheap, const void *user);

/* Part of an answer: what was asked with the same settings, and what `figures` is told of it. */
typedef struct {
    const RhInputs *inputs;
    const void *user;
} RhUnusedAnswer;

/* Says of each setting whether all figures are what they are without it: one note on stderr for each. One
 * whose reason was told already is left out; where time is up none is. */
void rh_unused_settings_tell(const RhArguments *arguments, const RhUnusedAnswer *answers,
                             guint count, RhIdleFigures figures);

/* Of layouts of training, for RhIdleFigures: time, memory, energy and cost of all by their bounds, of the first
 * as it is rehearsed. */
typedef struct {
    const RhLayout *layouts;
    guint count;
    int64_t global_batch;           /* 0: the inputs' */
    const RhEngineOptions *options; /* NULL: bounds alone */
} RhUnusedSteps;
GArray *rh_unused_settings_steps(const RhInputs *inputs, bool cheap, const void *steps);

/* Parts of such figures: of a step; of a service, whose levels are not among them, as they follow. */
void rh_unused_settings_add_step(GArray *figures, const RhRehearsal *rehearsal);
void rh_unused_settings_add_outcome(GArray *figures, const RhServiceMetrics *outcome);
