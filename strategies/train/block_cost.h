#pragma once
/* The block costs a rank's share of the model is made of, under one (tp, cp, sp, micro-batch, recompute):
 * kernel lists with their times on the device, parameters, activation bytes. The program builder,
 * the memory account and the bounds all read the same block costs, so they agree by construction. */
#include "strategies/train/grid.h"
#include "strategies/train/train.h"

/* Of the fp32 copy of a parameter that the optimizer updates, where weights are narrower. */
#define RH_MASTER_BYTES 4.0

/* Bytes of a parameter as weight and on the wire; of its main gradient; and of what the optimizer keeps
 * of it, its master, if there is one, and two moments. */
double rh_weight_bytes(const RhProblem *c);
/* Of its narrow copies, which are held beside it in linear layers. */
double rh_weight_copies_bytes(const RhProblem *c);
/* The same on the wire of a gather; `linear`: in a layer, so that it goes narrow where weights are held so. */
double rh_gathered_weight_bytes(const RhProblem *c, bool linear);
double rh_gradient_bytes(const RhProblem *c);
double rh_optimizer_state_bytes(const RhProblem *c);

typedef struct RhKernelSequence {
    GArray *kernels; /* RhKernel; NULL: not added yet */
    double seconds;  /* on the case's device, gaps included */
    /* Where ranks exchange inside it: the same kernels, parted there. NULL where they do not. */
    struct RhKernelSequence *parts;
    int32_t parts_count;
    RhExchange exchange; /* of a part: what it begins with */
} RhKernelSequence;

/* Forward and backward of one block, by part. Modules that are run again do so in `sequence_again` and
 * `tensor_again`, from the block's input, as whole layers are; those within the tensor part in `data`. */
typedef struct {
    RhKernelSequence sequence_forward, tensor_forward;
    RhKernelSequence sequence_again, tensor_again;
    RhKernelSequence data, weight, sequence_backward;
    RhParamCounts params; /* that are trained, on this rank; adapters' where weights are frozen */
    RhParamCounts frozen; /* weights that are not: no gradients, no optimizer */
    double whole_params;  /* of the common ones, what tensor ranks do not cut: norms */
    RhActivation bytes;   /* kept and transient, for one micro-batch */
    /* What tensor-parallel collectives gather before its tensor part, and sum behind it; 0: nothing */
    double gathered_bytes, boundary_bytes;
    double other_bytes; /* of the encoder's output, whose gradient is summed with the input's */
} RhBlockCost;

/* Layers as layers: by their kind, and those of each kind once more of which nothing is recomputed,
 * where a layout recomputes some layers alone. */
#define RH_LAYER_OP_LAYERS (2 * RH_LAYER_KINDS_MAX)

/* Shapes of the matrices that layers train, on one rank, each once. */
#define RH_WEIGHT_SHAPES_MAX 64
typedef struct {
    int64_t rows, columns;
    uint64_t kinds; /* of the model's layers that have one such: a bit each */
} RhWeightShape;
typedef struct {
    RhWeightShape each[RH_WEIGHT_SHAPES_MAX];
    int32_t count;
} RhWeightShapes;

typedef struct RhModelCost {
    const RhProblem *c;
    RhShard shard;
    int32_t layers_end;       /* one behind the last kind of layers as layers */
    RhBlockCost *mixer, *ffn; /* per kind of layers as layers; owned */
    RhBlockCost embedding, head;
    /* What one rank sends to the next stage: behind a layer of each kind, behind the embedding; the
     * least of these; and before a layer of each kind besides, forward alone */
    double output_bytes[RH_LAYER_KINDS_MAX], first_bytes, least_message_bytes;
    double choice_bytes[RH_LAYER_KINDS_MAX];
    RhParamCounts layer_params[RH_LAYER_OP_LAYERS], layer_frozen[RH_LAYER_OP_LAYERS];
    RhWeightShapes matrices;  /* none where the stack makes no dummy gradients */
    struct RhModelCost *half; /* of half a micro-batch, where two take turns; else NULL */
} RhModelCost;

