#include "calibrate/measure/stats.h"

#include <math.h>
#include <stdlib.h>

#define TAIL 0.025 /* on either side: 95 % between */

/* Interval of the median from order statistics. From the l-th smallest to the l-th largest value (l
 * from 0) it misses the median when at most l values lie on one side, X binomial (count, 1/2): the
 * largest l with P(X <= l) <= TAIL. */
void rk_median_interval(size_t count, size_t *low, size_t *high)
{
    size_t l = 0;
    double log_term = -(double)count * log(2.0); /* for X = 0 */
    double at_most = exp(log_term);
    for (size_t x = 1; x < count / 2; x++) {
        log_term += log((double)(count - x + 1) / (double)x);
        at_most += exp(log_term);
        if (at_most > TAIL)
            break;
        l = x;
    }
    *low = l;
    *high = count > 0 ? count - 1 - l : 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

RkMedian rk_median(double *values, size_t count)
{
    if (count == 0)
        return (RkMedian){0, 0, 0, 0};
    qsort(values, count, sizeof *values, by_value);
    size_t low, high;
    rk_median_interval(count, &low, &high);
    return (RkMedian){.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
                      .low = values[low],
                      .high = values[high],
                      .count = count};
}

bool rk_median_known(const RkMedian *median, double width)
{
    return median->count >= RK_REPETITIONS_MIN &&
           median->high - median->low <= width * median->median;
}
