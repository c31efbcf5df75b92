#include "calibrate/fit/fit_surface.h"

#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#include "calibrate/fit/fit_forest.h"

#define RESIDUAL_LEAST 0.01 /* below, a residual counts as its square */
#define SMOOTH_RIGHT   0.3  /* weight of a second difference, in points */
#define SMOOTH_LEFT    0.01
#define RIDGE          1e-3 /* of a factor without points and neighbours */
#define ROUNDS_ANEW    8
#define ROUNDS_ON      3

typedef struct {
    RhSurfacePlace place;
    const RhSurfacePoint *point;
} Placed;

typedef struct {
    RhSurface *surface;
    Placed *placed;
    size_t count;
    gsl_matrix *a; /* lower half of a band: A(i, j) at [j][i - j] */
    gsl_vector *b;
} Fit;

static int left_count(const RhSurface *s)
{
    return s->axes[0].count * s->rank;
}

static int right_count(const RhSurface *s)
{
    return s->axes[1].count * s->axes[2].count * s->rank;
}

/* --- one side of the alternation --- */

/* The factors that a point's value is linear in, and their coefficients. */
typedef struct {
    int count, index[4 * RH_SURFACE_RANK_MAX];
    double by[4 * RH_SURFACE_RANK_MAX];
} Terms;

static void add_term(Terms *t, int index, double by)
{
    if (by == 0)
        return;
    t->index[t->count] = index;
    t->by[t->count++] = by;
}

static double left_at(const RhSurface *s, const RhSurfacePlace *p, int r)
{
    double first = s->left[p->left * s->rank + r];
    return p->beyond > 0 ? first + p->beyond * (s->left[(p->left + 1) * s->rank + r] - first)
                         : first;
}

static void terms_of_right(const RhSurface *s, const RhSurfacePlace *p, Terms *t)
{
    for (int corner = 0; corner < 4; corner++)
        for (int r = 0; p->weight[corner] > 0 && r < s->rank; r++)
            add_term(t, p->right[corner] * s->rank + r, p->weight[corner] * left_at(s, p, r));
}

static void terms_of_left(const RhSurface *s, const RhSurfacePlace *p, Terms *t)
{
    for (int r = 0; r < s->rank; r++) {
        double right = 0;
        for (int corner = 0; corner < 4; corner++)
            right += p->weight[corner] * s->right[p->right[corner] * s->rank + r];
        add_term(t, p->left * s->rank + r, right * (1 - p->beyond));
        add_term(t, (p->left + 1) * s->rank + r, right * p->beyond);
    }
}

static void add_point(Fit *f, const Terms *t, double weight, double value)
{
    for (int i = 0; i < t->count; i++) {
        int first = t->index[i];
        double *column = gsl_matrix_ptr(f->a, (size_t)first, 0), by = weight * t->by[i];
        *gsl_vector_ptr(f->b, (size_t)first) += by * value;
        for (int j = 0; j < t->count; j++)
            if (t->index[j] >= first)
                column[t->index[j] - first] += by * t->by[j];
    }
}

/* Adds (first - 2 middle + last)^2 for all ranks. */
static void add_bend(Fit *f, int first, int middle, int last, double weight)
{
    const double by[3] = {1, -2, 1};
    const int node[3] = {first, middle, last};
    int rank = f->surface->rank;
    for (int r = 0; r < rank; r++)
        for (int i = 0; i < 3; i++)
            for (int j = i; j < 3; j++)
                *gsl_matrix_ptr(f->a, (size_t)(node[i] * rank + r),
                                (size_t)((node[j] - node[i]) * rank)) += weight * by[i] * by[j];
}

static void smooth_right(Fit *f)
{
    int rows = f->surface->axes[1].count, columns = f->surface->axes[2].count;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            int at = i * columns + j;
            if (i > 0 && i + 1 < rows)
                add_bend(f, at - columns, at, at + columns, SMOOTH_RIGHT);
            if (j > 0 && j + 1 < columns)
                add_bend(f, at - 1, at, at + 1, SMOOTH_RIGHT);
        }
}

static void smooth_left(Fit *f)
{
    for (int i = 1; i + 1 < f->surface->axes[0].count; i++)
        add_bend(f, i - 1, i, i + 1, SMOOTH_LEFT);
}

