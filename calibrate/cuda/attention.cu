/* Attention, forward and backward: by cuDNN where it is installed and its result is right, else by
 * our own kernels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/cuda/attention_cudnn.h"
#include "calibrate/cuda/attention_own.h"
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/vendor_libraries.h"

enum {
    Q = RK_CUDNN_Q,
    K = RK_CUDNN_K,
    V = RK_CUDNN_V,
    OUT = RK_CUDNN_OUT,
    LOG_SUM = RK_CUDNN_LOG_SUM,
    OUT_GRADIENT = RK_CUDNN_OUT_GRADIENT,
    Q_GRADIENT = RK_CUDNN_Q_GRADIENT,
    K_GRADIENT = RK_CUDNN_K_GRADIENT,
    V_GRADIENT = RK_CUDNN_V_GRADIENT,
    Q_SUM = RK_CUDNN_Q_SUM,
    PRODUCTS = RK_CUDNN_PRODUCTS,
};

static int64_t queries(const RkSample *s)
{
    return s->batch * s->m * s->heads;
}

static int64_t keys(const RkSample *s)
{
    return s->batch * s->n * s->kv_heads;
}

static void forward_operands(const RkSample *s, RkCase *c, bool written)
{
    rk_case_operand(c, {s->dtype, queries(s) * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, keys(s) * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, keys(s) * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, queries(s) * s->k, RK_FILL_ZERO, 0, 0, written});
    rk_case_operand(c, {RH_DTYPE_FP32, queries(s), RK_FILL_ZERO, 0, 0, written});
}

static void operands(const RkSample *s, RkCase *c)
{
    forward_operands(s, c, true);
}

static void backward_operands(const RkSample *s, RkCase *c)
{
    forward_operands(s, c, false);
    rk_case_operand(c, {s->dtype, queries(s) * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, queries(s) * s->k, RK_FILL_ZERO, 0, 0, true});
    rk_case_operand(c, {s->dtype, keys(s) * s->k, RK_FILL_ZERO, 0, 0, true});
    rk_case_operand(c, {s->dtype, keys(s) * s->k, RK_FILL_ZERO, 0, 0, true});
    rk_case_operand(c, {RH_DTYPE_FP32, queries(s) * s->k, RK_FILL_ZERO, 0, 0, false});
    rk_case_operand(c, {RH_DTYPE_FP32, queries(s), RK_FILL_ZERO, 0, 0, false});
}

static RkAttention forward_of(void *const *b)
{
    return RkAttention{b[Q], b[K], b[V], b[OUT], (float *)b[LOG_SUM]};
}

static bool prepare(RkGpu *gpu, RkCase *c, RkError *why)
{
    return rk_attention_own_fits(gpu, &c->sample, why);
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    RkAttention a = forward_of(b);
    rk_attention_own(&c->sample, &a, stream);
}

/* Prepares backward, which reads forward's results: forward runs once on every set of buffers. */
static bool prepare_backward(RkGpu *gpu, RkCase *c, RkError *why)
{
    if (!rk_attention_own_fits(gpu, &c->sample, why) ||
        !rk_attention_backward_own_fits(gpu, &c->sample, why))
        return false;
    for (int r = 0; r < c->rotations; r++) {
        void *b[LOG_SUM + 1];
        for (int i = 0; i <= LOG_SUM; i++)
            b[i] = c->data[i] + (size_t)r * c->stride[i];
        RkAttention a = forward_of(b);
        rk_attention_own(&c->sample, &a, gpu->stream);
    }
    return rk_cuda(cudaStreamSynchronize(gpu->stream), "attention before its backward", why);
}

static void launch_backward(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    RkAttentionBackward a = {forward_of(b), b[OUT_GRADIENT],   b[Q_GRADIENT],       b[K_GRADIENT],
                             b[V_GRADIENT], (float *)b[Q_SUM], (float *)b[PRODUCTS]};
    rk_attention_backward_own(&c->sample, &a, stream);
}

/* --- In double precision --- */

/* One query of one head: the places of its row and of its keys. */
typedef struct {
    int64_t query, row, key, key_step; /* in elements; row: of log_sum */
    int64_t seen;                      /* number of visible keys */
} Row;

