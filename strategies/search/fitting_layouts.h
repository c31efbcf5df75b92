#pragma once
/* Fitting layouts: the quickest of the usual ones (space.h) that fits, and the largest sizes at
 * which any of them does. In closed form; nothing is simulated. */
#include "strategies/search/largest_fitting_sizes.h"

typedef struct {
    int64_t fit_count; /* of the usual layouts; 0: none, and the rest is unset */
    RhLayout quickest; /* by lower bounds */
    double segment_s;  /* the bound of its step */
} RhFittingLayouts;

/* Layouts that need at most `room_bytes`; at the deadline, of those that were looked at. */
RhFittingLayouts rh_fitting_layouts(const RhProblem *c, RhDeadline deadline, double room_bytes);

/* Largest sizes, each over all usual layouts, and a layout with which it is reached. */
typedef struct {
    RhLargestMemory sizes;
    RhLayout at_microbatch, at_sequence, at_rank; /* set where the size is above 0 */
    bool cut_short;                               /* the deadline passed: larger sizes may fit */
} RhLargestAnywhere;

/* `from` is a layout that fits, from which sizes are looked for. The job gets more samples with a
 * larger micro-batch, so that a layout keeps its number of micro-batches. What is found plus one
 * step of it (rh_memory_reach) fits in no usual layout, unless it is the most that is tried. */
RhLargestAnywhere rh_memory_reach_anywhere(const RhProblem *c, const RhLayout *from,
                                           RhDeadline deadline, double room_bytes);
