/* Parameters, training states and the time of backward of one layer. */
#include "strategies/train/pipeline_schedule_properties.h"
#include "strategies/train/program/layer_ops.h"

static bool ends_meet(const RhLayout *l)
{
    return rh_pipeline_ends_meet(rh_pipeline_of(l), l->pp, l->vpp);
}

RhParamCounts rh_layer_params(const RhModelCost *model_cost, const RhLayout *l, int kind)
{
    const RhModel *model = model_cost->c->model;
    if (kind == RH_LAYER_EMBEDDING)
        return model_cost->embedding.params;
    if (kind != RH_LAYER_HEAD)
        return model_cost->layer_params[kind];
    bool shares_matrix = model->tied_embeddings && ends_meet(l) && model_cost->shard.lora.rank == 0;
    return shares_matrix ? (RhParamCounts){{model_cost->head.whole_params}}
                         : model_cost->head.params;
}

RhParamCounts rh_layer_frozen_params(const RhModelCost *model_cost, const RhLayout *l, int kind)
{
    if (kind < RH_LAYER_OP_LAYERS)
        return model_cost->layer_frozen[kind];
    if (kind == RH_LAYER_EMBEDDING)
        return model_cost->embedding.frozen;
    bool shares_matrix =
        model_cost->c->model->tied_embeddings && ends_meet(l) && model_cost->shard.lora.rank > 0;
    return shares_matrix ? (RhParamCounts){{model_cost->head.whole_params}}
                         : model_cost->head.frozen;
}

RhStates rh_layer_states(const RhModelCost *model_cost, const RhLayout *l, int kind)
{
    RhStates s = {.params = rh_layer_params(model_cost, l, kind),
                  .frozen = rh_layer_frozen_params(model_cost, l, kind)};
    if (kind < RH_LAYER_OP_LAYERS) {
        s.linear = rh_param_counts_sum(model_cost->shard.lora.rank > 0 ? &s.frozen : &s.params);
        s.kinds = UINT64_C(1) << kind % RH_LAYER_KINDS_MAX;
    }
    return s;
}

double rh_tied_params(const RhModelCost *model_cost, const RhLayout *l)
{
    bool both_hold_it =
        model_cost->c->model->tied_embeddings && !ends_meet(l) && model_cost->shard.lora.rank == 0;
    return both_hold_it
               ? model_cost->head.params.of[RH_PARAMS_COMMON] - model_cost->head.whole_params
               : 0;
}

static double backward_s(const RhBlockCost *b)
{
    return b->sequence_again.seconds + b->tensor_again.seconds + b->data.seconds +
           b->weight.seconds + b->sequence_backward.seconds;
}

double rh_layer_backward_s(const RhModelCost *model_cost, int kind)
{
    if (kind == RH_LAYER_EMBEDDING || kind == RH_LAYER_HEAD)
        return backward_s(kind == RH_LAYER_HEAD ? &model_cost->head : &model_cost->embedding);
    return backward_s(&model_cost->mixer[kind]) + backward_s(&model_cost->ffn[kind]);
}