static bool solve_side(Fit *f, bool right)
{
    RhSurface *s = f->surface;
    int size = right ? right_count(s) : left_count(s);
    int reach = 2 * s->rank * (right ? s->axes[2].count : 1); /* of a second difference */
    f->a = gsl_matrix_calloc((size_t)size, (size_t)MIN(reach + 1, size));
    f->b = gsl_vector_calloc((size_t)size);
    for (int i = 0; i < size; i++)
        *gsl_matrix_ptr(f->a, (size_t)i, 0) = RIDGE;
    (right ? smooth_right : smooth_left)(f);
    for (size_t i = 0; i < f->count; i++) {
        const Placed *p = &f->placed[i];
        Terms t = {0};
        double off = fabs(rh_surface_log_factor(s, &p->place) - p->point->log_ratio);
        (right ? terms_of_right : terms_of_left)(s, &p->place, &t);
        add_point(f, &t, RESIDUAL_LEAST / fmax(off, RESIDUAL_LEAST), p->point->log_ratio);
    }
    bool solved = gsl_linalg_cholesky_band_decomp(f->a) == GSL_SUCCESS &&
                  gsl_linalg_cholesky_band_svx(f->a, f->b) == GSL_SUCCESS;
    double *out = right ? s->right : s->left;
    for (int i = 0; solved && i < size; i++)
        out[i] = gsl_vector_get(f->b, (size_t)i);
    gsl_matrix_free(f->a);
    gsl_vector_free(f->b);
    return solved;
}

/* --- whole fit --- */

/* Starts with cosines along the axis, which differ as much as functions with few bends can. */
static void begin_factors(RhSurface *s)
{
    int nodes = s->axes[0].count;
    for (int i = 0; i < nodes; i++)
        for (int r = 0; r < s->rank; r++)
            s->left[i * s->rank + r] = cos(G_PI * r * i / MAX(nodes - 1, 1));
    for (int i = 0; i < right_count(s); i++)
        s->right[i] = 0;
}

/* Scales a rank's left factors to a maximum of 1, so that few digits suffice. */
static void scale_factors(RhSurface *s)
{
    for (int r = 0; r < s->rank; r++) {
        double most = 0;
        for (int i = r; i < left_count(s); i += s->rank)
            most = fmax(most, fabs(s->left[i]));
        if (most <= 0)
            continue;
        for (int i = r; i < left_count(s); i += s->rank)
            s->left[i] /= most;
        for (int i = r; i < right_count(s); i += s->rank)
            s->right[i] *= most;
    }
}

bool rh_fit_surface(RhSurface *surface, const RhSurfacePoint *points, size_t count, bool all,
                    bool start)
{
    Fit f = {.surface = surface, .placed = g_new(Placed, MAX(count, 1))};
    bool solved = true;
    for (size_t i = 0; i < count; i++) {
        if (points[i].held_out && !all)
            continue;
        f.placed[f.count].point = &points[i];
        rh_surface_place(surface, points[i].at, &f.placed[f.count++].place);
    }
    if (!start)
        begin_factors(surface);
    for (int i = 0; solved && i < (start ? ROUNDS_ON : ROUNDS_ANEW); i++)
        solved = solve_side(&f, true) && solve_side(&f, false);
    solved = solved && solve_side(&f, true);
    scale_factors(surface);
    g_free(f.placed);
    return solved;
}

double rh_surface_point_off(const RhSurface *surface, const RhSurfacePoint *point)
{
    RhSurfacePlace place;
    rh_surface_place(surface, point->at, &place);
    double sum = rh_surface_log_factor(surface, &place) - point->log_ratio;
    return surface->trees ? sum + rh_forest_at(surface->trees, point->features) : sum;
}

void rh_fit_surface_trees(RhSurface *surface, const RhSurfacePoint *points, size_t count, bool all,
                          int trees, int leaves)
{
    size_t features = g_strv_length((char **)(void *)rh_surface_features_names(surface->kind));
    g_autofree float *x = g_new(float, count *MAX(features, 1));
    g_autofree double *value = g_new(double, count);
    RhForestPoints left = {x, value, 0, (int)features, trees, leaves};
    g_clear_pointer(&surface->trees, rh_forest_free);
    for (size_t i = 0; i < count; i++) {
        if (points[i].held_out && !all)
            continue;
        memcpy(x + left.count * features, points[i].features, features * sizeof *x);
        value[left.count++] = -rh_surface_point_off(surface, &points[i]);
    }
    surface->trees = rh_fit_forest(&left);
}
