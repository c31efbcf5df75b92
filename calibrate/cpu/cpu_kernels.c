#include "calibrate/cpu/cpu_kernels.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY      "libopenblas.so.0"
#define ROW_MAJOR    101 /* cblas.h */
#define PLAIN        111
#define TRANSPOSED   112
#define RING_BYTES   ((size_t)256 << 20) /* some times what of a last-level cache one core has */
#define LINE_FLOATS  16                  /* of a cache line: operands begin on one */
#define QUERY_BLOCK  128                 /* queries whose scores are held at once */
#define FLOAT_PERIOD 1021                /* of the data, a prime, so that rows differ */

typedef void (*Sgemm)(int order, int of_a, int of_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

struct RkCpu {
    void *library;
    Sgemm sgemm;
    char name[64];
    float *ring, *scores; /* owned */
    size_t ring_floats, at, scores_floats;
};

/* --- Memory --- */

/* Takes floats of the ring, the ones that were used longest ago. */
static float *take(RkCpu *cpu, size_t count)
{
    size_t whole = (count + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
    if (cpu->at + whole > cpu->ring_floats)
        cpu->at = 0;
    float *taken = cpu->ring + cpu->at;
    cpu->at += whole;
    return taken;
}

static bool is_attention(const RkSample *s)
{
    return s->cls == RK_ATTENTION || s->cls == RK_ATTENTION_BACKWARD;
}

double rk_cpu_bytes(const RkSample *s)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    if (rk_class_is_product(s->cls))
        return sizeof(float) * (m * k + k * n + m * n); /* one of the batch at a time */
    if (is_attention(s))
        return sizeof(float) * k * (4 * m + 4 * n); /* one head, with gradients */
    return s->bytes;
}

/* Fills memory with numbers between 0.5 and 1: none is denormal, which would be slow. */
static void fill(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = 0.5F + (float)(i % FLOAT_PERIOD) / 2048.0F;
}

/* --- Products --- */

static void product(RkCpu *cpu, const RkSample *s)
{
    int m = (int)s->m, n = (int)s->n, k = (int)s->k;
    size_t a_floats = (size_t)(s->m * s->k), b_floats = (size_t)(s->k * s->n);
    bool by_columns = s->cls == RK_GEMM_NT, plain = by_columns || s->cls == RK_GEMM_NN;
    const float *a = take(cpu, a_floats), *b = take(cpu, b_floats);
    float *c = take(cpu, (size_t)(s->m * s->n));
    cpu->sgemm(ROW_MAJOR, by_columns ? TRANSPOSED : PLAIN, plain ? PLAIN : TRANSPOSED, m, n, k,
               1.0F, a, by_columns ? m : k, b, plain ? n : k, by_columns ? 1.0F : 0.0F, c, n);
}

/* --- Attention --- */

/* Turns rows of scores into probabilities. */
static void softmax(float *scores, int rows, int columns)
{
    for (int r = 0; r < rows; r++) {
        float *row = scores + (size_t)r * (size_t)columns, most = row[0], sum = 0;
        for (int i = 1; i < columns; i++)
            most = row[i] > most ? row[i] : most;
        for (int i = 0; i < columns; i++)
            sum += row[i] = expf(row[i] - most);
        for (int i = 0; i < columns; i++)
            row[i] /= sum;
    }
}

/* Turns rows of probabilities into the gradient of their scores, by that of the probabilities. */
static void softmax_gradient(float *p, const float *dp, int rows, int columns)
{
    for (int r = 0; r < rows; r++) {
        float *row = p + (size_t)r * (size_t)columns, sum = 0;
        const float *d = dp + (size_t)r * (size_t)columns;
        for (int i = 0; i < columns; i++)
            sum += row[i] * d[i];
        for (int i = 0; i < columns; i++)
            row[i] *= d[i] - sum;
    }
}

/* One block of queries of one head. */
typedef struct {
    int rows, keys, size; /* queries, keys that they see, columns of a head */
    const float *q, *k, *v;
    float *out;
} Block;

static void forward_block(RkCpu *cpu, const Block *b)
{
    float scale = 1.0F / sqrtf((float)b->size);
    cpu->sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, b->rows, b->keys, b->size, scale, b->q, b->size, b->k,
               b->size, 0.0F, cpu->scores, b->keys);
    softmax(cpu->scores, b->rows, b->keys);
    cpu->sgemm(ROW_MAJOR, PLAIN, PLAIN, b->rows, b->size, b->keys, 1.0F, cpu->scores, b->keys, b->v,
               b->size, 0.0F, b->out, b->size);
}

/* Scores again, then gradients of values, probabilities, queries and keys. */
static void backward_block(RkCpu *cpu, const Block *b, float *dq, float *dk, float *dv)
{
    float *p = cpu->scores, *dp = cpu->scores + (size_t)b->rows * (size_t)b->keys;
    float scale = 1.0F / sqrtf((float)b->size);
    cpu->sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, b->rows, b->keys, b->size, scale, b->q, b->size, b->k,
               b->size, 0.0F, p, b->keys);
    softmax(p, b->rows, b->keys);
    cpu->sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, b->keys, b->size, b->rows, 1.0F, p, b->keys, b->out,
               b->size, 1.0F, dv, b->size);
    cpu->sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, b->rows, b->keys, b->size, 1.0F, b->out, b->size, b->v,
               b->size, 0.0F, dp, b->keys);
    softmax_gradient(p, dp, b->rows, b->keys);
    cpu->sgemm(ROW_MAJOR, PLAIN, PLAIN, b->rows, b->size, b->keys, scale, p, b->keys, b->k, b->size,
               0.0F, dq, b->size);
    cpu->sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, b->keys, b->size, b->rows, scale, p, b->keys, b->q,
               b->size, 1.0F, dk, b->size);
}

