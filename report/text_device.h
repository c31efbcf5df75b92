#pragma once
/* Formats devices as text: the list, one in full, and a template of a device file. Caller frees. */
#include "platforms/devices/device.h"

/* Formats a line per device under a header; `devices`: const RhDevice*. */
char *rh_devices_text(const GPtrArray *devices);
/* Formats the data sheet and the constants; `sources` adds each number's source. */
char *rh_device_text(const RhDevice *device, bool sources);
/* Formats a device file with this device's data sheet, to be edited; all else comes from its
 * generation. */
char *rh_device_template(const RhDevice *device);
