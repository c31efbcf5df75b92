#include "strategies/train/memory/stream_memory_pools.h"

#include "strategies/train/memory/memory.h"

/* Parameters that are gathered together: those of the ends that the stage has, and of its largest
 * layer. */
typedef struct {
    double ends, layer, all;
} Gathered;

static void add_chunk(const RhModelCost *model_cost, const RhLayout *l, const RhChunkLayers *items,
                      Gathered *g)
{
    for (int32_t i = 0; i < items->count; i++) {
        RhStates s = rh_layer_states(model_cost, l, rh_chunk_layer(model_cost->c->model, items, i));
        double params = rh_param_counts_sum(&s.params);
        g->layer = MAX(g->layer, params);
        g->all += params;
    }
    for (int end = 0; end < 2; end++)
        if (end ? items->head : items->embedding) {
            RhStates s = rh_layer_states(model_cost, l, end ? RH_LAYER_HEAD : RH_LAYER_EMBEDDING);
            g->ends += rh_param_counts_sum(&s.params);
            g->all += rh_param_counts_sum(&s.params);
        }
}

double rh_train_streams_bytes(const RhProblem *c, const RhLayout *l, const RhTrainMemory *m)
{
    int32_t zero = rh_params_degree(l, RH_PARAMS_COMMON);
    if (!c->stack->frees_gradients || zero < 2)
        return 0;
    g_autoptr(RhModelCost) model_cost = rh_model_cost_sized_new(c, l);
    g_autofree RhChunkMemory *chunks = rh_chunk_memory_new(model_cost, l);
    Gathered g = {0};
    for (int32_t i = 0; i < l->vpp; i++)
        add_chunk(model_cost, l,
                  &chunks[rh_pipeline_model_chunk(rh_pipeline_of(l), l->pp, m->stage, i)].items,
                  &g);
    double arriving = rh_weight_bytes(c) * (g.layer + MAX(g.ends, g.layer));
    double shares = rh_gradient_bytes(c) * g.all / rh_params_shards(l, RH_PARAMS_COMMON);
    double at_peak =
        rh_stack_reduces_each(c->stack, l->zero, l->pp) ? m->at_peak_bytes[RH_MEMORY_GRADIENTS] : 0;
    return arriving + MAX(shares - at_peak, 0);
}
