#pragma once
/* Collectives as generators of steps.
 *
 * A schedule is a list of *rounds*; a round is `repeat` equal steps; a step is a set of flows
 * between members that start together and end together (a step barrier, as lock-step rings behave
 * when links are equal). Every flow states which chunks of the buffer it carries, so the same
 * schedule moves real data under MPI: in repetition q of its round it carries chunk_count chunks
 * from wrap_first + (chunk_first - wrap_first + q * chunk_shift) mod wrap_count on, and the
 * receiver adds (reduce) or copies them into the same places. A test runs every generator on real
 * arrays. `owner` names the member that ends a reduce-scatter with a chunk, or starts an all-gather
 * with it; all-reduce and broadcast (from member 0) leave every chunk with every member; all-to-all
 * numbers its chunks src * members + dst; chunk c of a shift is member c's buffer, and ends with
 * the next member.
 *
 * On idle links a round takes repeat * (latency + bytes / bandwidth of the slowest flow):
 * rh_schedule_time_s. The closed forms of the literature (docs/theory/collectives.md) equal it for
 * regular groups. */
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
    bool inside; /* a node */
} RhFlow;

typedef struct {
    int32_t repeat;
    int32_t flows_first, flows_count;
} RhRound;

typedef struct {
    RhOp op;
    RhAlgo algo;
    int32_t members;
    int32_t chunks_count; /* chunks of the buffer, equal unless chunk_bytes is set */
    double bytes;         /* buffer, as RhTask.bytes */
    double *chunk_bytes;  /* per chunk of an uneven all-to-all; else NULL; owned */
    GArray *rounds;       /* RhRound */
    GArray *flows;        /* RhFlow */
    int32_t *owner;       /* per chunk; owned */
    /* Seconds that a protocol adds to the platform's launch and to the latency of each step (may be
     * negative), and bytes on the wire per byte of the buffer; 0, 0, 1 without a protocol. */
    double launch_more_s, step_more_s, wire_factor;
    double wire_factor_inside; /* of flows inside a node */
} RhSchedule;

/* Returns the bytes of the buffer that a flow carries: fewer than on the wire under some protocols. */
double rh_flow_payload_bytes(const RhSchedule *schedule, const RhFlow *flow);

/* Makes the steps of `op` on `members` ranks. node_of[i] is the node of member i (NULL: all on one
 * node). RING over k members per node runs k rings at once. RH_ERROR_INPUT when op and algo do not
 * go together (rh_collective_supports). */
