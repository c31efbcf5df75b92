#pragma once
/* Tiles of our own attention: 64 rows, four warps of 16 rows each, fp32 sums. */
#include <mma.h>

#include <type_traits>

#include "calibrate/cuda/host_device_math.h"
#include "calibrate/cuda/vector_load.h"

#define RK_TILE         64
#define RK_TILE_THREADS 128
#define RK_WARP_ROWS    16
#define RK_FRAGMENT     16

/* Whether the architecture compiled for has matrix units for T: those of bf16 came with sm_80. The
 * host never launches what is left empty. */
template <typename T> static constexpr __device__ bool rk_has_units()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return sizeof(T) == 2 && !std::is_same<T, __nv_bfloat16>::value;
#else
    return true;
#endif
}

/* Shape parameters of the kernels. */
typedef struct {
    int64_t queries, keys; /* tokens */
    int heads, kv_heads;
    bool causal;
    float scale; /* 1 / sqrt(head size) */
} RkTileShape;

/* Rows first .. first + 63 of one head into shared memory; rows beyond the end are 0. `from` points
 * to the head's first token, tokens are `stride` elements apart. */
template <typename T, int D>
static __device__ void rk_load_tile(T *tile, const T *from, int64_t first, int64_t rows,
                                    int64_t stride)
{
    constexpr int PACKS = D / RkPack<T>::LENGTH;
    for (int i = (int)threadIdx.x; i < RK_TILE * PACKS; i += RK_TILE_THREADS) {
        int row = i / PACKS, pack = i % PACKS;
        RkPack<T> x = {};
        if (first + row < rows)
            x = rk_load(from + (first + row) * stride, pack);
        rk_put(tile + row * D, pack, x);
    }
}

template <typename T, typename Layout>
using RkLeft = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, T, Layout>;
template <typename T, typename Layout>
using RkRight = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, T, Layout>;
using RkSum = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using RkRows = nvcuda::wmma::row_major;
using RkColumns = nvcuda::wmma::col_major;

/* scores (16 x 64, fp32, rows 64 apart) = a (16 x D) times the transpose of b (64 x D). */
template <typename T, int D> static __device__ void rk_scores(float *scores, const T *a, const T *b)
{
    for (int column = 0; column < RK_TILE; column += RK_FRAGMENT) {
        RkSum sum;
        nvcuda::wmma::fill_fragment(sum, 0.0f);
        for (int depth = 0; depth < D; depth += RK_FRAGMENT) {
            RkLeft<T, RkRows> left;
            RkRight<T, RkColumns> right;
            nvcuda::wmma::load_matrix_sync(left, a + depth, D);
            nvcuda::wmma::load_matrix_sync(right, b + column * D + depth, D);
            nvcuda::wmma::mma_sync(sum, left, right, sum);
        }
        nvcuda::wmma::store_matrix_sync(scores + column, sum, RK_TILE, nvcuda::wmma::mem_row_major);
    }
}

/* sum (16 x 16) += a (16 x 64, rows or columns `apart`) times columns of b (64 x D). */
template <typename T, int D, typename Layout>
static __device__ void rk_product(RkSum &sum, const T *a, int step, int apart, const T *b)
{
#pragma unroll 1 /* a fragment a time: registers are for the sums */
    for (int depth = 0; depth < RK_TILE; depth += RK_FRAGMENT) {
        RkLeft<T, Layout> left;
        RkRight<T, RkRows> right;
        nvcuda::wmma::load_matrix_sync(left, a + depth * step, apart);
        nvcuda::wmma::load_matrix_sync(right, b + depth * D, D);
        nvcuda::wmma::mma_sync(sum, left, right, sum);
    }
}
