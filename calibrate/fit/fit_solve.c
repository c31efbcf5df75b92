#include "calibrate/fit/fit_solve.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_multimin.h>
#include <math.h>

#define SIMPLEX_ROWS   4000 /* a sample is enough to find the basin */
#define SIMPLEX_STARTS 2
#define SWEEPS         4
#define SWEEP_STEPS    24  /* values tried of each constant */
#define SIMPLEX_STEPS  120 /* per constant */
#define POLISH_ROUNDS  6
#define POLISH_STEPS   15
#define RESIDUAL_LEAST 0.01  /* below, a residual counts as its square: 1 % is noise */
#define EDGE           0.002 /* of y's logistic, cut off at either end so that bounds are reached */
#define PROFILE_STEPS  200

typedef struct {
    const RhFitModel *model;
    RhFitParam *params;
    size_t params_count;
    size_t samples_count, stride;
    int64_t t_end_us; /* 0: none */
} Problem;

static bool is_late(const Problem *problem)
{
    return problem->t_end_us && g_get_monotonic_time() > problem->t_end_us;
}

/* --- transforms: a constant is a fraction t in (0, 1) between its bounds, t a logistic of y --- */

static double value_at(const RhFitParam *p, double t)
{
    return p->low > 0 ? p->low * pow(p->high / p->low, t) : p->low + t * (p->high - p->low);
}

static double place_of(const RhFitParam *p, double value)
{
    return p->low > 0 ? log(value / p->low) / log(p->high / p->low)
                      : (value - p->low) / (p->high - p->low);
}

static double place_at(double y)
{
    double t = 1 / (1 + exp(-y));
    return CLAMP((t - EDGE) / (1 - 2 * EDGE), 0, 1);
}

static double inverse_of(double t)
{
    double cut = EDGE + t * (1 - 2 * EDGE);
    return log(cut / (1 - cut));
}

static void set_values(const Problem *problem, const gsl_vector *y)
{
    for (size_t i = 0; i < problem->params_count; i++) {
        const RhFitParam *p = &problem->params[i];
        p->fact->value = value_at(p, place_at(gsl_vector_get(y, i)));
    }
    problem->model->refresh(problem->model->user);
}

/* Starting values, away from the bounds, where derivatives vanish. */
static void get_values(const Problem *problem, gsl_vector *y)
{
    for (size_t i = 0; i < problem->params_count; i++) {
        double t = place_of(&problem->params[i], problem->params[i].fact->value);
        t = isfinite(t) ? CLAMP(t, 0.03, 0.97) : 0.03;
        gsl_vector_set(y, i, inverse_of(t));
    }
}

static double residual(const Problem *problem, size_t i)
{
    return problem->model->residual(problem->model->user, i);
}

static double weight(const Problem *problem, size_t i)
{
    return problem->model->weights[i];
}

/* --- simplex --- */

static double loss(const gsl_vector *y, void *user)
{
    const Problem *problem = user;
    double sum = 0, weights = 0;
    set_values(problem, y);
    for (size_t i = 0; i < problem->samples_count; i += problem->stride) {
        sum += weight(problem, i) * fabs(residual(problem, i));
        weights += weight(problem, i);
    }
    return sum / weights;
}

/* Sets each constant in turn to the best of values from bound to bound: past minima that a simplex
 * does not leave, as where a tile is so slow that no row would choose it. */
static bool sweep_constants(Problem *problem, gsl_vector *y)
{
    double before = loss(y, problem), least = before;
    for (size_t i = 0; i < problem->params_count; i++) {
        double best = gsl_vector_get(y, i);
        for (int step = 0; step <= SWEEP_STEPS && !is_late(problem); step++) {
            double t = CLAMP((double)step / SWEEP_STEPS, 0.01, 0.99);
            gsl_vector_set(y, i, inverse_of(t));
            double found = loss(y, problem);
            if (found < least) {
                least = found;
                best = inverse_of(t);
            }
        }
        gsl_vector_set(y, i, best);
    }
    return least < before;
}

