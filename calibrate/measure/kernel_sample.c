#include "calibrate/measure/kernel_sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Width of rows of a class that is given by its bytes alone. */
#define USUAL_COLUMNS   4096
#define USUAL_HEADS     32
#define USUAL_HEAD_SIZE 128
#define USUAL_TABLE     32768

typedef double (*Traffic)(const RkSample *s, double element_bytes);

static double gemm_bytes(const RkSample *s, double e)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    double out = s->dtype == RH_DTYPE_FP8 ? 2 : e; /* fp8 products have bf16 results */
    return (double)s->batch * (e * (m * k + k * n) + out * m * n);
}

/* Bytes of a product that is added to an fp32 result, which is read and written. */
static double added_gemm_bytes(const RkSample *s, double e)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    return (double)s->batch * (e * (m * k + k * n) + 8 * m * n);
}

static double grouped_bytes(const RkSample *s, double e)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    return e * (m * k + (double)s->batch * k * n + m * n);
}

/* Traffic of attention: q and out, k and v, each times `copies`; the row statistics once. */
static double attention_traffic(const RkSample *s, double e, double copies)
{
    double queries = (double)s->batch * (double)s->m * s->heads;
    double keys = (double)s->batch * (double)s->n * s->kv_heads;
    return copies * e * 2 * (queries + keys) * (double)s->k + 4 * queries;
}

static double attention_bytes(const RkSample *s, double e)
{
    return attention_traffic(s, e, 1);
}

static double attention_backward_bytes(const RkSample *s, double e)
{
    return attention_traffic(s, e, 2);
}

static double cells(const RkSample *s)
{
    return (double)s->m * (double)s->n;
}

static double twice_bytes(const RkSample *s, double e)
{
    return 2 * e * cells(s);
}

static double thrice_bytes(const RkSample *s, double e)
{
    return 3 * e * cells(s);
}

static double norm_bytes(const RkSample *s, double e)
{
    return 2 * e * cells(s) + e * (double)s->n;
}

/* Bytes of rotary. The table of sines and cosines is one fp32 pair for every token and pair of
 * columns. */
static double rotary_bytes(const RkSample *s, double e)
{
    double tokens = (double)s->batch * (double)s->m;
    return 2 * e * tokens * s->heads * (double)s->k + 4 * (double)s->m * (double)s->k;
}

static double permute_bytes(const RkSample *s, double e)
{
    return 2 * e * (double)s->batch * (double)s->m * s->heads * (double)s->k;
}

static double embedding_bytes(const RkSample *s, double e)
{
    return 2 * e * cells(s) + 4 * (double)s->m;
}

/* Bytes of cross-entropy: logits in, their gradient out; a 4-byte target and an fp32 loss per
 * token. */
static double cross_entropy_bytes(const RkSample *s, double e)
{
    return 2 * e * cells(s) + 8 * (double)s->m;
}

/* Bytes of Adam in mixed precision: fp32 weight and both moments read and written, an fp32 gradient
 * read, a 2-byte weight written. */
static double optimizer_bytes(const RkSample *s, double e)
{
    (void)e;
    return (3 * 8 + 4 + 2) * cells(s);
}

/* Bytes of a reduction: an fp32 sum read and written, a gradient read. */
static double reduce_bytes(const RkSample *s, double e)
{
    return (8 + e) * cells(s);
}

static double copied_bytes(const RkSample *s, double e)
{
    (void)e;
    return (double)s->n;
}

static double copied_twice_bytes(const RkSample *s, double e)
{
    (void)e;
    return 2 * (double)s->n;
}

