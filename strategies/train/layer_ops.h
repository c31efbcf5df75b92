#pragma once
/* Layers: what owns parameters and runs as a unit (the embedding, a layer, the head), and the tasks
 * of its passes. The tasks are written once per kind of layer; the program repeats them, and the
 * bounds take their time from the same list.
 *
 * A pass is woven from its blocks: kernels in order, and at the hooks between them whatever the
 * parallelisms (train/parallelism/parallelism.h) add. */
#include "strategies/train/block_cost.h"
#include "strategies/train/grid.h"
#include "strategies/train/schedules/schedule.h"

/* Parts of one kernel at most: what no longer fits runs as the next task. */
#define RH_PARTS_MAX 6
/* What a task may wait for: lanes run in order, so the latest task of each lane stands for those
 * before it (rh_layer_ops_wait_for); ENTRY; and a collective's last kernel. */
#define RH_PENDING_MAX    (RH_LANE_LAST + 2)
#define RH_LAYER_OP_ENTRY (-1) /* as a predecessor: all that the layer before left to wait for */

/* Kinds of layer: those of layers (block_cost.h), then the embedding and the head. */
#define RH_LAYER_EMBEDDING RH_LAYER_OP_LAYERS
#define RH_LAYER_HEAD      (RH_LAYER_OP_LAYERS + 1)
#define RH_LAYER_OP_KINDS  (RH_LAYER_OP_LAYERS + 2)

/* A kernel (parts run back to back) or a collective. */
typedef struct {
    const char *label;
    RhPhase phase; /* NONE: the slot's own */
    RhLane lane;   /* COMPUTE: a kernel */
    const RhKernelSequence *parts[RH_PARTS_MAX];
    RhOp op;
    RhGroupKind group;
    double bytes;
    RhRouting routing;             /* of tokens that are sent once (RhVolumes) */
    int32_t after[RH_PENDING_MAX]; /* tasks of this list, or ENTRY */
    int32_t after_count;
    int32_t half; /* of a list of two: whose it is, and whose ENTRY it may wait for */
} RhLayerOp;

/* One pass of one kind of layer. What follows waits for its last kernel, and for `left`. */
typedef struct {
    GArray *tasks; /* RhLayerOp */
    int32_t left[RH_PENDING_MAX];
    int32_t left_count;
} RhLayerPass;

/* Two passes that take turns, of two micro-batches or of the halves of one: each keeps its order and
 * leaves its own. */
typedef struct {
    GArray *tasks; /* RhLayerOp; NULL: never runs */
    struct {
        int32_t left[RH_PENDING_MAX];
        int32_t left_count;
    } half[2];
} RhLayerPassPair;

typedef struct {
    const RhLayerPass *pass[RH_LAYER_OP_KINDS]; /* RH_SLOT_PASSES of each; no tasks: never runs */
    RhLayerPass *own;                           /* all that run, kind by kind; owned */
    int32_t own_count;
    /* Where the schedule has pairs: a whole backward of each kind of layer, and a layer's forward beside one of a
     * layer: [forward][backward], as many as there are kinds of layers; owned. Elsewhere NULL. */
    RhLayerPass *whole;
    RhLayerPassPair (*pair)[RH_LAYER_OP_LAYERS];
    int32_t pairs_count;
} RhLayerOps;

/* The pass twice, for two halves of a micro-batch: one of them goes on while the other waits for its
 * tokens (batch_overlap.c). The caller frees its tasks. */
RhLayerPass rh_layer_pass_overlap(const RhLayerPass *half);
/* A forward and a backward: one of them goes on while the other waits for any collective. The caller
 * frees the tasks. */
RhLayerPassPair rh_layer_pass_pair(const RhLayerPass *forward, const RhLayerPass *backward);

/* A pass and then another of the same layer and micro-batch. The caller frees its tasks. (fwd_bwd_overlap.c) */
RhLayerPass rh_layer_pass_behind(const RhLayerPass *first, const RhLayerPass *then);
/* The layers of a forward and of a backward that run beside each other: layers beside layers in turn, the
 * embedding, the head, and the layers that one has more, alone. */
typedef struct {
    const int *kinds[2]; /* of the layers, in forward order: of the forward, of the backward */
    int32_t count[2];
    int32_t done[2]; /* 0 at first */
} RhPairWalk;
/* Next places in the lists, -1 for none; false behind the last. */
bool rh_pair_next(RhPairWalk *walk, int32_t *forward, int32_t *backward);

/* The phase of a slot's tasks that name none. */
static inline RhPhase rh_slot_phase(RhSlotPass pass)
{
    return pass == RH_SLOT_FORWARD ? RH_PHASE_FORWARD : RH_PHASE_BACKWARD;
}