static void simplex(Problem *problem, gsl_vector *y)
{
    size_t p = problem->params_count;
    gsl_multimin_function function = {.f = loss, .n = p, .params = problem};
    gsl_multimin_fminimizer *work =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, p);
    gsl_vector *size = gsl_vector_alloc(p);
    for (int start = 0; start < SIMPLEX_STARTS; start++) {
        gsl_vector_set_all(size, start == 1 ? -0.3 : 0.5);
        if (gsl_multimin_fminimizer_set(work, &function, y, size) != GSL_SUCCESS)
            break;
        for (size_t i = 0; i < SIMPLEX_STEPS * p; i++)
            if (is_late(problem) || gsl_multimin_fminimizer_iterate(work) != GSL_SUCCESS ||
                gsl_multimin_fminimizer_size(work) < 1e-4)
                break;
        gsl_vector_memcpy(y, work->x);
    }
    gsl_vector_free(size);
    gsl_multimin_fminimizer_free(work);
}

static void find_basin(Problem *problem, gsl_vector *y)
{
    problem->stride = 1 + problem->samples_count / SIMPLEX_ROWS;
    for (int round = 0; round < SWEEPS && sweep_constants(problem, y); round++)
        simplex(problem, y);
    problem->stride = 1;
}

/* --- polish --- */

static int residuals(const gsl_vector *y, void *user, gsl_vector *f)
{
    const Problem *problem = user;
    if (is_late(problem))
        return GSL_EBADFUNC;
    set_values(problem, y);
    for (size_t i = 0; i < problem->samples_count; i++)
        gsl_vector_set(f, i, residual(problem, i));
    return GSL_SUCCESS;
}

/* Weights with which squares of residuals at `y` become absolute values. */
static void reweigh(const Problem *problem, const gsl_vector *y, gsl_vector *weights)
{
    set_values(problem, y);
    for (size_t i = 0; i < problem->samples_count; i++)
        gsl_vector_set(weights, i,
                       weight(problem, i) / fmax(fabs(residual(problem, i)), RESIDUAL_LEAST));
}

/* Least squares in rounds; keeps the best round in `y`. */
static bool polish(Problem *problem, gsl_vector *y, gsl_multifit_nlinear_workspace *work)
{
    gsl_multifit_nlinear_fdf fdf = {
        .f = residuals, .n = problem->samples_count, .p = problem->params_count, .params = problem};
    gsl_vector *weights = gsl_vector_alloc(problem->samples_count);
    double least = loss(y, problem);
    int info = 0, status = GSL_SUCCESS;
    for (int round = 0; round < POLISH_ROUNDS && !is_late(problem); round++) {
        reweigh(problem, y, weights);
        status = gsl_multifit_nlinear_winit(y, weights, &fdf, work);
        if (status != GSL_SUCCESS)
            break;
        gsl_multifit_nlinear_driver(POLISH_STEPS, 1e-7, 1e-7, 1e-7, NULL, NULL, &info, work);
        double found = loss(work->x, problem);
        if (!(found < least))
            break;
        bool settled = found > least * (1 - 1e-4);
        least = found;
        gsl_vector_memcpy(y, work->x);
        if (settled)
            break;
    }
    /* the Jacobian at the best, for the intervals */
    reweigh(problem, y, weights);
    status = status ? status : gsl_multifit_nlinear_winit(y, weights, &fdf, work);
    gsl_vector_free(weights);
    return status == GSL_SUCCESS && isfinite(least) && !is_late(problem);
}

/* --- intervals --- */

static int by_cluster(gconstpointer a, gconstpointer b, gpointer user)
{
    const uint32_t *clusters = user;
    uint32_t x = clusters[*(const size_t *)a], y = clusters[*(const size_t *)b];
    return x < y ? -1 : x > y;
}

