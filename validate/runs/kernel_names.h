#pragma once
/* Which part of a step a kernel of a profiler's trace belongs to, by its name and its category. */
#include "validate/runs/step_time_parts.h"

/* `category`: "kernel", "gpu_memcpy", "gpu_memset"; `collective`: what the trace says that a
 * communication kernel does, "" where it says nothing. */
RhStepPart rh_kernel_name_part(const char *name, const char *category, const char *collective);
