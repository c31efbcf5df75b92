#include "calibrate/cuda/attention_own.h"

#include <math.h>

#include "calibrate/cuda/attention_tile.h"

/* Shared memory of one block. */
template <typename T, int D> struct Shared {
    T query[RK_TILE * D];
    T key[RK_TILE * D]; /* keys, then values */
    float out[RK_TILE * D];
    float score[RK_TILE * RK_TILE];
    T weight[RK_TILE * RK_TILE];
    float max[RK_TILE], sum[RK_TILE];
};

/* Turns the scores of one row into weights, and scales earlier sums to the new maximum. Two lanes
 * handle a row. */
template <typename T, int D>
static __device__ void weigh_rows(Shared<T, D> *s, int warp_row, int64_t first_query,
                                  int64_t first_key, RkTileShape shape)
{
    int lane = (int)threadIdx.x % 32, row = warp_row + lane / 2, half = lane % 2;
    float *score = s->score + row * RK_TILE;
    float max = -INFINITY;
    for (int i = half; i < RK_TILE; i += 2) {
        bool seen = rk_visible(first_query + row, first_key + i, shape.keys, shape.causal);
        score[i] = seen ? score[i] * shape.scale : -INFINITY;
        max = fmaxf(max, score[i]);
    }
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
    float old_max = s->max[row], new_max = fmaxf(old_max, max);
    bool nothing = new_max == -INFINITY;
    float before = nothing ? 1.0f : expf(old_max - new_max), sum = 0;
    for (int i = half; i < RK_TILE; i += 2) {
        float weight = nothing ? 0.0f : expf(score[i] - new_max);
        s->weight[row * RK_TILE + i] = rk_store<T>(weight);
        sum += weight;
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    for (int i = half; i < D; i += 2)
        s->out[row * D + i] *= before;
    __syncwarp();
    if (half == 0) {
        s->max[row] = new_max;
        s->sum[row] = s->sum[row] * before + sum;
    }
    __syncwarp();
}

template <typename T, int D> static __device__ void add_values(Shared<T, D> *s, int warp_row)
{
    for (int column = 0; column < D; column += RK_FRAGMENT) {
        RkSum sum;
        float *out = s->out + warp_row * D + column;
        nvcuda::wmma::load_matrix_sync(sum, out, D, nvcuda::wmma::mem_row_major);
        rk_product<T, D, RkRows>(sum, s->weight + warp_row * RK_TILE, 1, RK_TILE, s->key + column);
        nvcuda::wmma::store_matrix_sync(out, sum, D, nvcuda::wmma::mem_row_major);
    }
}

template <typename T, int D>
static __device__ void write_rows(const Shared<T, D> *s, T *out, float *log_sum, int64_t first,
                                  int64_t stride, RkTileShape shape)
{
    for (int i = (int)threadIdx.x; i < RK_TILE * D; i += RK_TILE_THREADS) {
        int row = i / D;
        if (first + row < shape.queries)
            out[(first + row) * stride + i % D] = rk_store<T>(s->out[i] / s->sum[row]);
    }
    for (int row = (int)threadIdx.x; row < RK_TILE; row += RK_TILE_THREADS)
        if (first + row < shape.queries)
            log_sum[first + row] = s->max[row] + logf(s->sum[row]);
}

/* Kernel of forward. One block: 64 queries of one head. Grid: query tiles, heads, batch. */
template <typename T, int D>
static __device__ void forward_block(const T *q, const T *k, const T *v, T *out, float *log_sum,
                                     RkTileShape shape)
{
    extern __shared__ __align__(128) char memory[];
    Shared<T, D> *s = reinterpret_cast<Shared<T, D> *>(memory);
    /* The longest tiles of a causal square come first: blocks start in order. */
    int64_t tile = (int64_t)gridDim.x - 1 - blockIdx.x, first = tile * RK_TILE;
    int64_t head = blockIdx.y, batch = blockIdx.z;
    int64_t kv_head = head / (shape.heads / shape.kv_heads);
    int64_t stride = (int64_t)shape.heads * D, kv_stride = (int64_t)shape.kv_heads * D;
    int64_t base = batch * shape.queries * stride + head * D;
    int64_t kv_base = batch * shape.keys * kv_stride + kv_head * D;
    int warp_row = (int)threadIdx.x / 32 * RK_WARP_ROWS;

    rk_load_tile<T, D>(s->query, q + base, first, shape.queries, stride);
    for (int i = (int)threadIdx.x; i < RK_TILE * D; i += RK_TILE_THREADS)
        s->out[i] = 0;
    for (int i = (int)threadIdx.x; i < RK_TILE; i += RK_TILE_THREADS) {
        s->max[i] = -INFINITY;
        s->sum[i] = 0;
    }
    int64_t end = shape.causal && first + RK_TILE < shape.keys ? first + RK_TILE : shape.keys;
    for (int64_t key = 0; key < end; key += RK_TILE) {
        __syncthreads();
        rk_load_tile<T, D>(s->key, k + kv_base, key, shape.keys, kv_stride);
        __syncthreads();
        rk_scores<T, D>(s->score + warp_row * RK_TILE, s->query + warp_row * D, s->key);
        __syncthreads();
        rk_load_tile<T, D>(s->key, v + kv_base, key, shape.keys, kv_stride);
        weigh_rows(s, warp_row, first, key, shape);
        __syncthreads();
        add_values(s, warp_row);
    }
    __syncthreads();
    write_rows(s, out + base, log_sum + (batch * shape.heads + head) * shape.queries, first, stride,
               shape);
}

template <typename T, int D>
static __global__ void forward(const T *q, const T *k, const T *v, T *out, float *log_sum,
                               RkTileShape shape)
{
    if constexpr (rk_has_units<T>())
        forward_block<T, D>(q, k, v, out, log_sum, shape);
}

/* --- Host --- */

static RkTileShape shape_of(const RkSample *s)
{
    return RkTileShape{s->m, s->n, s->heads, s->kv_heads, s->causal, 1.0f / sqrtf((float)s->k)};
}

/* Runs the statement with T and D standing for dtype and head size. */
#define BY_SHAPE(sample, ...)                                                                      \
    do {                                                                                           \
        if ((sample)->dtype == RH_DTYPE_BF16 && (sample)->k == 128) {                              \
            typedef __nv_bfloat16 T;                                                               \
            constexpr int D = 128;                                                                 \
            __VA_ARGS__;                                                                           \
        } else if ((sample)->dtype == RH_DTYPE_BF16) {                                             \
            typedef __nv_bfloat16 T;                                                               \
            constexpr int D = 64;                                                                  \
            __VA_ARGS__;                                                                           \
        } else if ((sample)->k == 128) {                                                           \
            typedef __half T;                                                                      \
            constexpr int D = 128;                                                                 \
            __VA_ARGS__;                                                                           \
        } else {                                                                                   \
            typedef __half T;                                                                      \
            constexpr int D = 64;                                                                  \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    } while (0)

static bool shape_fits(const RkGpu *gpu, const RkSample *s, RkError *why)
{
    if (s->k != 64 && s->k != 128)
        return rk_fail(why, "own attention knows head sizes 64 and 128, not %lld", (long long)s->k);
    if (s->dtype != RH_DTYPE_BF16 && s->dtype != RH_DTYPE_FP16)
        return rk_fail(why, "own attention knows fp16 and bf16, not %s", rh_dtype_name(s->dtype));
    if (s->dtype == RH_DTYPE_BF16 && gpu->sm < 80)
        return rk_fail(why, "bf16 needs sm_80, this is sm_%d", gpu->sm);
    if (s->heads % s->kv_heads != 0 || s->heads > 65535 || s->batch > 65535)
        return rk_fail(why, "%d heads are not shared by %d key heads", s->heads, s->kv_heads);
    if (s->causal && s->m != s->n)
        return rk_fail(why, "a causal mask over %lld x %lld tokens is not measured",
                       (long long)s->m, (long long)s->n);
    return true;
}

template <typename Kernel>
static bool ask_shared(const RkGpu *gpu, Kernel kernel, size_t bytes, RkError *why)
{
    if (bytes > gpu->shared_max_bytes)
        return rk_fail(why, "own attention needs %zu bytes of shared memory, a block has %zu",
                       bytes, gpu->shared_max_bytes);
    return rk_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "asking for shared memory", why);
}

bool rk_attention_own_fits(const RkGpu *gpu, const RkSample *s, RkError *why)
{
    bool ok = shape_fits(gpu, s, why);
    if (ok)
        BY_SHAPE(s, ok = ask_shared(gpu, forward<T, D>, sizeof(Shared<T, D>), why));
    return ok;
}

void rk_attention_own(const RkSample *s, const RkAttention *a, cudaStream_t stream)
{
    dim3 grid((unsigned)((s->m + RK_TILE - 1) / RK_TILE), (unsigned)s->heads, (unsigned)s->batch);
    BY_SHAPE(s, (forward<T, D><<<grid, RK_TILE_THREADS, sizeof(Shared<T, D>), stream>>>(
                    (const T *)a->q, (const T *)a->k, (const T *)a->v, (T *)a->out, a->log_sum,
                    shape_of(s))));
}

/* --- Backward --- */

template <typename T, int D> struct SharedBackward {
    T key[RK_TILE * D], value[RK_TILE * D];
    T query[RK_TILE * D], out_gradient[RK_TILE * D];
    float score[RK_TILE * RK_TILE]; /* transposed: keys x queries; later 16 x 64 of dq */
    float weight_gradient[RK_TILE * RK_TILE];
    T weight[RK_TILE * RK_TILE], score_gradient[RK_TILE * RK_TILE];
    float log_sum[RK_TILE], product[RK_TILE];
};

/* Kernel: products = sum over a row of out times its gradient (algorithm 2, line 4). One warp per
 * row. */
template <typename T>
static __global__ void row_products(const T *out, const T *gradient, float *products, int64_t rows,
                                    int64_t queries, int heads, int head_size)
{
    int64_t row = (int64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = (int)threadIdx.x % 32; i < head_size; i += 32)
        sum += rk_float(out[row * head_size + i]) * rk_float(gradient[row * head_size + i]);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    int64_t head = row % heads, token = row / heads % queries, batch = row / heads / queries;
    if (threadIdx.x % 32 == 0)
        products[(batch * heads + head) * queries + token] = sum;
}

template <typename T> static __global__ void round_sums(const float *sums, T *out, int64_t count)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = rk_store<T>(sums[i]);
}

