/* Runs kernels on the processor with the functions that calibration times (calibrate/cpu). */
#include <string.h>

#include "base/error.h"
#include "calibrate/cpu/cpu_kernels.h"
#include "platforms/devices/kernels_to_measure.h"
#include "validate/perform/clock_sync.h"
#include "validate/perform/compute.h"

typedef struct {
    const RhProgram *program;
    RkCpu *cpu;        /* owned */
    RkSample *kernels; /* owned; of the program, in its order, as the processor runs them */
} Blas;

/* A kernel as the processor's functions know it: in single precision, whatever its format is. */
static RkSample sample_of(const RhKernel *k)
{
    RhListedKernel listed = {.kernel = *k, .count = 1};
    RkSample s = {.cls = rk_class_by_name(rh_kernel_list_name(&listed)),
                  .dtype = RH_DTYPE_FP32,
                  .causal = k->causal,
                  .heads = k->heads,
                  .kv_heads = k->kv_heads,
                  .batch = k->batch,
                  .m = k->m,
                  .n = k->n,
                  .k = k->k,
                  .bytes = k->bytes,
                  .flops = k->flops};
    if (s.cls == RK_CLASS_NONE)
        s.cls = RK_COPY_DEVICE; /* bytes that are moved */
    return s;
}

static double run_bundle(void *worker, int32_t bundle)
{
    const Blas *x = worker;
    const RhBundle *b = &g_array_index(x->program->bundles, RhBundle, bundle);
    for (int32_t i = b->first; i < b->first + b->count; i++)
        if (x->kernels[i].bytes > 0 && !rk_cpu_run(x->cpu, &x->kernels[i]))
            return -1;
    return rh_clock_now_s();
}

static void close_blas(void *worker)
{
    Blas *x = worker;
    rk_cpu_close(x->cpu);
    g_free(x->kernels);
    g_free(x);
}

static void *open_blas(const RhProgram *p, int place G_GNUC_UNUSED, GError **error)
{
    const GArray *kernels = p->kernels;
    RkError why;
    double largest_bytes = 0;
    Blas *x = g_new0(Blas, 1);
    x->program = p;
    x->kernels = g_new0(RkSample, kernels->len + 1);
    for (guint i = 0; i < kernels->len; i++) {
        x->kernels[i] = sample_of(&g_array_index(kernels, RhKernel, i));
        if (x->kernels[i].cls <= RK_ATTENTION_BACKWARD)
            largest_bytes = MAX(largest_bytes, rk_cpu_bytes(&x->kernels[i]));
    }
    x->cpu = rk_cpu_open(1, largest_bytes, &why); /* a rank has one core, as a rank has one GPU */
    if (x->cpu)
        return x;
    rh_fail(error, RH_ERROR_IO, "--compute blas: %s", why.text);
    close_blas(x);
    return NULL;
}

const RhWorker RH_WORKER_BLAS = {"blas", open_blas, run_bundle, close_blas};