/* Sum over clusters of (J^T r)(J^T r)^T; returns the number of clusters. */
static size_t scores(const Problem *problem, const gsl_matrix *jacobian, const gsl_vector *f,
                     gsl_matrix *sum)
{
    size_t n = problem->samples_count, clusters = 0;
    const uint32_t *cluster = problem->model->clusters;
    g_autofree size_t *order = g_new(size_t, n);
    gsl_vector *score = gsl_vector_alloc(problem->params_count);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    g_qsort_with_data(order, (gint)n, sizeof *order, by_cluster, (void *)cluster);
    gsl_matrix_set_zero(sum);
    for (size_t first = 0, i = 0; i < n; first = i, clusters++) {
        gsl_vector_set_zero(score);
        for (; i < n && cluster[order[i]] == cluster[order[first]]; i++) {
            gsl_vector_const_view row = gsl_matrix_const_row(jacobian, order[i]);
            gsl_blas_daxpy(gsl_vector_get(f, order[i]), &row.vector, score);
        }
        gsl_blas_dsyr(CblasLower, 1, score, sum);
    }
    gsl_vector_free(score);
    return clusters;
}

/* Spreads in y: roots of the diagonal of (J^T J)^-1 S (J^T J)^-1. A constant that nothing depends
 * on here, at a bound or chosen by no row, is held by a small ridge and has no spread: 0. */
static size_t spreads(const Problem *problem, const gsl_matrix *jacobian, const gsl_vector *f,
                      double *spread)
{
    size_t p = problem->params_count;
    gsl_matrix *bread = gsl_matrix_alloc(p, p), *meat = gsl_matrix_alloc(p, p),
               *half = gsl_matrix_alloc(p, p), *whole = gsl_matrix_alloc(p, p);
    size_t clusters = scores(problem, jacobian, f, meat);
    double ridge = 0;
    gsl_blas_dgemm(CblasTrans, CblasNoTrans, 1, jacobian, jacobian, 0, bread);
    for (size_t i = 0; i < p; i++)
        ridge = fmax(ridge, 1e-9 * gsl_matrix_get(bread, i, i));
    for (size_t i = 0; i < p; i++) {
        spread[i] = gsl_matrix_get(bread, i, i) > ridge ? 1 : 0;
        gsl_matrix_set(bread, i, i, gsl_matrix_get(bread, i, i) + ridge);
    }
    bool inverted = gsl_linalg_cholesky_decomp1(bread) == GSL_SUCCESS &&
                    gsl_linalg_cholesky_invert(bread) == GSL_SUCCESS;
    gsl_blas_dsymm(CblasLeft, CblasLower, 1, meat, bread, 0, half);
    gsl_blas_dgemm(CblasNoTrans, CblasNoTrans, 1, bread, half, 0, whole);
    for (size_t i = 0; i < p; i++)
        spread[i] *= inverted ? sqrt(fmax(gsl_matrix_get(whole, i, i), 0)) : 0;
    gsl_matrix_free(bread);
    gsl_matrix_free(meat);
    gsl_matrix_free(half);
    gsl_matrix_free(whole);
    return clusters;
}

/* Distance that one constant may move, with the others fixed, until the loss rises significantly:
 * for Laplace errors twice clusters x log(loss / least) exceeds 3.84, as in a likelihood-ratio
 * test. */
static double profile_distance(const Problem *problem, gsl_vector *y, size_t which, double most,
                               double step)
{
    double at = gsl_vector_get(y, which), t = place_at(at), far = t;
    for (double next = t + step; next > -step / 2 && next < 1 + step / 2; next += step) {
        gsl_vector_set(y, which, inverse_of(CLAMP(next, 0, 1)));
        if (is_late(problem) || loss(y, (void *)problem) > most)
            break;
        far = CLAMP(next, 0, 1);
    }
    gsl_vector_set(y, which, at);
    return far;
}

