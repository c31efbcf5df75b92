#pragma once
/* The state of building one program: where we are, and what the next kernel must wait for. Shared
 * by the files of this folder alone. */
#include "strategies/train/memory.h"
#include "strategies/train/schedule.h"

#define RH_PENDING_MAX  8
#define RH_PREFETCH_MAX 8

#define RH_PARTS_MAX 6

/* Pieces run back to back as one bundle; each combination is stored once. */
typedef struct {
    const RhPiece *parts[RH_PARTS_MAX];
    int32_t bundle;
} RhMerged;

/* An algorithm chosen once per group, operation and size. */
typedef struct {
    int32_t group;
    RhOp op;
    double bytes;
    RhAlgo algo;
} RhChoice;

/* What owns parameters and runs as a unit: the embedding, a layer, the head. */
typedef struct {
    RhBlock block; /* EMBEDDING, HEAD, or NONE for a whole layer */
    int32_t layer;
    double params;
    int32_t gather; /* ZeRO-1/2: the task that brings its parameters, -1 once they are in */
} RhItem;

typedef struct {
    const RhCase *c;
    const RhLayout *layout;
    const RhPieces *pieces;
    RhProgram *program;
    GArray *merged;             /* RhMerged */
    GArray *choices;            /* RhChoice */
    GPtrArray *optimizers;      /* RhPiece*, one per stage, owned: merged compares addresses */
    int32_t tp_group, dp_group; /* -1 when the dimension is 1 */
    int32_t stride_pp;
    /* where we are */
    int32_t stage;
    RhStageMemory memory;
    int32_t layer, microbatch;
    RhPhase phase;
    int32_t last;                    /* last compute task of the role, -1 at first */
    int32_t pending[RH_PENDING_MAX]; /* what the next kernel waits for besides its lane */
    int32_t pending_count;
    int32_t last_dp;      /* last task on the DP lane */
    bool reduces;         /* this backward is the chunk's last: gradients leave after it */
    double bucket_params; /* collected for the next gradient bucket */
    RhItem *items;        /* of the stage, in forward order */
    int32_t items_count;
    int32_t chunk_items[RH_STAGE_CHUNKS_MAX + 1]; /* first item of each chunk */
    int32_t
        starts[RH_PREFETCH_MAX]; /* ZeRO-3: last kernel before each of the latest gathers, a ring */
    int32_t starts_count;
    int32_t *sends[2], *recvs[2]; /* [backward][model chunk * microbatches + microbatch], or -1 */
    int32_t microbatches;
} RhEmit;

/* Adds a kernel task of pieces run back to back (NULL-ended list); it waits for everything pending.
 */
void rh_emit_compute(RhEmit *e, const char *label, const RhPiece *const *parts);
#define RH_PARTS(...) ((const RhPiece *const[]){__VA_ARGS__, NULL})
void rh_emit_wait_for(RhEmit *e,
                      int32_t task); /* the next kernel waits for this task too; -1 is ignored */
/* A collective whose input is ready once the last kernel and everything pending are done. Returns
 * the task; -1 and nothing added when the group has one member or `bytes` is 0. */
RhAlgo rh_emit_algorithm(RhEmit *e, int32_t group, RhOp op, double bytes);
int32_t rh_emit_collective(RhEmit *e, RhLane lane, RhOp op, double bytes, const char *label);

/* tensor.c: a block's forward and backward with its tensor-parallel collectives. */
void rh_emit_block_forward(RhEmit *e, const RhBlockPieces *block, const char *label, bool output);
void rh_emit_block_backward(RhEmit *e, const RhBlockPieces *block, const char *label);
void rh_emit_embedding_forward(RhEmit *e);
void rh_emit_embedding_backward(RhEmit *e);
void rh_emit_head_forward(RhEmit *e);
void rh_emit_head_backward(RhEmit *e);

/* layer.c: whole layers, with recomputation. `output` is false when nobody needs the last
 * collective's result. */
void rh_emit_layer_forward(RhEmit *e, int32_t layer, bool output);
void rh_emit_layer_backward(RhEmit *e, int32_t layer);

/* data.c: data parallelism and ZeRO. */
void rh_emit_step_begin(RhEmit *e); /* ZeRO-1/2: parameters come in, bucket by bucket */
void rh_emit_params_needed(RhEmit *e, int32_t item);   /* before the kernels that use them */
void rh_emit_gradients_ready(RhEmit *e, int32_t item); /* after the backward that made them */
void rh_emit_gradients_flush(RhEmit *e);               /* end of a chunk's last backward */
void rh_emit_step_end(RhEmit *e); /* the optimizer, when all gradients are in */
double rh_bucket_params(const RhCase *c, const RhLayout *layout);
/* Caller frees with rh_piece_free. */
RhPiece *rh_optimizer_piece(const RhCase *c, const RhLayout *layout, double params);

/* pipeline.c: one slot with its layers, messages and memory. */
void rh_emit_slot(RhEmit *e, const RhSlot *slot, bool last_backward_of_chunk);