/* Turns transposed scores and gradients of weights into weights and gradients of scores, in the
 * dtype of the following products. */
template <typename T, int D>
static __device__ void differentiate(SharedBackward<T, D> *s, int64_t first_query,
                                     int64_t first_key, RkTileShape shape)
{
    for (int i = (int)threadIdx.x; i < RK_TILE * RK_TILE; i += RK_TILE_THREADS) {
        int key = i / RK_TILE, query = i % RK_TILE;
        bool seen = first_query + query < shape.queries &&
                    rk_visible(first_query + query, first_key + key, shape.keys, shape.causal);
        float p = seen ? expf(s->score[i] * shape.scale - s->log_sum[query]) : 0.0f;
        s->weight[i] = rk_store<T>(p);
        s->score_gradient[i] =
            rk_store<T>(p * (s->weight_gradient[i] - s->product[query]) * shape.scale);
    }
}

/* Adds score gradients (queries x keys) times keys to dq of these queries; other blocks add to the
 * same rows. The warp's 16 x 16 tiles pass through `scratch`. */
template <typename T, int D>
static __device__ void add_query_gradient(SharedBackward<T, D> *s, float *q_sum, int warp_row,
                                          int64_t first, int64_t stride, int64_t queries)
{
    float *scratch = s->score + warp_row * RK_TILE;
    for (int column = 0; column < D; column += RK_FRAGMENT) {
        RkSum sum;
        nvcuda::wmma::fill_fragment(sum, 0.0f);
        rk_product<T, D, RkColumns>(sum, s->score_gradient + warp_row, RK_TILE, RK_TILE,
                                    s->key + column);
        nvcuda::wmma::store_matrix_sync(scratch, sum, RK_FRAGMENT, nvcuda::wmma::mem_row_major);
        __syncwarp();
        for (int i = (int)threadIdx.x % 32; i < RK_FRAGMENT * RK_FRAGMENT; i += 32) {
            int64_t row = first + warp_row + i / RK_FRAGMENT;
            if (row < queries)
                atomicAdd(&q_sum[row * stride + column + i % RK_FRAGMENT], scratch[i]);
        }
        __syncwarp();
    }
}

