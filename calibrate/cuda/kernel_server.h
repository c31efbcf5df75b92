#pragma once
/* Performs kernels of a list on demand, for a program that has more to do than kernels: what comes
 * and goes is in kernel_server_protocol.h. */
#include "calibrate/cuda/gpu_backend.h"

RkExit rk_serve(RkGpu *gpu, const RkList *list, FILE *in, FILE *out);
