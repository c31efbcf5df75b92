#pragma once
/* Lists every flow that a program can put on links, rank by rank; the fold colours these.
 *
 * A *pattern* is a set of flows that start together: one round of a collective's schedule on one
 * group, over all instances of the group with the same shape (which members share nodes), or the
 * messages from one role to peers at one distance, or the copies of one role between two tiers of
 * memory. Rounds that differ only in bytes share a pattern.
 *
 * Patterns of one group and shape (a tree's rounds, say) send between the same members: a *pair* of
 * members lists the patterns that use it, and an instance has one flow for each pair.
 *
 * Links between switches that can never hold a flow back are left out of routes; not where messages
 * travel as packets, which queue on every link.
 *
 * Ranks that are equivalent by construction (equivalent_rank_blocks.h) are listed once, with their instances
 * and flows: those at the first place of a block, each representing `block` of them. */
#include <glib.h>
#include <stdint.h>

#include "base/deadline.h"
#include "platforms/platform.h"
#include "sim/collective/uncontended_times.h"
#include "sim/program.h"

typedef struct {
    int32_t group, shape;             /* of a collective; -1 for messages */
    int32_t role, delta;              /* of a message; delta 0: a rank's copies */
    int32_t task;                     /* the first such message or copy; -1 for a collective */
    int32_t drawn_first, drawn_count; /* all edges, into drawn */
    uint64_t drawn_hash;
    int32_t edges_first, edges_count; /* listed edges of an instance */
    int32_t flows_first, flows_count; /* numbered by rh_traffic_flow_of */
    int32_t pairs_count;              /* flows per instance */
} RhPattern;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
typedef struct {
    int32_t src, dst;
    int32_t pair; /* pair of the instance */
    int32_t unused;
    double share; /* fraction of the round's largest flow */
} RhEdge;
#pragma GCC diagnostic pop

typedef struct {
    int32_t pattern;
    int32_t edge; /* index among the pattern's listed edges */
    double share; /* the edge's */
} RhPairUse;

typedef struct {
    int32_t src, dst;               /* members; 0 for messages */
    int32_t uses_first, uses_count; /* by pattern */
} RhPair;

typedef struct {
    int32_t owner; /* sending rank */
    int32_t pair;
    int32_t instance; /* instance of the group; -1 for messages */
    /* flows of the orbit that start at its owner; all of them for an instance of whole blocks */
    int32_t per_owner;
    int32_t links_first, links_count;
    double latency_s;
} RhTrafficFlow;

/* An orbit of links that flows cross. */
typedef struct {
    RhLink first;
    int32_t alike; /* number of links in it, with every second number from `first` on */
    double bytes_per_s;
} RhTrafficLink;

/* A link that a flow crosses, representing the link's orbit. */
typedef struct {
    RhLink link;   /* itself */
    int32_t at;    /* index of its orbit in the traffic's links */
    int32_t flows; /* flows of the flow's orbit over each link of that orbit */
} RhCrossing;

typedef struct {
    int32_t pattern; /* -1: no flows */
    int32_t repeat;
    double bytes; /* bytes of the largest flow, in one repetition */
} RhTrafficRound;

/* Kind of collectives: those that agree in all of these members. */
typedef struct {
    int32_t group;
    int32_t task; /* the first task of the kind: its operation, algorithm and volumes */
    double bytes;
    int32_t schedules_first; /* one per shape of the group */
} RhTrafficKind;

typedef struct {
    int32_t rounds_first, rounds_count;
    double alone_s; /* whole time where bytes are too few to put on links, without rounds; else 0 */
    double launch_more_s, step_more_s; /* RhSchedule's */
} RhTrafficSchedule;

typedef struct {
    int32_t group, shape;
    int32_t members_first, members_count;
    int32_t alike; /* instances in its orbit; only this one is listed */
} RhInstance;

typedef struct {
    int32_t shapes_count;
    /* per listed rank; -1: none; NULL when no task uses the group */
    int32_t *instance_of_rank;
    int32_t sets_first; /* index of its first shape among those of all groups */
    /* NULL when no task uses the group: */
    GArray *shapes; /* int32_t, members_count GPUs each, on nodes by first appearance */
    GArray *firsts; /* int32_t: a rank of the first instance of each shape */
    GArray *meets;  /* bool [shape * roles + role]: whether the role takes part in that shape */
} RhGroupTraffic;

typedef struct {
    uint64_t key;        /* equal if role, kind and distance or tiers are */
    int32_t role, delta; /* of the sender or receiver; delta 0: a copy */
    int32_t pattern;     /* -1 for receives */
} RhPeer;

