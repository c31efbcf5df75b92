#include "calibrate/cuda/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/cuda/host_device_math.h"
#include "calibrate/cuda/vector_load.h"

/* Lowest compute capability that CUDA 12 and 13 compile for. */
#define SM_MIN      (CUDART_VERSION >= 13000 ? 75 : 70)
#define ARENA_SHARE 0.9
#define ALIGNMENT   512

bool rk_cuda(cudaError_t status, const char *tried, RkError *why)
{
    if (status == cudaSuccess)
        return true;
    cudaGetLastError(); /* clears a recoverable error, so that later calls do not return it */
    return rk_fail(why, "%s: %s", tried, cudaGetErrorString(status));
}

/* --- Opening --- */

static bool find_device(int index, RkError *why)
{
    int count = 0, driver = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    cudaDriverGetVersion(&driver);
    if (driver == 0)
        return rk_fail(why, "no NVIDIA driver is loaded on this machine");
    if (status == cudaErrorInsufficientDriver)
        return rk_fail(why, "the driver knows CUDA %d.%d, this program was built with CUDA %d.%d",
                       driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                       CUDART_VERSION % 1000 / 10);
    if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
        return rk_fail(why, "the driver shows no GPU (is CUDA_VISIBLE_DEVICES empty?)");
    if (!rk_cuda(status, "counting GPUs", why))
        return false;
    if (index >= count)
        return rk_fail(why, "--device %d: this machine shows %d GPU%s", index, count,
                       count == 1 ? "" : "s");
    return rk_cuda(cudaSetDevice(index), "choosing the GPU", why);
}

static bool read_facts(RkGpu *gpu, RkError *why)
{
    cudaDeviceProp facts;
    if (!rk_cuda(cudaGetDeviceProperties(&facts, gpu->index), "asking for the GPU's facts", why))
        return false;
    snprintf(gpu->name, sizeof gpu->name, "%.95s", facts.name);
    snprintf(gpu->pci, sizeof gpu->pci, "%08x:%02x:%02x.0", (unsigned)facts.pciDomainID,
             (unsigned)facts.pciBusID, (unsigned)facts.pciDeviceID);
    gpu->sms = facts.multiProcessorCount;
    gpu->sm = 10 * facts.major + facts.minor;
    gpu->l2_bytes = (size_t)facts.l2CacheSize;
    gpu->shared_max_bytes = facts.sharedMemPerBlockOptin;
    gpu->memory_bytes = facts.totalGlobalMem;
    if (gpu->sm < SM_MIN)
        return rk_fail(why, "%s is sm_%d; this program needs sm_%d or newer", gpu->name, gpu->sm,
                       SM_MIN);
    return true;
}

static __global__ void do_nothing()
{
}

/* Checks that the binary has code for the device's architecture, so that it fails here and not in
 * the middle of a run. */
static bool runs_kernels(RkGpu *gpu, RkError *why)
{
    do_nothing<<<1, 1, 0, gpu->stream>>>();
    cudaError_t status = cudaGetLastError();
    if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorUnsupportedPtxVersion)
        return rk_fail(why,
                       "this program was not built for sm_%d; build it on this machine with "
                       "bench/gpu.sh",
                       gpu->sm);
    return rk_cuda(status, "launching a kernel", why) &&
           rk_cuda(cudaStreamSynchronize(gpu->stream), "running a kernel", why);
}

static bool open_arena(RkGpu *gpu, RkError *why)
{
    size_t unused = 0, total = 0;
    if (!rk_cuda(cudaMemGetInfo(&unused, &total), "asking for free memory", why))
        return false;
    gpu->arena_bytes = (size_t)((double)unused * ARENA_SHARE) / ALIGNMENT * ALIGNMENT;
    return rk_cuda(cudaMalloc((void **)&gpu->arena, gpu->arena_bytes), "taking device memory", why);
}