static void profile_interval(const Problem *problem, gsl_vector *y, size_t which, size_t clusters)
{
    RhFitParam *p = &problem->params[which];
    double least = loss(y, (void *)problem), most = least * exp(1.92 / (double)clusters);
    /* The end of the interval lies beyond the last step that is allowed. */
    double step = 1.0 / PROFILE_STEPS,
           low = profile_distance(problem, y, which, most, -step) - step,
           high = profile_distance(problem, y, which, most, step) + step;
    p->fact->low = value_at(p, CLAMP(low, 0, 1));
    p->fact->high = value_at(p, CLAMP(high, 0, 1));
    set_values(problem, y);
}

static void set_intervals(const Problem *problem, gsl_vector *y,
                          const gsl_multifit_nlinear_workspace *work)
{
    double spread[RH_FIT_PARAMS_MAX];
    size_t p = problem->params_count;
    size_t clusters = spreads(problem, work->J, work->f, spread);
    double free_count = clusters > p + 1 ? (double)(clusters - p) : 1;
    double scale = gsl_cdf_tdist_Pinv(0.975, free_count) * sqrt((double)clusters / free_count);
    for (size_t i = 0; i < p; i++) {
        RhFitParam *param = &problem->params[i];
        double at = gsl_vector_get(y, i), far = scale * spread[i], t = place_at(at);
        param->on_bound = t == 0 || t == 1;
        param->fact->low = value_at(param, place_at(at - far));
        param->fact->high = value_at(param, place_at(at + far));
        if (spread[i] == 0)
            profile_interval(problem, y, i, clusters);
    }
}

bool rh_fit_solve_model(const RhFitModel *model, RhFitParam *params, size_t params_count)
{
    size_t samples_count = model->samples_count;
    g_return_val_if_fail(params_count > 0 && params_count <= RH_FIT_PARAMS_MAX, false);
    g_return_val_if_fail(samples_count > params_count, false);
    Problem problem = {model, params, params_count, samples_count, 1, model->t_end_us};
    RhFact before[RH_FIT_PARAMS_MAX];
    for (size_t i = 0; i < params_count; i++)
        before[i] = *params[i].fact;
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    how.h_df = 1e-4; /* the model has kinks, and such steps see past their rounding */
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, samples_count, params_count);
    gsl_vector *y = gsl_vector_alloc(params_count);
    get_values(&problem, y);
    if (!model->near)
        find_basin(&problem, y);
    bool solved = polish(&problem, y, work);
    if (solved) {
        set_values(&problem, y);
        if (!model->point_alone)
            set_intervals(&problem, y, work);
    }
    for (size_t i = 0; i < params_count && !solved; i++)
        *params[i].fact = before[i];
    model->refresh(model->user);
    gsl_vector_free(y);
    gsl_multifit_nlinear_free(work);
    return solved;
}

/* --- kernels on a device --- */

typedef struct {
    RhDevice *device;
    const RhFitSample *samples;
} Kernels;

static double kernel_residual(void *user, size_t i)
{
    const Kernels *k = user;
    return log(rh_kernel_time_s(k->device, &k->samples[i].kernel) / k->samples[i].seconds);
}

static void kernels_refresh(void *user)
{
    rh_device_refresh(((Kernels *)user)->device);
}

bool rh_fit_solve(RhDevice *device, RhFitParam *params, size_t params_count,
                  const RhFitSample *samples, size_t samples_count, int64_t t_end_us)
{
    Kernels kernels = {device, samples};
    g_autofree double *weights = g_new(double, samples_count + 1);
    g_autofree uint32_t *clusters = g_new(uint32_t, samples_count + 1);
    for (size_t i = 0; i < samples_count; i++) {
        weights[i] = samples[i].weight;
        clusters[i] = samples[i].cluster;
    }
    RhFitModel model = {.samples_count = samples_count,
                        .weights = weights,
                        .clusters = clusters,
                        .residual = kernel_residual,
                        .refresh = kernels_refresh,
                        .user = &kernels,
                        .t_end_us = t_end_us};
    return rh_fit_solve_model(&model, params, params_count);
}
