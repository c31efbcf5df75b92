#pragma once
/* The factors of a surface (platforms/devices/time_surface.h) from measured times.
 *
 * Minimises  sum w (log factor - log(measured / roofline))^2 + the squares of second differences
 * between neighbouring nodes, by alternating least squares: left factors given, right ones are
 * linear, and the other way round. w falls as 1 / |residual|, so that outliers do not pull; second
 * differences carry what is known to nodes without samples. */
#include "platforms/devices/time_surface.h"

typedef struct {
    double at[3];
    double log_ratio;                       /* of the measured time to the roofline's */
    float features[RH_FOREST_FEATURES_MAX]; /* for its trees: rh_surface_features() */
    bool held_out;
} RhSurfacePoint;

/* Returns the logarithm of the ratio of the surface's time, trees included, to the measured time.
 */
double rh_surface_point_off(const RhSurface *surface, const RhSurfacePoint *point);
/* Fits all points, or those that are not held out. From `start`, or anew. False: no solution. */
bool rh_fit_surface(RhSurface *surface, const RhSurfacePoint *points, size_t count, bool all,
                    bool start);
/* Trees of at most so many leaves on what the factors leave over; those before are freed. */
void rh_fit_surface_trees(RhSurface *surface, const RhSurfacePoint *points, size_t count, bool all,
                          int trees, int leaves);
