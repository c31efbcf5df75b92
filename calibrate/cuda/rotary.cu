/* Rotary position embedding of [batch, tokens, heads, head size], halves rotated against each
 * other. */
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/row_block.h"
#include "calibrate/cuda/vector_load.h"

/* Kernel of the rotation. One thread rotates one pack of the first half with its pack of the
 * second. `table`: [tokens, head size / 2] pairs of cosine and sine. */
template <typename T>
static __global__ void rotary(const T *in, const float2 *table, T *out, int64_t tokens,
                              int64_t heads, int64_t half_packs, int64_t total)
{
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= total)
        return;
    int64_t pack = at % half_packs, head = at / half_packs;
    int64_t token = head / heads % tokens, first = head * 2 * half_packs + pack;
    RkPack<T> x = rk_load(in, first), y = rk_load(in, first + half_packs);
    const float2 *angles = table + (token * half_packs + pack) * RkPack<T>::LENGTH;
    for (int i = 0; i < RkPack<T>::LENGTH; i++) {
        float a = rk_float(x.value[i]), b = rk_float(y.value[i]);
        rk_rotate(&a, &b, angles[i].x, angles[i].y);
        x.value[i] = rk_store<T>(a);
        y.value[i] = rk_store<T>(b);
    }
    rk_put(out, first, x);
    rk_put(out, first + half_packs, y);
}

static int64_t elements(const RkSample *s)
{
    return s->batch * s->m * s->heads * s->k;
}

static void operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, elements(s), RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {RH_DTYPE_FP32, s->m * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, elements(s), RK_FILL_ZERO, 0, 0, true});
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    const RkSample *s = &c->sample;
    RK_BY_DTYPE(s->dtype, {
        int64_t half = s->k / 2 / RkPack<T>::LENGTH, total = s->batch * s->m * s->heads * half;
        rotary<<<(unsigned)((total + 255) / 256), 256, 0, stream>>>(
            (const T *)b[0], (const float2 *)b[1], (T *)b[2], s->m, s->heads, half, total);
    });
}

static void reference(const RkSample *s, double *const *b)
{
    int64_t half = s->k / 2, heads = s->batch * s->m * s->heads;
    for (int64_t head = 0; head < heads; head++) {
        for (int64_t i = 0; i < half; i++) {
            int64_t x = head * s->k + i, y = x + half;
            const double *angle = b[1] + 2 * (head / s->heads % s->m * half + i);
            b[2][x] = b[0][x] * angle[0] - b[0][y] * angle[1];
            b[2][y] = b[0][y] * angle[0] + b[0][x] * angle[1];
        }
    }
}

static const RkSample CHECKS[] = {RK_HEADS(RK_ROTARY, RH_DTYPE_BF16, 2, 17, 3, 128),
                                  RK_HEADS(RK_ROTARY, RH_DTYPE_FP16, 1, 9, 5, 64),
                                  RK_HEADS(RK_ROTARY, RH_DTYPE_FP32, 2, 5, 1, 64), RkSample{}};

extern const RkKernel RK_KERNEL_ROTARY = {"own", operands, rk_heads_fit, launch,
                                          NULL,  NULL,     reference,    CHECKS};
