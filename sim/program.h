#pragma once
/* The program: typed tasks on lanes of roles, plain data. Strategies write it; the critical path,
 * the SimGrid rehearsal and the MPI performer read it.
 *
 * - A *rank* is one device's share of the job: 0 .. ranks_count - 1. `gpu_of_rank` maps ranks to
 *   GPUs (NULL = identity).
 * - A *role* is a strided box of ranks that run the same tasks (a pipeline stage, typically).
 * - A *group* is a strided pattern: the group of rank r holds the ranks that differ from r only
 *   along its spans. Members are numbered with spans[0] fastest. Nothing is listed per rank;
 *   members are computed. A group may span several roles: then all ranks of a role share their
 *   groups with the same roles, and these make the same calls (operation, bytes, algorithm) in one
 *   order.
 * - A role's tasks are listed in program order. Lanes are in-order queues (a CUDA stream each): a
 *   task starts when its predecessors (explicit, same role) and the task before it on its lane are
 *   done.
 * - A COLLECTIVE starts when every member of the group has reached it, and ends for all together.
 *   A SEND and its RECV start when both have been reached, and end together.
 * - Memory is a separate list per role, in program order: the peak is a property of the program,
 *   not of time.
 *
 * Storage is flat arrays and indices (CSR). A role's tasks, and a task's predecessors, are
 * contiguous. Read the fields directly; write with the rh_program_add_* functions. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "platforms/platform.h"
#include "sim/collective/algorithm_table.h"
#include "sim/lanes.h"
#include "workloads/expert_routing_fanout.h"

typedef enum {
    RH_TASK_NONE,
    RH_TASK_KERNEL,
    RH_TASK_COLLECTIVE,
    RH_TASK_SEND,
    RH_TASK_RECV,
    RH_TASK_COPY,
    RH_TASK_MARK,
    RH_TASK_LAST
} RhTaskKind;

typedef enum {
#define ROW(number, name, wait) RH_LANE_##number,
    RH_LANES(ROW) /* RH_LANE_COMPUTE, ...: sim/lanes.h */
#undef ROW
    RH_LANE_LAST,
} RhLane;
/* Is a kernel on this lane work of the host? Streams' kernels are, too. */
static inline bool rh_lane_on_host(int32_t lane)
{
    return lane == RH_LANE_LOADER || lane >= RH_LANE_LAST;
}
#define RH_LANE_BIT(lane) (UINT32_C(1) << (lane))

/* Lanes from RH_LANE_LAST on are *streams* without a fixed meaning, named "stream 1" and so on, for
 * programs from files. Kernels on them run on the host, so SMs held by communication do not slow
 * them. */
#define RH_STREAMS_MAX 128
#define RH_LANES_MAX   (RH_LANE_LAST + RH_STREAMS_MAX)

typedef enum {
    RH_OP_NONE,
    RH_OP_ALL_REDUCE,
    RH_OP_REDUCE_SCATTER,
    RH_OP_ALL_GATHER,
    RH_OP_BROADCAST,
    RH_OP_ALL_TO_ALL,
    RH_OP_BARRIER,
    RH_OP_SHIFT, /* every member's buffer to the next member, the last one's to the first */
    RH_OP_LAST,
} RhOp;

typedef enum {
    RH_ALGO_NONE,
#define ROW(number, row) RH_ALGO_##number,
    RH_ALGORITHMS(ROW) /* RH_ALGO_RING, ...: sim/collective/algorithm_table.h */
#undef ROW
    RH_ALGO_LAST,
} RhAlgo;

/* Phase of the step that a task belongs to, for reports. */
typedef enum {
    RH_PHASE_NONE,
    RH_PHASE_FORWARD,
    RH_PHASE_BACKWARD,
    RH_PHASE_RECOMPUTE,
    RH_PHASE_GRADIENT,
    RH_PHASE_OPTIMIZER,
    RH_PHASE_PARAMETER,
    RH_PHASE_LAST,
} RhPhase;

