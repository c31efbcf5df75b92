#pragma once
/* The layers of each model chunk. */
#include "strategies/layout.h"
#include "strategies/train/program/layer_ops.h"
#include "strategies/training_problem.h"

/* Layers of one model chunk: `count` from `first` on, with the embedding before or the head after
 * them. */
typedef struct {
    int32_t first, count;
    int32_t again; /* number of the first of these layers that are recomputed */
    bool embedding, head;
} RhChunkLayers;

/* Returns those of all model chunks, pp x vpp entries; the caller frees them. */
RhChunkLayers *rh_chunk_layers_new(const RhProblem *c, const RhLayout *layout);
/* Returns the layer operation kind of the chunk's layer i. */
static inline int rh_chunk_layer(const RhModel *model, const RhChunkLayers *items, int32_t i)
{
    return rh_op_kind_of_layer(model, items->first + i, i < items->again);
}
