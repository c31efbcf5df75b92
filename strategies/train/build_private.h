#pragma once
/* State shared by the files of the builder; nobody else includes this. */
#include "strategies/train/algorithm_choice.h"
#include "strategies/train/build.h"
#include "strategies/train/stage_program.h"

/* What the next kernel of a stage waits for, at most: lanes run in order, so the latest task of each
 * stands for those before it (wait_for). */
#define RH_BUILD_WAITS_MAX RH_LANE_LAST
/* Of one task: all that, the last kernel, and its own list's. */
#define RH_BUILD_PREDS_MAX (RH_BUILD_WAITS_MAX + 1 + RH_PENDING_MAX)

/* An algorithm chosen once per group, operation and size. */
typedef struct {
    RhGroupKind group;
    RhOp op;
    double bytes;
    RhRouting routing;
    RhAlgo algo;
} RhChoice;

/* What one micro-batch has run here: where two take turns, each has its own. */
typedef struct {
    int32_t microbatch;
    RhPhase phase;
    int32_t last;                        /* last compute task, -1 at first */
    int32_t pending[RH_BUILD_WAITS_MAX]; /* what the next kernel waits for besides its lane */
    int32_t pending_count;
} RhBuildHalf;

typedef struct {
    const RhProblem *c;
    const RhLayout *layout;
    const RhModelCost *model_cost;
    const RhLayerOps *items;
    RhGrid grid;
    RhProgram *program;
    GArray *choices; /* RhChoice */
    RhAlgorithmSites *sites;
    int32_t groups[RH_GROUP_LAST];
    GHashTable *bundles; /* GArray* of a layer's tasks -> 1 + the bundle of its first kernel */
    int32_t *sends[2], *recvs[2]; /* [backward][model chunk * microbatches + microbatch], or -1 */
    RhBoundaryMessage *messages;  /* one behind each model chunk; owned */
    int32_t microbatches;
    /* where we are */
    const RhStageProgram *stage_program;
    int32_t layer;
    RhBuildHalf half[2], *now;    /* of a pair the forward and the backward; else the first */
    GArray *sent[RH_LANE_LAST];   /* int32_t: `last` when each communication was sent for */
    int32_t latest[RH_LANE_LAST]; /* latest communication or copy, -1 */
    int32_t before[RH_LANE_LAST]; /* the copy before that, -1 */
    int32_t *copies; /* of layers of the stage at hand, out: [layer * microbatches + microbatch] */
    double *gradients; /* bytes of each of the stage's chunks, where the stack frees them */
    GArray *begin;     /* int32_t: communications of the step's beginning */
} RhBuild;

/* build_layers.c: everything here is added to the stage at hand, in the half `now`. */
void rh_build_wait_for(RhBuild *b, int32_t task); /* the next kernel does; -1: nothing */
RhTask rh_build_task(const RhBuild *b, RhTaskKind kind, RhLane lane, const char *label);
/* What is pending, and the half's last kernel when `behind_last`; returns how many. */
int32_t rh_build_waits(const RhBuild *b, bool behind_last, int32_t *preds);
/* Waits for what is pending and the half's last kernel; the task's number. */
int32_t rh_build_exchange(RhBuild *b, RhLane lane, RhGroupKind group, RhOp op, double bytes,
                          const char *label);
void rh_build_memory(RhBuild *b, RhMemoryUse use, double bytes);
void rh_build_kernel(RhBuild *b, const RhKernel *kernel, const char *label);
void rh_build_layer(RhBuild *b, int32_t index, RhSlotPass pass);
/* One layer of a pair by itself: of its backward, or of its forward; and two beside each other, each in
 * its half. */
void rh_build_layer_of_pair(RhBuild *b, const RhStageLayer *item, bool back);
void rh_build_layers_overlapped(RhBuild *b, const RhStageLayer *forward,
                                const RhStageLayer *backward);
void rh_build_instr(RhBuild *b, const RhInstr *step);
void rh_build_instrs(RhBuild *b, RhInstrRange steps);

/* build_slots.c */
void rh_build_slots(RhBuild *b); /* of the stage at hand */
void rh_build_match(RhBuild *b); /* messages of all stages */
/* Those of the stage at hand are gone, where the stack frees them. */
void rh_build_gradients_free(RhBuild *b);
