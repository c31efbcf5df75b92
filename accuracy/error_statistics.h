#pragma once
/* How far predictions are off: figures of pairs (measured, predicted), both positive.
 *
 * An error is (predicted - measured) / measured. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Of the normal distribution, 97.5 %: intervals of 95 % reach so many standard errors either way. */
#define RH_Z95 1.959963984540054

typedef struct {
    int32_t count;
    double median_abs_error_frac, mape_frac, p90_abs_error_frac, worst_abs_error_frac, bias_frac;
    int32_t worst; /* its index; -1: there is none */
} RhErrorStatistics;

/* In percent, to a tenth, as it is printed: what rounds to nothing is not -0.0. */
static inline double rh_percent_tenths(double frac)
{
    return round(1e3 * frac) / 10 + 0.0;
}

/* All 0, `worst` -1, of nothing. The 90th percentile is interpolated between the two nearest. */
RhErrorStatistics rh_error_statistics(const double *measured, const double *predicted,
                                      size_t count);
/* Pairs ordered alike less pairs ordered otherwise, over all pairs (tau-a: a tie counts for
 * neither); NAN below two. */
double rh_kendall_tau(const double *measured, const double *predicted, size_t count);
/* What is lost, as a share of the least measured, by whoever takes what was predicted least (the
 * first of equals); NAN of nothing. */
double rh_regret_frac(const double *measured, const double *predicted, size_t count);
