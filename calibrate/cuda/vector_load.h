#pragma once
/* Sixteen bytes of any dtype at a time, and arithmetic in fp32 whatever is stored. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T> struct alignas(16) RkPack {
    static constexpr int LENGTH = 16 / sizeof(T);
    T value[LENGTH];
};

static inline __host__ __device__ float rk_float(float x)
{
    return x;
}
static inline __host__ __device__ float rk_float(__half x)
{
    return __half2float(x);
}
static inline __host__ __device__ float rk_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
static inline __host__ __device__ float rk_float(__nv_fp8_e4m3 x)
{
    return static_cast<float>(x);
}

template <typename T> static inline __host__ __device__ T rk_store(float x)
{
    return T(x);
}

template <typename T> static inline __device__ RkPack<T> rk_load(const T *from, int64_t pack)
{
    return reinterpret_cast<const RkPack<T> *>(from)[pack];
}

template <typename T> static inline __device__ void rk_put(T *to, int64_t pack, const RkPack<T> &x)
{
    reinterpret_cast<RkPack<T> *>(to)[pack] = x;
}

/* Runs the statement with T standing for the type of a 4- or 2-byte dtype. */
#define RK_BY_DTYPE(dtype, ...)                                                                    \
    do {                                                                                           \
        if ((dtype) == RH_DTYPE_FP16) {                                                            \
            typedef __half T;                                                                      \
            __VA_ARGS__;                                                                           \
        } else if ((dtype) == RH_DTYPE_BF16) {                                                     \
            typedef __nv_bfloat16 T;                                                               \
            __VA_ARGS__;                                                                           \
        } else {                                                                                   \
            typedef float T;                                                                       \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    } while (0)
