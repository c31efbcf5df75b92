#pragma once
/* Memory savers: single changes that lower the memory of a layout, of one knob or of the format of
 * the states. */
#include "strategies/search/plan.h"

typedef struct {
    char *change; /* owned: "zero=2", "moments=bf16", as --what-if takes it */
    RhLayout layout;
    double peak_bytes, segment_s; /* then; the step's lower bound (segment graph) */
} RhMemorySaver;
void rh_memory_saver_clear(void *saver); /* frees what it owns, for arrays */

/* RhMemorySaver, that which frees most first: of every knob, over the values that the search
 * tries and the lowest, the change that is quickest, and that which needs least, if these are
 * legal and free at least one part in `least_frac` of the peak; and formats of states. Caller
 * unrefs. */
GArray *rh_memory_savers_new(const RhProblem *c, const RhLayout *layout, double least_frac);
