#pragma once
/* Loads of a role's groups on the links of an idle platform: the members of each group, and the
 * bytes that their flows put on each link. Private to this folder. */
#include "sim/collective/algorithm_interface.h"
#include "sim/map64.h"

typedef struct {
    double bytes; /* 0 between rounds */
    double bytes_per_s;
    int32_t share; /* patterns so far (step_pattern_time.c) */
} RhUsedLink;

/* A loaded link, and the number of equivalent groups that load it as the listed one does. */
typedef struct {
    int32_t place, times;
} RhGroupCrossing;

typedef struct {
    int32_t size; /* members of a group */
    const RhProgram *program;
    const RhPlatform *platform;
    int32_t *members; /* instances_count x size ranks */
    int32_t instances_count;
    int32_t block; /* equivalent instances, of which one is listed (equivalent_rank_blocks.h) */
    RhMap64 *place_of_link;
    /* alternative table by link where most are crossed: 1 + place; or NULL */
    int32_t *places_of_links;
    GArray *loads;    /* RhUsedLink by place, for links in use only */
    int32_t *touched; /* places with bytes on them */
    int32_t touched_count, touched_room;
} RhGroupLinks;

/* Seconds of latency, and seconds in which bytes move. */
typedef struct {
    double latency_s, moving_s;
} RhStepTime;

/* Lists the groups of the role, or only the one of rank 0 where `role` is -1. Free the contents
 * with rh_group_links_clear. */
RhGroupLinks rh_group_links(const RhProgram *p, const RhPlatform *platform, int32_t group,
                            int32_t role);
void rh_group_links_clear(RhGroupLinks *k);
/* Return the latency, and the links, of the route between two members of a listed group. */
double rh_group_latency_s(const RhGroupLinks *k, int32_t instance, int32_t from, int32_t to);
int rh_group_route(const RhGroupLinks *k, int32_t instance, int32_t from, int32_t to,
                   RhLink links[RH_ROUTE_MAX], double *latency_s);
RhGroupCrossing rh_group_crossing(RhGroupLinks *k, RhLink link);
void rh_group_load(RhGroupLinks *k, RhGroupCrossing at, double bytes);

/* Adds the launch time to the seconds of a collective's steps. */
RhScheduleTime rh_steps_as_time(const RhPlatform *platform, RhOp op, RhAlgo algo, double bytes,
                                double launch_more_s, RhStepTime steps);
/* Returns the time of a step of each round of the schedule (RhStepTime), as rh_schedule_time() adds them up. The caller
 * unrefs. */
GArray *rh_schedule_round_times(const RhSchedule *schedule, const RhProgram *p,
                                const RhPlatform *platform, int32_t group, int32_t role);
