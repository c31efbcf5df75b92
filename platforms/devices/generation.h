#pragma once
/* What a GPU's data sheet does not say, taken from a device of its generation that was timed.
 *
 * A device file that names its generation needs the data sheet alone; whatever else it leaves out is
 * that of the generation's reference device, tagged `assumed`. */
#include "platforms/devices/device.h"

typedef struct {
    const char *name;      /* "hopper" */
    const char *reference; /* the device that stands for it */
    const char *platform;  /* whose node and network its devices have that say no other */
    const char *about;     /* why that device */
} RhGeneration;

/* Ends with a row whose name is NULL. */
extern const RhGeneration rh_generations[];
/* NULL for an unknown name. */
const RhGeneration *rh_generation_by_name(const char *name);
/* Makes the constants of `device` those of the reference, which names itself in their sources; the
 * data sheet stays empty. */
void rh_generation_fill(const RhGeneration *generation, const RhDevice *reference,
                        RhDevice *device);
