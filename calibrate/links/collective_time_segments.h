#pragma once
/* Where a collective's time turns: straight lines over ranges of its size, as protocols of a library
 * make them. Description alone: the platform's model has one line. */
#include <glib.h>
#include <stddef.h>

#define RH_SEGMENTS_MAX 3 /* LL, LL128, Simple */

/* seconds = fixed_s + s_per_byte * bytes, for sizes from first_bytes to last_bytes. */
typedef struct {
    double first_bytes, last_bytes;
    double fixed_s, fixed_error_s; /* half of a 95 % interval */
    double s_per_byte, s_per_byte_error;
    int points_count; /* sizes */
} RhSegment;

typedef struct {
    double bytes, seconds;
} RhSegmentPoint;

/* Fits as many segments as the points justify (Bayesian information criterion over squares of
 * relative errors), each of at least four sizes; none with fewer. Times of one size count as their
 * mean; beyond 256 sizes some are left out. Returns the number of segments; sorts the points. */
int rh_segments_find(RhSegmentPoint *points, size_t count, RhSegment segments[RH_SEGMENTS_MAX]);