/* Writes the sums of a warp's 16 key rows, through shared memory, rounded, into global memory. */
template <typename T, int D>
static __device__ void write_sums(RkSum *sums, float *scratch, T *out, int warp_row, int64_t first,
                                  int64_t stride, int64_t rows)
{
    for (int piece = 0; piece < D / RK_FRAGMENT; piece++) {
        nvcuda::wmma::store_matrix_sync(scratch, sums[piece], RK_FRAGMENT,
                                        nvcuda::wmma::mem_row_major);
        __syncwarp();
        for (int i = (int)threadIdx.x % 32; i < RK_FRAGMENT * RK_FRAGMENT; i += 32) {
            int64_t row = first + warp_row + i / RK_FRAGMENT;
            if (row < rows)
                out[row * stride + piece * RK_FRAGMENT + i % RK_FRAGMENT] = rk_store<T>(scratch[i]);
        }
        __syncwarp();
    }
}

/* Buffers of backward, by the type of their elements. */
template <typename T> struct Backward {
    const T *q, *k, *v;
    const float *log_sum;
    const T *out_gradient;
    const float *products;
    float *q_sum;
    T *k_gradient, *v_gradient;
};

/* Kernel of backward. One block: 64 keys of one key head, all queries of the heads that share
 * it. */
template <typename T, int D>
static __device__ void backward_block(const Backward<T> &a, RkTileShape shape)
{
    extern __shared__ __align__(128) char memory[];
    SharedBackward<T, D> *s = reinterpret_cast<SharedBackward<T, D> *>(memory);
    constexpr int PIECES = D / RK_FRAGMENT;
    int64_t first_key = (int64_t)blockIdx.x * RK_TILE, kv_head = blockIdx.y, batch = blockIdx.z;
    int64_t stride = (int64_t)shape.heads * D, kv_stride = (int64_t)shape.kv_heads * D;
    int64_t kv_base = batch * shape.keys * kv_stride + kv_head * D;
    int group = shape.heads / shape.kv_heads;
    int warp_row = (int)threadIdx.x / 32 * RK_WARP_ROWS;
    RkSum key_sums[PIECES], value_sums[PIECES];
    for (int i = 0; i < PIECES; i++) {
        nvcuda::wmma::fill_fragment(key_sums[i], 0.0f);
        nvcuda::wmma::fill_fragment(value_sums[i], 0.0f);
    }
    rk_load_tile<T, D>(s->key, a.k + kv_base, first_key, shape.keys, kv_stride);
    rk_load_tile<T, D>(s->value, a.v + kv_base, first_key, shape.keys, kv_stride);
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; head++) {
        int64_t base = batch * shape.queries * stride + head * D;
        int64_t row_base = (batch * shape.heads + head) * shape.queries;
        /* queries before the first key of a causal mask see none of these keys */
        for (int64_t first = shape.causal ? first_key : 0; first < shape.queries;
             first += RK_TILE) {
            __syncthreads();
            rk_load_tile<T, D>(s->query, a.q + base, first, shape.queries, stride);
            rk_load_tile<T, D>(s->out_gradient, a.out_gradient + base, first, shape.queries,
                               stride);
            for (int i = (int)threadIdx.x; i < RK_TILE; i += RK_TILE_THREADS) {
                bool inside = first + i < shape.queries;
                s->log_sum[i] = inside ? a.log_sum[row_base + first + i] : 0.0f;
                s->product[i] = inside ? a.products[row_base + first + i] : 0.0f;
            }
            __syncthreads();
            rk_scores<T, D>(s->score + warp_row * RK_TILE, s->key + warp_row * D, s->query);
            rk_scores<T, D>(s->weight_gradient + warp_row * RK_TILE, s->value + warp_row * D,
                            s->out_gradient);
            __syncthreads();
            differentiate(s, first, first_key, shape);
            __syncthreads();
            for (int i = 0; i < PIECES; i++) {
                rk_product<T, D, RkRows>(value_sums[i], s->weight + warp_row * RK_TILE, 1, RK_TILE,
                                         s->out_gradient + i * RK_FRAGMENT);
                rk_product<T, D, RkRows>(key_sums[i], s->score_gradient + warp_row * RK_TILE, 1,
                                         RK_TILE, s->query + i * RK_FRAGMENT);
            }
            add_query_gradient(s, a.q_sum + base, warp_row, first, stride, shape.queries);
        }
    }
    __syncthreads();
    float *scratch = s->score + warp_row * RK_TILE;
    write_sums<T, D>(key_sums, scratch, a.k_gradient + kv_base, warp_row, first_key, kv_stride,
                     shape.keys);
    write_sums<T, D>(value_sums, scratch, a.v_gradient + kv_base, warp_row, first_key, kv_stride,
                     shape.keys);
}