typedef enum {
    RH_MEMORY_NONE,
    RH_MEMORY_WEIGHTS,
    RH_MEMORY_GRADIENTS,
    RH_MEMORY_OPTIMIZER,
    RH_MEMORY_ACTIVATIONS,
    RH_MEMORY_RECOMPUTE,
    RH_MEMORY_LOGITS,
    RH_MEMORY_COMMUNICATION,
    RH_MEMORY_RESERVE,
    RH_MEMORY_LAST,
} RhMemoryUse;

/* Memory tier in which bytes lie. Each tier has its own capacity and its own ledger. */
typedef enum {
    RH_MEMORY_TIER_HBM,
    RH_MEMORY_TIER_HOST,
    RH_MEMORY_TIER_NVME,
    RH_MEMORY_TIER_STORAGE, /* over the network; RhPlatform.storage */
    RH_MEMORY_TIER_LAST,
} RhMemoryTier;

typedef struct {
    uint8_t kind, lane, phase; /* RhTaskKind, RhLane, RhPhase */
    uint8_t op, algo;          /* COLLECTIVE */
    /* COPY: two different RhMemoryTiers of the rank's own GPU or node; or both HOST: work of the
     * host, which reads and writes so many bytes of its memory */
    uint8_t from, to;
    uint8_t preds_count;
    int16_t layer;      /* -1 = none */
    int32_t microbatch; /* -1 = none */
    int32_t role;
    int32_t label;       /* index into labels */
    int32_t bundle;      /* KERNEL: index into bundles; else -1 */
    int32_t group;       /* COLLECTIVE: index into groups; else -1 */
    int32_t peer_task;   /* SEND/RECV: the matching task (in the peer's role) */
    int32_t peer_delta;  /* SEND/RECV: peer rank = rank + peer_delta */
    int32_t preds_first; /* into preds */
    int32_t volumes;     /* all-to-all: 0: even, else 1 + index into volumes */
    /* COLLECTIVE: the whole buffer (all-reduce: n; reduce-scatter: input; all-gather: output;
     * all-to-all: sum that a rank sends, its own part included, of which the shares of its volumes
     * are fractions; shift: what a member sends); SEND/RECV/COPY: message */
    double bytes;
} RhTask;

/* Is the task work of the host on its own memory, as an optimizer there? */
static inline bool rh_task_is_host_work(const RhTask *t)
{
    return t->kind == RH_TASK_COPY && t->from == t->to;
}

/* Volumes of an all-to-all of n members: either n shares, where every member sends shares[j] of the
 * bytes to member j, or n x n, where member i sends shares[i * n + j]. Experts with different loads
 * need these; a rank's shares need not add up to 1, and empty messages are not sent. Or, with
 * `routing`, an even all-to-all of tokens to experts, of which member i holds the i-th part: a
 * token for several members of a node may then be sent to the node only once. */
typedef struct {
    int32_t first, count; /* into shares */
    RhRouting routing;    /* experts == 0: the shares apply */
} RhVolumes;

/* Kernels that run back to back as one task. `seconds` >= 0 overrides the device's time (timed
 * waits, imported traces). */
typedef struct {
    int32_t first, count; /* into kernels */
    double seconds;       /* -1: from the device */
} RhBundle;

#define RH_STRIDES_MAX 4
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
typedef struct {
    int32_t stride, extent;
} RhStride;
#pragma GCC diagnostic pop

typedef struct {
    int32_t label;
    int32_t size; /* product of extents */
    int32_t spans_count;
    RhStride spans[RH_STRIDES_MAX];
    /* Period of each span in ranks: its pattern repeats after so many. Ranks that the pattern does
     * not cover belong to no group. 0: stride * extent, which covers every rank. The first and the
     * last of p stages that are s ranks apart: {(p - 1) s, 2} with period p s. */
    int32_t periods[RH_STRIDES_MAX];
    /* Rank from which the pattern is counted. Stages 1 and 2 of 4 that are s ranks apart: {s, 2}
     * with period 4 s and origin s. */
    int32_t origin;
    /* Where other ranks lie between the repetitions of spans: after `lap` ranks from the origin on, the
     * spans with shorter strides begin anew, and only the first `held` ranks of a lap are in groups.
     * Pairs within the first four of every five ranks: {1, 2} with lap 5, held 4. Lap 0: nothing
     * lies between. */
    int32_t lap, held;
} RhGroup;

