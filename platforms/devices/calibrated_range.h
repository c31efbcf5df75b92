#pragma once
/* Ranges of kernel shapes to which a device's constants were fitted; beyond them times are
 * extrapolated.
 *
 * GEMMs have ranges of m, n and k, attention one of keys. A device file or a profile states them
 * with their source, {"m": [1, 32768], "n": [32, 65536], "k": [32, 65536], "source": ..., "date":
 * ...}; without them nothing is claimed. */
#include "base/json/json.h"
#include "platforms/devices/kernel.h"

#define RH_CALIBRATED_RANGE_AXES 3

typedef enum {
    RH_CALIBRATED_RANGE_GEMM,
    RH_CALIBRATED_RANGE_ATTENTION,
    RH_CALIBRATED_RANGE_LAST
} RhCalibratedKind;

typedef struct {
    int64_t low[RH_CALIBRATED_RANGE_AXES],
        high[RH_CALIBRATED_RANGE_AXES]; /* by axis; 0 for axes that a kind lacks */
    const char *source, *date;          /* as in RhFact; NULL: unknown */
} RhCalibratedRange;

/* Returns the kind of a kernel; RH_CALIBRATED_RANGE_LAST for other kernels. */
RhCalibratedKind rh_calibrated_range_kind(const RhKernel *kernel);
const char *rh_calibrated_range_kind_name(RhCalibratedKind kind); /* "gemm" */
const char *rh_calibrated_range_axis_name(RhCalibratedKind kind,
                                          int axis); /* "m"; NULL: the kind has no more */
int64_t rh_calibrated_range_at(RhCalibratedKind kind, const RhKernel *kernel, int axis);
/* Returns the first axis on which a kernel lies outside; -1 for none, or without known ranges. */
int rh_calibrated_range_beyond(const RhCalibratedRange *shapes, RhCalibratedKind kind,
                               const RhKernel *kernel);
/* Widens the ranges to include a kernel; the first kernel initialises them. Source and date do not
 * change. */
void rh_calibrated_range_hold(RhCalibratedRange *shapes, RhCalibratedKind kind,
                              const RhKernel *kernel);

/* Reads only the ranges, without source and date. Problems are collected in the document. */
void rh_calibrated_range_read_ranges(RhJson *doc, const RhJsonNode *node, RhCalibratedKind kind,
                                     RhCalibratedRange *out);
void rh_calibrated_range_write_ranges(RhJsonWriter *w, RhCalibratedKind kind,
                                      const RhCalibratedRange *shapes);
/* Reads ranges with source and date. */
void rh_calibrated_range_read(RhJson *doc, const RhJsonNode *node, RhCalibratedKind kind,
                              RhCalibratedRange *out);
void rh_calibrated_range_write(RhJsonWriter *w, const char *key, RhCalibratedKind kind,
                               const RhCalibratedRange *shapes);
