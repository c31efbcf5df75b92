#pragma once
/* One algorithm, as its file in this folder tells it: a row of data and two functions, one that
 * makes its steps and one that says what they cost. Only this folder includes it. */
#include "sim/collective/collective.h"
#include "sim/collective/rings.h"

/* --- making steps --- */

/* Links move at the pace of collectives. What kernels with a pace of their own send (RhRouting) is put on
 * them as so many bytes, for each of its own, as take as long. */
typedef struct {
    double inside, between; /* nodes */
} RhLinkBytes;
/* 1 and 1 where `routing` or `platform` is NULL, or the pace is the collectives'. */
RhLinkBytes rh_link_bytes(const RhRouting *routing, const RhPlatform *platform);

typedef struct {
    RhSchedule *schedule;
    int32_t members;
    double chunk_bytes;
    const double *shares; /* of an uneven all-to-all, of each member or pair; else NULL */
    int32_t shares_count;
    int32_t per_node; /* members per node when every node holds as many and they stand together;
                         else 0 */
    int32_t nodes;
    const RhRings *rings; /* over a mesh; NULL: as members are numbered; borrowed */
    double node_frac; /* of an all-to-all's bytes for a node those that go there, if what several
                         members there are to have goes once; 1: all of them */
    const int32_t *node_of; /* NULL: all on one; borrowed */
    RhLinkBytes link;
} RhScheduleBuilder;

/* Cuts the buffer into this many chunks; owner of chunk c is member c % members until a generator
 * says otherwise. */
void rh_schedule_chunks(RhScheduleBuilder *b, int32_t count);
/* The chunks of an all-to-all: one for each pair. */
void rh_schedule_pairs(RhScheduleBuilder *b);
/* node_frac, over nodes of as many members each; 1 where `routing` is NULL or `nodes` 0. */
double rh_node_frac(const RhRouting *routing, int32_t members, int32_t nodes);
void rh_schedule_round(RhScheduleBuilder *b, int32_t repeat);
/* A flow of the latest round: chunks [first, first + count), the same in every repetition. */
void rh_schedule_flow(RhScheduleBuilder *b, int32_t src, int32_t dst, int32_t first, int32_t count,
                      bool reduce);
/* The same, moving by `shift` chunks a repetition within [wrap_first, wrap_first + wrap_count). */
void rh_schedule_flow_shifting(RhScheduleBuilder *b, RhFlow flow);

/* --- at what pace --- */

/* What a protocol of the platform makes of steps, beside its one line: so much later, and every byte as long on
 * the wire as so many. */
typedef struct {
    double launch_more_s, step_more_s, wire;
} RhProtocolRate;
/* That of the platform's line. */
#define RH_PACE_OF_LINE ((RhProtocolRate){.wire = 1})

typedef struct RhAlgorithm RhAlgorithm;
/* RH_PACE_OF_LINE for a row without a protocol, and where the platform (NULL: none) has none of its. */
RhProtocolRate rh_protocol_rate(const RhAlgorithm *row, RhOp op, int32_t members, bool between,
                                const RhPlatform *platform);

/* --- steps of many members, without a list of their flows --- */

/* Edges that are in use together: every one of them carries as many bytes, in each of the steps
 * [step_first, step_end). */
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

/* How a group meets the network. */
typedef struct {
    int32_t members;
    int32_t per_node; /* members on the first one's node */
    /* the same, when every node holds as many and they stand together; else 0 */
    int32_t side_by_side;
    int32_t nodes;
    int32_t nics_per_node;
} RhGroupPlace;

/* Steps alike. The bytes are those of the busiest member and of the busiest NIC in one step. */
typedef struct {
    double steps;
    double node_bytes, nic_bytes;
    bool leaves;   /* some flow goes to another node */
    int32_t reach; /* members between those who talk: so many of a block send out of it */
} RhLoad;

#define RH_LOADS_MAX 128
typedef struct {
    RhGroupPlace at;
    double node_frac; /* RhScheduleBuilder's */
    int32_t count;
    RhLoad load[RH_LOADS_MAX];
} RhLoads;

