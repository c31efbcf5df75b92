#pragma once
/* Collectives as generators of steps.
 *
 * A schedule is a list of *rounds*; a round is `repeat` equal steps; a step is a set of flows
 * between members that start together and end together (a step barrier, as lock-step rings behave
 * when links are equal). Every flow says which chunks of the buffer it carries, so that the same
 * schedule moves real data under MPI: in repetition q of its round it carries chunk_count chunks
 * from wrap_first + (chunk_first - wrap_first + q * chunk_shift) mod wrap_count on, and the
 * receiver adds (reduce) or copies them into the same places. A test runs every generator on real
 * arrays. Who holds what: `owner` names the member that ends a reduce-scatter with a chunk, or
 * starts an all-gather with it; all-reduce and broadcast (from member 0) leave every chunk with
 * everyone; all-to-all numbers its chunks src * members + dst; of a shift chunk c is member c's
 * buffer, and ends with the next member.
 *
 * With nothing else on the links a round takes repeat * (latency + bytes / bandwidth of the slowest
 * flow): rh_schedule_time_s. The closed forms of the literature (docs/theory/collectives.md) equal
 * it for regular groups. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/program.h"

typedef struct {
    int32_t src, dst; /* members */
    double bytes;
    int32_t chunk_first, chunk_count, chunk_shift;
    int32_t wrap_first, wrap_count;
    bool reduce;
} RhFlow;

typedef struct {
    int32_t repeat;
    int32_t flows_first, flows_count;
} RhRound;

typedef struct {
    RhOp op;
    RhAlgo algo;
    int32_t members;
    int32_t chunks_count; /* the buffer is cut into this many chunks, equal but for chunk_bytes */
    double bytes;         /* buffer, as RhTask.bytes */
    double *chunk_bytes;  /* of each chunk, of an uneven all-to-all; else NULL; owned */
    GArray *rounds;       /* RhRound */
    GArray *flows;        /* RhFlow */
    int32_t *owner;       /* of each chunk; owned */
    /* What a protocol adds to the platform's launch and to the latency of each step (it may be less), and how many
     * bytes on a link one of the buffer is; 0, 0, 1 without. */
    double launch_more_s, step_more_s, wire;
} RhSchedule;

/* Steps of `op` on `members` ranks. node_of[i] is the node of member i (NULL: all on one node).
 * RING over k members per node runs k rings at once. RH_ERROR_INPUT when op and algo do not go
 * together (rh_collective_supports). */
RhSchedule *rh_schedule_new(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                            double bytes, GError **error);
/* The same on a platform's GPUs, which say the nodes and, where a mesh joins them, the rings; NULL: on one
 * node's switch. `routing` for an all-to-all that sends tokens to experts (RhVolumes), else NULL. */
RhSchedule *rh_schedule_on(RhOp op, RhAlgo algo, int32_t members, const RhPlatform *platform,
                           const int32_t *gpus, double bytes, const RhRouting *routing,
                           GError **error);
/* Of a COLLECTIVE task of a checked program, its volumes too. */
RhSchedule *rh_schedule_of_task(const RhProgram *p, const RhTask *task, const RhPlatform *platform,
                                const int32_t *gpus, GError **error);
/* The GPUs of the members of a rank's group; caller frees. */
int32_t *rh_group_gpus(const RhProgram *p, int32_t group, int32_t rank);
void rh_schedule_free(RhSchedule *schedule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSchedule, rh_schedule_free)
bool rh_collective_supports(RhOp op, RhAlgo algo);
/* Do its steps, not only their bytes, depend on the size? */
bool rh_collective_is_pipelined(RhOp op, RhAlgo algo);

/* The same steps at the pace of the platform's line: of "ring-ll128" the ring. */
RhAlgo rh_collective_plain(RhAlgo algo);
/* That it goes at; NONE: the platform's line. */
RhProtocol rh_collective_protocol(RhAlgo algo);
/* Does in each of its steps every member send to the next one alone, at whatever pace? */
bool rh_collective_is_to_neighbours(RhOp op, RhAlgo algo);

/* How many bytes one member puts on the wire, the largest over members. */
double rh_schedule_wire_bytes(const RhSchedule *schedule);

/* Seconds in parts: other bytes take fixed_s + moving_s * bytes / schedule->bytes where that is
 * `linear`; steps of a pipeline depend on the bytes. */
typedef struct {
    double fixed_s, moving_s;
    bool linear;
} RhScheduleTime;
/* Of the whole schedule on an otherwise idle platform, where all groups of the pattern that begin in this
 * role run at once, as in an SPMD job; role -1: the group of rank 0 alone. Of each round the busiest link's bytes over
 * its rate, and the longest route's latency. */
RhScheduleTime rh_schedule_time(const RhSchedule *schedule, const RhProgram *p,
                                const RhPlatform *platform, int32_t group, int32_t role);
double rh_schedule_time_s(const RhSchedule *schedule, const RhProgram *p,
                          const RhPlatform *platform, int32_t group, int32_t role);

/* So few bytes are latency alone: their collective holds up nobody's, and takes the time it has by
 * itself. At 1 GB/s these would be 8 ns a step, below any latency there is. */
#define RH_LATENCY_BYTES 8
/* The size at which a collective is timed whose time is linear in its bytes: whoever asks first, all have the same. */
#define RH_TIMED_BYTES 1048576.0
/* The time of a collective among these GPUs, nothing else on its links. */
RhScheduleTime rh_collective_alone(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus,
                                   double bytes, const RhPlatform *platform);
double rh_collective_alone_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus,
                             double bytes, const RhPlatform *platform);

/* Textbook closed form for a flat network: n members, every flow alpha_s + bytes / bytes_per_s. For
 * tests and docs. */
double rh_collective_closed_form_s(RhOp op, RhAlgo algo, int32_t members, double bytes,
                                   double alpha_s, double bytes_per_s);

/* The same over a platform's nodes, nothing else on its links: what rh_collective_choose compares.
 * Latencies without the hops between tiers of switches. node_of as above. */
double rh_collective_estimate_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                                double bytes, const RhPlatform *platform);

/* Do its members stand on several nodes? node_of NULL: on one. */
bool rh_is_between(int32_t members, const int32_t *node_of);

/* What comes before its steps, once a call. */
double rh_collective_launch_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                              const RhPlatform *platform);

/* The algorithm a library would take: the first of least estimate, to 2 %, among those it has for
 * the operation, with the reason as text ("ring: ring 1.21 ms, tree 1.8 ms over ..."; caller frees;
 * may be NULL). */
RhAlgo rh_collective_choose(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                            const RhPlatform *platform, char **why);
/* The same for tokens that are sent once to a rank or a node (RhVolumes), by a library for them; NULL:
 * none are. */
RhAlgo rh_collective_choose_routed(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                                   const RhRouting *routing, const RhPlatform *platform,
                                   char **why);

/* Where a group's members lie, as far as choosing goes: looked at once for many operations and sizes. Borrows the
 * platform. */
typedef struct RhSite RhSite;
RhSite *rh_site_new(const RhPlatform *platform, int32_t members, const int32_t *node_of);
void rh_site_free(RhSite *site);
bool rh_site_equals(const RhSite *a, const RhSite *b);
/* As rh_is_between and rh_collective_choose_routed. */
bool rh_site_is_between(const RhSite *site);
/* May the algorithm run there? Some need as many members on each node, side by side. */
bool rh_site_suits(const RhSite *site, RhAlgo algo);
RhAlgo rh_site_choose(const RhSite *site, RhOp op, double bytes, const RhRouting *routing,
                      char **why);
