#include "calibrate/cuda/kernel_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROTATIONS_MAX 64
#define BEYOND_L2     3 /* size of all sets of buffers together, in multiples of the cache */

static bool refused;

void rk_case_refuse(void)
{
    refused = true;
}

bool rk_case_was_refused(void)
{
    bool was = refused;
    refused = false;
    return was;
}

void rk_case_operand(RkCase *c, RkOperand operand)
{
    c->operands[c->operands_count++] = operand;
}

static size_t set_bytes(const RkCase *c)
{
    size_t bytes = 0;
    for (int i = 0; i < c->operands_count; i++)
        bytes += rk_operand_bytes(&c->operands[i]);
    return bytes;
}

static int rotations_for(const RkGpu *gpu, size_t bytes, int max)
{
    if (bytes == 0 || max <= 1)
        return 1;
    size_t wanted = BEYOND_L2 * gpu->l2_bytes / bytes + 1;
    size_t fitting = (gpu->arena_bytes - gpu->arena_used) / 2 / bytes;
    size_t count = wanted < fitting ? wanted : fitting;
    return count < 1 ? 1 : count > (size_t)max ? max : (int)count;
}

static bool place(RkGpu *gpu, RkCase *c, RkError *why)
{
    for (int i = 0; i < c->operands_count; i++) {
        size_t bytes = rk_operand_bytes(&c->operands[i]);
        c->stride[i] = (bytes + 511) / 512 * 512;
        c->data[i] = (char *)rk_gpu_take(gpu, c->stride[i] * (size_t)c->rotations);
        if (c->data[i] == NULL)
            return rk_fail(why, "operands of %.2f GB do not fit into %.2f GB of device memory",
                           (double)set_bytes(c) / 1e9,
                           (double)(gpu->arena_bytes - gpu->arena_used) / 1e9);
        for (int r = 0; r < c->rotations; r++)
            rk_gpu_fill(gpu, c->data[i] + (size_t)r * c->stride[i], &c->operands[i],
                        gpu->seed + (uint64_t)(RK_OPERANDS_MAX * r + i));
    }
    return rk_cuda(cudaGetLastError(), "filling operands", why) &&
           rk_cuda(cudaStreamSynchronize(gpu->stream), "filling operands", why);
}

bool rk_case_open(RkGpu *gpu, const RkSample *sample, int rotations_max, RkCase *out, RkError *why)
{
    const RkKernel *kernel = rk_kernel(sample->cls);
    if (kernel == NULL)
        return rk_fail(why, "not measured by this program");
    return rk_case_open_with(gpu, kernel, sample, rotations_max, out, why);
}

bool rk_case_open_with(RkGpu *gpu, const RkKernel *kernel, const RkSample *sample,
                       int rotations_max, RkCase *out, RkError *why)
{
    RkCase c = {};
    c.kernel = kernel;
    c.sample = *sample;
    c.mark = gpu->arena_used;
    snprintf(c.library, sizeof c.library, "%s", c.kernel->library);
    if (c.kernel->operands != NULL)
        c.kernel->operands(sample, &c);
    c.rotations = rotations_for(gpu, set_bytes(&c),
                                rotations_max < ROTATIONS_MAX ? rotations_max : ROTATIONS_MAX);
    if (!place(gpu, &c, why) || (c.kernel->prepare != NULL && !c.kernel->prepare(gpu, &c, why))) {
        gpu->arena_used = c.mark;
        return false;
    }
    *out = c;
    return true;
}

void rk_case_close(RkGpu *gpu, RkCase *c)
{
    if (c->kernel != NULL && c->kernel->release != NULL)
        c->kernel->release(c);
    gpu->arena_used = c->mark;
    *c = RkCase{};
}

static void buffers_of(const RkCase *c, int rotation, void **out)
{
    for (int i = 0; i < c->operands_count; i++)
        out[i] = c->data[i] + (size_t)rotation * c->stride[i];
}

