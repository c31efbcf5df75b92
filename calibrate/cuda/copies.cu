/* Copies on the device, and between it and the host: pinned, pageable, both ways at once. */
#include <stdlib.h>
#include <string.h>

#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/timing.h"

typedef struct {
    void *out, *in; /* on the host */
    bool pinned;
    cudaStream_t beside;
    cudaEvent_t fork, join;
} Plan;

static void one_buffer(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {RH_DTYPE_BF16, s->n / 2, RK_FILL_NORMAL, 1, 0, false});
}

static void two_buffers(const RkSample *s, RkCase *c)
{
    one_buffer(s, c);
    rk_case_operand(c, {RH_DTYPE_BF16, s->n / 2, RK_FILL_ZERO, 0, 0, false});
}

static void free_plan(Plan *plan)
{
    if (plan->pinned) {
        cudaFreeHost(plan->out);
        cudaFreeHost(plan->in);
    } else {
        free(plan->out);
        free(plan->in);
    }
    if (plan->fork != NULL)
        cudaEventDestroy(plan->fork);
    if (plan->join != NULL)
        cudaEventDestroy(plan->join);
    if (plan->beside != NULL)
        cudaStreamDestroy(plan->beside);
    free(plan);
}

static void release(RkCase *c)
{
    free_plan((Plan *)c->plan);
}

/* Allocates host memory and touches its pages: the first write to a page is not part of a copy. */
static bool host_memory(Plan *plan, size_t bytes, RkError *why)
{
    if (plan->pinned) {
        if (!rk_cuda(cudaHostAlloc(&plan->out, bytes, cudaHostAllocDefault), "pinning memory",
                     why) ||
            !rk_cuda(cudaHostAlloc(&plan->in, bytes, cudaHostAllocDefault), "pinning memory", why))
            return false;
    } else {
        plan->out = malloc(bytes);
        plan->in = malloc(bytes);
        if (plan->out == NULL || plan->in == NULL)
            return rk_fail(why, "no host memory");
    }
    memset(plan->out, 1, bytes);
    memset(plan->in, 1, bytes);
    return true;
}

static bool prepare_host(RkCase *c, bool pinned, RkError *why)
{
    Plan *plan = (Plan *)calloc(1, sizeof *plan);
    if (plan == NULL)
        return rk_fail(why, "no memory");
    plan->pinned = pinned;
    bool ok = host_memory(plan, (size_t)c->sample.n, why) &&
              rk_cuda(cudaEventCreateWithFlags(&plan->fork, cudaEventDisableTiming),
                      "making an event", why) &&
              rk_cuda(cudaEventCreateWithFlags(&plan->join, cudaEventDisableTiming),
                      "making an event", why) &&
              rk_cuda(cudaStreamCreateWithFlags(&plan->beside, cudaStreamNonBlocking),
                      "making a stream", why);
    if (!ok) {
        free_plan(plan);
        return false;
    }
    c->plan = plan;
    return true;
}

static bool prepare_pinned(RkGpu *, RkCase *c, RkError *why)
{
    return prepare_host(c, true, why);
}

static bool prepare_pageable(RkGpu *, RkCase *c, RkError *why)
{
    return prepare_host(c, false, why);
}

static void launch_device(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    cudaMemcpyAsync(b[1], b[0], (size_t)c->sample.n, cudaMemcpyDeviceToDevice, stream);
}

static void launch_to_host(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    cudaMemcpyAsync(((const Plan *)c->plan)->out, b[0], (size_t)c->sample.n, cudaMemcpyDeviceToHost,
                    stream);
}

static void launch_from_host(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    cudaMemcpyAsync(b[0], ((const Plan *)c->plan)->in, (size_t)c->sample.n, cudaMemcpyHostToDevice,
                    stream);
}

static void launch_both(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    const Plan *plan = (const Plan *)c->plan;
    size_t bytes = (size_t)c->sample.n;
    cudaEventRecord(plan->fork, stream);
    cudaStreamWaitEvent(plan->beside, plan->fork, 0);
    cudaMemcpyAsync(plan->out, b[0], bytes, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(b[1], plan->in, bytes, cudaMemcpyHostToDevice, plan->beside);
    cudaEventRecord(plan->join, plan->beside);
    cudaStreamWaitEvent(stream, plan->join, 0);
}

/* Times a copy by the host's clock: pageable memory is staged by the host, which the stream's
 * events do not cover. */
static double time_by_host(const RkGpu *gpu, RkCase *c)
{
    void *buffers[1] = {c->data[0]};
    double begin_s = rk_now_s();
    c->kernel->launch(gpu, c, gpu->stream, buffers);
    return cudaStreamSynchronize(gpu->stream) == cudaSuccess ? rk_now_s() - begin_s : -1;
}

extern const RkKernel RK_KERNEL_COPY_DEVICE = {"cudart", two_buffers, NULL, launch_device,
                                               NULL,     NULL,        NULL, NULL};
extern const RkKernel RK_KERNEL_COPY_TO_HOST_PINNED = {
    "cudart", one_buffer, prepare_pinned, launch_to_host, NULL, release, NULL, NULL};
extern const RkKernel RK_KERNEL_COPY_FROM_HOST_PINNED = {
    "cudart", one_buffer, prepare_pinned, launch_from_host, NULL, release, NULL, NULL};
extern const RkKernel RK_KERNEL_COPY_TO_HOST_PAGEABLE = {
    "cudart", one_buffer, prepare_pageable, launch_to_host, time_by_host, release, NULL, NULL};
extern const RkKernel RK_KERNEL_COPY_FROM_HOST_PAGEABLE = {
    "cudart", one_buffer, prepare_pageable, launch_from_host, time_by_host, release, NULL, NULL};
extern const RkKernel RK_KERNEL_COPY_BOTH_PINNED = {
    "cudart", two_buffers, prepare_pinned, launch_both, NULL, release, NULL, NULL};
