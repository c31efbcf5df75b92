#include "sim/engine/jitter.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

/* E[max] = integral of x d(F(x)^n): the trapezoid over quantiles is exact to 1e-4 with these
 * points, far below what the correction can claim. */
double rh_jitter_expected_max(int32_t n)
{
    if (n <= 1)
        return 0;
    double sum = 0, step = 1e-3;
    for (double x = -8; x < 8; x += step) /* midpoint rule on n F^(n-1) f x */
    {
        double middle = x + step / 2;
        sum += middle * step * n * pow(gsl_cdf_ugaussian_P(middle), n - 1) *
               exp(-middle * middle / 2) / sqrt(2 * G_PI);
    }
    return sum;
}

typedef struct {
    double sum_s, squares_s2;
    int32_t first;
} Stretch;

/* Kernels since the last synchronisation take the expected largest of n sums longer. */
static void close_stretch(const RhProgram *p, const RhRoleTable *role, double *scale,
                          Stretch *stretch, int32_t end, double deviation)
{
    double factor =
        stretch->sum_s > 0 ? 1 + deviation * sqrt(stretch->squares_s2) / stretch->sum_s : 1;
    for (int32_t i = stretch->first; i < end; i++)
        if (rh_program_task(p, role->tasks_first + i)->kind == RH_TASK_KERNEL)
            scale[i] = factor;
    *stretch = (Stretch){.first = end};
}

static int32_t synchronised(const RhProgram *p, const RhTask *task)
{
    if (task->kind == RH_TASK_COLLECTIVE)
        return rh_program_group(p, task->group)->size;
    return 1;
}

static void scale_role(const RhProgram *p, const RhRoleTable *role, double *scale,
                       double jitter_frac, double *expected)
{
    Stretch stretch = {0};
    for (int32_t i = 0; i < role->tasks_count; i++) {
        const RhTask *task = rh_program_task(p, role->tasks_first + i);
        scale[i] = 1;
        if (task->kind == RH_TASK_KERNEL) {
            stretch.sum_s += role->duration_s[i];
            stretch.squares_s2 += role->duration_s[i] * role->duration_s[i];
        }
        int32_t n = synchronised(p, task);
        if (n <= 1)
            continue;
        if (expected[n] < 0)
            expected[n] = rh_jitter_expected_max(n);
        close_stretch(p, role, scale, &stretch, i, jitter_frac * expected[n]);
    }
}

double **rh_jitter_scale_new(const RhProgram *p, const RhRoleTable *roles, double jitter_frac)
{
    g_autofree double *expected = g_new(double, p->ranks_count + 1);
    for (int32_t n = 0; n <= p->ranks_count; n++)
        expected[n] = -1;
    double **scale = g_new0(double *, p->roles->len + 1);
    for (uint32_t r = 0; r < p->roles->len; r++) {
        scale[r] = g_new0(double, roles[r].tasks_count + 1);
        scale_role(p, &roles[r], scale[r], jitter_frac, expected);
    }
    return scale;
}

void rh_jitter_scale_free(double **scale, int32_t roles_count)
{
    for (int32_t r = 0; scale && r < roles_count; r++)
        g_free(scale[r]);
    g_free(scale);
}