typedef struct {
    int32_t label;
    int32_t first_rank;
    int32_t spans_count; /* the ranks: first_rank + sum of i_k * stride_k */
    RhStride spans[RH_STRIDES_MAX];
    int32_t ranks_count;
    int32_t tasks_first, tasks_count;
    int32_t memory_first, memory_count;
} RhRole;

typedef struct {
    int32_t at_task; /* takes effect just before this task in program order (tasks_first +
                        tasks_count = at the end) */
    uint8_t use;     /* RhMemoryUse */
    uint8_t tier;    /* RhMemoryTier */
    double bytes;    /* > 0 allocates, < 0 frees */
} RhMemoryEvent;

typedef struct {
    GArray *tasks;             /* RhTask */
    GArray *preds;             /* int32_t task indices */
    GArray *kernels;           /* RhKernel */
    GArray *bundles;           /* RhBundle */
    GArray *groups;            /* RhGroup */
    GArray *roles;             /* RhRole */
    GArray *memory;            /* RhMemoryEvent */
    GArray *volumes, *shares;  /* RhVolumes, double */
    GPtrArray *labels;         /* owned char* */
    GHashTable *label_of_text; /* while building: text -> index + 1 */
    int32_t ranks_count;
    int32_t *gpu_of_rank;   /* owned; NULL = identity */
    double kernel_gap_s;    /* framework overhead after each kernel: launch gap */
    const char *gap_source; /* interned */
} RhProgram;

/* --- building: begin a role, add its tasks in program order, end it; one role after another --- */
RhProgram *rh_program_new(int32_t ranks_count);
void rh_program_free(RhProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhProgram, rh_program_free)
int32_t rh_program_label(RhProgram *p, const char *text); /* same text, same index */
int32_t rh_program_add_bundle(RhProgram *p, const RhKernel *kernels, int32_t count);
/* Add volumes or a routing; return the value for RhTask.volumes. */
int32_t rh_program_add_volumes(RhProgram *p, const double *shares, int32_t count);
int32_t rh_program_add_routing(RhProgram *p, const RhRouting *routing);
int32_t rh_program_add_wait(RhProgram *p, double seconds); /* bundle of fixed duration */
int32_t rh_program_add_group(RhProgram *p, const char *label, const RhStride *spans, int32_t count);
/* Sets the period of one of the group's spans, in ranks. */
void rh_program_space_group(RhProgram *p, int32_t group, int32_t span, int32_t period);
/* Sets the rank from which the group's pattern is counted. */
void rh_program_shift_group(RhProgram *p, int32_t group, int32_t origin);
/* Sets the ranks after which the group's shorter spans begin anew, and how many of these it holds. */
void rh_program_lap_group(RhProgram *p, int32_t group, int32_t lap, int32_t held);
int32_t rh_program_begin_role(RhProgram *p, const char *label, int32_t first_rank,
                              const RhStride *spans, int32_t count);
/* Adds a copy of *task with its predecessors (role and preds fields are filled in) and returns its
 * index. Entries of -1 in preds are skipped. */
int32_t rh_program_add_task(RhProgram *p, RhTask task, const int32_t *preds, int32_t preds_count);
/* Adds an allocation (bytes > 0) or free (< 0) that takes effect before the next task added. */
void rh_program_add_memory(RhProgram *p, RhMemoryTier tier, RhMemoryUse use, double bytes);
void rh_program_end_role(RhProgram *p);
/* Matches a send with its receive, after both were added. */
void rh_program_match(RhProgram *p, int32_t send, int32_t recv);
/* Checks every invariant above: indices in range, sends matched with opposite deltas and equal
 * bytes, peers in the right role, same group members run the same collectives, no cycle (lanes,
 * preds, matches, collectives). RH_ERROR_INPUT. */
