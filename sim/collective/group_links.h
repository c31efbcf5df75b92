#pragma once
/* The groups of a role on the links of an idle platform: who they are, and what their flows put on which links.
 * Only this folder includes it. */
#include "sim/collective/algorithm.h"
#include "sim/map64.h"

typedef struct {
    double bytes; /* 0 between rounds */
    double bytes_per_s;
    int32_t share; /* of waves so far (step_pattern_time.c) */
} RhUsedLink;

/* A link that is loaded, and by how many groups that stand like the one listed. */
typedef struct {
    int32_t place, times;
} RhGroupCrossing;

typedef struct {
    int32_t size; /* of a group */
    const RhProgram *program;
    const RhPlatform *platform;
    int32_t *members; /* instances_count x size ranks */
    int32_t instances_count;
    int32_t block; /* instances that stand alike: one in so many is listed (rank_blocks.h) */
    RhMap64 *place_of_link;
    int32_t *places_of_links; /* instead, by link, where most are crossed: 1 + place; or NULL */
    GArray *loads;            /* RhUsedLink, by place: of the links in use, not of all there are */
    int32_t *touched;         /* places with bytes on them */
    int32_t touched_count, touched_room;
} RhGroupLinks;

/* Seconds before bytes move, and while they do. */
typedef struct {
    double latency_s, moving_s;
} RhStepTime;

/* Groups of the role, or the one that holds rank 0 where `role` is -1. rh_group_links_clear frees what it holds. */
RhGroupLinks rh_group_links(const RhProgram *p, const RhPlatform *platform, int32_t group,
                            int32_t role);
void rh_group_links_clear(RhGroupLinks *k);
/* The latency, and the links, of the route between two members of a listed group. */
double rh_group_latency_s(const RhGroupLinks *k, int32_t instance, int32_t from, int32_t to);
int rh_group_route(const RhGroupLinks *k, int32_t instance, int32_t from, int32_t to,
                   RhLink links[RH_ROUTE_MAX], double *latency_s);
RhGroupCrossing rh_group_crossing(RhGroupLinks *k, RhLink link);
void rh_group_load(RhGroupLinks *k, RhGroupCrossing at, double bytes);

/* Both parts of a collective's time with what its launch takes. */
RhScheduleTime rh_steps_as_time(const RhPlatform *platform, RhOp op, RhAlgo algo, double bytes,
                                double launch_more_s, RhStepTime steps);
