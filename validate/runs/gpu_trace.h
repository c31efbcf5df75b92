#pragma once
/* Traces of PyTorch's profiler (Kineto: Chrome trace events, gzipped or not) as measured runs: the
 * times of steps, and where the time of the median step goes on the GPU. Read as a stream: of every
 * kernel some bytes are kept, of all else nothing. */
#include "validate/runs/run_log.h"

#define RH_GPU_TRACE_NAME "PyTorch profiler"

/* Does a file begin as such a trace? */
bool rh_gpu_trace_is(const char *path);
bool rh_gpu_trace_begins(const char *head);
/* RH_ERROR_INPUT with file:line:col, or where no kernel of a GPU is in it; RH_ERROR_IO. */
RhRunLog *rh_gpu_trace_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhRunLog *rh_gpu_trace_parse(const char *name, const void *bytes, gsize length,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