RhSchedule *rh_schedule_new(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                            double bytes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* A collective without its group. */
typedef struct {
    RhOp op;
    RhAlgo algo;
    double bytes; /* buffer, as RhTask.bytes */
    RhRouting
        routing; /* of an all-to-all that sends tokens to experts (RhVolumes); experts == 0: none */
} RhCollectiveSpec;
/* Makes the steps on GPUs of a platform, which determine the nodes and, where a mesh joins them,
 * the rings. */
RhSchedule *rh_schedule_on(const RhCollectiveSpec *spec, int32_t members,
                           const RhPlatform *platform, const int32_t *gpus,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Makes the schedule of a COLLECTIVE task of a checked program, with its volumes. */
RhSchedule *rh_schedule_of_task(const RhProgram *p, const RhTask *task, const RhPlatform *platform,
                                const int32_t *gpus, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the GPUs of the members of a rank's group; caller frees. */
int32_t *rh_group_gpus(const RhProgram *p, int32_t group, int32_t rank);
void rh_schedule_free(RhSchedule *schedule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSchedule, rh_schedule_free)
bool rh_collective_supports(RhOp op, RhAlgo algo);
/* Returns whether the steps, not only their bytes, depend on the size. */
bool rh_collective_is_pipelined(RhOp op, RhAlgo algo);

/* Returns the algorithm of the same steps without a protocol: RING for "ring-ll128". */
RhAlgo rh_collective_plain(RhAlgo algo);
/* Returns the algorithm's protocol; NONE: the rate of the platform's line. */
RhProtocol rh_collective_protocol(RhAlgo algo);
/* Returns whether every member sends only to the next one in each step, with any protocol. */
bool rh_collective_is_to_neighbours(RhOp op, RhAlgo algo);

/* Returns the bytes that one member puts on the wire, the largest over members. */
double rh_schedule_wire_bytes(const RhSchedule *schedule);

/* Seconds as fixed_s + moving_s * bytes / schedule->bytes, which holds for other sizes where
 * `linear`. */
typedef struct {
    double fixed_s, moving_s;
    bool linear;
} RhScheduleTime;
/* Computes the time of the whole schedule on an idle platform, where all groups of the pattern that
 * begin in this role run at once, as in an SPMD job; role -1: only the group of rank 0. A round
 * takes the longest route's latency and the largest bytes / rate of any link. */
RhScheduleTime rh_schedule_time(const RhSchedule *schedule, const RhProgram *p,
                                const RhPlatform *platform, int32_t group, int32_t role);
double rh_schedule_time_s(const RhSchedule *schedule, const RhProgram *p,
                          const RhPlatform *platform, int32_t group, int32_t role);

/* Messages of at most this many bytes are pure latency: their collective delays no other and takes
 * its uncontended time. At 1 GB/s they take 8 ns, less than any latency. */
#define RH_LATENCY_BYTES 8
/* Size at which a collective whose time is linear in its bytes is timed, so that results do not
 * depend on the order of queries. */
#define RH_TIMED_BYTES 1048576.0
/* Computes the time of a collective among these GPUs on otherwise idle links. */
RhScheduleTime rh_collective_alone(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus,
                                   double bytes, const RhPlatform *platform);
double rh_collective_alone_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus,
                             double bytes, const RhPlatform *platform);

/* Returns the textbook closed form for a flat network: n members, every flow alpha_s + bytes /
 * bytes_per_s. For tests and docs. */
double rh_collective_closed_form_s(RhOp op, RhAlgo algo, int32_t members, double bytes,
                                   double alpha_s, double bytes_per_s);

/* Returns the closed form on a platform's nodes with idle links, which rh_collective_choose
 * compares. Latencies are without the hops between tiers of switches. node_of as in
 * rh_schedule_new. */
double rh_collective_estimate_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                                double bytes, const RhPlatform *platform);

/* Returns whether members lie on several nodes; node_of NULL: on one. */
bool rh_is_between(int32_t members, const int32_t *node_of);

/* Returns the launch time of a collective in seconds, once per call. */
double rh_collective_launch_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                              const RhPlatform *platform);

/* Returns the algorithm that a library would choose: the one with the least estimate among those it
 * has for the operation; without launch times of protocols, a later row must be 2 % faster. `why`
 * (may be NULL) gets the reason as text ("ring: ring 1.21 ms, tree 1.8 ms over ..."); caller frees.
 */
RhAlgo rh_collective_choose(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                            const RhPlatform *platform, char **why);
/* Chooses for tokens that a library such as DeepEP sends once to a rank or a node (RhVolumes);
 * `routing` NULL: as rh_collective_choose. */
RhAlgo rh_collective_choose_routed(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                                   const RhRouting *routing, const RhPlatform *platform,
                                   char **why);

/* Placement of a group, as far as the choice of an algorithm needs it: computed once for many
 * operations and sizes. Borrows the platform. */
typedef struct RhSite RhSite;
RhSite *rh_site_new(const RhPlatform *platform, int32_t members, const int32_t *node_of);
void rh_site_free(RhSite *site);
bool rh_site_equals(const RhSite *a, const RhSite *b);
/* Returns whether members lie on several nodes, as rh_is_between. */
bool rh_site_is_between(const RhSite *site);
/* Returns whether the algorithm can run there; some need equally many consecutive members on each
 * node. */
bool rh_site_suits(const RhSite *site, RhAlgo algo);
RhAlgo rh_site_choose(const RhSite *site, RhOp op, double bytes, const RhRouting *routing,
                      char **why);
