#include "strategies/train/grid.h"

#include "strategies/train/train.h"

/* Dimensions from the innermost out. */
static const RhDim orders[RH_ORDER_LAST][RH_DIM_LAST] = {
    [RH_ORDER_NONE] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_DP, RH_DIM_PP},
    [RH_ORDER_TP_DP_PP] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_DP, RH_DIM_PP},
    [RH_ORDER_TP_PP_DP] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_PP, RH_DIM_DP},
};

/* Dimensions of a group, each once; spans_of writes one span for each. */
typedef struct {
    const char *label;
    int count;
    RhDim dims[RH_DIM_LAST];
} Group;
G_STATIC_ASSERT(RH_DIM_LAST <= RH_SPANS_MAX);

static const Group kinds[RH_GROUP_LAST] = {
    [RH_GROUP_TENSOR] = {"tp", 1, {RH_DIM_TP}},
    [RH_GROUP_CONTEXT] = {"cp", 1, {RH_DIM_CP}},
    [RH_GROUP_DATA] = {"dp", 2, {RH_DIM_CP, RH_DIM_DP}},
};

RhGrid rh_grid(const RhLayout *l)
{
    RhGrid g = {
        .extent = {
            [RH_DIM_TP] = l->tp, [RH_DIM_CP] = l->cp, [RH_DIM_DP] = l->dp, [RH_DIM_PP] = l->pp}};
    int32_t stride = 1;
    for (int i = 0; i < RH_DIM_LAST; i++) {
        RhDim dim = orders[l->order][i];
        g.stride[dim] = stride;
        stride *= g.extent[dim];
    }
    return g;
}

int32_t rh_train_replicas(const RhLayout *layout)
{
    RhGrid grid = rh_grid(layout);
    int32_t size = 1;
    for (int i = 0; i < kinds[RH_GROUP_DATA].count; i++)
        size *= grid.extent[kinds[RH_GROUP_DATA].dims[i]];
    return size;
}

/* Spans of these dimensions, those of one rank left out. */
static int32_t spans_of(const RhGrid *g, const RhDim *dims, int count, RhSpan *out)
{
    int32_t n = 0;
    for (int i = 0; i < count; i++)
        if (g->extent[dims[i]] > 1)
            out[n++] = (RhSpan){g->stride[dims[i]], g->extent[dims[i]]};
    return n;
}

void rh_grid_add_groups(const RhGrid *g, RhProgram *p, int32_t groups[RH_GROUP_LAST])
{
    for (int kind = 0; kind < RH_GROUP_LAST; kind++) {
        RhSpan spans[RH_SPANS_MAX];
        int32_t count = spans_of(g, kinds[kind].dims, kinds[kind].count, spans);
        groups[kind] = count ? rh_program_add_group(p, kinds[kind].label, spans, count) : -1;
    }
}

void rh_grid_begin_stage(const RhGrid *g, RhProgram *p, int32_t stage)
{
    g_autofree char *name = g_strdup_printf("stage %d", stage);
    static const RhDim dims[] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_DP};
    RhSpan spans[RH_SPANS_MAX];
    int32_t count = spans_of(g, dims, G_N_ELEMENTS(dims), spans);
    rh_program_begin_role(p, name, stage * g->stride[RH_DIM_PP], spans, count);
}
