#include "accuracy/error_statistics.h"

#include <glib.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

RhErrorStatistics rh_error_statistics(const double *measured, const double *predicted, size_t count)
{
    RhErrorStatistics f = {.count = (int32_t)count, .worst = -1};
    g_autofree double *errors = g_new(double, count + 1);
    for (size_t i = 0; i < count; i++) {
        double error = (predicted[i] - measured[i]) / measured[i];
        errors[i] = fabs(error);
        f.bias_frac += error / (double)count;
        if (errors[i] >= f.worst_abs_error_frac) {
            f.worst_abs_error_frac = errors[i];
            f.worst = (int32_t)i;
        }
    }
    if (count == 0)
        return f;
    f.mape_frac = gsl_stats_mean(errors, 1, count);
    gsl_sort(errors, 1, count);
    f.median_abs_error_frac = gsl_stats_median_from_sorted_data(errors, 1, count);
    f.p90_abs_error_frac = gsl_stats_quantile_from_sorted_data(errors, 1, count, 0.9);
    return f;
}

double rh_kendall_tau(const double *measured, const double *predicted, size_t count)
{
    double agree = 0, pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++, pairs++) {
            double product = (measured[i] - measured[k]) * (predicted[i] - predicted[k]);
            agree += product > 0 ? 1 : product < 0 ? -1 : 0;
        }
    return pairs > 0 ? agree / pairs : (double)NAN;
}

double rh_regret_frac(const double *measured, const double *predicted, size_t count)
{
    size_t pick = 0;
    double least = count > 0 ? measured[0] : (double)NAN;
    for (size_t i = 1; i < count; i++) {
        if (predicted[i] < predicted[pick])
            pick = i;
        least = fmin(least, measured[i]);
    }
    return count > 0 ? measured[pick] / least - 1 : (double)NAN;
}
