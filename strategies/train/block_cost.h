#pragma once
/* Block costs: kernels with their times on the device, parameters and activation bytes of a rank's
 * share of each block, for one (tp, cp, sp, micro-batch, recompute). The program builder, the
 * closed form of memory and the bounds read the same block costs, so they agree by construction. */
#include "strategies/train/rank_grid.h"
#include "strategies/train/train.h"

/* Bytes of the fp32 master copy of a parameter, which the optimizer updates if weights are
 * narrower. */
#define RH_MASTER_BYTES 4.0

/* Returns the bytes of a parameter as a weight. */
double rh_weight_bytes(const RhProblem *c);
/* Returns the bytes of the low-precision copies that linear layers hold beside a weight. */
double rh_weight_copies_bytes(const RhProblem *c);
/* Returns the bytes of a parameter in a gather; `linear`: it is in a layer, so low precision
 * applies. */
double rh_gathered_weight_bytes(const RhProblem *c, bool linear);
/* Checks that the formats of the job's weights go together; RH_ERROR_USAGE otherwise. */
bool rh_train_formats_legal(const RhProblem *c, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Checks that a reference's weights (preference_training.h), where there is one, are on the device;
 * RH_ERROR_USAGE otherwise. */
bool rh_train_reference_legal(const RhProblem *c, const RhLayout *layout,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Whether linear layers hold their weights in low precision alone. */
bool rh_holds_narrow(const RhProblem *c);
/* Returns the bytes in which ZeRO-3 gathers a layer: `weights` parameters, `trained` of which are;
 * `linear` as above. */
double rh_layer_gather_bytes(const RhProblem *c, double trained, double weights, bool linear);
/* Returns the part of those bytes that travels: less than 1 where weights are sent in 8 bits. */
double rh_gather_sent_frac(const RhProblem *c, const RhLayout *layout);
/* Returns the optimizer moments of the job, fp32 where it names none. */
const RhAdamMoments *rh_job_moments(const RhProblem *c);
/* Whether narrow weights are kept in one layout and the other is made where a product wants it. */
bool rh_weight_is_laid_out_anew(const RhProblem *c);
/* Return the bytes of a parameter's main gradient, and of its optimizer states: the master copy, if
 * there is one, and two moments. */
double rh_gradient_bytes(const RhProblem *c);
/* Whether the optimizer updates a master copy beside each weight. */
bool rh_has_masters(const RhProblem *c);
double rh_optimizer_state_bytes(const RhProblem *c);

typedef struct RhKernelSequence {
    const RhKernel *kernels; /* the model cost's; NULL: none, or not added yet */
    int32_t kernels_count;
    double seconds; /* on the problem's device, gaps included */
    /* Parts of the sequence between exchanges of ranks; NULL: no exchange inside. */
    struct RhKernelSequence *parts;
    int32_t parts_count;
    RhExchange exchange; /* of a part: exchange that precedes it */
} RhKernelSequence;

/* Forward and backward of one block, by part. Recomputed modules run in `sequence_again` and
 * `tensor_again` from the block's input, as whole layers do; those inside the tensor part run in
 * `data`. */
typedef struct {
    RhKernelSequence sequence_forward, tensor_forward;
    RhKernelSequence sequence_again, tensor_again;
    RhKernelSequence data, weight, sequence_backward;
    RhParamCounts params; /* trained, on this rank; the adapters' if weights are frozen */
    RhParamCounts frozen; /* frozen weights, without gradients and optimizer states */
    double whole_params;  /* common parameters that tensor ranks do not divide: norms */
    RhActivation bytes;   /* kept and transient, for one micro-batch */
    /* Bytes that tensor-parallel collectives gather before its tensor part and sum after it; 0:
     * none. */
    double gathered_bytes, boundary_bytes;
    double other_bytes; /* encoder's output, whose gradient is summed with the input's */
} RhBlockCost;

/* Kinds of layers as operations: each kind of the model, and again each kind without recomputation,
 * for layouts that recompute only some layers. */
#define RH_LAYER_OP_LAYERS (2 * RH_LAYER_KINDS_MAX)

/* Distinct shapes of the matrices that layers train, on one rank. */
#define RH_WEIGHT_SHAPES_MAX 64
typedef struct {
    int64_t rows, columns;
    uint64_t kinds; /* kinds of the model's layers that have such a matrix: a bit each */
} RhWeightShape;
typedef struct {
    RhWeightShape each[RH_WEIGHT_SHAPES_MAX];
    int32_t count;
} RhWeightShapes;

/* Block costs of all kinds of layers, of the embedding and of the head. */
typedef struct RhModelCost {
    const RhProblem *c;
    RhShard shard;
    int32_t layers_end;       /* index after the last kind of layers */
    RhBlockCost *mixer, *ffn; /* per kind of layers (RH_LAYER_OP_LAYERS); owned */
    RhBlockCost embedding, head;
    /* Bytes that a rank sends to the next stage: after a layer of each kind, after the embedding,
     * and the least of these. */
    double output_bytes[RH_LAYER_KINDS_MAX], first_bytes, least_message_bytes;
    /* Further bytes that it sends, forward only, before a layer of each kind. */
    double choice_bytes[RH_LAYER_KINDS_MAX];
    RhParamCounts layer_params[RH_LAYER_OP_LAYERS], layer_frozen[RH_LAYER_OP_LAYERS];
    RhWeightShapes matrices;  /* empty if the stack makes no dummy gradients */
    struct RhModelCost *half; /* costs of half a micro-batch if two halves overlap; else NULL */
} RhModelCost;

RhModelCost *rh_model_cost_new(const RhProblem *c, const RhLayout *layout);
/* Returns block costs without kernels and times, sufficient for memory. The caller frees them. */
RhModelCost *rh_model_cost_sized_new(const RhProblem *c, const RhLayout *layout);
/* Adds kernels and times, unless they are there. */
void rh_model_cost_add_kernels(RhModelCost *model_cost);
void rh_model_cost_free(RhModelCost *model_cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhModelCost, rh_model_cost_free)

/* Bytes that a rank sends forward, and receives back as gradients, at the boundary between two
 * stages. */
typedef struct {
    double forward, back;
} RhBoundaryMessage;
/* Returns the message of a boundary before this layer. */
RhBoundaryMessage rh_model_cost_message(const RhModelCost *model_cost, int32_t layer);
/* Returns the bytes of outputs that the last stage holds until the end of the step if the stack
 * keeps messages: logits of all micro-batches but one, whose logits count as kept by the head. */
double rh_model_cost_outputs_bytes(const RhModelCost *model_cost, const RhLayout *layout);
/* Returns the messages after each model chunk except the last, for chunks of these numbers of
 * layers; the caller frees them. */
RhBoundaryMessage *rh_model_cost_messages_new(const RhModelCost *model_cost, const int32_t *layers,
                                              int32_t chunks);
static inline double rh_boundary_message_bytes(const RhBoundaryMessage *message, bool back)
{
    return back ? message->back : message->forward;
}

/* Parameters of a stage on one rank. */
typedef struct {
    RhParamCounts params;
    RhParamCounts frozen; /* further weights that are not trained */
    /* Parameters in layers, whose weights a recipe may cast (norms and routers, also counted, are
     * negligible); only frozen ones if there are any, since adapters stay in high precision. */
    double linear;
    uint64_t kinds; /* kinds of its layers: a bit each */
} RhStates;
void rh_states_add(RhStates *sum, const RhStates *more);
/* Returns the bytes of dummy wgrad buffers on one rank: one per matrix shape, kept for the step,
 * for stacks whose kernels accumulate into the main gradients and hand autograd an array in place
 * of the gradient. Not used with sharded gradients (Megatron-FSDP: gradient_accumulation_fusion
 * off). */
double rh_states_dummies(const RhModelCost *model_cost, const RhLayout *layout,
                         const RhStates *states);

/* Returns the fraction of the parameters whose optimizer states are on the host. */
double rh_states_away_frac(const RhLayout *layout);
/* Whether gradients of a class leave for the host in every micro-batch, as they are made; else they
 * are summed on the device and leave when the optimizer runs. */
bool rh_gradients_leave(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);
/* Bytes that a rank holds off its device from step to step. */
typedef struct {
    double of[RH_MEMORY_TIER_LAST][RH_MEMORY_LAST];
} RhTierBytes;
/* Returns what is on the host and on drives: states; gradients as the optimizer reads them, in fp32,
 * beside the sums of several micro-batches, on the host; weights, or what goes back of them. DeepSpeed
 * v0.19.5 holds these (stage_1_and_2.py: single_partition_of_fp32_groups and their grad,
 * accumulated_grads_in_cpu, param_buffer_of_bit16_for_cpu_offload_groups). States on drives are on the
 * host while it works on them: those of the largest layer, and of one that is written. `largest`: the
 * most parameters of a layer. */
RhTierBytes rh_states_away(const RhProblem *c, const RhLayout *layout, const RhStates *states,
                           const RhParamCounts *largest);
/* Returns the bytes of the device's buffers: for gradients on their way those of a layer that are
 * made, of one that leave and, where sums come back to be added to, of these; for shares of weights
 * that are copied in ahead, given what gathers of the largest layers bring. */
double rh_away_buffer_bytes(const RhProblem *c, const RhLayout *layout,
                            const RhParamCounts *largest,
                            const double gather_bytes[RH_PARAMS_LAST]);
/* Returns the bytes of memory traffic of the optimizer per parameter. */
double rh_optimizer_bytes(const RhProblem *c);
/* Returns the bytes of gradients of a class that the stage holds from step to step. */
double rh_states_gradients(const RhProblem *c, const RhLayout *layout, const RhStates *states,
                           RhParamsClass cls);
/* Returns the bytes of a flattened copy of all gradients, or of a codec's temporary tensors, while the
 * optimizer runs and nothing is in flight; 0: there are none. */
double rh_states_flattened(const RhProblem *c, const RhLayout *layout, const RhStates *states);
/* Returns the bytes of the buckets in which gradients are reduced. */
double rh_bucket_bytes(const RhProblem *c, const RhLayout *layout);

/* Returns the bytes of the low-precision copies of layers' weights, or of the rank's shard of
 * them. */
double rh_states_copies(const RhProblem *c, const RhLayout *layout, const RhStates *states);
/* Returns the number of parameters of a class, trained or frozen, whose weights are held in high
 * precision: all or, if layers are held in low precision, adapters and those outside of layers. */
double rh_states_wide(const RhProblem *c, const RhStates *states, RhParamsClass cls);
/* Returns the bytes of these weights on one rank; only of frozen ones if weights are sharded and
 * cast from shards of the master copies. */
double rh_states_weights(const RhProblem *c, const RhLayout *layout, const RhStates *states,
                         RhParamsClass cls);
/* Returns the kernel of Adam over the rank's parameters or its shard, with the cast of weights for
 * the next step. */
RhKernel rh_optimizer_kernel(const RhProblem *c, const RhLayout *layout, const RhStates *states);
/* Does the device run it? Not where the host does all of its work. */
static inline bool rh_optimizer_runs(const RhLayout *layout, const RhKernel *kernel)
{
    return layout->states == RH_PLACE_DEVICE || kernel->bytes > 0;
}
/* Returns the seconds of a kernel with its gap, on the fastest of the problem's devices. */
double rh_sequence_kernel_s(const RhProblem *c, const RhKernel *kernel);

/* Returns the layer operation kind of the model's layer. */
static inline int rh_op_kind_of_layer(const RhModel *model, int32_t layer, bool recomputed)
{
    return model->kind_of_layer[layer] + (recomputed ? 0 : RH_LAYER_KINDS_MAX);
}
/* Returns the model's layer kind of a layer operation kind; NULL: the model has none. */
static inline const RhLayerKind *rh_layer_of_op_kind(const RhModel *model, int item)
{
    int kind = item % RH_LAYER_KINDS_MAX;
    return kind < model->kinds_count ? &model->kinds[kind] : NULL;
}
