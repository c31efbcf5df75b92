#pragma once
/* Layer operations: the tasks of each pass of the embedding, of a layer and of the head. They are
 * listed once per kind of layer; the program repeats them, and the bounds time the same list.
 *
 * A pass is built from its blocks: kernels in order and, at the hooks between them, the
 * communication that parallelisms add (train/parallelism/parallelism.h). */
#include "strategies/train/block_cost.h"
#include "strategies/train/rank_grid.h"
#include "strategies/train/schedules/schedule.h"

/* Maximum number of parts of one kernel task; further parts go to the next task. */
#define RH_PARTS_MAX 6
/* Maximum number of predecessors of a task: the latest task of each lane, since lanes run in order
 * (rh_layer_ops_wait_for), ENTRY, and the last kernel before a collective. */
#define RH_PENDING_MAX    (RH_LANE_LAST + 2)
#define RH_LAYER_OP_ENTRY (-1) /* predecessor: everything that the layer before left to wait for */

/* Kinds of layer: those of layers (block_cost.h), then the embedding and the head. */
#define RH_LAYER_EMBEDDING RH_LAYER_OP_LAYERS
#define RH_LAYER_HEAD      (RH_LAYER_OP_LAYERS + 1)
#define RH_LAYER_OP_KINDS  (RH_LAYER_OP_LAYERS + 2)

/* A task of a layer: a kernel, whose parts run back to back, or a collective. */
typedef struct {
    const char *label;
    RhPhase phase; /* NONE: that of the slot */
    RhLane lane;   /* COMPUTE: a kernel */
    const RhKernelSequence *parts[RH_PARTS_MAX];
    RhOp op;
    RhGroupKind group;
    double bytes;
    RhRouting routing;             /* of tokens that are sent once to a destination (RhVolumes) */
    int32_t after[RH_PENDING_MAX]; /* predecessors: tasks of this list, or ENTRY */
    int32_t after_count;
    int32_t half; /* in a list for two micro-batches: index of the one this task belongs to */
    /* First and last call of the builder that added to it. The calls of a pass have the same
     * numbers whatever is recomputed; those of recomputation have numbers of their own. */
    int32_t first_call, last_call;
} RhLayerOp;

/* One pass of one kind of layer. Later tasks wait for its last kernel and for the tasks in
 * `left`. */
typedef struct {
    GArray *tasks; /* RhLayerOp */
    int32_t left[RH_PENDING_MAX];
    int32_t left_count;
    int32_t calls; /* number of calls of the builder outside recomputation */
} RhLayerPass;

/* Two interleaved passes, of two micro-batches or of the halves of one; each keeps its order and
 * has its own `left`. */
typedef struct {
    GArray *tasks; /* RhLayerOp; NULL: never runs */
    struct {
        int32_t left[RH_PENDING_MAX];
        int32_t left_count;
        int32_t calls; /* RhLayerPass.calls */
    } half[2];
} RhLayerPassPair;

/* Passes of all kinds of layers. */
typedef struct {
    const RhLayerPass *pass[RH_LAYER_OP_KINDS]; /* RH_SLOT_PASSES of each; no tasks: never runs */
    RhLayerPass *own;                           /* storage of `pass`, kind by kind; owned */
    int32_t own_count;
    /* For schedules with pairs: the whole backward of each kind of layer, and each forward
     * interleaved with each backward, [forward][backward], pairs_count each; owned. Otherwise
     * NULL. */
    RhLayerPass *whole;
    RhLayerPassPair (*pair)[RH_LAYER_OP_LAYERS];
    int32_t pairs_count;
} RhLayerOps;

/* Interleaves a pass with itself for the two halves of a micro-batch: one continues while the other
 * waits for its tokens (overlap_interleaving.c). The caller frees the tasks. */
RhLayerPass rh_layer_pass_overlap(const RhLayerPass *half);
/* Interleaves a forward and a backward: one continues while the other waits for any collective. The
 * caller frees the tasks. */
RhLayerPassPair rh_layer_pass_pair(const RhLayerPass *forward, const RhLayerPass *backward);

/* Concatenates two passes of the same layer and micro-batch. The caller frees the tasks.
 * (fwd_bwd_overlap.c) */
RhLayerPass rh_layer_pass_behind(const RhLayerPass *first, const RhLayerPass *then);
/* Walk over the layers of a forward and a backward that run as a pair: layers are interleaved one
 * by one; the embedding, the head and excess layers of one side run alone. */
typedef struct {
    const int *kinds[2]; /* kinds of the layers in forward order: of the forward, of the backward */
    int32_t count[2];
    int32_t done[2]; /* 0 at first */
} RhPairWalk;
/* Gets the next indices into the two lists, -1 for none; returns false at the end. */
bool rh_pair_next(RhPairWalk *walk, int32_t *forward, int32_t *backward);

/* Returns the phase of a slot's tasks that have no phase of their own. */
static inline RhPhase rh_slot_phase(RhSlotPass pass)
{
    return pass == RH_SLOT_FORWARD ? RH_PHASE_FORWARD : RH_PHASE_BACKWARD;
}

