#pragma once
/* A processor as a device file, from raw samples of its kernels (rehearse-kernels-cpu). */
#include "calibrate/kernels/raw_samples.h"

/* The file's text, caller frees: the name of the processor, as many units as cores that a kernel
 * used, the best rate of a product as its peak, the best rate of a stream as its bandwidth, each
 * tagged as measured. RH_ERROR_INPUT without rows of both. */
char *rh_host_device_text(const RhRaw *raw, GError **error) G_GNUC_WARN_UNUSED_RESULT;
