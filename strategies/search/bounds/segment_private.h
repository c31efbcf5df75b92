#pragma once
/* Segment graph: state shared by segment_graph.c, segment_stage.c and segment_exposed_comm.c. */
#include "strategies/search/bounds/gradient_interference.h"

/* A gather or scatter of parameters on a lane: earliest start, time of its bytes on the link, and
 * the rest of its time. */
typedef struct {
    RhLane lane;
    double ready_s, moving_s, fixed_s;
    double waits_s; /* minimum time from ready_s until its lane is free of earlier work */
} RhSegmentTransfer;

/* State of a stage that runs its slots; times are seconds since the step began. */
typedef struct {
    const RhCommSteps *flows;
    const RhLayerTimes *times;
    const RhSlot *slots;
    int64_t next; /* slot to run */
    RhSlotTurn turn;
    RhSlotStand stand;           /* of the running slot */
    int32_t *done;               /* per chunk and pass: number of slots that ran */
    double compute_s;            /* time at which the compute lane is free */
    double pending_s;            /* time of everything else that the next run waits for */
    double held_s;               /* RhLayerTime.held_s of the latest run */
    double tail_s;               /* RhLayerTime.tail_s of the latest run, if no wait followed it */
    double sending_s;            /* time from compute_s on during which SMs are held: by unfinished
                          communication of the previous slot, then by its message */
    double lane_s[RH_LANE_LAST]; /* time at which each lane is free */
    double before_s[RH_LANE_LAST]; /* end of each lane's copy before the latest one */
    double copied_s;               /* end of the work that ran when the latest copy in was issued */
    double since_s[RH_LANE_LAST];  /* start of the busy time of each lane; infinity: unknown */
    double *sent_s; /* ring buffer of the stage program's ahead_most entries: end of the work that
                       ran when each communication with look-back was issued */
    int32_t sent_count;
    int32_t begun_until; /* communications of the slot with look-back before this instruction are
                            counted already */
    RhSegmentTransfer transfer; /* the latest one */
    uint32_t crossed; /* lanes that ran other collectives over other links: bits of RhLane */
    double *begin_s;  /* ends of the communications at the step's beginning; owned, with sent_s */
    int32_t begin_count;
    bool begun;
    int32_t ended;       /* number of instructions of the end that ran */
    RhStageEgress *sent; /* NULL: egress is not bounded */
    GArray *called;      /* RhGradientCalled of all slots; NULL: not recorded; owned */
    bool over;           /* all slots have run */
} RhSegmentStage;

typedef struct {
    RhBoundCache *cache;
    const RhLayout *l;
    const RhPipelineSchedule *schedule;
    RhShardCost *shard;
    const RhChunkTimeTable *spans;
    const RhGroupNetwork *net;
    double *ends_s; /* buffer for the end times of a pair's tasks */
    const RhP2pInterference *shares;
    const RhGradientInterference *sums;
    int32_t sums_first;                /* index of this network's first stage in `sums` */
    const RhLinkCost *messages;        /* of ranks in step; NULL: only the network's */
    RhBoundaryMessage *messages_bytes; /* after each model chunk; owned */
    int32_t m, chunks;
    int64_t total;
    double *arrival[2]; /* [backward][model chunk * m + micro-batch]; NaN: not yet */
    RhSegmentStage *stages;
} RhSegmentGraph;

/* Returns the graph of a layout; the caller frees its messages_bytes. */
RhSegmentGraph rh_segment_graph_of(RhBoundCache *cache, const RhLayout *l);
/* Returns the graph for another block of each stage (RhGroupNetwork.others); borrows
 * messages_bytes. */
RhSegmentGraph rh_segment_graph_beside(const RhSegmentGraph *g, int32_t other);
/* Runs the layers of a slot, which begins when the stage is free. */
void rh_segment_run(const RhSegmentGraph *g, RhSegmentStage *s, const RhLayerTime *time);
/* Runs an instruction of the stage program. */
void rh_segment_run_instr(const RhSegmentGraph *g, RhSegmentStage *s, int32_t step);
/* Runs several instructions, layers included, in the stage program's order. */
void rh_segment_run_instrs(const RhSegmentGraph *g, RhSegmentStage *s, RhInstrRange steps);
/* Return the model chunk of a stage's slot, and the model chunk that waits for the output of the
 * slot of chunk `at`; -1: none. */
int32_t rh_segment_place_of(const RhSegmentGraph *g, int32_t stage, const RhSlot *slot);
int32_t rh_segment_receiver_of(const RhSegmentGraph *g, const RhSlot *slot, int32_t at);
/* Sends the slot's output to model chunk `to`; returns the time of its arrival. */
double rh_segment_hand_on(const RhSegmentGraph *g, RhSegmentStage *s, int32_t stage,
                          const RhSlot *slot, int32_t to);
