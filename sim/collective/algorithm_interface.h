#pragma once
/* Interface of a collective algorithm: its file in this folder defines a row of data with two
 * functions, one that makes its steps and one that states their cost. Private to this folder. */
#include "sim/collective/collective.h"
#include "sim/collective/rings.h"

/* --- making steps --- */

/* Factors on bytes inside a node and between nodes. Links are simulated at the bandwidth of
 * collectives; kernels with another efficiency (RhRouting) put proportionally more or fewer bytes
 * on them to take the right time. */
typedef struct {
    double inside, between; /* nodes */
} RhLinkBytes;
/* Returns the factors; 1 and 1 where `routing` or `platform` is NULL, or the kernels have no
 * efficiency of their own. */
RhLinkBytes rh_link_bytes(const RhRouting *routing, const RhPlatform *platform);

typedef struct {
    RhSchedule *schedule;
    int32_t members;
    double chunk_bytes;
    const double *shares; /* uneven all-to-all: per member or per pair; else NULL */
    int32_t shares_count;
    /* members per node if all nodes hold equally many, numbered consecutively; else 0 */
    int32_t per_node;
    int32_t nodes;
    const RhRings *rings; /* rings over a mesh; NULL: in member order; borrowed */
    /* all-to-all: fraction of the bytes for a node that is sent when a token for several members of
     * the node is sent once; 1: all */
    double node_frac;
    const int32_t *node_of; /* NULL: all on one; borrowed */
    RhLinkBytes link;
} RhScheduleBuilder;

/* Divides the buffer into `count` chunks; the owner of chunk c is member c % members unless a
 * generator changes it. */
void rh_schedule_chunks(RhScheduleBuilder *b, int32_t count);
/* Divides the buffer of an all-to-all into one chunk for each pair of members. */
void rh_schedule_pairs(RhScheduleBuilder *b);
/* Returns node_frac for nodes with equally many members; 1 where `routing` is NULL or `nodes` is 0.
 */
double rh_node_frac(const RhRouting *routing, int32_t members, int32_t nodes);
void rh_schedule_round(RhScheduleBuilder *b, int32_t repeat);
/* Adds a flow to the latest round: chunks [first, first + count), the same in every repetition. */
void rh_schedule_flow(RhScheduleBuilder *b, int32_t src, int32_t dst, int32_t first, int32_t count,
                      bool reduce);
/* Adds a flow whose chunks advance by flow.chunk_shift per repetition within [wrap_first,
 * wrap_first + wrap_count). */
void rh_schedule_flow_shifting(RhScheduleBuilder *b, RhFlow flow);

/* Divides the buffer into a chunk for each member: block j of `nodes` chunks is the part of the members at place j of
 * their nodes, which form a rail. */
void rh_schedule_rail_chunks(RhScheduleBuilder *b);
/* Adds the rounds inside nodes that leave each member its block's sums (`ahead` -1, `reduce`), or hand blocks to all
 * (0, false). */
void rh_schedule_inside_nodes(RhScheduleBuilder *b, int32_t ahead, bool reduce);

/* --- rates of protocols --- */

/* Effect of a NCCL protocol relative to the platform's fitted line: seconds added to the launch and
 * to each step, and bytes on the wire per byte of payload, of which inside nodes. */
typedef struct {
    double launch_more_s, step_more_s, wire_factor, wire_factor_inside;
} RhProtocolRate;
/* No change to the platform's line. */
#define RH_PACE_OF_LINE ((RhProtocolRate){.wire_factor = 1, .wire_factor_inside = 1})

typedef struct RhAlgorithm RhAlgorithm;
/* Returns the rate of a row's protocol; RH_PACE_OF_LINE for a row without a protocol, and where the
 * platform (may be NULL) lacks it. */
RhProtocolRate rh_protocol_rate(const RhAlgorithm *row, RhOp op, int32_t members, bool between,
                                const RhPlatform *platform);

/* --- steps of many members, without a list of their flows --- */

/* Edges that are used together: each carries flow_bytes in every step of [step_first, step_end). */
typedef struct {
    int32_t edges_first, edges_count;
    bool reversed;
    int32_t step_first, step_end;
} RhStepPattern;

typedef struct {
    int32_t src, dst;
} RhStepPatternEdge;

typedef struct {
    int32_t members;
    double bytes; /* of the buffer, as RhTask.bytes */
    double flow_bytes;
    GArray *waves, *edges; /* RhStepPattern, RhStepPatternEdge */
} RhStepPatterns;

/* --- what steps cost --- */

/* Placement of a group on nodes. */
typedef struct {
    int32_t members;
    int32_t per_node; /* members on the first member's node */
    /* per_node if all nodes hold equally many, numbered consecutively; else 0 */
    int32_t side_by_side;
    int32_t nodes;
    int32_t nics_per_node;
} RhGroupPlace;

