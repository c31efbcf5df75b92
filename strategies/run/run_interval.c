#include "strategies/run/run_interval.h"

#include <math.h>

double rh_interval_expected_s(const RhIntervalProblem *p, double work_s)
{
    return (p->mtbf_s + p->down_s) * exp(p->restart_s / p->mtbf_s) *
           expm1((work_s + p->write_s) / p->mtbf_s);
}

double rh_interval_goodput_frac(const RhIntervalProblem *p, double work_s)
{
    return work_s / rh_interval_expected_s(p, work_s);
}

double rh_interval_young_s(const RhIntervalProblem *p)
{
    return sqrt(2 * p->write_s * p->mtbf_s);
}

double rh_interval_daly_s(const RhIntervalProblem *p)
{
    return sqrt(2 * p->write_s * (p->mtbf_s + p->down_s + p->restart_s));
}

/* dE/dT = E/T at the best T: with x = T/mu and c = C/mu, (1 - x) e^(x + c) = 1, whose left side falls
 * from e^c > 1 at 0 to 0 at 1. */
double rh_interval_best_s(const RhIntervalProblem *p)
{
    double low = 0, high = 1, c = p->write_s / p->mtbf_s;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double x = (low + high) / 2;
        if (log1p(-x) + x + c > 0)
            low = x;
        else
            high = x;
    }
    return (low + high) / 2 * p->mtbf_s;
}

double rh_interval_lost_most_s(double mtbf_s, double goodput_frac)
{
    return mtbf_s * (1 / goodput_frac - 1);
}
