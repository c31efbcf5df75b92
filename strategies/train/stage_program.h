#pragma once
/* What one stage does in a step, layer by layer: runs of layers, the communication of parameters and
 * gradients around them, and who waits for it. Written once from the parallelisms; the builder turns it
 * into tasks, the bounds take the time of the very same list.
 *
 * All slots of one chunk and pass are alike, but for the first and the last of a chunk: a stage program
 * holds one list of steps for each kind of slot that occurs. */
#include "platforms/devices/extrapolation.h"
#include "strategies/train/layer_ops.h"

/* A layer of a stage. */
typedef struct {
    int kind;              /* layer kind, RH_LAYER_EMBEDDING or RH_LAYER_HEAD */
    int32_t layer;         /* -1: embedding, head */
    RhParamCounts params;  /* on this rank, trained */
    RhParamCounts weights; /* trained or frozen */
    RhActivation bytes;
    double away_bytes; /* of what it keeps, in the host's memory */
} RhStageLayer;

typedef enum {
    RH_INSTR_RUN,
    RH_INSTR_KERNEL,
    RH_INSTR_COMMUNICATE,
    RH_INSTR_COPY, /* of a layer's bytes to the host's memory (lane COPY_OUT), and back (COPY_IN) */
    RH_INSTR_WAIT
} RhInstrKind;

typedef struct {
    double bytes;      /* COMMUNICATE, COPY */
    const char *label; /* COMMUNICATE, COPY, KERNEL */
    int32_t item;      /* RUN, COPY: into layers; KERNEL: into kernels */
    /* WAIT: the next run waits for this communication of the step's beginning; -1: for the latest
     * one of `lane`, or with `ahead` for the one before that. */
    int32_t begin_index;
    /* COMMUNICATE. 0: its input is ready now. k: it may start once what ran when the k-th latest
     * communication of its lane was sent for is done (its space is free); at once while there were
     * fewer. COPY: 0, or 1 and behind the layer's copy out. */
    int16_t ahead;
    int16_t
        buffers;  /* COMMUNICATE: of `bytes`, held beside what is there anyway; 0: works in place */
    uint8_t kind; /* RhInstrKind */
    uint8_t pass; /* RUN: RhSlotPass */
    uint8_t lane; /* COMMUNICATE, COPY, WAIT: RhLane */
    uint8_t group, op, phase; /* COMMUNICATE: RhGroupKind, RhOp, RhPhase */
} RhInstr;

typedef struct {
    int32_t first, count; /* into steps */
} RhInstrRange;

typedef struct {
    const RhModelCost *model_cost;
    const RhLayout *layout;
    int32_t stage;
    GArray *items;        /* RhStageLayer, in forward order */
    GArray *steps;        /* RhInstr */
    GArray *kernels;      /* RhKernel: of steps, beside layers */
    int32_t *chunk_items; /* first layer of each chunk, chunks + 1 entries; owned */
    int *kinds;           /* of the layers; owned */
    RhStates states;      /* of the stage, on one rank */
    RhInstrRange begin, end;
    RhInstrRange *slots; /* by rh_slot_kind_index; owned */
    bool communicates;   /* anything besides runs */
    int32_t ahead_most;  /* the furthest that a communication looks back */
} RhStageProgram;

/* A stage program being written, for the parallelisms. */
typedef struct {
    RhStageProgram *stage_program;
    int32_t *begin_of_item;  /* which communication of the beginning brings a layer's parameters, or
                               -1 */
    RhParamCounts collected; /* parameters whose gradients wait for company in a bucket */
} RhStageProgramWriter;

/* `block costs` and `layout` outlive it. */
RhStageProgram *rh_stage_program_new(const RhModelCost *model_cost, const RhLayout *layout,
                                     int32_t stage);
void rh_stage_program_free(RhStageProgram *stage_program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhStageProgram, rh_stage_program_free)

/* Kernels that a rank of the stage runs in a step: seconds alone on the device, gaps included. */
typedef struct {
    double seconds[RH_PHASE_LAST];
    double flops;
    RhBoundTimes bounds; /* of those seconds */
    RhExtrapolation
        beyond[RH_CALIBRATED_RANGE_LAST]; /* of those that take longest, one in a step */
} RhKernelSums;
void rh_stage_program_add_kernels(const RhStageProgram *stage_program, const RhLayerOps *items,
                                  RhKernelSums *sums);
/* How many tasks the stage's role has in a step of m micro-batches, messages and optimizer
 * included. */
double rh_stage_program_tasks(const RhStageProgram *stage_program, const RhLayerOps *items,
                              int64_t m);

/* No steps: the slot runs its layers and does nothing else. */
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
/* The layers of a chunk's forward and of another's backward. */
RhPairWalk rh_stage_program_pair(const RhStageProgram *stage_program, int32_t forward,
                                 int32_t backward);
/* --- for the parallelisms --- */
void rh_stage_program_communicate(RhStageProgramWriter *w,
                                  RhInstr step); /* kind is filled in; 0 bytes: nothing */
void rh_stage_program_run_kernel(RhStageProgramWriter *w, const RhKernel *kernel,
                                 const char *label);
void rh_stage_program_wait(RhStageProgramWriter *w, RhLane lane); /* for the latest of this lane */
void rh_stage_program_wait_before(RhStageProgramWriter *w,
                                  RhLane lane); /* for the one before the latest */
void rh_stage_program_copy(RhStageProgramWriter *w,
                           RhInstr step); /* kind is filled in; 0 bytes: nothing */
void rh_stage_program_wait_begin(RhStageProgramWriter *w, int32_t index);
