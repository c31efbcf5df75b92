#include "strategies/train/distinct_weight_shapes.h"

G_STATIC_ASSERT(RH_LAYER_KINDS_MAX <= 64); /* a bit each */

static void add_shape(RhWeightShapes *m, int64_t rows, int64_t columns, uint64_t kind)
{
    int32_t i = 0;
    while (i < m->count && (m->each[i].rows != rows || m->each[i].columns != columns))
        i++;
    if (i == RH_WEIGHT_SHAPES_MAX)
        return;
    m->each[i].rows = rows;
    m->each[i].columns = columns;
    m->each[i].kinds |= kind;
    m->count = MAX(m->count, i + 1);
}

/* Adds the weight shapes of a block. A product that gives weights' gradients has the size of the
 * weights; for experts, of one expert's. */
static void add_block(const RhModelCost *p, int kind, RhBlock block, GArray *kernels,
                      RhWeightShapes *m)
{
    const RhModel *model = p->c->model;
    g_array_set_size(kernels, 0);
    rh_block_kernels(model, &model->kinds[kind], block, RH_PART_TENSOR, RH_PASS_BACKWARD_WEIGHT,
                     &p->shard, kernels);
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *kernel = &g_array_index(kernels, RhKernel, i);
        if (kernel->cls == RH_KERNEL_GEMM && !kernel->core)
            add_shape(m, kernel->m, kernel->n, UINT64_C(1) << kind);
    }
}

RhWeightShapes rh_weight_shapes_of(const RhModelCost *p)
{
    RhWeightShapes m = {.count = 0};
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    for (int k = 0; k < p->c->model->kinds_count; k++) {
        add_block(p, k, RH_BLOCK_MIXER, kernels, &m);
        add_block(p, k, RH_BLOCK_FFN, kernels, &m);
    }
    return m;
}

double rh_states_dummies(const RhModelCost *p, const RhLayout *l, const RhStates *states)
{
    double entries = 0;
    for (int32_t i = 0; i < p->matrices.count && l->zero < 2; i++) {
        const RhWeightShape *matrix = &p->matrices.each[i];
        if (matrix->kinds & states->kinds)
            entries += (double)matrix->rows * (double)matrix->columns;
    }
    return rh_weight_bytes(p->c) * entries;
}
