#include "validate/perform/compute.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "validate/perform/clock.h"

#define LIBRARY   "libopenblas.so.0"
#define ROW_MAJOR 101 /* cblas.h */
#define PLAIN     111
#define BATCH_ROOM                                                                                 \
    4 /* matrices of a batch with memory of their own; the others reuse it                  \ */

typedef void (*Sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

/* A product of m x k by k x n matrices, repeated. */
typedef struct {
    int64_t m, n, k, times;
} Product;

typedef struct {
    const RhProgram *program;
    void *library;
    Sgemm sgemm;
    float *a, *b, *c; /* owned; operands and results, of the largest size of any kernel */
    size_t a_room, b_room, c_room;
} Blas;

/* --- kernels --- */

/* Products of a kernel; 0: it only moves bytes. */
static int products_of(const RhKernel *k, Product out[2])
{
    int64_t batch = MAX(k->batch, 1);
    if (k->cls == RH_KERNEL_GEMM) {
        out[0] = (Product){k->m, k->n, k->k, batch};
        return 1;
    }
    if (k->cls != RH_KERNEL_ATTENTION && k->cls != RH_KERNEL_ATTENTION_BACKWARD)
        return 0;
    bool backward = k->cls == RH_KERNEL_ATTENTION_BACKWARD; /* five products for two */
    int64_t times = batch * MAX(k->heads, 1);
    out[0] = (Product){k->m, k->n, k->k, backward ? 3 * times : times};
    out[1] = (Product){k->m, k->k, k->n, backward ? 2 * times : times};
    return 2;
}

static void multiply(const Blas *x, const Product *p)
{
    size_t a = (size_t)(p->m * p->k), b = (size_t)(p->k * p->n), c = (size_t)(p->m * p->n);
    for (int64_t i = 0; i < p->times; i++) {
        size_t at = (size_t)(i % BATCH_ROOM);
        x->sgemm(ROW_MAJOR, PLAIN, PLAIN, (int)p->m, (int)p->n, (int)p->k, 1.0F, x->a + at * a,
                 (int)p->k, x->b + at * b, (int)p->n, 0.0F, x->c + at * c, (int)p->n);
    }
}

/* Moves bytes: half are read, half written. */
static void move_bytes(const Blas *x, double bytes)
{
    size_t room = MIN(x->a_room, x->c_room) * sizeof(float);
    for (double left = bytes / 2; left > 0; left -= (double)room)
        memcpy(x->c, x->a, MIN(room, (size_t)left));
}

static double run_bundle(void *worker, int32_t bundle)
{
    const Blas *x = worker;
    const RhBundle *b = &g_array_index(x->program->bundles, RhBundle, bundle);
    for (int32_t i = b->first; i < b->first + b->count; i++) {
        const RhKernel *k = &g_array_index(x->program->kernels, RhKernel, i);
        Product products[2];
        int count = products_of(k, products);
        for (int p = 0; p < count; p++)
            multiply(x, &products[p]);
        if (count == 0)
            move_bytes(x, k->bytes);
    }
    return rh_clock_now_s();
}

/* --- life --- */

static void grow_buffers(Blas *x, const Product *p)
{
    x->a_room = MAX(x->a_room, BATCH_ROOM * (size_t)(p->m * p->k));
    x->b_room = MAX(x->b_room, BATCH_ROOM * (size_t)(p->k * p->n));
    x->c_room = MAX(x->c_room, BATCH_ROOM * (size_t)(p->m * p->n));
}

static float *matrix(size_t room)
{
    float *words = g_new(float, room);
    for (size_t i = 0; i < room; i++) /* no denormals, which are slow */
        words[i] = 0.5F + (float)(i % 1021) / 2048.0F;
    return words;
}

static void make_room(Blas *x)
{
    x->a_room = x->b_room = x->c_room = (size_t)4 << 20; /* beyond caches */
    for (guint i = 0; i < x->program->kernels->len; i++) {
        Product products[2];
        int count = products_of(&g_array_index(x->program->kernels, RhKernel, i), products);
        for (int p = 0; p < count; p++)
            grow_buffers(x, &products[p]);
    }
    x->a = matrix(x->a_room);
    x->b = matrix(x->b_room);
    x->c = matrix(x->c_room);
}

/* Finds a function of the library; ISO C has no cast from objects to functions. */
static void find_function(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static void close_blas(void *worker)
{
    Blas *x = worker;
    if (x->library)
        dlclose(x->library);
    g_free(x->a);
    g_free(x->b);
    g_free(x->c);
    g_free(x);
}

static void *open_blas(const RhProgram *p, int place G_GNUC_UNUSED, GError **error)
{
    void (*set_threads)(int) = NULL;
    Blas *x = g_new0(Blas, 1);
    x->program = p;
    x->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (x->library) {
        find_function(x->library, "cblas_sgemm", (void *)&x->sgemm);
        find_function(x->library, "openblas_set_num_threads", (void *)&set_threads);
    }
    if (!x->sgemm) {
        rh_fail(error, RH_ERROR_IO,
                "--compute blas needs OpenBLAS: %s is not here\nhelp: install libopenblas0",
                LIBRARY);
        close_blas(x);
        return NULL;
    }
    if (set_threads)
        set_threads(1); /* a rank has one processor, as a rank has one GPU */
    make_room(x);
    return x;
}

const RhWorker RH_WORKER_BLAS = {"blas", open_blas, run_bundle, close_blas};