typedef struct {
    const RhProgram *program;
    const RhPlatform *platform;
    int32_t block; /* ranks r with r % block == 0 are listed; 1: all */
    int32_t *role_of_rank;
    int32_t *kind_of_task; /* COLLECTIVE: index into kinds; SEND, RECV, COPY: into peers; else
                              -1 */
    bool *calls;           /* [role * groups + group] */
    RhGroupTraffic *groups;
    GArray *kinds, *schedules, *rounds; /* RhTrafficKind, RhTrafficSchedule, RhTrafficRound */
    GArray *patterns, *drawn, *edges;   /* RhPattern, RhEdge, RhEdge */
    GArray *peers;                      /* RhPeer */
    GArray *pairs, *uses;               /* RhPair, RhPairUse */
    GArray *instances, *members;        /* RhInstance, int32_t ranks */
    GArray *flows, *crossings, *links;  /* RhTrafficFlow, RhCrossing, RhTrafficLink */
    RhSwitchLinks switch_links;         /* links between switches of the platform */
    /* Scratch space while flows are listed: 1 + index into links, by link and (for orbits) by first
     * place; and the number of crossings so far. */
    int32_t *place_of_link, *place_of_orbit, crossings_end;
    RhUncontendedTimes *alone; /* borrowed; used while schedules are made */
    RhDeadline deadline;       /* deadline of the making */
} RhTraffic;

/* Count of flows over a link. */
typedef struct {
    int32_t count; /* number of the count; entries of other counts are stale */
    double flows;
} RhCrossed;

/* Family of patterns: the same round of one collective in groups of different shapes, whose flows
 * move at one time when all groups begin together. */
typedef struct {
    int32_t first; /* first pattern of the family */
    double bytes;  /* largest flow, relative to the first pattern's */
} RhTrafficFamily;

/* Lists the flows; `whole` lists every rank; `alone` may be NULL. RH_ERROR_INPUT when a group or
 * peer leaves the program's ranks, or a collective's algorithm does not exist; RH_ERROR_NO_ANSWER
 * after the deadline, which is checked often enough to keep it on a million GPUs. */
RhTraffic *rh_traffic_new(const RhProgram *p, const RhPlatform *platform, bool whole,
                          RhUncontendedTimes *alone, RhDeadline deadline,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns whether the deadline has not passed; for use while the traffic is made. */
bool rh_traffic_in_time(const RhTraffic *traffic, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Makes the traffic of a program that sends between the same ranks by the same steps as another:
 * kinds, schedules and rounds are its own, patterns and peers have the other's numbers, so the
 * other's fold and quotient apply; instances and flows stay empty. NULL where the two differ. */
RhTraffic *rh_traffic_like(const RhTraffic *other, const RhProgram *p, RhUncontendedTimes *alone);
/* Frees everything that rh_traffic_like does not read. */
void rh_traffic_trim(RhTraffic *traffic);
/* Adds the flows of all patterns. */
bool rh_traffic_add_flows(RhTraffic *traffic, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Removes from all routes the links between switches that flows cannot fill (unsaturated_links.c). */
void rh_traffic_leave_out_slack(RhTraffic *traffic);
void rh_traffic_free(RhTraffic *traffic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTraffic, rh_traffic_free)

static inline const RhCrossing *rh_traffic_crossings(const RhTraffic *t, const RhTrafficFlow *flow)
{
    return &g_array_index(t->crossings, RhCrossing, flow->links_first);
}

/* Returns the number of flows in a step of a pattern: those of an instance, or one message. */
static inline int32_t rh_pattern_step(const RhPattern *pattern)
{
    return pattern->group < 0 ? 1 : MAX(pattern->edges_count, 1);
}

/* Returns the k-th flow of the pattern's i-th step, and its share there. */
static inline int32_t rh_traffic_flow_of_step(const RhTraffic *t, const RhPattern *pattern,
                                              int32_t i, int32_t k, double *share)
{
    *share = 1;
    if (pattern->group < 0)
        return pattern->flows_first + i;
    const RhEdge *edge = &g_array_index(t->edges, RhEdge, pattern->edges_first + k);
    *share = edge->share;
    return pattern->flows_first + i * pattern->pairs_count + edge->pair;
}

/* Returns the i-th flow of a pattern, counted step by step, and its share. */
static inline int32_t rh_traffic_flow_of(const RhTraffic *t, const RhPattern *pattern, int32_t i,
                                         double *share)
{
    int32_t step = rh_pattern_step(pattern);
    return rh_traffic_flow_of_step(t, pattern, i / step, i % step, share);
}

static inline const RhTrafficLink *rh_traffic_link(const RhTraffic *t, const RhCrossing *crossing)
{
    return &g_array_index(t->links, RhTrafficLink, crossing->at);
}

/* Returns the family of every pattern. Caller frees. */
RhTrafficFamily *rh_traffic_families(const RhTraffic *t);
/* Adds the flows of a pattern's step, weighted by their bytes (RhTrafficFamily), to count number
 * `count` (from 1) in crossed[index of a link], which is zero at first. */
void rh_traffic_count_crossed(const RhTraffic *t, int32_t pattern, int32_t step, double bytes,
                              int32_t count, RhCrossed *crossed);
