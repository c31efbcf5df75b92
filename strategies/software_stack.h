#pragma once
/* A stack: properties that a training framework adds to the bare hardware, such as launch gaps,
 * achieved rates of communication, and buffers.
 *
 * Each is a file (strategies/stacks/NAME.json, or the user's; software_stack_file.h); every number is a fact.
 * A stack never knows a model or a layout. */
#include <stdbool.h>

#include "base/fact.h"
#include "platforms/platform.h"
#include "strategies/schedules.h"
#include "workloads/operator_costs.h"

#define RH_STACK_RECOMPUTES 4

typedef struct {
    const char *name; /* "megatron" */
    const char *spec; /* what --stack takes for it: the name, or the path of the user's file */
    const char *about;
    /* Whose launches run it, and whose rules say what it runs (strategies/frameworks/NAME.json);
     * NULL: nobody's. */
    const char *framework;
    /* The stack whose error bars and odds are its own, as it differs from that in what it keeps alone; NULL: itself. */
    const char *judged_as;
    /* The stack whose odds of memory are its own, as it is the same trainer and differs in rates alone; NULL: itself. */
    const char *holds_as;
    bool flash_attention;
    bool fused_norms;
    bool fused_softmax;     /* of attention that is not fused */
    bool fused_elementwise; /* rotation, activations, and the sum of gradients of micro-batches */
    bool fused_loss;        /* cross-entropy out of the logits as they are, without fp32 copies */
    bool whole_logits;      /* tensor ranks gather the logits, and each has the loss of all words */
    bool keeps_outputs;     /* what a stage makes lives until its buffer is wanted again: of the
                               last one, the logits until two micro-batches on */
    bool keeps_gathered;    /* with sequence parallelism linear layers keep what they read as it was
                               gathered, and backward does not gather it again */
    /* What attention's core made is run again with it, and not kept, where the core is; and the projection behind it, too,
     * so that what it made is not kept either */
    bool drops_context, drops_projection;
    bool narrow_gates; /* what an activation reads is kept as linear layers' operands are, and made
                          wide for its backward */
    bool fused_casts;  /* activations write what the next linear layer reads as it reads it, or find
                         its largest value */
    /* narrow copies of weights are held in one layout; the other is made where a product wants it */
    bool weights_in_one_layout;
    bool casts_anew; /* low-precision copies are not kept but recreated when a layer runs */
    bool eager_loss; /* kernel by kernel, with fp32 tensors between: PyTorch's cross_entropy */
    bool
        keeps_messages; /* what a stage gets and what it sends on, of every micro-batch, is held until
                            the step has ended; and the logits of every one on the last */
    bool sequence_parallel; /* norms and residuals may be cut over the tensor group */
    bool tensor_overlap;    /* linear layers may run beside the collectives of what they read
                                    and make, in steps */
    bool
        pulls_rows; /* ... each copying rows out of the others' memory, and adding partial sums with
                        a kernel of its own (PyTorch's symmetric memory); else rings and scatters */
    bool
        gathers_heads; /* a ring's context ranks gather keys and values beforehand, repeated for all heads, and
                           pass on their gradients in fp32 */
    bool sums_behind_weights; /* tensor ranks sum a block's input gradients when its weights' are
                                 done, beside nothing */
    bool scatters_messages;   /* without sequence parallelism each tensor rank sends a share of what
                                    goes to another stage, and they gather it there */
    bool expert_parallel;     /* experts may be spread over ranks */
    bool experts_apart;       /* each expert's products and casts are kernels of their own */
    bool fills_experts;       /* where they are spread, experts have equally many rows each */
    bool sorts_by_products;   /* ... which products put into their order (RhShard) */
    bool even_stages;         /* layers are dealt out to stages evenly, and not else */
    bool tiles;               /* pictures may be cut into tiles over ranks */
    bool gradient_norm;       /* the optimizer waits for the norm by which gradients are clipped */
    uint32_t schedules;       /* that it runs: bits of RhPipelineKind; 0: all there are */
    uint32_t zero_unstaged;   /* degrees of ZeRO that it runs without pipeline stages alone: bits
                                    of 1 to 3; 0: every one runs with stages */
    bool stops_early; /* recomputation ends with the last tensor that backward reads: the last
                               GEMM of a block is not run again */
    bool
        dummy_gradients; /* autograd is given an array of a matrix' shape where a kernel has added its
                               gradient to the main one: one of each shape, which stays */
    /* gradients are all-reduced whole, in fp32, when all of a step are in, and what ZeRO-1 shares
     * out is gathered before the next step begins: neither runs beside anything */
    bool late_exchange;
    /* a chunk's gradients are there from its first backward on, whole until they are reduced and a
     * share from then on (ZeRO-1 and what else reduces once a step), and gone behind the optimizer;
     * each item is reduced by itself. Else buffers hold them from step to step */
    bool frees_gradients;
    /* At the end of a step the optimizer is given a flat copy of the rank's share of gradients, and one in
     * fp32 where they are narrower; and with ZeRO-2 a micro-batch's share is collected beside the sum of
     * those before it */
    bool flat_gradients;
    bool
        casts_masters; /* ZeRO-3 shares out the optimizer's masters alone, and what a gather sends is
                           cast from them; else weights beside them */
    bool reduces_once; /* with pipeline stages ZeRO-2 and 3 sum gradients whole over a step's
                          micro-batches and reduce them once, as ZeRO-1 does */
    /* Further recomputation choices for the search, besides none, attention's core and whole
     * layers: sums of modules, terminated by 0. */
    RhRecompute recomputes[RH_STACK_RECOMPUTES];
    bool second_shards;    /* ZeRO-3's weights may be shared out over few replicas, too */
    RhFact attention_frac; /* rate of its fused attention over the device's, which is of the newest
                              generation; 0: the device's */
    RhFact gemm_frac; /* rate of its GEMM library over the device's, whose tables are of the newest
                         release; 0: the device's */
    RhFact gemm_fp8_frac;      /* further, of its products in fp8; 0: none */
    RhFact gemm_gradient_frac; /* of weights' gradients out of narrow activations over these; 0: the
                                  device's */
    RhFact kernel_gap_s;       /* after each kernel: launch gap and host-bound share */
    RhFact nvlink_training_frac; /* collective bandwidth inside the node, in training over alone */
    RhFact nic_training_frac; /* NIC rate in training over the data sheet's; 0: the platform's own
                                 efficiency */
    const RhLibrary *library; /* that it is built on; NULL: the platform's */
    RhFact straggler_frac;    /* step longer by this for each doubling of the nodes */
    RhFact optimizer_bytes;   /* memory traffic of Adam per parameter */
    /* A gradient bucket is closed at so many parameters of a rank, at least so many times dp ... */
    RhFact bucket_params, bucket_params_per_replica;
    /* Bytes of gradients that fill a bucket, and those that fill the first one of a backward; 0: by parameters */
    RhFact bucket_bytes, first_bucket_bytes;
    RhFact bucket_cycle_s; /* and so long after the one before; 0: by size alone */
    RhFact
        buckets; /* of so many parameters, in weights' format, that are there whatever is in them; with
                       ZeRO-3 one; 0: none but what is on its way */
    RhPasses passes;         /* of passes over tensors */
    RhFact reserve_bytes;    /* context, communication library, fragmentation */
    int32_t prefetch_layers; /* ZeRO-3: layers gathered ahead */
    int32_t gradient_bytes;  /* per parameter, main gradients */
} RhStack;

