#pragma once
/* Memory in closed form: from counts of layers and of micro-batches in flight to the peak of a stage,
 * without its program. The builder allocates layer by layer (build.c); that both come to the same
 * peak is a property test.
 *
 * Tables are made in steps, so that layouts share them: chunks of a (shard, split), peaks of these
 * under a shape, then the rest by a few sums a stage. */
#include "strategies/train/layer_ops.h"
#include "strategies/train/pipeline_profile.h"

/* Bytes of micro-batches in flight, and of what works on one of them. */
typedef struct {
    double activations, logits, working;
    double gradients; /* of a peak, where the stack frees them */
    double host; /* besides, in the host's memory; of a peak: the most there, whenever that is */
} RhInFlight;

/* What one chunk of the model is made of: layers from `first` on, the embedding before them or the head
 * behind. */
typedef struct {
    int32_t first, count;
    int32_t again; /* of these, that are recomputed: the first ones */
    bool embedding, head;
} RhChunkLayers;
/* The kind of its layer i. */
static inline int rh_chunk_layer(const RhModel *model, const RhChunkLayers *items, int32_t i)
{
    return rh_op_kind_of_layer(model, items->first + i, i < items->again);
}

/* One chunk of the model on one rank. */
typedef struct {
    RhStates states;
    RhParamCounts largest_params; /* of one layer, trained; trained or frozen */
    RhParamCounts largest_weights;
    double largest_away_bytes; /* RhStageLayer.away_bytes of one layer */
    RhInFlight kept;           /* by a micro-batch between its forward and its backward */
    /* Of the micro-batch that a slot runs, when the slot is fullest. */
    RhInFlight fullest[RH_SLOT_PASSES];
    RhBoundaryMessage message; /* behind it */
    RhChunkLayers items;
} RhChunkMemory;

/* Kinds of its layers, in forward order; there is room for two more than its layers. Returns how many. */
int32_t rh_chunk_kinds(const RhModelCost *model_cost, const RhChunkLayers *items, int *kinds);
RhChunkMemory rh_chunk_memory(const RhModelCost *model_cost, const RhLayout *layout,
                              const RhChunkLayers *items);
/* Per model chunk, pp x vpp entries; caller frees. */
RhChunkMemory *rh_chunk_memory_new(const RhModelCost *model_cost, const RhLayout *layout);

/* All chunks of a stage, on one rank. */
typedef struct {
    RhStates states;
    RhParamCounts largest_params, largest_weights; /* of one layer */
    double largest_away_bytes;
    double message_bytes; /* the largest, from or to another chunk; 0: there is one stage */
    double
        messages_bytes; /* of a micro-batch, all that its chunks get from others, and what they send
                              on */
    bool ends;          /* the model: it has the head */
} RhStageHeld;
/* Where each of them is; caller frees. */
const RhChunkMemory **rh_chunks_each(const RhChunkMemory *chunks, const RhLayout *layout);
/* Per stage, of chunks wherever they are: into `out`, which is all 0; or caller frees. */
void rh_stage_held(const RhChunkMemory *const *chunks, const RhLayout *layout, RhStageHeld *out);
RhStageHeld *rh_stage_held_new(const RhChunkMemory *const *chunks, const RhLayout *layout);
/* Bytes of gradients for each parameter of a class, as long as micro-batches are summed and once they are
 * reduced, where the stack frees them; else 0. */
typedef struct {
    double summed[RH_PARAMS_LAST], reduced[RH_PARAMS_LAST];
} RhGradientBytes;
RhGradientBytes rh_gradients_each(const RhProblem *c, const RhLayout *layout);
/* In flight when the stage is fullest; `chunks` per model chunk, `gradients` the layout's. */
RhInFlight rh_stage_peak(const RhModelCost *model_cost, const RhChunkMemory *const *chunks,
                         const RhPipelineProfile *profile, const RhGradientBytes *gradients,
                         int32_t stage);
/* What a stage holds from step to step. */
typedef struct {
    RhParamCounts params; /* of this rank */
    double fixed_bytes[RH_MEMORY_LAST];
    double flattened_bytes; /* besides, while the optimizer runs (rh_states_flattened) */
} RhStageMemory;
RhStageMemory rh_stage_memory(const RhModelCost *model_cost, const RhLayout *layout, int32_t stage);
RhStageMemory rh_stage_memory_of(const RhModelCost *model_cost, const RhStageHeld *held,
                                 const RhLayout *layout);
/* With what is in flight when it is fullest. */
RhTrainMemory rh_stage_memory_with(const RhStageMemory *fixed, const RhInFlight *peak,
                                   int32_t stage);
/* One stage; `peak` is its rh_stage_peak. */
RhTrainMemory rh_train_memory_of_stage(const RhModelCost *model_cost, const RhStageHeld *held,
                                       const RhInFlight *peak, const RhLayout *layout,
                                       int32_t stage);

/* Bytes in the memory of the host that needs most of it, where a rank of each stage needs so many. */
double rh_train_host_bytes(const RhProblem *c, const RhLayout *layout, const double *stage_bytes);
/* Has a host as many? True where nobody said how many it has. */
bool rh_train_host_holds(const RhProblem *c, double host_bytes);
