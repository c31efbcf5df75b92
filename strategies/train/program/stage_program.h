#pragma once
/* Stage program: the instructions of one stage in a step, layer by layer: runs of layers, the
 * communication of parameters and gradients around them, and waits for it. The parallelisms write
 * it once; the builder turns it into tasks, and the bounds time the same list.
 *
 * All slots of one chunk and pass are alike except the first and the last of a chunk. A stage
 * program therefore holds one list of instructions for each kind of slot that occurs. */
#include "platforms/devices/extrapolated_time_sum.h"
#include "strategies/train/program/layer_ops.h"

/* A layer of a stage. */
typedef struct {
    int kind;              /* layer kind, RH_LAYER_EMBEDDING or RH_LAYER_HEAD */
    int32_t layer;         /* -1: embedding, head */
    RhParamCounts params;  /* on this rank, trained */
    RhParamCounts weights; /* trained or frozen */
    RhActivation bytes;
    double away_bytes; /* kept activations that are offloaded to host memory */
} RhStageLayer;

typedef enum {
    RH_INSTR_RUN,
    RH_INSTR_KERNEL,
    RH_INSTR_COMMUNICATE,
    RH_INSTR_COPY, /* copies a layer's bytes between tiers of memory, or works on them on the host */
    RH_INSTR_WAIT
} RhInstrKind;

typedef struct {
    double bytes;      /* COMMUNICATE, COPY */
    const char *label; /* COMMUNICATE, COPY, KERNEL */
    int32_t item;      /* RUN, COPY: index of the layer; KERNEL: index of the kernel */
    /* WAIT: index of the communication of the step's beginning for which the next run waits; -1:
     * the latest one of `lane` or, with `ahead`, the one before it. */
    int32_t begin_index;
    /* COMMUNICATE, 0: the input is ready now. k: the start waits for the run that was current when
     * the k-th latest communication of its lane was issued, because that frees the buffer; no wait
     * if there were fewer. COPY: likewise; of activations: 1, behind the layer's copy out, too. */
    int16_t ahead;
    int16_t buffers; /* COMMUNICATE: number of extra buffers of `bytes`; 0: works in place */
    uint8_t kind;    /* RhInstrKind */
    uint8_t pass;    /* RUN: RhSlotPass */
    uint8_t lane;    /* COMMUNICATE, COPY, WAIT: RhLane */
    uint8_t group, op, phase; /* COMMUNICATE: RhGroupKind, RhOp, RhPhase; COPY: the group of its
                                 class of parameters, RhPhase */
    uint8_t from, to;         /* COPY: RhMemoryTier */
    uint32_t after; /* bits of the lanes whose latest communication or copy must have ended, too */
} RhInstr;

/* A range of a stage program's instructions. */
typedef struct {
    int32_t first, count;
} RhInstrRange;

/* Number of shards of each training state; 1: not sharded. */
typedef struct {
    int32_t weights, gradients, optimizer;
    int32_t reduced; /* gradients after the reduction of a step */
    int32_t again;   /* hpZ secondary weight shards; 0: none */
} RhShares;

/* Instructions of a stage, with its layers and the kernels outside of layers. */
typedef struct {
    const RhModelCost *model_cost;
    const RhLayout *layout;
    int32_t stage;
    GArray *items;                   /* RhStageLayer, in forward order */
    GArray *steps;                   /* RhInstr */
    GArray *kernels;                 /* RhKernel of KERNEL instructions */
    int32_t *chunk_layers;           /* first layer of each chunk, chunks + 1 entries; owned */
    int *kinds;                      /* kinds of the layers; owned */
    RhStates states;                 /* of the stage, on one rank */
    RhShares shares[RH_PARAMS_LAST]; /* of each class, under all parallelisms */
    RhInstrRange begin, end;
    RhInstrRange *slots; /* by rh_slot_kind_index; owned */
    bool communicates;   /* has instructions other than RUN */
    int32_t ahead_most;  /* maximum of RhInstr.ahead */
} RhStageProgram;

/* A stage program under construction, for the parallelisms. */
typedef struct {
    RhStageProgram *stage_program;
    int32_t *begin_of_layer; /* per layer: communication of the step's beginning that gathers its
                                parameters; -1: none */
    struct {
        double params; /* whose gradients are in an unsent bucket */
        double open_s; /* kernels of backward since the bucket before it was closed */
        bool follows;  /* is not the first bucket of the chunk's backward */
    } bucket[RH_PARAMS_LAST];
} RhStageProgramWriter;

/* Writes the program of a stage. `model_cost` and `layout` must outlive it; the caller frees it. */
RhStageProgram *rh_stage_program_new(const RhModelCost *model_cost, const RhLayout *layout,
                                     int32_t stage);
void rh_stage_program_free(RhStageProgram *stage_program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhStageProgram, rh_stage_program_free)

/* Sums over the kernels that a rank of the stage runs in a step: seconds without contention, gaps
 * included. */
typedef struct {
    double seconds[RH_PHASE_LAST];
    double flops;
    RhBoundTimes bounds; /* of those seconds */
    /* Kernel outside of each calibrated range that takes longest, once in a step. */
    RhExtrapolation beyond[RH_CALIBRATED_RANGE_LAST];
} RhKernelSums;
void rh_stage_program_add_kernels(const RhStageProgram *stage_program, const RhLayerOps *items,
                                  RhKernelSums *sums);
/* Returns the number of tasks of the stage's role in a step of m micro-batches, messages and
 * optimizer included. */
double rh_stage_program_tasks(const RhStageProgram *stage_program, const RhLayerOps *items,
                              int64_t m);

/* Returns the instructions of a kind of slot; none: the slot only runs its layers. */
static inline RhInstrRange rh_stage_program_slot(const RhStageProgram *s, const RhSlotKind *kind)
{
    return s->slots[rh_slot_kind_index(kind)];
}
static inline const RhInstr *rh_stage_program_instr(const RhStageProgram *s, int32_t i)
{
    return &g_array_index(s->steps, RhInstr, i);
}
static inline const RhKernel *rh_stage_program_kernel(const RhStageProgram *s, const RhInstr *step)
{
    return &g_array_index(s->kernels, RhKernel, step->item);
}
static inline const RhStageLayer *rh_stage_program_layer(const RhStageProgram *s, int32_t i)
{
    return &g_array_index(s->items, RhStageLayer, i);
}
/* Returns the walk over the layers of a chunk's forward and another chunk's backward. */
RhPairWalk rh_stage_program_pair(const RhStageProgram *stage_program, int32_t forward,
                                 int32_t backward);
/* --- for the parallelisms --- */

/* Add a communication or a copy; `kind` is filled in, and 0 bytes add nothing. */
void rh_stage_program_communicate(RhStageProgramWriter *w, RhInstr step);
void rh_stage_program_copy(RhStageProgramWriter *w, RhInstr step);
void rh_stage_program_run_kernel(RhStageProgramWriter *w, const RhKernel *kernel,
                                 const char *label);
/* Make the next run wait for the latest communication of a lane, for the one before it, or for one
 * of the step's beginning. */
void rh_stage_program_wait(RhStageProgramWriter *w, RhLane lane);
void rh_stage_program_wait_before(RhStageProgramWriter *w, RhLane lane);
void rh_stage_program_wait_begin(RhStageProgramWriter *w, int32_t index);
