/* Moves without arithmetic: embedding look-up, and [batch, tokens, heads, size] to [batch, heads,
 * tokens, size]. */
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/row_block.h"
#include "calibrate/cuda/vector_load.h"

#define THREADS 256

template <typename T>
static __global__ void embed(const T *table, const int32_t *tokens, T *out, int64_t row_packs,
                             int64_t packs)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < packs)
        rk_put(out, p, rk_load(table, tokens[p / row_packs] * row_packs + p % row_packs));
}

template <typename T>
static __global__ void permute(const T *in, T *out, int64_t m, int64_t heads, int64_t head_packs,
                               int64_t packs)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < packs)
        rk_put(out, rk_permuted(p, m, heads, head_packs), rk_load(in, p));
}

static unsigned blocks(int64_t packs)
{
    return (unsigned)((packs + THREADS - 1) / THREADS);
}

static void embedding_operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->k * s->n, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {RH_DTYPE_FP32, s->m, RK_FILL_INDEX, 0, s->k, false});
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_ZERO, 0, 0, true});
}

static void launch_embedding(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    const RkSample *s = &c->sample;
    RK_BY_DTYPE(s->dtype, {
        int64_t row_packs = s->n / RkPack<T>::LENGTH;
        embed<<<blocks(s->m * row_packs), THREADS, 0, stream>>>(
            (const T *)b[0], (const int32_t *)b[1], (T *)b[2], row_packs, s->m * row_packs);
    });
}

static void reference_embedding(const RkSample *s, double *const *b)
{
    for (int64_t row = 0; row < s->m; row++)
        for (int64_t i = 0; i < s->n; i++)
            b[2][row * s->n + i] = b[0][(int64_t)b[1][row] * s->n + i];
}

static void permute_operands(const RkSample *s, RkCase *c)
{
    int64_t count = s->batch * s->m * s->heads * s->k;
    rk_case_operand(c, {s->dtype, count, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, count, RK_FILL_ZERO, 0, 0, true});
}

static void launch_permute(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    const RkSample *s = &c->sample;
    RK_BY_DTYPE(s->dtype, {
        int64_t head_packs = s->k / RkPack<T>::LENGTH;
        int64_t packs = s->batch * s->m * s->heads * head_packs;
        permute<<<blocks(packs), THREADS, 0, stream>>>((const T *)b[0], (T *)b[1], s->m, s->heads,
                                                       head_packs, packs);
    });
}

static void reference_permute(const RkSample *s, double *const *b)
{
    const double *in = b[0];
    for (int64_t batch = 0; batch < s->batch; batch++)
        for (int64_t row = 0; row < s->m; row++)
            for (int64_t head = 0; head < s->heads; head++)
                for (int64_t i = 0; i < s->k; i++)
                    b[1][((batch * s->heads + head) * s->m + row) * s->k + i] = *in++;
}

static const RkSample EMBEDDINGS[] = {RK_ROWS(RK_EMBEDDING, RH_DTYPE_BF16, 37, 768, 100),
                                      RK_ROWS(RK_EMBEDDING, RH_DTYPE_FP32, 5, 64, 7), RkSample{}};
static const RkSample PERMUTES[] = {RK_HEADS(RK_PERMUTE, RH_DTYPE_BF16, 2, 17, 3, 128),
                                    RK_HEADS(RK_PERMUTE, RH_DTYPE_FP32, 2, 5, 3, 16), RkSample{}};

extern const RkKernel RK_KERNEL_EMBEDDING = {
    "own", embedding_operands,  rk_rows_fit, launch_embedding, NULL,
    NULL,  reference_embedding, EMBEDDINGS};
extern const RkKernel RK_KERNEL_PERMUTE = {
    "own", permute_operands, rk_heads_fit, launch_permute, NULL, NULL, reference_permute, PERMUTES};
