#pragma once
/* Parallelisms: the ways to divide a job over ranks, each with one file and one row of the table.
 * Each adds communication in two places: at the hooks inside a layer (layer_ops.h), where tensors
 * are divided, and around layers in the stage program (stage_program.h), where parameters and
 * gradients are. */
#include "strategies/train/program/layer_ops.h"
#include "strategies/train/program/stage_program.h"

/* Places inside a block's pass where parallelisms add communication. */
typedef enum {
    RH_HOOK_FORWARD_IN,   /* between the sequence part and the tensor part */
    RH_HOOK_FORWARD_OUT,  /* after the tensor part; skipped if the output is not needed */
    RH_HOOK_BACKWARD_IN,  /* before the gradients of the inputs */
    RH_HOOK_BACKWARD_OUT, /* after them */
    RH_HOOK_WEIGHT_IN,    /* before the gradients of the weights, if these run separately */
} RhHook;

/* A parallelism; every function may be NULL. */
typedef struct {
    const char *name;
    /* Is the layout legal? If not, return false with RH_ERROR_USAGE, the reason and the legal
     * values. grid_legal reads only the degrees of the grid (tp, pp, dp, cp and its parts, ep,
     * etp) and slice, so that a search can apply it before it sets the other knobs. */
    bool (*grid_legal)(const RhProblem *c, const RhLayout *layout, GError **error);
    bool (*legal)(const RhProblem *c, const RhLayout *layout, GError **error);
    /* Adds communication inside layers. */
    void (*hook)(RhLayerOpsBuilder *w, RhHook hook);
    /* Adds a part of a kernel sequence with the exchange that precedes it; returns false if the
     * exchange is not of this parallelism. */
    bool (*exchange)(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part);
    /* Sets the numbers of shards of a class of parameters. */
    void (*share)(const RhProblem *c, const RhLayout *layout, RhParamsClass cls, RhShares *shares);
    /* Write the stage program: at the step's beginning, around layers, and after a slot. `slot`
     * gives the pass and whether it is the chunk's first or last. */
    void (*begin)(RhStageProgramWriter *w);
    void (*before_layer)(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item);
    void (*after_layer)(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item);
    void (*close)(RhStageProgramWriter *w, const RhSlotKind *slot);
    /* Adds communication after all gradients of the stage, for which the optimizer waits. */
    void (*end)(RhStageProgramWriter *w);
} RhParallelism;

/* Returns the numbers of shards under all parallelisms. */
RhShares rh_parallelism_shares(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);

/* All parallelisms in the order in which they act at a hook, NULL-terminated. */
extern const RhParallelism *const rh_parallelisms[];

extern const RhParallelism rh_parallelism_tensor, rh_parallelism_context, rh_parallelism_spatial,
    rh_parallelism_expert, rh_parallelism_data, rh_parallelism_zero,
    rh_parallelism_compressed_exchange, rh_parallelism_mirrored_copies,
    rh_parallelism_tied_embeddings, rh_parallelism_gradient_norm, rh_parallelism_activation_offload,
    rh_parallelism_state_offload, rh_parallelism_weight_offload;
