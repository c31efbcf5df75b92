#pragma once
/* Parallelisms: the ways to divide a job over ranks. One file and one row of the table each. Each adds
 * communication in two places: at the hooks inside a layer (layer_ops.h), where tensors are divided, and
 * around layers in a stage's stage program (stage_program.h), where parameters and gradients are. */
#include "strategies/train/layer_ops.h"
#include "strategies/train/stage_program.h"

/* Places inside a block's pass. */
typedef enum {
    RH_HOOK_FORWARD_IN,   /* between the sequence part and the tensor part */
    RH_HOOK_FORWARD_OUT,  /* behind the tensor part; skipped when nobody needs the output */
    RH_HOOK_BACKWARD_IN,  /* before the gradients of the inputs */
    RH_HOOK_BACKWARD_OUT, /* behind them */
    RH_HOOK_WEIGHT_IN,    /* before the gradients of the weights, when they run apart */
} RhHook;

/* Ranks that share out a state of training; 1: everyone has all of it. */
typedef struct {
    int32_t weights, gradients, optimizer;
    int32_t reduced; /* gradients, once a step's are reduced */
    int32_t again;   /* weights once more, shared out among so many; 0: not */
} RhShares;

typedef struct {
    const char *name;
    /* Either may be NULL: nothing is refused. Else false with RH_ERROR_USAGE, the fact and what is legal.
     * grid_legal looks at the degrees of the grid alone (tp, pp, dp, cp and its parts, ep, etp), so that a
     * search need not look at what lies behind them. */
    bool (*grid_legal)(const RhProblem *c, const RhLayout *layout, GError **error);
    bool (*legal)(const RhProblem *c, const RhLayout *layout, GError **error);
    /* May be NULL: nothing inside layers. */
    void (*hook)(RhLayerOpsBuilder *w, RhHook hook);
    /* Adds a part of a kernel sequence and the exchange that it begins with, if that is this one's; false: it
     * is not. May be NULL. */
    bool (*exchange)(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part);
    /* What of parameters of a class; may be NULL: shares out nothing. */
    void (*share)(const RhProblem *c, const RhLayout *layout, RhParamsClass cls, RhShares *shares);
    /* May be NULL each. `slot` says which pass, and whether it is the chunk's first or last. */
    void (*begin)(RhStageProgramWriter *w);
    void (*before_item)(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item);
    void (*after_item)(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item);
    void (*close)(RhStageProgramWriter *w, const RhSlotKind *slot);
    /* All gradients of the stage are in, and the optimizer waits for what is added here. */
    void (*end)(RhStageProgramWriter *w);
} RhParallelism;

/* Sums what all parallelisms share out. */
RhShares rh_parallelism_shares(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);

/* For what is legal: "1, 2, 4, 8", the divisors of n up to `limit`; caller frees. */
char *rh_divisors_text(int64_t n, int64_t limit);

/* NULL-ended, in the order in which they act at one place. */
extern const RhParallelism *const rh_parallelisms[];

extern const RhParallelism rh_parallelism_tensor, rh_parallelism_context, rh_parallelism_expert,
    rh_parallelism_data, rh_parallelism_zero, rh_parallelism_tied_embeddings,
    rh_parallelism_gradient_norm, rh_parallelism_activation_offload;