RhModelCost *rh_model_cost_new(const RhProblem *c, const RhLayout *layout);
/* The same without kernels and their times: all that memory is counted from. */
RhModelCost *rh_model_cost_sized_new(const RhProblem *c, const RhLayout *layout);
/* Kernels for these, once. */
void rh_model_cost_add_kernels(RhModelCost *model_cost);
void rh_model_cost_free(RhModelCost *model_cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhModelCost, rh_model_cost_free)

/* What one rank sends forward when the model is cut before this layer, and gets back as gradients: bytes. */
typedef struct {
    double forward, back;
} RhBoundaryMessage;
RhBoundaryMessage rh_model_cost_message(const RhModelCost *model_cost, int32_t layer);
/* What the last stage holds of its outputs until the step has ended, where the stack keeps messages: logits of all
 * micro-batches but the one whose are counted as what its head keeps. */
double rh_model_cost_outputs_bytes(const RhModelCost *model_cost, const RhLayout *layout);
/* The same behind each of a model's chunks but the last, which have so many layers; caller frees. */
RhBoundaryMessage *rh_model_cost_messages_new(const RhModelCost *model_cost, const int32_t *layers,
                                              int32_t chunks);
static inline double rh_boundary_message_bytes(const RhBoundaryMessage *message, bool back)
{
    return back ? message->back : message->forward;
}

/* Parameters of a stage on one rank, and those of them in layers: the weights of linear layers, which a
 * recipe may cast (and norms and routers, which are next to nothing). */
typedef struct {
    RhParamCounts params;
    RhParamCounts frozen; /* besides: weights alone */
    double linear;        /* of the frozen ones, where there are such; adapters run wide */
    uint64_t kinds;       /* of its layers: a bit each */
} RhStates;
void rh_states_add(RhStates *sum, const RhStates *more);
/* Where the stack's kernels add gradients to the main ones by themselves and autograd is given an array of
 * the matrix' shape in place of its gradient: one of each shape, which stays. Bytes on one rank. Gradients
 * that are shared out are no buffers that a kernel could add to (Megatron-FSDP: gradient_accumulation_fusion
 * off). */
double rh_states_dummies(const RhModelCost *model_cost, const RhLayout *layout,
                         const RhStates *states);

/* Bytes of gradients that the stage holds from step to step of a class; how many more there are of all while the
 * optimizer runs, when nothing is in flight, where the stack flattens them (0: no more); and of the buckets that
 * they are reduced in. */
double rh_states_gradients(const RhProblem *c, const RhLayout *layout, const RhStates *states,
                           RhParamsClass cls);
double rh_states_flattened(const RhProblem *c, const RhLayout *layout, const RhStates *states);
double rh_bucket_bytes(const RhProblem *c, const RhLayout *layout);

/* Bytes of the narrow copies of layers' weights: the rank's share where weights are shared out, else of all. */
double rh_states_copies(const RhProblem *c, const RhLayout *layout, const RhStates *states);
/* Parameters of a class of which the stage holds the weight as it is, trained or frozen: all, or those outside of
 * layers, and adapters, where weights of layers are held narrow. */
double rh_states_wide(const RhProblem *c, const RhStates *states, RhParamsClass cls);
/* Bytes of these on one rank; where weights are shared out and cast from the shares of their masters, of frozen ones. */
double rh_states_weights(const RhProblem *c, const RhLayout *layout, const RhStates *states,
                         RhParamsClass cls);
/* Adam over the parameters, or the rank's share of them, and the cast of weights for the next step. */
RhKernel rh_optimizer_kernel(const RhProblem *c, const RhLayout *layout, const RhStates *states);
/* Seconds of a kernel on the case's device, with its gap; of several, on the quickest. */
double rh_sequence_kernel_s(const RhProblem *c, const RhKernel *kernel);

/* Of the model's layer as a layer. */
static inline int rh_op_kind_of_layer(const RhModel *model, int32_t layer, bool recomputed)
{
    return model->kind_of_layer[layer] + (recomputed ? 0 : RH_LAYER_KINDS_MAX);
}
/* Its blocks' row of the model's kinds; NULL where the model has no such. */
static inline const RhLayerKind *rh_layer_of_op_kind(const RhModel *model, int item)
{
    int kind = item % RH_LAYER_KINDS_MAX;
    return kind < model->kinds_count ? &model->kinds[kind] : NULL;
}