/* Equal steps. The bytes are those of the busiest member and of the busiest NIC in one step. */
typedef struct {
    double steps;
    double node_bytes, nic_bytes;
    bool leaves; /* some flow goes to another node */
    /* distance in members between senders and receivers: as many members of a block send out of it
     */
    int32_t reach;
} RhLoad;

#define RH_LOADS_MAX 128
typedef struct {
    RhGroupPlace at;
    double node_frac; /* RhScheduleBuilder's */
    int32_t count;
    RhLoad load[RH_LOADS_MAX];
} RhLoads;

/* Adds steps in which the busiest member moves node_bytes inside its node, while `senders` members
 * of every node send nic_bytes each to other nodes (to the next node, unless rh_loads_reach
 * follows); 0 senders: none. On one node nic_bytes are ignored. */
void rh_loads_add(RhLoads *loads, double steps, double node_bytes, double nic_bytes,
                  int32_t senders);
/* Adds steps in which every member sends `bytes`, inside its node or to another. */
void rh_loads_add_all(RhLoads *loads, double steps, double bytes);

/* Sets the distance, in members, between senders and receivers of the steps added last. */
void rh_loads_reach(RhLoads *loads, int32_t members);

/* --- the row --- */

#define RH_BIT(op) (1U << RH_OP_##op)

struct RhAlgorithm {
    const char *name;
    RhProtocol protocol;   /* NONE: the rate of the platform's line */
    bool between_alone;    /* its protocol is one of links between nodes; inside, the line's rate */
    RhAlgo plain;          /* row of the same steps without a protocol; NONE: this one */
    unsigned paced;        /* operations that rows with protocols perform too */
    unsigned ops;          /* RH_BIT of every supported operation */
    unsigned pipelined;    /* of these, the ones whose steps depend on the bytes */
    unsigned nccl;         /* operations for which NCCL may choose it ... */
    unsigned nccl_between; /* ... and for which only over several nodes */
    unsigned mpi;          /* operations for which an MPI library may choose it */
    unsigned once;         /* operations for which DeepEP-like libraries may choose it */
    bool even_nodes;       /* needs equally many members on every node, consecutive */
    /* Operations in which every member sends only to the next one, the same bytes in each step,
     * with members - 1 steps per round (one for a shift): they can be timed on fewer members, and
     * neighbouring groups stay in lockstep. */
    unsigned neighbours;
    /* Operations among `neighbours` that use the rings of a mesh (RhScheduleBuilder.rings) at their
     * rate. */
    unsigned rings;
    /* Returns the number of steps whose senders also copy a chunk of their own with the same
     * threads, which slows protocols (`nvlink.copy` of the platform); NULL: none. */
    int32_t (*steps_beside_copy)(RhOp op, int32_t members);
    /* Makes the steps for two or more members. */
    void (*generate)(RhScheduleBuilder *b, RhOp op);
    /* Describes the same steps compactly in flow_bytes, waves and edges. NULL where no
     * algorithm-wide compact form exists; returns false where this operation has none. */
    bool (*waves)(RhStepPatterns *waves, RhOp op);
    /* Adds the cost of the steps: exact on a flat network (one node), where it is the closed form
     * of the literature; over several nodes an estimate that ignores other traffic. */
    void (*cost)(RhLoads *loads, RhOp op, double bytes);
};

#define RH_DECLARE(number, row) extern const RhAlgorithm rh_algorithm_##row;
RH_ALGORITHMS(RH_DECLARE)
#undef RH_DECLARE

/* Returns the row of an algorithm, NULL for an unknown number. */
const RhAlgorithm *rh_algorithm(RhAlgo algo);
RhGroupPlace rh_placement_of(int32_t members, const int32_t *node_of);

/* --- halving and doubling ---
 *
 * Teams of equal size work in parallel: place i of team j is member i * teams + j, and the team's
 * chunks are the j-th of `teams` equal parts of the buffer. */

/* Return the largest power of two that is at most n, and the base-2 logarithm of n, rounded up. */
int32_t rh_power_below(int32_t n);
int32_t rh_log2_above(int32_t n);
/* Adds the round that reduces n = 2^K + r places to 2^K: the first 2 r places form pairs, and even
 * ones send their part to odd ones (`in`), or receive the result. */
void rh_fold_places(RhScheduleBuilder *b, int32_t teams, bool in);
/* Returns the members per node if both this number and the group's size are powers of two and nodes
 * hold consecutive members; else 1. */
int32_t rh_places_inside(const RhLoads *loads);
/* Returns the place that acts as working place w after rh_fold_places. */
int32_t rh_working_place(int32_t size, int32_t w);
/* Adds an all-reduce of every team's part, whose number of chunks must be a power of two. */
void rh_halve_and_double(RhScheduleBuilder *b, int32_t teams);
