#include "calibrate/links/collective_time_segments.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <math.h>
#include <stdlib.h>

#define POINTS_LEAST 4 /* per segment: two numbers and their spread */
#define POINTS_MOST  256
#define SQUARES_LEAST                                                                              \
    1e-6 /* mean of squares: times are printed to three digits, so no fit is more certain */

typedef struct {
    const RhSegmentPoint *points;
    size_t count;
} Curve;

static int by_bytes(const void *a, const void *b)
{
    const RhSegmentPoint *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

/* Merges points of one size; returns the number of points. */
static size_t merge_sizes(RhSegmentPoint *points, size_t count)
{
    size_t merged = 0;
    qsort(points, count, sizeof *points, by_bytes);
    for (size_t first = 0, end; first < count; first = end) {
        double total_s = 0;
        for (end = first; end < count && points[end].bytes == points[first].bytes; end++)
            total_s += points[end].seconds;
        points[merged++] = (RhSegmentPoint){points[first].bytes, total_s / (double)(end - first)};
    }
    size_t step = (merged + POINTS_MOST - 1) / POINTS_MOST, kept = 0;
    for (size_t i = 0; i < merged; i += MAX(step, 1))
        points[kept++] = points[i];
    return kept;
}

/* Fits a line to points [first, end); returns the sum of squares of relative errors. Neither part
 * is below 0. */
static double line_over(const Curve *c, size_t first, size_t end, RhSegment *out)
{
    double x[POINTS_MOST], y[POINTS_MOST], w[POINTS_MOST];
    size_t n = end - first;
    double a, b, aa, ab, bb, chisq, weights = 0, weighted = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = c->points[first + i].bytes;
        y[i] = c->points[first + i].seconds;
        w[i] = 1 / (y[i] * y[i]);
        weights += w[i];
        weighted += w[i] * y[i];
    }
    gsl_fit_wlinear(x, 1, w, 1, y, 1, n, &a, &b, &aa, &ab, &bb, &chisq);
    if (b < 0 || !isfinite(b)) {
        b = bb = 0;
        a = weighted / weights;
        aa = 1 / weights;
    } else if (a < 0) {
        a = aa = 0;
        gsl_fit_wmul(x, 1, w, 1, y, 1, n, &b, &bb, &chisq);
    }
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += pow((a + b * x[i]) / y[i] - 1, 2);
    double spread = sqrt(squares / fmax((double)n - 2, 1)),
           scale = gsl_cdf_tdist_Pinv(0.975, fmax((double)n - 2, 1)) * spread;
    *out = (RhSegment){x[0], x[n - 1], a, scale * sqrt(aa), b, scale * sqrt(bb), (int)n};
    return squares;
}

/* Bayesian information criterion: two numbers per segment, and a turning point between two. */
static double information(double squares, size_t points, int segments)
{
    double n = (double)points, numbers = 3.0 * segments - 1;
    return n * log(fmax(squares / n, SQUARES_LEAST)) + numbers * log(n);
}

/* Fits points [first, end) with `segments` lines by least squares, trying every turning point. */
static double best_over(const Curve *c, size_t first, int segments, RhSegment *out)
{
    if (segments == 1)
        return line_over(c, first, c->count, out);
    double best = HUGE_VAL;
    RhSegment rest[RH_SEGMENTS_MAX], line;
    for (size_t turn = first + POINTS_LEAST;
         turn + POINTS_LEAST * (size_t)(segments - 1) <= c->count; turn++) {
        double here = line_over(c, first, turn, &line);
        if (here >= best)
            break; /* a longer line has no smaller sum of squares */
        double squares = here + best_over(c, turn, segments - 1, rest);
        if (squares >= best)
            continue;
        best = squares;
        out[0] = line;
        for (int i = 1; i < segments; i++)
            out[i] = rest[i - 1];
    }
    return best;
}

int rh_segments_find(RhSegmentPoint *points, size_t count, RhSegment segments[RH_SEGMENTS_MAX])
{
    Curve c = {points, merge_sizes(points, count)};
    int found = 0;
    double least = HUGE_VAL;
    for (int tried = 1; tried <= RH_SEGMENTS_MAX; tried++) {
        RhSegment lines[RH_SEGMENTS_MAX];
        if (c.count < POINTS_LEAST * (size_t)tried)
            break;
        double squares = best_over(&c, 0, tried, lines);
        double cost = information(squares, c.count, tried);
        if (cost >= least)
            continue;
        least = cost;
        found = tried;
        for (int i = 0; i < tried; i++)
            segments[i] = lines[i];
    }
    return found;
}
