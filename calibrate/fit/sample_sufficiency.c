#include "calibrate/fit/sample_sufficiency.h"

#include <string.h>

#define SHAPES_PER_PARAM 3
#define VALUES_LEAST     3 /* values of a dimension that the form has a constant for */

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(int64_t[8]));
}

/* Computes the dimensions of a kernel that the cost model uses. */
static void shape_of(const RhKernel *k, int64_t shape[8])
{
    bool streams = k->cls != RH_KERNEL_GEMM && k->cls != RH_KERNEL_ATTENTION &&
                   k->cls != RH_KERNEL_ATTENTION_BACKWARD;
    memset(shape, 0, sizeof(int64_t[8]));
    if (streams) {
        shape[0] = (int64_t)k->bytes;
        return;
    }
    const int64_t all[8] = {k->m, k->n, k->k, k->batch, k->heads, k->kv_heads, k->causal, k->dtype};
    memcpy(shape, all, sizeof all);
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static guint values_of(const int64_t (*shapes)[8], guint count, int place)
{
    g_autofree int64_t *values = g_new(int64_t, count + 1);
    guint distinct = 0;
    for (guint i = 0; i < count; i++)
        values[i] = shapes[i][place];
    qsort(values, count, sizeof *values, by_number);
    for (guint i = 0; i < count; i++)
        distinct += i == 0 || values[i] != values[i - 1];
    return distinct;
}

/* Dimensions that constants of the form depend on. */
static const struct {
    RhKernelClass cls;
    int place;
    const char *name;
} dimensions[] = {
    {RH_KERNEL_GEMM, 0, "m"},
    {RH_KERNEL_GEMM, 1, "n"},
    {RH_KERNEL_GEMM, 2, "k"},
    {RH_KERNEL_ATTENTION, 1, "n"},
};

char *rh_fit_lack(const GArray *samples, size_t params_count)
{
    guint count = samples->len, distinct = 0, needed = (guint)(SHAPES_PER_PARAM * params_count);
    g_autofree int64_t(*shapes)[8] = g_malloc_n(count + 1, sizeof *shapes);
    for (guint i = 0; i < count; i++)
        shape_of(&g_array_index(samples, RhFitSample, i).kernel, shapes[i]);
    qsort(shapes, count, sizeof *shapes, compare);
    for (guint i = 0; i < count; i++)
        distinct += i == 0 || compare(shapes[i], shapes[i - 1]) != 0;
    if (distinct < needed)
        return g_strdup_printf("%u rows to fit, of %u shape%s; %zu constants need %u shapes", count,
                               distinct, distinct == 1 ? "" : "s", params_count, needed);
    for (size_t i = 0; params_count > 1 && i < G_N_ELEMENTS(dimensions); i++) {
        guint values = values_of((const int64_t(*)[8])shapes, count, dimensions[i].place);
        bool counts =
            g_array_index(samples, RhFitSample, 0).kernel.cls == (uint8_t)dimensions[i].cls;
        if (counts && values < VALUES_LEAST)
            return g_strdup_printf("%u rows to fit with %u values of %s; the form needs %d", count,
                                   values, dimensions[i].name, VALUES_LEAST);
    }
    return NULL;
}
