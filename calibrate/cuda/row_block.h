#pragma once
/* Shared parts of kernels with one block per row: block-wide sums, and supported shapes. */
#include "calibrate/cuda/host_device_math.h"
#include "calibrate/cuda/kernel_case.h"

#define RK_ROW_THREADS 256
#define RK_WARP        32

/* Returns the sum over the block to every thread. */
static inline __device__ float rk_block_sum(float x)
{
    __shared__ float of_warp[RK_ROW_THREADS / RK_WARP];
    for (int step = RK_WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    if (threadIdx.x % RK_WARP == 0)
        of_warp[threadIdx.x / RK_WARP] = x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < RK_ROW_THREADS / RK_WARP; i++)
        sum += of_warp[i];
    __syncthreads(); /* of_warp may be written again */
    return sum;
}

/* Combines softmax's running maximum and sum over the block. */
static inline __device__ RkOnline rk_block_online(RkOnline x)
{
    __shared__ RkOnline of_warp[RK_ROW_THREADS / RK_WARP];
    for (int step = RK_WARP / 2; step > 0; step /= 2) {
        RkOnline other;
        other.max = __shfl_xor_sync(0xffffffffu, x.max, step);
        other.sum = __shfl_xor_sync(0xffffffffu, x.sum, step);
        x = rk_online_merge(x, other);
    }
    if (threadIdx.x % RK_WARP == 0)
        of_warp[threadIdx.x / RK_WARP] = x;
    __syncthreads();
    RkOnline all = rk_online_empty();
    for (int i = 0; i < RK_ROW_THREADS / RK_WARP; i++)
        all = rk_online_merge(all, of_warp[i]);
    __syncthreads();
    return all;
}

/* A check's shape: rows of columns. */
static inline constexpr RkSample RK_ROWS(RkClass cls, RhDtype dtype, int64_t rows, int64_t columns,
                                         int64_t table = 0)
{
    return RkSample{cls, dtype, false, 0, 0, 0, rows, columns, table, 0, 0, 0};
}

/* [batch, rows, heads, head size]. */
static inline constexpr RkSample RK_HEADS(RkClass cls, RhDtype dtype, int64_t batch, int64_t rows,
                                          int32_t heads, int64_t head_size)
{
    return RkSample{cls, dtype, false, heads, 0, batch, rows, 0, head_size, 0, 0, 0};
}

/* Rows in whole packs of 16 bytes, in a dtype that is computed with. */
bool rk_rows_fit(RkGpu *gpu, RkCase *c, RkError *why);
bool rk_heads_fit(RkGpu *gpu, RkCase *c, RkError *why);
