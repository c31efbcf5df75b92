#pragma once
/* State shared by the files of the builder. Private to these files. */
#include "strategies/train/collective_algorithm_choice.h"
#include "strategies/train/program/program_build.h"
#include "strategies/train/program/stage_program.h"

/* Maximum number of pending tasks that the next kernel of a stage waits for: the latest of each
 * lane, since lanes run in order (wait_for). */
#define RH_BUILD_WAITS_MAX RH_LANE_LAST
/* Maximum number of predecessors of a task: the pending ones, the last kernel, those of its list,
 * and the latest of each lane that a copy names. */
#define RH_BUILD_PREDS_MAX (RH_BUILD_WAITS_MAX + 1 + RH_PENDING_MAX + RH_LANE_LAST)

/* An algorithm chosen once per group, operation and size. */
typedef struct {
    int32_t group; /* of the program */
    RhOp op;
    double bytes;
    RhRouting routing;
    RhAlgo algo;
} RhChoice;

/* Tasks that a micro-batch has run on the current stage; each half of a pair has its own. */
typedef struct {
    int32_t microbatch;
    RhPhase phase;
    int32_t last;                        /* last compute task, -1 at first */
    int32_t pending[RH_BUILD_WAITS_MAX]; /* what the next kernel waits for besides its lane */
    int32_t pending_count;
} RhBuildHalf;

typedef struct {
    const RhProblem *c;
    /* The next members are those of the current part of the pipeline (rank_grid.h); `model_cost`,
     * `items` and `messages`, one behind each model chunk, are owned. */
    RhLayout part;
    const RhLayout *layout; /* &part */
    RhModelCost *model_cost;
    RhLayerOps *items;
    RhGrid grid;
    RhBoundaryMessage *messages;
    RhProgram *program;
    GArray *choices; /* RhChoice */
    RhAlgorithmSites *sites;
    int32_t groups[RH_GROUP_LAST]; /* RH_GROUP_MIRRORED: of the current stage's pair */
    int32_t mirrored;              /* of the outermost pair, those inside follow; -1: none */
    GHashTable *bundles; /* GArray* of a layer's tasks -> 1 + the bundle of its first kernel */
    int32_t *sends[2], *recvs[2]; /* [backward][model chunk * microbatches + microbatch], or -1 */
    int32_t microbatches;
    /* Where two parts join: the stage before, -1: nowhere yet; forward and back, the group that
     * exchanges, bytes of the whole picture, and its volumes (RhTask.volumes). */
    int32_t join_stage;
    struct {
        int32_t group, volumes;
        double bytes;
    } join[2];
    /* Current position. */
    const RhStageProgram *stage_program;
    int32_t layer;
    RhBuildHalf half[2], *now;    /* forward and backward of a pair; else only the first */
    GArray *sent[RH_LANE_LAST];   /* int32_t: `last` when each communication was issued */
    int32_t latest[RH_LANE_LAST]; /* latest communication or copy; -1: none */
    int32_t before[RH_LANE_LAST]; /* the copy before it; -1: none */
    int32_t *copies;   /* copies out of the stage's layers: [layer * microbatches + microbatch] */
    double *gradients; /* bytes of each of the stage's chunks, if the stack frees gradients */
    GArray *begin;     /* int32_t: communications of the step's beginning */
} RhBuild;

/* --- build_layers.c: functions that add to the current stage, in the half `now` --- */

/* Makes the next kernel wait for the task; -1 is ignored. */
void rh_build_wait_for(RhBuild *b, int32_t task);
RhTask rh_build_task(const RhBuild *b, RhTaskKind kind, RhLane lane, const char *label);
/* Gets the pending tasks and, with `behind_last`, the half's last kernel; returns their number. */
int32_t rh_build_waits(const RhBuild *b, bool behind_last, int32_t *preds);
/* Adds a collective that waits for all pending tasks and the half's last kernel; returns its
 * index. */
int32_t rh_build_exchange(RhBuild *b, RhLane lane, RhGroupKind group, RhOp op, double bytes,
                          const char *label);
void rh_build_memory(RhBuild *b, RhMemoryUse use, double bytes);
void rh_build_kernel(RhBuild *b, const RhKernel *kernel, const char *label);
void rh_build_layer(RhBuild *b, int32_t index, RhSlotPass pass);
/* Add a layer of a pair's backward or forward by itself, and two layers interleaved, each in its
 * half. */
void rh_build_layer_of_pair(RhBuild *b, const RhStageLayer *item, bool back);
void rh_build_layers_overlapped(RhBuild *b, const RhStageLayer *forward,
                                const RhStageLayer *backward);
void rh_build_instr(RhBuild *b, const RhInstr *step);
void rh_build_instrs(RhBuild *b, RhInstrRange steps);

/* --- build_slots.c --- */

/* Adds the slots of the current stage. */
void rh_build_slots(RhBuild *b);
/* Matches the sends and receives of all stages. */
void rh_build_match(RhBuild *b);
/* Frees the gradients of the current stage, if the stack does. */
void rh_build_gradients_free(RhBuild *b);
