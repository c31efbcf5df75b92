#pragma once
/* What one stage holds: the static part, and what each of its chunks adds per micro-batch. The
 * builder turns it into allocations and frees, the closed form into a peak. */
#include "strategies/train/pieces.h"
#include "strategies/train/shape.h"

typedef struct {
    double fixed_bytes[RH_MEMORY_LAST];
    int32_t chunks_count;
    double params;             /* of this rank */
    double *chunk_params;      /* embedding and head with their chunk */
    double *activations_bytes; /* kept from forward to backward */
    double *logits_bytes;      /* the same, head only */
    double *forward_bytes;     /* while forward runs */
    double *backward_bytes;    /* while backward runs */
} RhStageMemory;

/* Free with rh_stage_memory_clear. */
RhStageMemory rh_stage_memory(const RhPieces *pieces, const RhLayout *layout, int32_t stage);
void rh_stage_memory_clear(RhStageMemory *memory);
/* rh_train_memory with the pieces and the shape at hand. */
RhTrainMemory rh_train_memory_with(const RhPieces *pieces, const RhShape *shape,
                                   const RhLayout *layout);
/* Parameters of chunk g's parts on one rank. The head of a tied model on one stage owns no matrix.
 */
double rh_embedding_params(const RhPieces *pieces, const RhLayout *layout);
double rh_head_params(const RhPieces *pieces, const RhLayout *layout);