static const struct {
    const char *name;
    Traffic bytes; /* NULL: none */
    RhKernelClass kernel;
} CLASSES[RK_CLASS_LAST] = {
    [RK_CLASS_NONE] = {"none", NULL, RH_KERNEL_NONE},
    [RK_GEMM] = {"gemm", gemm_bytes, RH_KERNEL_GEMM},
    [RK_GEMM_NN] = {"gemm_nn", gemm_bytes, RH_KERNEL_GEMM},
    [RK_GEMM_NT] = {"gemm_nt", added_gemm_bytes, RH_KERNEL_GEMM},
    [RK_GROUPED_GEMM] = {"grouped_gemm", grouped_bytes, RH_KERNEL_NONE},
    [RK_ATTENTION] = {"attention", attention_bytes, RH_KERNEL_ATTENTION},
    [RK_ATTENTION_BACKWARD] = {"attention_backward", attention_backward_bytes,
                               RH_KERNEL_ATTENTION_BACKWARD},
    [RK_SOFTMAX] = {"softmax", twice_bytes, RH_KERNEL_SOFTMAX},
    [RK_NORM] = {"norm", norm_bytes, RH_KERNEL_NORM},
    [RK_ROTARY] = {"rotary", rotary_bytes, RH_KERNEL_ROTARY},
    [RK_ACTIVATION] = {"activation", thrice_bytes, RH_KERNEL_ACTIVATION},
    [RK_ADD] = {"add", thrice_bytes, RH_KERNEL_ADD},
    [RK_EMBEDDING] = {"embedding", embedding_bytes, RH_KERNEL_EMBEDDING},
    [RK_CROSS_ENTROPY] = {"cross_entropy", cross_entropy_bytes, RH_KERNEL_CROSS_ENTROPY},
    [RK_OPTIMIZER] = {"optimizer", optimizer_bytes, RH_KERNEL_OPTIMIZER},
    [RK_REDUCE] = {"reduce", reduce_bytes, RH_KERNEL_REDUCE},
    [RK_PERMUTE] = {"permute", permute_bytes, RH_KERNEL_NONE},
    [RK_COPY_DEVICE] = {"copy_device", copied_twice_bytes, RH_KERNEL_NONE},
    [RK_COPY_TO_HOST_PINNED] = {"copy_to_host_pinned", copied_bytes, RH_KERNEL_NONE},
    [RK_COPY_FROM_HOST_PINNED] = {"copy_from_host_pinned", copied_bytes, RH_KERNEL_NONE},
    [RK_COPY_TO_HOST_PAGEABLE] = {"copy_to_host_pageable", copied_bytes, RH_KERNEL_NONE},
    [RK_COPY_FROM_HOST_PAGEABLE] = {"copy_from_host_pageable", copied_bytes, RH_KERNEL_NONE},
    [RK_COPY_BOTH_PINNED] = {"copy_both_pinned", copied_bytes, RH_KERNEL_NONE},
    [RK_EMPTY] = {"empty", NULL, RH_KERNEL_NONE},
    [RK_LAUNCH] = {"launch", NULL, RH_KERNEL_NONE},
    [RK_LAUNCH_RATE] = {"launch_rate", NULL, RH_KERNEL_NONE},
    [RK_GRAPH_LAUNCH] = {"graph_launch", NULL, RH_KERNEL_NONE},
    [RK_SUSTAINED_GEMM] = {"sustained_gemm", gemm_bytes, RH_KERNEL_NONE},
    [RK_GEMM_BESIDE_COPY] = {"gemm_beside_copy", gemm_bytes, RH_KERNEL_NONE},
    [RK_NCCL_ALL_REDUCE] = {"nccl_all_reduce", copied_bytes, RH_KERNEL_NONE},
    [RK_NCCL_REDUCE_SCATTER] = {"nccl_reduce_scatter", copied_bytes, RH_KERNEL_NONE},
    [RK_NCCL_ALL_GATHER] = {"nccl_all_gather", copied_bytes, RH_KERNEL_NONE},
    [RK_NCCL_ALL_TO_ALL] = {"nccl_all_to_all", copied_bytes, RH_KERNEL_NONE},
    [RK_NCCL_SEND_RECV] = {"nccl_send_recv", copied_bytes, RH_KERNEL_NONE},
    [RK_SEQUENCE] = {"sequence", NULL, RH_KERNEL_NONE},
    [RK_SEQUENCE_GRAPH] = {"sequence_graph", NULL, RH_KERNEL_NONE},
};

const char *rk_class_name(RkClass cls)
{
    return cls < RK_CLASS_LAST ? CLASSES[cls].name : "none";
}

