#pragma once
/* Fits constants of a model to what was timed: kernels on a device (the model is
 * rh_kernel_time_s() itself) or anything else that can say how far off it is (steps_fit.c: whole
 * training steps). A fit and a rehearsal cannot differ.
 *
 * Loss: weighted mean of |log(model / measured)|. Sweeps over one constant at a time and a simplex
 * (GSL nmsimplex2), by turns, find the basin on a sample of the rows; Levenberg-Marquardt with
 * weights that fall as 1/|residual| (so that its squares sum up to absolute values) polishes on all
 * of them. Constants are searched through transforms that keep them between their bounds.
 *
 * Intervals: 95 %, from the covariance of the last step, with residuals of one cluster (rows of one
 * shape, which err together) summed before they are squared. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "platforms/devices/device.h"

typedef struct {
    char *key; /* path of `--set`, owned by whom made the list */
    RhQuantity kind;
    RhFact *fact;     /* in the device; its value is the start */
    double low, high; /* bounds; low above 0: searched by its logarithm */
    bool on_bound;    /* out: the data want it beyond */
} RhFitParam;

typedef struct {
    RhKernel kernel;
    double seconds, weight;
    uint32_t cluster;
} RhFitSample;

#define RH_FIT_PARAMS_MAX 32

/* A least-squares problem: samples, and a model that reads the params' facts. */
typedef struct {
    size_t samples_count;
    const double *weights;
    const uint32_t *clusters;
    double (*residual)(void *user, size_t sample); /* log(model / measured) */
    void (*refresh)(void *user);                   /* the facts have changed */
    void *user;
    int64_t t_end_us; /* monotonic; 0: none. When it comes, the fit fails */
    bool near;        /* the starts are near: no search for the basin */
    bool point_alone; /* no intervals */
} RhFitModel;

/* Solves the problem as rh_fit_solve, for any model. */
bool rh_fit_solve_model(const RhFitModel *model, RhFitParam *params, size_t params_count);

/* Sets value, low and high of every param's fact, and refreshes the device. Needs more clusters
 * than params. False when the solver fails, or at t_end_us of the monotonic clock (0: never), which
 * leaves the device as it was. */
bool rh_fit_solve(RhDevice *device, RhFitParam *params, size_t params_count,
                  const RhFitSample *samples, size_t samples_count, int64_t t_end_us);