static Row row_of(const RkSample *s, int64_t batch, int64_t head, int64_t token)
{
    int64_t kv_head = head / (s->heads / s->kv_heads);
    return Row{((batch * s->m + token) * s->heads + head) * s->k,
               (batch * s->heads + head) * s->m + token,
               (batch * s->n * s->kv_heads + kv_head) * s->k, s->kv_heads * s->k,
               s->causal ? token + 1 : s->n};
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Computes the probabilities of a row into `p`; returns its log-sum. */
static double probabilities(const RkSample *s, const Row *r, double *const *b, double *p)
{
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < r->seen; j++) {
        p[j] = dot(b[Q] + r->query, b[K] + r->key + j * r->key_step, s->k) / sqrt((double)s->k);
        max = fmax(max, p[j]);
    }
    for (int64_t j = 0; j < r->seen; j++)
        sum += exp(p[j] - max);
    for (int64_t j = 0; j < r->seen; j++)
        p[j] = exp(p[j] - max) / sum;
    return max + log(sum);
}

static void reference_row(const RkSample *s, const Row *r, double *const *b, double *p)
{
    b[LOG_SUM][r->row] = probabilities(s, r, b, p);
    for (int64_t i = 0; i < s->k; i++) {
        double sum = 0;
        for (int64_t j = 0; j < r->seen; j++)
            sum += p[j] * b[V][r->key + j * r->key_step + i];
        b[OUT][r->query + i] = sum;
    }
}

static void reference_backward_row(const RkSample *s, const Row *r, double *const *b, double *p)
{
    const double *gradient = b[OUT_GRADIENT] + r->query;
    double product = 0, scale = 1 / sqrt((double)s->k);
    probabilities(s, r, b, p);
    for (int64_t j = 0; j < r->seen; j++)
        product += p[j] * dot(gradient, b[V] + r->key + j * r->key_step, s->k);
    for (int64_t j = 0; j < r->seen; j++) {
        int64_t key = r->key + j * r->key_step;
        double score = p[j] * (dot(gradient, b[V] + key, s->k) - product) * scale;
        for (int64_t i = 0; i < s->k; i++) {
            b[V_GRADIENT][key + i] += p[j] * gradient[i];
            b[K_GRADIENT][key + i] += score * b[Q][r->query + i];
            b[Q_GRADIENT][r->query + i] += score * b[K][key + i];
        }
    }
}

typedef void (*RowFunction)(const RkSample *s, const Row *r, double *const *b, double *p);

static void every_row(const RkSample *s, double *const *b, RowFunction function)
{
    double *p = (double *)malloc((size_t)s->n * sizeof *p);
    for (int64_t batch = 0; p != NULL && batch < s->batch; batch++) {
        for (int64_t head = 0; head < s->heads; head++) {
            for (int64_t token = 0; token < s->m; token++) {
                Row r = row_of(s, batch, head, token);
                function(s, &r, b, p);
            }
        }
    }
    free(p);
}

static void reference(const RkSample *s, double *const *b)
{
    every_row(s, b, reference_row);
}

/* Backward in double precision. The gradients are zero at first, as operands are filled. */
static void reference_backward(const RkSample *s, double *const *b)
{
    every_row(s, b, reference_backward_row);
}

#define SHAPES(cls)                                                                                \
    {cls, RH_DTYPE_BF16, true, 4, 2, 2, 192, 192, 128, 0, 0, 0},                                   \
        {cls, RH_DTYPE_BF16, true, 3, 1, 1, 150, 150, 64, 0, 0, 0},                                \
        {cls, RH_DTYPE_FP16, false, 2, 2, 1, 70, 133, 64, 0, 0, 0},                                \
        {cls, RH_DTYPE_FP16, false, 2, 1, 1, 64, 200, 128, 0, 0, 0},                               \
    {                                                                                              \
    }

static const RkSample CHECKS[] = {SHAPES(RK_ATTENTION)};
static const RkSample CHECKS_BACKWARD[] = {SHAPES(RK_ATTENTION_BACKWARD)};

extern const RkKernel RK_KERNEL_ATTENTION_OWN = {"own", operands, prepare,   launch,
                                                 NULL,  NULL,     reference, CHECKS};
extern const RkKernel RK_KERNEL_ATTENTION_BACKWARD_OWN = {
    "own", backward_operands,  prepare_backward, launch_backward, NULL,
    NULL,  reference_backward, CHECKS_BACKWARD};

/* --- By cuDNN --- */

