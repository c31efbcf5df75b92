#include "validate/perform/compute.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "validate/perform/clock.h"

#define LIBRARY   "libopenblas.so.0"
#define ROW_MAJOR 101 /* cblas.h */
#define PLAIN     111
#define BATCH_ROOM                                                                                 \
    4 /* matrices of a batch that have room of their own; the others use it again                  \
       */

typedef void (*Sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

/* A product of m x k by k x n matrices, so many times. */
typedef struct {
    int64_t m, n, k, times;
} Product;

struct RhCompute {
    const RhProgram *program;
    void *library;
    Sgemm sgemm;
    float *a, *b, *c; /* owned; operands and results, the largest of any kernel */
    size_t a_room, b_room, c_room;
    GThread *thread;
    GMutex lock;
    GCond changed;
    int32_t bundle; /* under way; -1 = none */
    bool done, ending;
    double t_end_s;
};

/* --- kernels --- */

/* The products a kernel is made of; 0: it only moves bytes. */
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

static void multiply(const RhCompute *x, const Product *p)
{
    size_t a = (size_t)(p->m * p->k), b = (size_t)(p->k * p->n), c = (size_t)(p->m * p->n);
    for (int64_t i = 0; i < p->times; i++) {
        size_t at = (size_t)(i % BATCH_ROOM);
        x->sgemm(ROW_MAJOR, PLAIN, PLAIN, (int)p->m, (int)p->n, (int)p->k, 1.0F, x->a + at * a,
                 (int)p->k, x->b + at * b, (int)p->n, 0.0F, x->c + at * c, (int)p->n);
    }
}

/* Half of the bytes are read, half written. */
static void move(const RhCompute *x, double bytes)
{
    size_t room = MIN(x->a_room, x->c_room) * sizeof(float);
    for (double left = bytes / 2; left > 0; left -= (double)room)
        memcpy(x->c, x->a, MIN(room, (size_t)left));
}

static void run_bundle(const RhCompute *x, int32_t bundle)
{
    const RhBundle *b = &g_array_index(x->program->bundles, RhBundle, bundle);
    for (int32_t i = b->first; i < b->first + b->count; i++) {
        const RhKernel *k = &g_array_index(x->program->kernels, RhKernel, i);
        Product products[2];
        int count = products_of(k, products);
        for (int p = 0; p < count; p++)
            multiply(x, &products[p]);
        if (count == 0)
            move(x, k->bytes);
    }
}

/* --- the thread --- */

static gpointer work(gpointer data)
{
    RhCompute *x = data;
    g_mutex_lock(&x->lock);
    while (!x->ending) {
        if (x->bundle < 0 || x->done) {
            g_cond_wait(&x->changed, &x->lock);
            continue;
        }
        g_mutex_unlock(&x->lock);
        run_bundle(x, x->bundle);
        double t_end_s = rh_clock_now_s();
        g_mutex_lock(&x->lock);
        x->t_end_s = t_end_s;
        x->done = true;
    }
    g_mutex_unlock(&x->lock);
    return NULL;
}

void rh_compute_start(RhCompute *x, int32_t bundle)
{
    g_mutex_lock(&x->lock);
    x->bundle = bundle;
    x->done = false;
    g_cond_signal(&x->changed);
    g_mutex_unlock(&x->lock);
}

bool rh_compute_poll(RhCompute *x, double *t_end_s)
{
    g_mutex_lock(&x->lock);
    bool over = x->bundle >= 0 && x->done;
    if (over) {
        *t_end_s = x->t_end_s;
        x->bundle = -1;
    }
    g_mutex_unlock(&x->lock);
    return over;
}

/* --- life --- */

static void widen(RhCompute *x, const Product *p)
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

static void make_room(RhCompute *x)
{
    x->a_room = x->b_room = x->c_room = (size_t)4 << 20; /* beyond caches */
    for (guint i = 0; i < x->program->kernels->len; i++) {
        Product products[2];
        int count = products_of(&g_array_index(x->program->kernels, RhKernel, i), products);
        for (int p = 0; p < count; p++)
            widen(x, &products[p]);
    }
    x->a = matrix(x->a_room);
    x->b = matrix(x->b_room);
    x->c = matrix(x->c_room);
}

/* A function of the library; ISO C has no cast from objects to functions. */
static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

RhCompute *rh_compute_new(const RhProgram *p, GError **error)
{
    void (*set_threads)(int) = NULL;
    RhCompute *x = g_new0(RhCompute, 1);
    x->program = p;
    x->bundle = -1;
    x->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (x->library) {
        find(x->library, "cblas_sgemm", (void *)&x->sgemm);
        find(x->library, "openblas_set_num_threads", (void *)&set_threads);
    }
    if (!x->sgemm) {
        rh_fail(error, RH_ERROR_IO,
                "--compute blas needs OpenBLAS: %s is not here\nhelp: install libopenblas0",
                LIBRARY);
        rh_compute_free(x);
        return NULL;
    }
    if (set_threads)
        set_threads(1); /* a rank has one processor, as a rank has one GPU */
    make_room(x);
    g_mutex_init(&x->lock);
    g_cond_init(&x->changed);
    x->thread = g_thread_new("compute", work, x);
    return x;
}

void rh_compute_free(RhCompute *x)
{
    if (!x)
        return;
    if (x->thread) {
        g_mutex_lock(&x->lock);
        x->ending = true;
        g_cond_signal(&x->changed);
        g_mutex_unlock(&x->lock);
        g_thread_join(x->thread);
        g_mutex_clear(&x->lock);
        g_cond_clear(&x->changed);
    }
    if (x->library)
        dlclose(x->library);
    g_free(x->a);
    g_free(x->b);
    g_free(x->c);
    g_free(x);
}
