#pragma once
/* Memory in closed form: computes the peak of a stage from the numbers of layers and of
 * micro-batches in flight, without a program. The builder allocates layer by layer (program_build.c); a
 * property test compares the two peaks.
 *
 * Tables are made in steps that layouts share: chunks of a (shard, split), their peaks under a
 * pipeline profile, then a few sums per stage. */
#include "strategies/train/pipeline_schedule_properties.h"
#include "strategies/train/program/chunk_layers.h"
#include "strategies/train/program/layer_ops.h"

/* Bytes of micro-batches in flight, and transient bytes of the running one. */
typedef struct {
    double activations, logits, working;
    double gradients; /* at a peak, if the stack frees gradients */
    double host;      /* in host memory; at a peak: the maximum over the step */
} RhInFlight;

/* Memory of one model chunk on one rank. */
typedef struct {
    RhStates states;
    RhParamCounts largest_params; /* maximum over layers, trained */
    double largest_gather_bytes[RH_PARAMS_LAST];
    double largest_away_bytes; /* maximum of RhStageLayer.away_bytes */
    RhInFlight kept;           /* by a micro-batch between its forward and its backward */
    /* Bytes of the running micro-batch at the peak of the slot. */
    RhInFlight fullest[RH_SLOT_PASSES];
    RhBoundaryMessage message; /* after the chunk */
    RhChunkLayers items;
} RhChunkMemory;

/* Gets the kinds of a chunk's layers in forward order into `kinds`, which must have two more
 * elements than the chunk has layers; returns their number. */
int32_t rh_chunk_kinds(const RhModelCost *model_cost, const RhChunkLayers *items, int *kinds);
RhChunkMemory rh_chunk_memory(const RhModelCost *model_cost, const RhLayout *layout,
                              const RhChunkLayers *items);
/* Returns the memory of all model chunks, pp x vpp entries; the caller frees them. */
RhChunkMemory *rh_chunk_memory_new(const RhModelCost *model_cost, const RhLayout *layout);

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* Sums and maxima over all chunks of a stage, on one rank. */
typedef struct {
    RhStates states;
    RhParamCounts largest_params; /* maximum over layers */
    double largest_gather_bytes[RH_PARAMS_LAST];
    double largest_away_bytes;
    double message_bytes;  /* largest message from or to another chunk; 0: there is one stage */
    double messages_bytes; /* sum of all messages of a micro-batch to and from its chunks */
    bool ends;             /* has the head */
    uint8_t unused[7];
} RhStageHeld;
#pragma GCC diagnostic pop
/* Returns pointers to all elements of an array of chunks; the caller frees the pointers. */
const RhChunkMemory **rh_chunks_each(const RhChunkMemory *chunks, const RhLayout *layout);
/* Computes the sums of every stage into `out`, which must be all 0. */
void rh_stage_held(const RhChunkMemory *const *chunks, const RhLayout *layout, RhStageHeld *out);
/* Returns the sums of every stage; the caller frees them. */
RhStageHeld *rh_stage_held_new(const RhChunkMemory *const *chunks, const RhLayout *layout);
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* Bytes of gradients per parameter of each class, while micro-batches are summed and after the
 * reduction, if the stack frees gradients; else 0. */
typedef struct {
    double summed[RH_PARAMS_LAST], reduced[RH_PARAMS_LAST];
} RhGradientBytes;
#pragma GCC diagnostic pop
RhGradientBytes rh_gradients_each(const RhProblem *c, const RhLayout *layout);
/* Returns the data in flight at the stage's peak. `chunks`: all model chunks; `gradients`: the
 * layout's. */
RhInFlight rh_stage_peak(const RhModelCost *model_cost, const RhChunkMemory *const *chunks,
                         const RhPipelineProfile *profile, const RhGradientBytes *gradients,
                         int32_t stage);
/* Memory that a stage holds from step to step, on one rank. */
typedef struct {
    RhParamCounts params;
    double fixed_bytes[RH_MEMORY_LAST];
    double tier_bytes[RH_MEMORY_TIER_LAST]; /* off the device */
    double flattened_bytes; /* further bytes while the optimizer runs (rh_states_flattened) */
} RhStageMemory;
RhStageMemory rh_stage_memory(const RhModelCost *model_cost, const RhLayout *layout, int32_t stage);
RhStageMemory rh_stage_memory_of(const RhModelCost *model_cost, const RhStageHeld *held,
                                 const RhLayout *layout);
/* Returns the peak of a stage from its fixed memory and the data in flight at the peak. */
RhTrainMemory rh_stage_memory_with(const RhStageMemory *fixed, const RhInFlight *peak,
                                   int32_t stage);
/* Returns the peak of a stage; `peak` is its rh_stage_peak. */
RhTrainMemory rh_train_memory_of_stage(const RhModelCost *model_cost, const RhStageHeld *held,
                                       const RhInFlight *peak, const RhLayout *layout,
                                       int32_t stage);

/* Returns the largest sum, over the hosts, of the bytes that the ranks of each host need, given
 * those of a rank of each stage. */
double rh_train_host_bytes(const RhProblem *c, const RhLayout *layout, const double *stage_bytes);
/* Does a node have room for what its ranks hold in its memory and on its drives? True where sizes are
 * unknown. */
bool rh_train_host_holds(const RhProblem *c, const RhTrainMemory *memory);
