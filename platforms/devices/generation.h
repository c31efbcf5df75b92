#pragma once
/* Constants that a GPU's data sheet lacks, taken from a calibrated device of its generation.
 *
 * A device file that names its generation needs only the data sheet; all else that it omits is that
 * of the generation's reference device, tagged `assumed`. */
#include "platforms/devices/device.h"

typedef struct {
    const char *name;      /* "hopper" */
    const char *reference; /* its reference device */
    const char *platform;  /* default node and network of its devices */
    const char *about;     /* reason for the choice of the device */
    double few_rows_frac;  /* RhDeviceCurves.gemm_few_rows_frac of its devices without a table */
    const char *few_rows_source;
    bool any_layout;     /* its matrix units read fp8 in any layout, not only along the sum */
    bool skips_zeros;    /* ... and skip two of four weights that are zeros (2:4 sparsity) */
    int32_t mps_clients; /* processes under one server of NVIDIA's MPS, at most; 0: it has none */
    bool one_process;    /* a device belongs to the one process that opens it */
} RhGeneration;

/* Ends with a row whose name is NULL. */
extern const RhGeneration rh_generations[];
/* Returns the row of a name; NULL for an unknown one. */
const RhGeneration *rh_generation_by_name(const char *name);
/* Copies the constants of the reference to `device`, with the reference's name in their sources;
 * the data sheet stays empty. */
void rh_generation_fill(const RhGeneration *generation, const RhDevice *reference,
                        RhDevice *device);