/* Of one rank: trained parameters of a layer of this kind (the head of a tied model on one stage owns no
 * matrix), and bytes for one micro-batch. */
RhParamCounts rh_layer_params(const RhModelCost *model_cost, const RhLayout *layout, int kind);
/* ... and its weights that are not trained. */
RhParamCounts rh_layer_frozen_params(const RhModelCost *model_cost, const RhLayout *layout,
                                     int kind);
/* All that it adds to a stage's. */
RhStates rh_layer_states(const RhModelCost *model_cost, const RhLayout *layout, int kind);
/* Of one rank, parameters of the matrix that the first and the last stage both hold; 0 where there is
 * none. */
double rh_tied_params(const RhModelCost *model_cost, const RhLayout *layout);
RhActivation rh_layer_bytes(const RhModelCost *model_cost, int kind);
/* Of what a layer keeps, the bytes that wait in the host's memory; `stays`: it is no layer, or its
 * backward comes next. What is left in *bytes is kept on the device, the rest there while a pass runs. */
double rh_layer_offload(const RhLayout *layout, bool stays, RhActivation *bytes);

/* All passes that the layout's schedule runs, of all kinds in the model. `block costs` outlives them. */
RhLayerOps *rh_layer_ops_new(const RhLayout *layout, const RhModelCost *model_cost);
/* Without pairs, which take the most to make; and with them, where the layout's schedule has any. */
RhLayerOps *rh_layer_ops_of_passes(const RhLayout *layout, const RhModelCost *model_cost);
void rh_layer_ops_add_pairs(RhLayerOps *items, const RhLayout *layout,
                            const RhModelCost *model_cost);
void rh_layer_ops_free(RhLayerOps *items);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLayerOps, rh_layer_ops_free)

/* --- building lists of operations: for this folder and parallelism/ --- */

/* A pass under construction. */
typedef struct {
    const RhLayout *layout;
    const RhModelCost *model_cost;
    GArray *tasks; /* RhLayerOp */
    RhBlock block; /* the one being woven, and its block costs */
    const RhBlockCost *at;
    RhSlotPass pass;
    bool replayed;                   /* a layer that is run again as a whole */
    bool summed;                     /* forward: does somebody need the block's output? */
    RhPhase phase;                   /* of what is added; NONE: the slot's own */
    int32_t last;                    /* last kernel, or ENTRY */
    int32_t pending[RH_PENDING_MAX]; /* what the next kernel waits for besides its lane */
    int32_t pending_count;
    /* Backward: what the kernels of a later part wait for besides. -1: nothing. */
    int32_t before_weight, before_sequence;
    int32_t arrival; /* what the next RH_EXCHANGE_ARRIVE waits for */
    /* Of exchanges in several steps: the kernel behind which the first one's tensors are there, and
     * what brings those of the next step; -1: nothing. */
    int32_t steps_from, step_brings;
} RhLayerOpsBuilder;

/* Kernels run back to back as one task, behind everything pending. RH_PARTS of more than
 * RH_PARTS_MAX does not compile without warnings. */
void rh_layer_ops_kernels(RhLayerOpsBuilder *w, const char *label,
                          const RhKernelSequence *const parts[static RH_PARTS_MAX]);
#define RH_PARTS(...) ((const RhKernelSequence *const[RH_PARTS_MAX]){__VA_ARGS__})
/* A collective whose input is ready once the last kernel and everything pending are done. Returns
 * the task; -1 and nothing added when `bytes` is 0. */
int32_t rh_layer_ops_collective(RhLayerOpsBuilder *w, RhLane lane, RhGroupKind group, RhOp op,
                                double bytes, const char *label);
/* A step of a ring: its kernels work on what the step before has brought, while that travels on to the
 * next rank; `bytes` of it, none behind the last step. It may leave as soon as it has come, kernels
 * or not. */
typedef struct {
    RhLane lane;
    RhGroupKind group;
    double bytes;
    const char *label;
} RhRingStep;
void rh_layer_ops_ring_step(RhLayerOpsBuilder *w, const RhRingStep *ring, const char *label,
                            const RhKernelSequence *part);
/* The next kernel waits too, and for no earlier task of that lane by itself; -1 is ignored. */
void rh_layer_ops_wait_for(RhLayerOpsBuilder *w, int32_t task);
/* The collective sends tokens to experts; -1 is ignored. */
void rh_layer_ops_route(RhLayerOpsBuilder *w, int32_t collective, const RhRouting *routing);
/* A collective consumed what was pending: what follows waits for it alone. -1 is ignored. */
void rh_layer_ops_continue_after(RhLayerOpsBuilder *w, int32_t collective);
