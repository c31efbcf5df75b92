#pragma once
/* The segment graph, for segment_graph.c, segment_stage.c and segment_path.c. */
#include "strategies/search/bounds/gradient_interference.h"

/* A gather or scatter of parameters on a lane: when it could begin, its bytes' time on the link and the rest. */
typedef struct {
    RhLane lane;
    double ready_s, moving_s, fixed_s;
    double waits_s; /* its lane is busy with what came before for so long then, at least */
} RhSegmentTransfer;

/* A stage that runs its slots: seconds since the step began, as far as it has come. */
typedef struct {
    const RhCommSteps *flows;
    const RhLayerTimes *times;
    const RhSlot *slots;
    int64_t next; /* slot to run */
    RhSlotTurn turn;
    RhSlotStand stand; /* of the slot that runs */
    int32_t *done;     /* per chunk and pass */
    double compute_s;  /* the compute lane is free */
    double pending_s;  /* what the next run waits for besides */
    double held_s;     /* of the latest run: RhLayerTime */
    double tail_s;     /* likewise, where nothing is waited for since */
    double sending_s;  /* from compute_s on something holds SMs so long: what the slot before left
                         under way, then its message */
    double lane_s[RH_LANE_LAST];
    double copy_before_s;         /* the copy out before the latest is done */
    double copied_s;              /* what ran when the latest copy back was sent for */
    double since_s[RH_LANE_LAST]; /* of lanes that are busy: since when; infinity: not known */
    double *sent_s; /* what ran when communications were sent for that looked back: a ring of the
                       stage program's ahead_most */
    int32_t sent_count;
    int32_t
        begun_until; /* communications of the slot that look back, before this step: theirs is counted */
    RhSegmentTransfer transfer; /* the latest */
    uint32_t crossed; /* lanes that had other collectives, over other links: bits of RhLane */
    double *begin_s;  /* communications of the step's beginning; owned, with sent_s behind */
    int32_t begin_count;
    bool begun;
    int32_t ended;       /* steps of the end that were run */
    RhStageEgress *sent; /* NULL: nothing is claimed of what it sends */
    GArray *called;      /* RhGradientCalled, of slots; NULL: not asked for; owned */
    bool over;           /* all slots are run */
} RhSegmentStage;

typedef struct {
    RhBoundCache *cache;
    const RhLayout *l;
    const RhPipelineSchedule *schedule;
    RhShardCost *shard;
    const RhChunkTimeTable *spans;
    const RhGroupNetwork *net;
    double *ends_s; /* room for the ends of a pair's tasks */
    const RhP2pInterference *shares;
    const RhGradientInterference *sums;
    int32_t sums_first;                /* of its stages */
    const RhLinkCost *messages;        /* of ranks in step; NULL: the net's alone */
    RhBoundaryMessage *messages_bytes; /* of one behind each model chunk; owned */
    int32_t m, chunks;
    int64_t total;
    double *arrival[2]; /* [backward][model chunk * m + micro-batch]; NaN: not yet */
    RhSegmentStage *stages;
} RhSegmentGraph;

/* The caller frees its messages_bytes. */
RhSegmentGraph rh_segment_graph_of(RhBoundCache *cache, const RhLayout *l);
/* The same graph for another block of each stage, whose messages_bytes it borrows. */
RhSegmentGraph rh_segment_graph_beside(const RhSegmentGraph *g, int32_t other);
/* The layers of a slot, which begins when the stage is free. */
void rh_segment_run(const RhSegmentGraph *g, RhSegmentStage *s, const RhLayerTime *time);
/* A step of the stage's stage program. */
void rh_segment_run_instr(const RhSegmentGraph *g, RhSegmentStage *s, int32_t step);
/* Layers and communications in the stage program's order. */
void rh_segment_run_instrs(const RhSegmentGraph *g, RhSegmentStage *s, RhInstrRange steps);
/* The model chunk that the stage's slot is of, and the one that waits for it; -1: none. */
int32_t rh_segment_place_of(const RhSegmentGraph *g, int32_t stage, const RhSlot *slot);
int32_t rh_segment_receiver_of(const RhSegmentGraph *g, const RhSlot *slot, int32_t at);
/* What the slot hands on, to model chunk `to`: when it is there. */
double rh_segment_hand_on(const RhSegmentGraph *g, RhSegmentStage *s, int32_t stage,
                          const RhSlot *slot, int32_t to);