static inline bool rh_stack_runs(const RhStack *stack, RhPipelineKind kind)
{
    return stack->schedules == 0 || (stack->schedules >> kind & 1) != 0;
}
/* Whether it runs this degree of ZeRO in a pipeline of `pp` stages. */
static inline bool rh_stack_shards(const RhStack *stack, int32_t zero, int32_t pp)
{
    return pp == 1 || (stack->zero_unstaged >> zero & 1) == 0;
}
/* Whether gradients are reduced in every micro-batch, so that nobody holds them whole. */
static inline bool rh_stack_reduces_each(const RhStack *stack, int32_t zero, int32_t pp)
{
    return zero >= 2 && !(stack->reduces_once && pp > 1);
}
/* Returns the stack of that name, or of the file with that path (rh_data_is_path), read once and
 * never freed. RH_ERROR_USAGE: the catalogue has no such name; RH_ERROR_INPUT, RH_ERROR_IO: the
 * file is wrong. */
const RhStack *rh_stack_by_name(const char *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the names of the catalogue, sorted, NULL-terminated, never freed. */
const char *const *rh_stack_names(void);
/* Why a fact of this platform (a path of --set) changes nothing here; NULL when it counts.
 * Interned. */
const char *rh_stack_ignores(const RhStack *stack, const RhPlatform *platform, const char *key);
/* The platform as this stack sees it: a copy with the training factors applied, but not to what the
 * user set. Caller frees. */
RhPlatform *rh_stack_platform(const RhStack *stack, const RhPlatform *platform);
