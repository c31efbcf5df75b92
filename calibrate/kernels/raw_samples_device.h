#pragma once
/* Identifies files of raw samples: device, owner and clock. */
#include "calibrate/kernels/raw_samples.h"
#include "platforms/devices/device.h"

/* Checks that all files are of one GPU model, the device's. RH_ERROR_INPUT. `raws`: RhRaw. */
bool rh_kernels_files_check(const GPtrArray *raws, const RhDevice *device,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* May marketing mean this device? False when it is the name of another one of the catalogue. */
bool rh_kernels_files_may_be(const char *marketing, const RhDevice *device);
/* "a.raw.csv, b.raw.csv: NVIDIA H200, libraries, day"; caller frees. */
char *rh_kernels_files_source(const GPtrArray *raws);
/* Median SM clock over the most that the GPU may reach, of GEMMs that ran for seconds on end, or else
 * of long ones; 0: unknown. */
double rh_kernels_files_clock_frac(const GPtrArray *raws);