bool rh_program_check(const RhProgram *p, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* --- arithmetic --- */
static inline const RhTask *rh_program_task(const RhProgram *p, int32_t i)
{
    return &g_array_index(p->tasks, RhTask, i);
}
static inline const RhRole *rh_program_role(const RhProgram *p, int32_t i)
{
    return &g_array_index(p->roles, RhRole, i);
}
static inline const RhGroup *rh_program_group(const RhProgram *p, int32_t i)
{
    return &g_array_index(p->groups, RhGroup, i);
}
/* Returns the task's shares and their number; NULL where the volumes are even. */
static inline const double *rh_task_shares(const RhProgram *p, const RhTask *t, int32_t *count)
{
    const RhVolumes *v = t->volumes ? &g_array_index(p->volumes, RhVolumes, t->volumes - 1) : NULL;
    *count = v ? v->count : 0;
    return *count > 0 ? &g_array_index(p->shares, double, v->first) : NULL;
}
/* Returns the routing of the task's tokens to experts; NULL where it sends none, or sends a token
 * to every member separately. */
static inline const RhRouting *rh_task_routing(const RhProgram *p, const RhTask *t)
{
    const RhVolumes *v = t->volumes ? &g_array_index(p->volumes, RhVolumes, t->volumes - 1) : NULL;
    return v && v->routing.experts > 0 ? &v->routing : NULL;
}
static inline int32_t rh_program_gpu(const RhProgram *p, int32_t rank)
{
    return p->gpu_of_rank ? p->gpu_of_rank[rank] : rank;
}
/* Returns rank number i (0 .. ranks_count - 1) of a role. */
int32_t rh_role_rank(const RhRole *role, int32_t i);
/* Returns the period of span k in ranks. */
static inline int64_t rh_group_period(const RhGroup *g, int32_t k)
{
    return g->periods[k] > 0 ? g->periods[k] : (int64_t)g->spans[k].stride * g->spans[k].extent;
}
/* Returns the rank's place among the members of its group, and member 0 in *first; -1 when the rank
 * is in no group. */
int32_t rh_group_place(const RhGroup *group, int32_t rank, int32_t *first);
/* Lists the ranks of the group that contains `rank` in member order into out[size]; returns the
 * rank's own place, -1 when it is in no group. */
int32_t rh_group_members(const RhGroup *group, int32_t rank, int32_t *out);
/* Returns the number of lanes to allocate: the named ones, and streams up to the last one used. */
int32_t rh_program_lanes(const RhProgram *p);
/* Returns the role of every rank (ranks_count entries, -1 where none); caller frees. */
int32_t *rh_program_role_of_rank(const RhProgram *p);
/* Returns whether both programs have the same ranks in the same roles and groups, on the same GPUs.
 */
bool rh_program_same_places(const RhProgram *a, const RhProgram *b);

/* Seconds of a bundle in kernels bound by compute and bound by memory; the rest are gaps. A fixed
 * duration counts as its first kernel's bound, or as compute without kernels. Where processes share
 * the device, the seconds in which a kernel of any of them runs. */
typedef struct {
    double compute_s, memory_s;
} RhBoundTimes;
RhBoundTimes rh_bundle_bounds(const RhProgram *p, const RhDevice *device, int32_t bundle);

/* Returns the seconds of a bundle on a device: kernels plus a gap after each; where processes share
 * the device, beside the same work of the others (platforms/devices/gpu_sharing.h). */
double rh_bundle_time_s(const RhProgram *p, const RhDevice *device, int32_t bundle);

/* --- files: JSON round-trips exactly (rehearse.program/1); GOAL is the text form of LogGOPSim and
 * ATLAHS, one rank per block, collectives expanded into sends and receives (export only; at most
 * 1,024 ranks) --- */
char *rh_program_to_json(const RhProgram *p);
RhProgram *rh_program_from_json(RhJson *doc,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT; /* checked */
char *rh_program_to_goal(const RhProgram *p, const RhPlatform *platform,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Returns a lane's name, "tp" or "stream 3"; requires lane < RH_LANES_MAX. */
const char *rh_lane_name(int32_t lane);
const char *rh_op_name(RhOp op);
const char *rh_algo_name(RhAlgo algo);
const char *rh_phase_name(RhPhase phase);
const char *rh_memory_name(RhMemoryUse use);
const char *rh_memory_tier_name(RhMemoryTier tier);
const char *rh_task_kind_name(RhTaskKind kind);
