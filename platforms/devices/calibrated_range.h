#pragma once
/* Which shapes of kernels a device's constants were fitted to: beyond them a time is extrapolated.
 *
 * Of GEMMs the ranges of m, n and k, of attention that of keys. A device file or a profile has them with
 * their source, {"m": [1, 32768], "n": [32, 65536], "k": [32, 65536], "source": ..., "date": ...}; where none
 * are said, nothing is claimed. Knows nothing of what is done with them. */
#include "base/json.h"
#include "platforms/devices/kernel.h"

#define RH_CALIBRATED_RANGE_AXES 3

typedef enum {
    RH_CALIBRATED_RANGE_GEMM,
    RH_CALIBRATED_RANGE_ATTENTION,
    RH_CALIBRATED_RANGE_LAST
} RhShapesKind;

typedef struct {
    int64_t low[RH_CALIBRATED_RANGE_AXES],
        high[RH_CALIBRATED_RANGE_AXES]; /* by axis; axes that a kind lacks are 0 */
    const char *source, *date;          /* as of a fact; NULL: not known */
} RhCalibratedRange;

/* RH_CALIBRATED_RANGE_LAST: of no such kind. */
RhShapesKind rh_calibrated_range_kind(const RhKernel *kernel);
const char *rh_calibrated_range_kind_name(RhShapesKind kind); /* "gemm" */
const char *rh_calibrated_range_axis_name(RhShapesKind kind,
                                          int axis); /* "m"; NULL: the kind has no more */
int64_t rh_calibrated_range_at(RhShapesKind kind, const RhKernel *kernel, int axis);
/* The first axis on which a kernel of the kind lies outside; -1: on none, or no shapes are known. */
int rh_calibrated_range_beyond(const RhCalibratedRange *shapes, RhShapesKind kind,
                               const RhKernel *kernel);
/* Widens them so that they hold the kernel; the first one makes them. Source and date stay. */
void rh_calibrated_range_hold(RhCalibratedRange *shapes, RhShapesKind kind, const RhKernel *kernel);

/* Ranges alone; source and date are said elsewhere. Problems are collected in the document. */
void rh_calibrated_range_read_ranges(RhJson *doc, const RhJsonNode *node, RhShapesKind kind,
                                     RhCalibratedRange *out);
void rh_calibrated_range_write_ranges(RhJsonWriter *w, RhShapesKind kind,
                                      const RhCalibratedRange *shapes);
/* With these. */
void rh_calibrated_range_read(RhJson *doc, const RhJsonNode *node, RhShapesKind kind,
                              RhCalibratedRange *out);
void rh_calibrated_range_write(RhJsonWriter *w, const char *key, RhShapesKind kind,
                               const RhCalibratedRange *shapes);
