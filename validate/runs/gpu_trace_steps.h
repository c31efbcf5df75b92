#pragma once
/* Steps of a profiler's trace, and where the time of one goes. Private to validate/runs. */
#include "validate/runs/run_log.h"

/* A kernel or a copy on a GPU. */
typedef struct {
    double t_us, t_end_us;
    int32_t device; /* -1: not said */
    uint8_t part;   /* RhStepPart */
} RhGpuInterval;

typedef struct {
    int64_t number;
    double t_us, t_end_us;
    int32_t line;
    bool on_gpu; /* from its first kernel to its last; else from call to return on the CPU */
} RhGpuTraceStep;

typedef struct {
    GArray *spans; /* RhGpuInterval */
    GArray *steps; /* RhGpuTraceStep, in the order of the file */
} RhGpuTrace;

RhGpuTrace *rh_gpu_trace_new(void);
void rh_gpu_trace_free(RhGpuTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhGpuTrace, rh_gpu_trace_free)

/* Fills in the log's samples, one a step, and the parts of the median one, of the GPU that worked
 * longest. A step lasts until the next begins; the last of several that only the CPU tells is left
 * out, as its kernels end later than its call. Without steps the whole trace is one. RH_ERROR_INPUT:
 * no kernel is in it. */
bool rh_gpu_trace_settle(RhGpuTrace *trace, RhRunLog *log,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
