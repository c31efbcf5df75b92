#pragma once
/* Error statistics of pairs (measured, predicted), both positive.
 *
 * An error is (predicted - measured) / measured. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* 97.5 % quantile of the normal distribution: a 95 % interval reaches this many standard errors to
 * either side. */
#define RH_Z95 1.959963984540054

typedef struct {
    int32_t count;
    double median_abs_error_frac, mape_frac, p90_abs_error_frac, worst_abs_error_frac, bias_frac;
    int32_t worst; /* index of the worst pair; -1: none */
} RhErrorStatistics;

/* Returns a fraction in percent, rounded to a tenth for printing, without -0.0. */
static inline double rh_percent_tenths(double frac)
{
    return round(1e3 * frac) / 10 + 0.0;
}

/* Computes the statistics; for no pairs all are 0 and `worst` is -1. The 90th percentile is
 * interpolated between the two nearest errors. */
RhErrorStatistics rh_error_statistics(const double *measured, const double *predicted,
                                      size_t count);
/* Computes Kendall's tau-a: concordant less discordant pairs over all pairs (ties count as
 * neither); NAN below two. */
double rh_kendall_tau(const double *measured, const double *predicted, size_t count);
/* Returns the regret as a fraction of the least measured value: the loss of choosing the first case
 * of least prediction; NAN for no cases. */
double rh_regret_frac(const double *measured, const double *predicted, size_t count);