/* Adds steps in which the busiest member moves node_bytes inside its node, while on every node
 * `senders` members send nic_bytes each to other nodes, the next ones unless rh_loads_reach says
 * otherwise; 0: nobody does. On one node the latter is nothing. */
void rh_loads_add(RhLoads *loads, double steps, double node_bytes, double nic_bytes,
                  int32_t senders);
/* The same bytes wherever they go, sent by every member. */
void rh_loads_add_all(RhLoads *loads, double steps, double bytes);

/* The steps added last are between members so far apart. */
void rh_loads_reach(RhLoads *loads, int32_t members);

/* --- the row --- */

#define RH_BIT(op) (1U << RH_OP_##op)

struct RhAlgorithm {
    const char *name;
    RhProtocol protocol; /* NONE: at the pace of the platform's line */
    RhAlgo plain;        /* the row of the same steps at that pace; NONE: this is it */
    unsigned paced;      /* of such a row's operations, those that rows with protocols do as well */
    unsigned ops;        /* RH_BIT of every operation it can do */
    unsigned pipelined;  /* of these, those whose steps depend on the bytes */
    unsigned nccl;       /* what NCCL takes it for ... */
    unsigned nccl_between; /* ... and for groups over several nodes only */
    unsigned mpi;          /* what an MPI library takes it for */
    unsigned once;         /* what a library for tokens that are sent once takes it for (DeepEP) */
    bool even_nodes;       /* needs as many members on every node, side by side */
    /* Operations in whose steps every member sends to the next one alone, as much in each, members - 1 steps to a
     * round (of a shift, one): their time is taken of fewer members, and groups side by side keep in step. */
    unsigned neighbours;
    /* Of these, those that go round a mesh's rings (RhScheduleBuilder.rings) and at their rate. */
    unsigned rings;
    /* Steps whose senders each copy a chunk of their own once besides, with the same threads, which protocols
     * are slowed by (platforms' nvlink.copy); NULL: they copy none. */
    int32_t (*steps_beside_copy)(RhOp op, int32_t members);
    /* Steps for two members or more. */
    void (*generate)(RhScheduleBuilder *b, RhOp op);
    /* The same steps in short, filling in flow_bytes, waves and edges; NULL where there is no shorter
     * way to tell them, false where there is none for this operation. */
    bool (*waves)(RhStepPatterns *waves, RhOp op);
    /* What they cost: exact on a flat network (one node), which is the closed form of the
     * literature; over several nodes an estimate that ignores other traffic. */
    void (*cost)(RhLoads *loads, RhOp op, double bytes);
};

#define RH_DECLARE(number, row) extern const RhAlgorithm rh_algorithm_##row;
RH_ALGORITHMS(RH_DECLARE)
#undef RH_DECLARE

/* rh_schedule_time of an algorithm that tells its steps in short, in a time that depends on the edges and
 * not on how many flows there are in all steps; false where it does not. */
bool rh_step_patterns_time(RhOp op, RhAlgo algo, double bytes, const RhProgram *p,
                           const RhPlatform *platform, int32_t group, int32_t role,
                           RhScheduleTime *time);

/* NULL where there is none of this number. */
const RhAlgorithm *rh_algorithm(RhAlgo algo);
RhGroupPlace rh_placement_of(int32_t members, const int32_t *node_of);

/* --- halving and doubling, for the algorithms made of it ---
 *
 * Teams of the same size work side by side: place i of team j is member i * teams + j, and the
 * team's chunks are the j-th of `teams` equal parts of the buffer. */

/* Largest power of two up to n, and the logarithm of the least that is no less. */
int32_t rh_power_below(int32_t n);
int32_t rh_log2_above(int32_t n);
/* With n = 2^K + r the first 2 r places pair up: the even ones hand their part to the odd ones, or
 * take the result back. */
void rh_fold_places(RhScheduleBuilder *b, int32_t teams, bool in);
/* Neighbours that are on one node when places are numbered in powers of two; 1 when not all are. */
int32_t rh_places_inside(const RhLoads *loads);
/* Place that plays working place w once they are folded. */
int32_t rh_working_place(int32_t size, int32_t w);
/* All-reduce of every team's part, which must be a power of two of chunks. */
void rh_halve_and_double(RhScheduleBuilder *b, int32_t teams);