template <typename T, int D> static __global__ void backward(Backward<T> a, RkTileShape shape)
{
    if constexpr (rk_has_units<T>())
        backward_block<T, D>(a, shape);
}

bool rk_attention_backward_own_fits(const RkGpu *gpu, const RkSample *s, RkError *why)
{
    bool ok = shape_fits(gpu, s, why);
    if (ok)
        BY_SHAPE(s, ok = ask_shared(gpu, backward<T, D>, sizeof(SharedBackward<T, D>), why));
    return ok;
}

void rk_attention_backward_own(const RkSample *s, const RkAttentionBackward *a, cudaStream_t stream)
{
    int64_t rows = s->batch * s->m * s->heads, count = rows * s->k;
    dim3 grid((unsigned)((s->n + RK_TILE - 1) / RK_TILE), (unsigned)s->kv_heads,
              (unsigned)s->batch);
    cudaMemsetAsync(a->q_sum, 0, (size_t)count * sizeof(float), stream);
    BY_SHAPE(s, {
        row_products<<<(unsigned)((rows + 3) / 4), 128, 0, stream>>>(
            (const T *)a->forward.out, (const T *)a->out_gradient, a->products, rows, s->m,
            s->heads, D);
        Backward<T> buffers = {(const T *)a->forward.q,
                               (const T *)a->forward.k,
                               (const T *)a->forward.v,
                               a->forward.log_sum,
                               (const T *)a->out_gradient,
                               a->products,
                               a->q_sum,
                               (T *)a->k_gradient,
                               (T *)a->v_gradient};
        backward<T, D>
            <<<grid, RK_TILE_THREADS, sizeof(SharedBackward<T, D>), stream>>>(buffers, shape_of(s));
        round_sums<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(a->q_sum,
                                                                        (T *)a->q_gradient, count);
    });
}