/* Returns the number of trained parameters of a layer of this kind on one rank. The head of a tied
 * model on one stage has no matrix of its own. */
RhParamCounts rh_layer_params(const RhModelCost *model_cost, const RhLayout *layout, int kind);
/* Returns the number of its frozen weights. */
RhParamCounts rh_layer_frozen_params(const RhModelCost *model_cost, const RhLayout *layout,
                                     int kind);
/* Returns its contribution to a stage's states. */
RhStates rh_layer_states(const RhModelCost *model_cost, const RhLayout *layout, int kind);
/* Returns the number of parameters on one rank of the matrix that first and last stage share; 0:
 * none. */
double rh_tied_params(const RhModelCost *model_cost, const RhLayout *layout);
/* Returns the activation bytes of a layer for one micro-batch. */
RhActivation rh_layer_bytes(const RhModelCost *model_cost, int kind);
/* Returns the seconds of the kernels of a layer's backward for one micro-batch, what is recomputed
 * included. */
double rh_layer_backward_s(const RhModelCost *model_cost, int kind);
/* Returns the kept bytes of a layer that are offloaded to host memory, and moves them in *bytes
 * from kept to transient. `stays`: no offload, because it is the embedding or the head or its
 * backward comes next. */
double rh_layer_offload(const RhLayout *layout, bool stays, RhActivation *bytes);

/* Returns all passes that the layout's schedule runs, for all kinds of layers in the model.
 * `model_cost` must outlive them. */
RhLayerOps *rh_layer_ops_new(const RhLayout *layout, const RhModelCost *model_cost);
/* Returns all passes without pairs, which are the most expensive to make. */
RhLayerOps *rh_layer_ops_of_passes(const RhLayout *layout, const RhModelCost *model_cost);
/* Adds the pairs, if the layout's schedule has any. */
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
    RhBlock block; /* current block, and its cost */
    const RhBlockCost *at;
    RhSlotPass pass;
    bool replayed;                   /* the whole layer is recomputed */
    bool summed;                     /* forward: the block's output is needed */
    RhPhase phase;                   /* of added tasks; NONE: that of the slot */
    int32_t last;                    /* last kernel, or ENTRY */
    int32_t pending[RH_PENDING_MAX]; /* tasks that the next kernel waits for besides its lane */
    int32_t pending_count;
    /* Backward: further tasks that the kernels of a later part wait for; -1: none. */
    int32_t before_weight, before_sequence;
    int32_t arrival; /* task that the next RH_EXCHANGE_ARRIVE waits for */
    /* Exchanges in several steps: kernel after which the tensors of the first step are ready, and
     * task that delivers those of the next step; -1: none. */
    int32_t steps_from, step_brings;
    /* Calls so far that add tasks: outside recomputation, and in that of the block. */
    int32_t calls, again_calls;
} RhLayerOpsBuilder;

/* Maximum number of calls for a pass without recomputation, and for the recomputation of a block;
 * numbers of other blocks and passes lie so far apart. */
#define RH_LAYER_CALLS_MAX 2000

/* Adds kernels that run back to back as one task, after everything pending. RH_PARTS of more than
 * RH_PARTS_MAX does not compile without warnings. */
void rh_layer_ops_kernels(RhLayerOpsBuilder *w, const char *label,
                          const RhKernelSequence *const parts[static RH_PARTS_MAX]);
#define RH_PARTS(...) ((const RhKernelSequence *const[RH_PARTS_MAX]){__VA_ARGS__})
/* Adds a collective that waits for the last kernel and everything pending. Returns the task; -1 and
 * nothing added if `bytes` is 0. */
int32_t rh_layer_ops_collective(RhLayerOpsBuilder *w, RhLane lane, RhGroupKind group, RhOp op,
                                double bytes, const char *label);
/* A step of a ring: its kernels use the tensors that the step before delivered, while `bytes` of
 * them (0 after the last step) are sent on to the next rank as soon as they have arrived. */
typedef struct {
    RhLane lane;
    RhGroupKind group;
    double bytes;
    const char *label;
} RhRingStep;
void rh_layer_ops_ring_step(RhLayerOpsBuilder *w, const RhRingStep *ring, const char *label,
                            const RhKernelSequence *part);
/* Makes the next kernel wait for the task, in place of earlier tasks of its lane; -1 is ignored. */
void rh_layer_ops_wait_for(RhLayerOpsBuilder *w, int32_t task);
/* Sets the routing of a collective that sends tokens to experts; -1 is ignored. */
void rh_layer_ops_route(RhLayerOpsBuilder *w, int32_t collective, const RhRouting *routing);
/* Makes later tasks wait only for the collective, which has waited for everything pending; -1 is
 * ignored. */
void rh_layer_ops_continue_after(RhLayerOpsBuilder *w, int32_t collective);
/* Joins the kernels of a layer in which no parallelism acts, one task per phase. */
void rh_layer_ops_merge_kernels(GArray *tasks, const char *label);
