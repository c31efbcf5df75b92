#pragma once
/* What would lower the memory of a layout: one knob turned, or the states kept in another format, all
 * else as it is. */
#include "strategies/search/plan.h"

/* Changes a layout by a word of its text form, "tp=4" or "tp4". dp follows the others unless it is named;
 * stages that are given stay while they are as many; chunks and schedule follow each other; where there
 * were no tensor ranks, whether sequences are cut too is the stack's. RH_ERROR_USAGE. */
bool rh_layout_change(const RhCase *c, RhLayout *layout, const char *text, GError **error);

typedef struct {
    char *change; /* owned: "zero=2", "moments=bf16", as --what-if takes it */
    RhLayout layout;
    double peak_bytes, segment_s; /* then; the step's lower bound (segment graph) */
} RhRelief;

/* RhRelief, that which frees most first: of every knob the change that is quickest, and that which needs
 * least, if these are legal and free at least one part in `least_frac` of the peak; and formats of states.
 * Caller unrefs. */
GArray *rh_relief_new(const RhCase *c, const RhLayout *layout, double least_frac);
