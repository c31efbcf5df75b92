#pragma once
/* What one stage does in a step, item by item: runs of items, the communication of parameters and
 * gradients around them, and who waits for it. Written once from the cuts; the builder turns it
 * into tasks, the bounds take the time of the very same list.
 *
 * All slots of one chunk and pass are alike, but for the first and the last of a chunk: a script
 * holds one list of steps for each kind of slot that occurs. */
#include "platforms/beyond.h"
#include "strategies/train/item.h"

/* An item of a stage. */
typedef struct {
    int kind;       /* layer kind, RH_ITEM_EMBEDDING or RH_ITEM_HEAD */
    int32_t layer;  /* -1: embedding, head */
    RhHeld params;  /* on this rank, trained */
    RhHeld weights; /* trained or frozen */
    RhActivation bytes;
    double away_bytes; /* of what it keeps, in the host's memory */
} RhItem;

typedef enum {
    RH_STEP_RUN,
    RH_STEP_KERNEL,
    RH_STEP_COMMUNICATE,
    RH_STEP_COPY, /* of an item's bytes to the host's memory (lane COPY_OUT), and back (COPY_IN) */
    RH_STEP_WAIT
} RhStepKind;

typedef struct {
    double bytes;      /* COMMUNICATE, COPY */
    const char *label; /* COMMUNICATE, COPY, KERNEL */
    int32_t item;      /* RUN, COPY: into items; KERNEL: into kernels */
    /* WAIT: the next run waits for this communication of the step's beginning; -1: for the latest
     * one of `lane`, or with `ahead` for the one before that. */
    int32_t begin_index;
    /* COMMUNICATE. 0: its input is ready now. k: it may start once what ran when the k-th latest
     * communication of its lane was sent for is done (its space is free); at once while there were
     * fewer. COPY: 0, or 1 and behind the item's copy out. */
    int16_t ahead;
    int16_t
        buffers;  /* COMMUNICATE: of `bytes`, held beside what is there anyway; 0: works in place */
    uint8_t kind; /* RhStepKind */
    uint8_t pass; /* RUN: RhSlotPass */
    uint8_t lane; /* COMMUNICATE, COPY, WAIT: RhLane */
    uint8_t group, op, phase; /* COMMUNICATE: RhGroupKind, RhOp, RhPhase */
} RhStep;

typedef struct {
    int32_t first, count; /* into steps */
} RhSteps;

typedef struct {
    const RhPieces *pieces;
    const RhLayout *layout;
    int32_t stage;
    GArray *items;        /* RhItem, in forward order */
    GArray *steps;        /* RhStep */
    GArray *kernels;      /* RhKernel: of steps, beside items */
    int32_t *chunk_items; /* first item of each chunk, chunks + 1 entries; owned */
    int *kinds;           /* of the items; owned */
    RhStates states;      /* of the stage, on one rank */
    RhSteps begin, end;
    RhSteps *slots;     /* by rh_slot_kind_index; owned */
    bool communicates;  /* anything besides runs */
    int32_t ahead_most; /* the furthest that a communication looks back */
} RhScript;

/* A script being written, for the cuts. */
typedef struct {
    RhScript *script;
    int32_t *begin_of_item; /* which communication of the beginning brings an item's parameters, or
                               -1 */
    RhHeld collected;       /* parameters whose gradients wait for company in a bucket */
} RhScriptWriter;

/* `pieces` and `layout` outlive it. */
RhScript *rh_script_new(const RhPieces *pieces, const RhLayout *layout, int32_t stage);
void rh_script_free(RhScript *script);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhScript, rh_script_free)

/* Kernels that a rank of the stage runs in a step: seconds alone on the device, gaps included. */
typedef struct {
    double seconds[RH_PHASE_LAST];
    double flops;
    RhBoundTimes bounds;             /* of those seconds */
    RhBeyond beyond[RH_SHAPES_LAST]; /* of those that take longest, one in a step */
} RhKernelSums;
void rh_script_add_kernels(const RhScript *script, const RhItems *items, RhKernelSums *sums);
/* How many tasks the stage's role has in a step of m micro-batches, messages and optimizer
 * included. */
double rh_script_tasks(const RhScript *script, const RhItems *items, int64_t m);

/* No steps: the slot runs its items and does nothing else. */
static inline RhSteps rh_script_slot(const RhScript *s, const RhSlotKind *kind)
{
    return s->slots[rh_slot_kind_index(kind)];
}
static inline const RhStep *rh_script_step(const RhScript *s, int32_t i)
{
    return &g_array_index(s->steps, RhStep, i);
}
static inline const RhKernel *rh_script_kernel(const RhScript *s, const RhStep *step)
{
    return &g_array_index(s->kernels, RhKernel, step->item);
}
static inline const RhItem *rh_script_item(const RhScript *s, int32_t i)
{
    return &g_array_index(s->items, RhItem, i);
}
/* The items of a chunk's forward and of another's backward. */
RhPairWalk rh_script_pair(const RhScript *script, int32_t forward, int32_t backward);
/* --- for the cuts --- */
void rh_script_communicate(RhScriptWriter *w,
                           RhStep step); /* kind is filled in; 0 bytes: nothing */
void rh_script_run_kernel(RhScriptWriter *w, const RhKernel *kernel, const char *label);
void rh_script_wait(RhScriptWriter *w, RhLane lane);        /* for the latest of this lane */
void rh_script_wait_before(RhScriptWriter *w, RhLane lane); /* for the one before the latest */
void rh_script_copy(RhScriptWriter *w, RhStep step); /* kind is filled in; 0 bytes: nothing */
void rh_script_wait_begin(RhScriptWriter *w, int32_t index);