static void attention_head(RkCpu *cpu, const RkSample *s)
{
    size_t queries = (size_t)(s->m * s->k), keys = (size_t)(s->n * s->k);
    float *q = take(cpu, queries), *k = take(cpu, keys), *v = take(cpu, keys),
          *out = take(cpu, queries);
    bool backward = s->cls == RK_ATTENTION_BACKWARD;
    float *dq = backward ? take(cpu, queries) : NULL, *dk = backward ? take(cpu, keys) : NULL,
          *dv = backward ? take(cpu, keys) : NULL;
    for (int64_t first = 0; first < s->m; first += QUERY_BLOCK) {
        int64_t last = first + QUERY_BLOCK < s->m ? first + QUERY_BLOCK : s->m;
        int64_t seen = s->causal && s->m == s->n ? last : s->n;
        size_t from = (size_t)(first * s->k);
        Block b = {(int)(last - first), (int)seen, (int)s->k, q + from, k, v, out + from};
        if (backward)
            backward_block(cpu, &b, dq + from, dk, dv);
        else
            forward_block(cpu, &b);
    }
}

/* --- Bytes --- */

static void copy_bytes(RkCpu *cpu, double bytes)
{
    size_t half = cpu->ring_floats / 4; /* at once */
    for (size_t left = (size_t)(bytes / 2 / sizeof(float)); left > 0;) {
        size_t count = left < half ? left : half;
        const float *from = take(cpu, count);
        memcpy(take(cpu, count), from, count * sizeof(float));
        left -= count;
    }
}

/* --- Life --- */

/* Finds a function of the library; ISO C has no cast from objects to functions. */
static bool find_function(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool open_library(RkCpu *cpu, int threads, RkError *why)
{
    void (*set_threads)(int) = NULL;
    char *(*configuration)(void) = NULL;
    cpu->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (cpu->library == NULL || !find_function(cpu->library, "cblas_sgemm", (void *)&cpu->sgemm))
        return rk_fail(why, "OpenBLAS (%s) is not here: install libopenblas0", LIBRARY);
    if (find_function(cpu->library, "openblas_set_num_threads", (void *)&set_threads))
        set_threads(threads);
    snprintf(cpu->name, sizeof cpu->name, "openblas");
    if (find_function(cpu->library, "openblas_get_config", (void *)&configuration)) {
        int word = 0, length = 0; /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
        if (sscanf(configuration(), "%*s %n%*s%n", &word, &length) == 0 && length > word)
            snprintf(cpu->name, sizeof cpu->name, "openblas %.*s", length - word,
                     configuration() + word);
    }
    return true;
}

RkCpu *rk_cpu_open(int threads, double largest_bytes, RkError *why)
{
    RkCpu *cpu = (RkCpu *)calloc(1, sizeof *cpu);
    if (cpu == NULL || !open_library(cpu, threads, why)) {
        rk_cpu_close(cpu);
        return NULL;
    }
    size_t least = (size_t)largest_bytes + ((size_t)1 << 20);
    cpu->ring_floats = (least > RING_BYTES ? least : RING_BYTES) / sizeof(float);
    cpu->ring = (float *)malloc(cpu->ring_floats * sizeof(float));
    if (cpu->ring == NULL) {
        rk_fail(why, "no memory for operands of %.0f MB", 4e-6 * (double)cpu->ring_floats);
        rk_cpu_close(cpu);
        return NULL;
    }
    fill(cpu->ring, cpu->ring_floats);
    return cpu;
}

void rk_cpu_close(RkCpu *cpu)
{
    if (cpu == NULL)
        return;
    free(cpu->ring);
    free(cpu->scores);
    if (cpu->library != NULL)
        dlclose(cpu->library);
    free(cpu);
}

const char *rk_cpu_library(const RkCpu *cpu)
{
    return cpu->name;
}

/* Makes room for two blocks of scores. */
static bool hold_scores(RkCpu *cpu, const RkSample *s)
{
    size_t wanted = 2 * QUERY_BLOCK * (size_t)s->n;
    if (wanted <= cpu->scores_floats)
        return true;
    float *more = (float *)realloc(cpu->scores, wanted * sizeof *more);
    if (more == NULL)
        return false;
    cpu->scores = more;
    cpu->scores_floats = wanted;
    return true;
}

static bool fits(const RkCpu *cpu, const RkSample *s)
{
    return s->m <= INT32_MAX && s->n <= INT32_MAX && s->k <= INT32_MAX &&
           (s->cls > RK_ATTENTION_BACKWARD ||
            rk_cpu_bytes(s) + 1e6 <= sizeof(float) * (double)cpu->ring_floats);
}

bool rk_cpu_run(RkCpu *cpu, const RkSample *s)
{
    int64_t batch = s->batch > 0 ? s->batch : 1;
    if (!fits(cpu, s))
        return false;
    if (rk_class_is_product(s->cls)) {
        for (int64_t i = 0; i < batch; i++)
            product(cpu, s);
        return true;
    }
    if (is_attention(s)) {
        for (int64_t i = 0; i < batch * s->heads; i++)
            if (!hold_scores(cpu, s))
                return false;
            else
                attention_head(cpu, s);
        return true;
    }
    copy_bytes(cpu, s->bytes);
    return s->bytes > 0 || s->cls == RK_EMPTY;
}
