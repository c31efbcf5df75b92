#pragma once
/* The median of repeated timings and how well it is known.
 *
 * Timings are skewed and have outliers, so the interval is that of order statistics: no
 * distribution is assumed but independence. */
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fewer repetitions than this have no 95 % interval between their extremes. */
#define RK_REPETITIONS_MIN 6

typedef struct {
    double median, low, high; /* low, high: 95 % confidence interval of the median */
    size_t count;
} RkMedian;

/* Indices (from 0) of the two order statistics that enclose the median of `count` values with at
 * least 95 %: the narrowest symmetric pair, or the extremes when `count` is too small. */
void rk_median_interval(size_t count, size_t *low, size_t *high);

/* Sorts `values` in place. A count of 0 gives zeroes. */
RkMedian rk_median(double *values, size_t count);

/* Enough repetitions: the whole interval is at most `width` of the median. */
bool rk_median_known(const RkMedian *median, double width);

#ifdef __cplusplus
}
#endif