bool rk_gpu_open(int index, uint64_t seed, RkGpu *out, RkError *why)
{
    RkGpu gpu = {};
    gpu.index = index;
    gpu.seed = seed;
    if (!find_device(index, why) || !read_facts(&gpu, why) ||
        !rk_cuda(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "making a stream",
                 why) ||
        !rk_cuda(cudaEventCreate(&gpu.begin), "making an event", why) ||
        !rk_cuda(cudaEventCreate(&gpu.end), "making an event", why) || !runs_kernels(&gpu, why) ||
        !open_arena(&gpu, why)) {
        rk_gpu_close(&gpu);
        return false;
    }
    *out = gpu;
    return true;
}

void rk_gpu_close(RkGpu *gpu)
{
    cudaFree(gpu->arena);
    if (gpu->begin != NULL)
        cudaEventDestroy(gpu->begin);
    if (gpu->end != NULL)
        cudaEventDestroy(gpu->end);
    if (gpu->stream != NULL)
        cudaStreamDestroy(gpu->stream);
    *gpu = RkGpu{};
}

void *rk_gpu_take(RkGpu *gpu, size_t bytes)
{
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (whole > gpu->arena_bytes - gpu->arena_used)
        return NULL;
    void *taken = gpu->arena + gpu->arena_used;
    gpu->arena_used += whole;
    return taken;
}

/* --- Operands --- */

static bool is_index(const RkOperand *operand)
{
    return operand->fill == RK_FILL_INDEX;
}

size_t rk_operand_bytes(const RkOperand *operand)
{
    int element = is_index(operand) ? 4 : rh_dtype_bytes(operand->dtype);
    return (size_t)operand->count * (size_t)element;
}

template <typename T>
static __global__ void fill_random(T *data, int64_t count, RkFill fill, float scale, uint64_t seed)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float x =
            fill == RK_FILL_NORMAL ? rk_normal(seed, (uint64_t)i) : rk_uniform(seed, (uint64_t)i);
        data[i] = rk_store<T>(scale * x);
    }
}

static __global__ void fill_indices(int32_t *data, int64_t count, int64_t limit, uint64_t seed)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        int64_t index = (int64_t)((double)rk_uniform(seed, (uint64_t)i) * (double)limit);
        data[i] = (int32_t)(index < limit ? index : limit - 1);
    }
}

void rk_gpu_fill(const RkGpu *gpu, void *data, const RkOperand *o, uint64_t seed)
{
    int blocks = 8 * gpu->sms, threads = 256;
    if (o->fill == RK_FILL_ZERO)
        cudaMemsetAsync(data, 0, rk_operand_bytes(o), gpu->stream);
    else if (is_index(o))
        fill_indices<<<blocks, threads, 0, gpu->stream>>>((int32_t *)data, o->count, o->limit,
                                                          seed);
    else if (o->dtype == RH_DTYPE_FP8)
        fill_random<<<blocks, threads, 0, gpu->stream>>>((__nv_fp8_e4m3 *)data, o->count, o->fill,
                                                         o->scale, seed);
    else
        RK_BY_DTYPE(o->dtype, (fill_random<<<blocks, threads, 0, gpu->stream>>>(
                                  (T *)data, o->count, o->fill, o->scale, seed)));
}

static double decoded(const void *raw, int64_t i, const RkOperand *o)
{
    if (is_index(o))
        return ((const int32_t *)raw)[i];
    if (o->dtype == RH_DTYPE_FP8)
        return (double)rk_float(((const __nv_fp8_e4m3 *)raw)[i]);
    if (o->dtype == RH_DTYPE_FP16)
        return (double)rk_float(((const __half *)raw)[i]);
    if (o->dtype == RH_DTYPE_BF16)
        return (double)rk_float(((const __nv_bfloat16 *)raw)[i]);
    return (double)((const float *)raw)[i];
}

double *rk_gpu_fetch(const RkGpu *gpu, const void *data, const RkOperand *operand)
{
    size_t bytes = rk_operand_bytes(operand);
    void *raw = malloc(bytes);
    double *values = (double *)malloc((size_t)operand->count * sizeof *values);
    bool ok = raw != NULL && values != NULL && cudaStreamSynchronize(gpu->stream) == cudaSuccess &&
              cudaMemcpy(raw, data, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
    for (int64_t i = 0; ok && i < operand->count; i++)
        values[i] = decoded(raw, i, operand);
    free(raw);
    if (ok)
        return values;
    free(values);
    return NULL;
}
