#include "calibrate/fit/fit_gemm_correction.h"

#include <gsl/gsl_linalg.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

#include "accuracy/error_statistics.h"

#define ROWS_LEAST     200  /* with fewer, a grid fits noise */
#define GAIN_LEAST     0.1  /* fraction of the validation error that a table must gain */
#define LAMBDA         0.3  /* number of samples from which on a node relies on them */
#define RESIDUAL_LEAST 0.01 /* below, a residual counts as its square */
#define FACTOR_LEAST   0.25 /* smallest factor of a correction */
#define FACTOR_MOST    4.0
#define ROUNDS         8

enum { NODES = RH_CORRECTION_NODES };

typedef struct {
    RhCorrectionPlace place;
    double ratio; /* physical form over measured */
    bool apart;
} Point;

static GArray *points_of(const RhDevice *device, const GArray *rows)
{
    GArray *points = g_array_new(FALSE, FALSE, sizeof(Point));
    for (guint i = 0; i < rows->len; i++) {
        const RhFitRow *row = &g_array_index(rows, RhFitRow, i);
        const RhKernel *k = &row->sample.kernel;
        if (row->held_out || k->batch > 1)
            continue;
        Point point = {.ratio = rh_kernel_time_s(device, k) / row->sample.seconds,
                       /* other bits than those of the held-out rows */
                       .apart = (row->sample.cluster & 3) == 0};
        rh_gemm_correction_place(k->m, k->n, k->k, &point.place);
        g_array_append_val(points, point);
    }
    return points;
}

static double factor_at(const double factors[NODES], const RhCorrectionPlace *place)
{
    double factor = 0;
    for (int i = 0; i < 8; i++)
        factor += place->weight[i] * factors[place->node[i]];
    return factor;
}

/* --- fit --- */

static void add_point(const Point *point, double weight, gsl_matrix *a, gsl_vector *b)
{
    for (int i = 0; i < 8; i++) {
        double x = point->ratio * point->place.weight[i];
        size_t row = (size_t)point->place.node[i];
        if (x == 0)
            continue;
        *gsl_vector_ptr(b, row) += weight * x;
        for (int j = 0; j < 8; j++)
            *gsl_matrix_ptr(a, row, (size_t)point->place.node[j]) +=
                weight * x * point->ratio * point->place.weight[j];
    }
}

/* Solves one round of least squares; `a` keeps its Cholesky factor. */
static bool solve_round(const GArray *points, bool all, gsl_matrix *a, gsl_vector *b,
                        double factors[NODES])
{
    gsl_matrix_set_identity(a);
    gsl_matrix_scale(a, LAMBDA);
    gsl_vector_set_all(b, LAMBDA);
    for (guint i = 0; i < points->len; i++) {
        const Point *point = &g_array_index(points, Point, i);
        double off = fabs(factor_at(factors, &point->place) * point->ratio - 1);
        if (all || !point->apart)
            add_point(point, RESIDUAL_LEAST / fmax(off, RESIDUAL_LEAST), a, b);
    }
    if (gsl_linalg_cholesky_decomp1(a) != GSL_SUCCESS ||
        gsl_linalg_cholesky_svx(a, b) != GSL_SUCCESS)
        return false;
    for (size_t i = 0; i < NODES; i++)
        factors[i] = CLAMP(gsl_vector_get(b, i), FACTOR_LEAST, FACTOR_MOST);
    return true;
}

/* 95 % spread of a factor: the median over the nodes that have samples. */
static double spread_of(const GArray *points, gsl_matrix *cholesky, const double factors[NODES])
{
    double squares = 0, weights = 0, spreads[NODES];
    size_t count = 0;
    for (guint i = 0; i < points->len; i++) {
        const Point *point = &g_array_index(points, Point, i);
        double off = fabs(factor_at(factors, &point->place) * point->ratio - 1);
        double weight = RESIDUAL_LEAST / fmax(off, RESIDUAL_LEAST);
        squares += weight * off * off;
        weights += weight;
    }
    gsl_linalg_cholesky_invert(cholesky);
    for (size_t i = 0; i < NODES; i++) {
        double variance = gsl_matrix_get(cholesky, i, i);
        if (variance < 0.5 / LAMBDA) /* half of its value without samples */
            spreads[count++] = RH_Z95 * sqrt(variance * squares / weights);
    }
    gsl_sort(spreads, 1, count);
    return count ? gsl_stats_median_from_sorted_data(spreads, 1, count) : 0;
}

static bool solve(const GArray *points, bool all, double factors[NODES], double *spread_frac)
{
    gsl_matrix *a = gsl_matrix_alloc(NODES, NODES);
    gsl_vector *b = gsl_vector_alloc(NODES);
    bool solved = true;
    for (int i = 0; i < NODES; i++)
        factors[i] = 1;
    for (int round = 0; round < ROUNDS && solved; round++)
        solved = solve_round(points, all, a, b, factors);
    if (solved)
        *spread_frac = spread_of(points, a, factors);
    gsl_matrix_free(a);
    gsl_vector_free(b);
    return solved;
}

/* Mean |log| over the validation shapes. */
static double error_apart(const GArray *points, const double *factors)
{
    double sum = 0;
    int32_t count = 0;
    for (guint i = 0; i < points->len; i++) {
        const Point *point = &g_array_index(points, Point, i);
        if (!point->apart)
            continue;
        double factor = factors ? factor_at(factors, &point->place) : 1;
        sum += fabs(log(factor * point->ratio));
        count++;
    }
    return count ? sum / count : 0;
}

RhCorrectionTrial rh_fit_correction(RhDevice *device, const GArray *rows, RhDtype dtype,
                                    const char *source, const char *date)
{
    RhGemmCorrection c = {.dtype = dtype, .source = source, .date = date};
    g_autoptr(GArray) points = points_of(device, rows);
    RhCorrectionTrial trial = {.rows_count = (int32_t)points->len};
    g_return_val_if_fail(device->correction.dtype == RH_DTYPE_NONE, trial);
    if (points->len < ROWS_LEAST || !solve(points, false, c.factors, &c.spread_frac))
        return trial;
    trial.without_frac = error_apart(points, NULL);
    trial.with_frac = error_apart(points, c.factors);
    if (trial.with_frac > (1 - GAIN_LEAST) * trial.without_frac ||
        !solve(points, true, c.factors, &c.spread_frac))
        return trial;
    trial.kept = true;
    device->correction = c;
    rh_device_refresh(device);
    return trial;
}
