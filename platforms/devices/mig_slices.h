#pragma once
/* Multi-Instance GPU: the slices into which a device may be cut, and what an instance has of it. */
#include <stdint.h>

typedef struct {
    int32_t compute, memory; /* slices; 0: the device cannot be cut */
} RhMigSlices;

/* Returns the slices of a whole device ("a100-sxm-80"). */
RhMigSlices rh_mig_slices_of(const char *device);
/* Returns the slices of the largest instance of which `count` fit on the device; 0: none is that
 * small. */
RhMigSlices rh_mig_instance(const RhMigSlices *whole, int32_t count);
