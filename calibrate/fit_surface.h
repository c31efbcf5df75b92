#pragma once
/* The factors of a surface (platforms/surface.h) from measured times.
 *
 * Minimises  sum w (log factor - log(measured / roofline))^2 + the squares of second differences
 * between neighbouring nodes, by alternating least squares: left factors given, right ones are
 * linear, and the other way round. w falls as 1 / |residual|, so that outliers do not pull; second
 * differences carry what is known to nodes without samples. */
#include "platforms/surface.h"

typedef struct {
    double at[3];
    double log_ratio; /* of the measured time to the roofline's */
    bool held_out;
} RhSurfacePoint;

/* Fits all points, or those that are not held out. From `start`, or anew. False: no solution. */
bool rh_fit_surface(RhSurface *surface, const RhSurfacePoint *points, size_t count, bool all,
                    bool start);
