/* A GEMM while a copy kernel occupies some SMs, as a collective does beside compute. */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/cuda/gemm_lt.h"
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/timing.h"
#include "calibrate/cuda/vendor_libraries.h"

#define HOLD_THREADS  512
#define HOLD_BYTES    ((int64_t)64 << 20)
#define HOLD_LIMIT_NS 500000000ull /* the copy ends by itself if the host process dies */
#define START_LIMIT_S 1.0
#define PRODUCTS      4
#define DELAY_NS      100000

typedef struct {
    volatile int started, stop; /* in host memory that the device can read */
} Flags;

typedef struct {
    RkGemm *gemm;
    cudaStream_t beside;
    Flags *flags, *flags_on_device;
    int4 *from, *to;
} Plan;

static __device__ uint64_t nanoseconds()
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Kernel that occupies SMs: its blocks take all shared memory of an SM, so that no block of a GEMM
 * fits beside them. */
static __global__ void hold(Flags *flags, const int4 *from, int4 *to, int64_t packs)
{
    uint64_t begin = nanoseconds();
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    if (threadIdx.x == 0) {
        atomicAdd_system((int *)&flags->started, 1);
        __threadfence_system();
    }
    while (flags->stop == 0 && nanoseconds() - begin < HOLD_LIMIT_NS)
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, turn = 0;
             turn < 64 && i < packs; i += step, turn++)
            to[i] = from[i];
}

static __global__ void delay(uint64_t limit)
{
    uint64_t begin = nanoseconds();
    while (nanoseconds() - begin < limit) {
    }
}

static void operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->m * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, s->n * s->k, RK_FILL_NORMAL, 0.05f, 0, false});
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_ZERO, 0, 0, false});
}

static void free_plan(Plan *plan)
{
    rk_gemm_free(plan->gemm);
    if (plan->flags != NULL)
        cudaFreeHost(plan->flags);
    if (plan->beside != NULL)
        cudaStreamDestroy(plan->beside);
    free(plan);
}

static void release(RkCase *c)
{
    free_plan((Plan *)c->plan);
}

static bool make(RkGpu *gpu, const RkSample *s, Plan *plan, RkError *why)
{
    plan->from = (int4 *)rk_gpu_take(gpu, (size_t)HOLD_BYTES);
    plan->to = (int4 *)rk_gpu_take(gpu, (size_t)HOLD_BYTES);
    if (plan->from == NULL || plan->to == NULL)
        return rk_fail(why, "no memory for the copy beside it");
    return rk_cuda(cudaHostAlloc((void **)&plan->flags, sizeof *plan->flags, cudaHostAllocMapped),
                   "pinning memory", why) &&
           rk_cuda(cudaHostGetDevicePointer((void **)&plan->flags_on_device, plan->flags, 0),
                   "mapping memory", why) &&
           rk_cuda(cudaStreamCreateWithFlags(&plan->beside, cudaStreamNonBlocking),
                   "making a stream", why) &&
           rk_cuda(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        (int)gpu->shared_max_bytes),
                   "asking for shared memory", why) &&
           rk_gemm_make(gpu, s, &plan->gemm, why);
}

static bool runs(const RkGpu *gpu, const RkCase *c, const Plan *plan, RkError *why)
{
    return rk_gemm_enqueue(plan->gemm, c->data[0], c->data[1], c->data[2], gpu->stream) ||
           rk_fail(why, "cuBLASLt does not run what it chose");
}

static bool prepare(RkGpu *gpu, RkCase *c, RkError *why)
{
    char version[32];
    if (c->sample.heads > gpu->sms / 2)
        return rk_fail(why, "%d of %d SMs would be held", c->sample.heads, gpu->sms);
    Plan *plan = (Plan *)calloc(1, sizeof *plan);
    if (plan == NULL)
        return rk_fail(why, "no memory");
    if (!make(gpu, &c->sample, plan, why) || !runs(gpu, c, plan, why)) {
        free_plan(plan);
        return false;
    }
    rk_cublas_version(version, sizeof version);
    snprintf(c->library, sizeof c->library, "cublasLt %s", version);
    c->plan = plan;
    return true;
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    if (!rk_gemm_enqueue(((const Plan *)c->plan)->gemm, b[0], b[1], b[2], stream))
        rk_case_refuse();
}

static bool start_hold(const RkGpu *gpu, const Plan *plan, int sms)
{
    double limit_s = rk_now_s() + START_LIMIT_S;
    plan->flags->started = plan->flags->stop = 0;
    if (sms == 0)
        return true;
    hold<<<(unsigned)sms, HOLD_THREADS, gpu->shared_max_bytes, plan->beside>>>(
        plan->flags_on_device, plan->from, plan->to, HOLD_BYTES / (int64_t)sizeof(int4));
    if (cudaGetLastError() != cudaSuccess)
        return false;
    while (plan->flags->started < sms)
        if (rk_now_s() > limit_s)
            return false;
    return true;
}

static double time_products(const RkGpu *gpu, const RkCase *c)
{
    float milliseconds = -1;
    void *buffers[3] = {c->data[0], c->data[1], c->data[2]};
    delay<<<1, 1, 0, gpu->stream>>>(DELAY_NS);
    cudaEventRecord(gpu->begin, gpu->stream);
    for (int i = 0; i < PRODUCTS; i++)
        launch(gpu, c, gpu->stream, buffers);
    cudaEventRecord(gpu->end, gpu->stream);
    if (cudaEventSynchronize(gpu->end) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, gpu->begin, gpu->end) != cudaSuccess)
        return -1;
    return 1e-3 * (double)milliseconds / PRODUCTS;
}

static double time_beside(const RkGpu *gpu, RkCase *c)
{
    const Plan *plan = (const Plan *)c->plan;
    double seconds = start_hold(gpu, plan, c->sample.heads) ? time_products(gpu, c) : -1;
    plan->flags->stop = 1;
    return cudaStreamSynchronize(plan->beside) == cudaSuccess ? seconds : -1;
}

extern const RkKernel RK_KERNEL_GEMM_BESIDE_COPY = {"cublasLt",  operands, prepare, launch,
                                                    time_beside, release,  NULL,    NULL};
