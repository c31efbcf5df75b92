#pragma once
/* Which axis of a study moves a figure, by the variance that its values explain. */
#include "sweep/merged.h"

typedef struct {
    int32_t axis;
    double share_frac; /* of the figure's variance, that means of this axis' values explain */
    double low, high;  /* the least and the greatest mean over the questions of one value */
    const char *at_low, *at_high; /* these values; borrowed from the table */
} RhAxisEffect;

/* Returns the effects of all axes on a column, the largest share first; NULL where fewer than two
 * rows have a number there, or all have the same. In a full product of axes a share is the first-order
 * index of Sobol (Saltelli et al., Global Sensitivity Analysis, 2008, chapter 1.2.4); what is left to 1 is
 * joint. Where filters left combinations out, axes are not independent and shares may overlap. Caller
 * unrefs: RhAxisEffect. */
GArray *rh_axis_effects(const RhMerged *merged, int32_t column);
