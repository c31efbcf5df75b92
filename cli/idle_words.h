#pragma once
/* Words of --set that change nothing: told, by what the answer comes to without them. */
#include "cli/inputs.h"

/* What an answer comes to, as numbers in a fixed order, caller frees; NULL: there is none with these
 * inputs. First `cheap`, from closed forms; where these tell nothing apart, as the answer itself is made. */
typedef GArray *(*RhIdleFigures)(const RhInputs *inputs, bool cheap, const void *user);

/* Says of each setting whether the figures are what they are without it: one note on stderr for each. One
 * whose reason was told already is left out. */
void rh_idle_words_tell(const RhArguments *arguments, const RhInputs *inputs, RhIdleFigures figures,
                        const void *user);

/* Of layouts of training, for RhIdleFigures: time, memory, energy and cost of all by their bounds, of the first
 * as it is rehearsed. */
typedef struct {
    const RhLayout *layouts;
    guint count;
    const RhEngineOptions *options; /* NULL: bounds alone */
} RhIdleSteps;
GArray *rh_idle_words_steps(const RhInputs *inputs, bool cheap, const void *steps);