static bool prepare_cudnn(RkGpu *gpu, RkCase *c, RkError *why)
{
    char version[32];
    void *first[RK_CUDNN_OPERANDS];
    RkCudnn *plan = NULL;
    if (c->sample.cls == RK_ATTENTION_BACKWARD && !prepare_backward(gpu, c, why))
        return false;
    if (!rk_cudnn_make(gpu, &c->sample, &plan, why))
        return false;
    for (int i = 0; i < c->operands_count; i++)
        first[i] = c->data[i];
    if (!rk_cudnn_enqueue(plan, first, gpu->stream)) {
        rk_cudnn_free(plan);
        return rk_fail(why, "cuDNN does not run what it planned");
    }
    rk_cudnn_version(version, sizeof version);
    snprintf(c->library, sizeof c->library, "cudnn %s", version);
    c->plan = plan;
    return true;
}

static void launch_cudnn(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    if (!rk_cudnn_enqueue((RkCudnn *)c->plan, b, stream))
        rk_case_refuse();
}

static void release_cudnn(RkCase *c)
{
    rk_cudnn_free((RkCudnn *)c->plan);
}

static const RkKernel CUDNN = {"cudnn", operands,      prepare_cudnn, launch_cudnn,
                               NULL,    release_cudnn, reference,     NULL};
static const RkKernel CUDNN_BACKWARD = {
    "cudnn", backward_operands, prepare_cudnn,      launch_cudnn,
    NULL,    release_cudnn,     reference_backward, NULL};

/* --- The choice --- */

#define KINDS_MAX 64

/* A kind of shapes with one graph: what was found right on a small shape is used for large ones. */
typedef struct {
    RkSample small; /* the shape tried */
    bool right;
} Verdict;

static RkSample small_like(const RkSample *s)
{
    RkSample small = *s;
    int group = s->heads / s->kv_heads;
    small.batch = 2;
    small.m = small.n = 256;
    small.kv_heads = 2;
    small.heads = group > 1 ? 4 : 2;
    small.bytes = small.flops = small.tier = 0;
    return small;
}

/* Compares cuDNN with double precision once per kind; reports once when it is wrong. */
static bool cudnn_is_right(RkGpu *gpu, const RkSample *s)
{
    static Verdict verdicts[KINDS_MAX];
    static int count;
    RkSample checks[2] = {small_like(s), {}};
    for (int i = 0; i < count; i++)
        if (rk_sample_same_shape(&verdicts[i].small, &checks[0]))
            return verdicts[i].right;
    RkKernel kernel = s->cls == RK_ATTENTION ? CUDNN : CUDNN_BACKWARD;
    RkError why = {};
    double worst = 0;
    kernel.checks = checks;
    bool ran = rk_kernel_check(gpu, &kernel, &worst, &why), right = ran && worst <= 1;
    if (!right)
        fprintf(stderr, "note: %s %s, head size %lld, %s: own kernel, since %s\n",
                rk_class_name(s->cls), rh_dtype_name(s->dtype), (long long)s->k,
                s->causal ? "causal" : "unmasked",
                ran ? "cuDNN's result differs from double precision" : why.text);
    if (count < KINDS_MAX)
        verdicts[count++] = Verdict{checks[0], right};
    return right;
}

static bool prepare_best(RkGpu *gpu, RkCase *c, RkError *why)
{
    size_t mark = gpu->arena_used;
    if (cudnn_is_right(gpu, &c->sample) && prepare_cudnn(gpu, c, why))
        return true;
    gpu->arena_used = mark;
    snprintf(c->library, sizeof c->library, "own");
    return c->sample.cls == RK_ATTENTION ? prepare(gpu, c, why) : prepare_backward(gpu, c, why);
}

static void launch_best(const RkGpu *gpu, const RkCase *c, cudaStream_t stream, void *const *b)
{
    if (c->plan != NULL)
        launch_cudnn(gpu, c, stream, b);
    else if (c->sample.cls == RK_ATTENTION)
        launch(gpu, c, stream, b);
    else
        launch_backward(gpu, c, stream, b);
}

extern const RkKernel RK_KERNEL_ATTENTION = {"best", operands,      prepare_best, launch_best,
                                             NULL,   release_cudnn, reference,    CHECKS};
extern const RkKernel RK_KERNEL_ATTENTION_BACKWARD = {
    "best", backward_operands, prepare_best,       launch_best,
    NULL,   release_cudnn,     reference_backward, CHECKS_BACKWARD};
