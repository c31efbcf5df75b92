#pragma once
/* Devices as text: the list, one in full, and a file to begin one's own from. Caller frees. */
#include "platforms/devices/device.h"

/* A line each, with a head; `devices`: const RhDevice*. */
char *rh_devices_text(const GPtrArray *devices);
/* The data sheet and the constants; `sources`: where each number is from. */
char *rh_device_text(const RhDevice *device, bool sources);
/* A device file with the data sheet of this one, to be changed: what it leaves out is its
 * generation's. */
char *rh_device_template(const RhDevice *device);