void rk_case_launch(const RkGpu *gpu, RkCase *c, cudaStream_t stream)
{
    void *buffers[RK_OPERANDS_MAX];
    buffers_of(c, (int)(c->turn++ % (uint64_t)c->rotations), buffers);
    c->kernel->launch(gpu, c, stream, buffers);
}

/* --- Checks --- */

/* Tolerance: rounding of the stored result, with some margin for sums in fp32 and rounded
 * inputs. */
static double tolerance(RhDtype dtype)
{
    switch (dtype) {
    case RH_DTYPE_FP32:
        return 1e-4;
    case RH_DTYPE_TF32:
        return 5e-3;
    case RH_DTYPE_FP16:
        return 4e-3;
    case RH_DTYPE_BF16:
    case RH_DTYPE_FP8:
    case RH_DTYPE_NONE:
    case RH_DTYPE_FP4:
    case RH_DTYPE_LAST:
    default:
        return 4e-2; /* a gradient of attention is rounded five times */
    }
}

/* Largest error relative to the typical size of the operand: a value near 0 in a sum of large ones
 * cannot be exact relative to its own size. */
static double worst_error(const double *got, const double *wanted, int64_t count, RhDtype dtype)
{
    double square = 0, worst = 0;
    for (int64_t i = 0; i < count; i++)
        square += wanted[i] * wanted[i];
    double typical = sqrt(square / (double)count);
    for (int64_t i = 0; i < count; i++) {
        double error = fabs(got[i] - wanted[i]) / (fabs(wanted[i]) + typical + 1e-30);
        worst = !(error <= worst) ? error : worst; /* keeps NaN */
        if (isnan(worst))
            return INFINITY;
    }
    return worst / tolerance(dtype);
}

/* The coarser of two types: a sum of coarse inputs is no more accurate than these, whatever type it
 * is stored in. */
static RhDtype coarser(RhDtype a, RhDtype b)
{
    return tolerance(a) > tolerance(b) ? a : b;
}

static bool compare(const RkGpu *gpu, const RkCase *c, double *const *wanted, double *worst)
{
    for (int i = 0; i < c->operands_count; i++) {
        if (!c->operands[i].written)
            continue;
        double *got = rk_gpu_fetch(gpu, c->data[i], &c->operands[i]);
        if (got == NULL)
            return false;
        double error = worst_error(got, wanted[i], c->operands[i].count,
                                   coarser(c->operands[i].dtype, c->sample.dtype));
        *worst = error > *worst ? error : *worst;
        free(got);
    }
    return true;
}

static bool check_case(RkGpu *gpu, RkCase *c, double *worst, RkError *why)
{
    double *wanted[RK_OPERANDS_MAX] = {};
    bool ok = true;
    for (int i = 0; i < c->operands_count; i++) {
        wanted[i] = rk_gpu_fetch(gpu, c->data[i], &c->operands[i]);
        ok = ok && wanted[i] != NULL;
    }
    if (ok) {
        c->kernel->reference(&c->sample, wanted);
        rk_case_launch(gpu, c, gpu->stream);
        ok = cudaGetLastError() == cudaSuccess && compare(gpu, c, wanted, worst);
    }
    for (int i = 0; i < c->operands_count; i++)
        free(wanted[i]);
    return ok ||
           rk_fail(why, "the check could not run: %s", cudaGetErrorString(cudaGetLastError()));
}

bool rk_kernel_check(RkGpu *gpu, const RkKernel *kernel, double *worst, RkError *why)
{
    bool ran = false;
    *worst = 0;
    for (const RkSample *s = kernel->checks; s->cls != RK_CLASS_NONE; s++) {
        RkCase c;
        if (!rk_case_open_with(gpu, kernel, s, 1, &c, why))
            continue; /* not on this device, or not with this type */
        bool ok = check_case(gpu, &c, worst, why);
        rk_case_close(gpu, &c);
        if (!ok)
            return false;
        ran = true;
    }
    return ran;
}