RhKernelClass rk_class_kernel(RkClass cls)
{
    return cls < RK_CLASS_LAST ? CLASSES[cls].kernel : RH_KERNEL_NONE;
}

bool rk_class_is_product(RkClass cls)
{
    return cls == RK_GEMM || cls == RK_GEMM_NN || cls == RK_GEMM_NT;
}

RkClass rk_class_by_name(const char *name)
{
    for (int i = 1; i < RK_CLASS_LAST; i++)
        if (rh_kernel_names_equal(CLASSES[i].name, name))
            return (RkClass)i;
    return RK_CLASS_NONE;
}

/* FLOPs of attention; half of the square is visible under a causal mask. */
static double attention_flops(const RkSample *s)
{
    double square = (double)s->m * (double)s->n * (s->causal && s->m == s->n ? 0.5 : 1);
    double pair = rh_attention_pair_flops(s->k, s->k, s->cls == RK_ATTENTION_BACKWARD);
    return (double)s->batch * s->heads * square * pair;
}

static double flops_of(const RkSample *s)
{
    double product = 2 * (double)s->m * (double)s->n * (double)s->k;
    if (rk_class_is_product(s->cls) || s->cls == RK_SUSTAINED_GEMM || s->cls == RK_GEMM_BESIDE_COPY)
        return (double)s->batch * product;
    if (s->cls == RK_GROUPED_GEMM)
        return product;
    if (s->cls == RK_ATTENTION || s->cls == RK_ATTENTION_BACKWARD)
        return attention_flops(s);
    return 0;
}

void rk_sample_measure_up(RkSample *sample)
{
    Traffic bytes = CLASSES[sample->cls].bytes;
    sample->bytes = bytes != NULL ? bytes(sample, rh_dtype_bytes(sample->dtype)) : 0;
    sample->flops = flops_of(sample);
}

static int64_t or_usual(int64_t given, int64_t usual)
{
    return given > 0 ? given : usual;
}

bool rk_sample_shape_from_bytes(RkSample *sample)
{
    if (sample->cls < RK_SOFTMAX || sample->cls > RK_PERMUTE)
        return sample->m > 0 && sample->n > 0;
    if (sample->m > 0)
        return true;
    if (!(sample->bytes > 0))
        return false;
    bool by_heads = sample->cls == RK_ROTARY || sample->cls == RK_PERMUTE;
    RkSample s = *sample;
    s.batch = or_usual(s.batch, 1);
    if (by_heads) {
        s.heads = (int32_t)or_usual(s.heads, USUAL_HEADS);
        s.k = or_usual(s.k, USUAL_HEAD_SIZE);
    } else {
        s.n = or_usual(s.n, USUAL_COLUMNS);
        s.k = sample->cls == RK_EMBEDDING ? or_usual(s.k, USUAL_TABLE) : s.k;
    }
    double e = rh_dtype_bytes(s.dtype);
    double fixed = CLASSES[s.cls].bytes(&s, e); /* traffic is linear in m */
    s.m = 1;
    double row = CLASSES[s.cls].bytes(&s, e) - fixed;
    s.m = (int64_t)fmax(1, round((sample->bytes - fixed) / row));
    *sample = s;
    return true;
}

bool rk_sample_same_shape(const RkSample *a, const RkSample *b)
{
    return a->cls == b->cls && a->dtype == b->dtype && a->causal == b->causal &&
           a->heads == b->heads && a->kv_heads == b->kv_heads && a->batch == b->batch &&
           a->m == b->m && a->n == b->n && a->k == b->k;
}

bool rk_samples_add(RkSamples *samples, RkSample sample)
{
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity > 0 ? 2 * samples->capacity : 256;
        RkSample *items = (RkSample *)realloc(samples->items, capacity * sizeof *items);
        if (items == NULL)
            return false;
        samples->items = items;
        samples->capacity = capacity;
    }
    samples->items[samples->count++] = sample;
    return true;
}

void rk_samples_clear(RkSamples *samples)
{
    free(samples->items);
    *samples = (RkSamples){NULL, 0, 0};
}
