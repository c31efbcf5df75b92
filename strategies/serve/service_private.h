#pragma once
/* A service while it is played. Private to service*.c. */
#include "sim/events.h"
#include "strategies/serve/prompts.h"
#include "strategies/serve/replica.h"
#include "strategies/serve/router.h"
#include "strategies/serve/scaling.h"
#include "strategies/serve/service.h"

typedef struct {
    RhPool pool; /* settled */
    RhIterations *iterations;
    RhServiceRoom room;
    RhReplica **replicas;
    RhScaling *scaling; /* NULL: all replicas are there */
    int64_t turn;
} RhServiceStage;

struct RhService {
    RhServing serving;
    RhDeployment deployment;
    const RhRouter *router;
    RhServiceStage stages[RH_POOLS_MAX];
};

/* Replicas are numbered through all pools. */
typedef struct {
    RhService *service;
    const RhRequests *requests;
    const RhClient *client;
    RhServiceResult *result;
    RhEvents *events;
    const RhPrompts *prompts; /* which begin alike; NULL: none are known to */
    int32_t *turn_before;     /* by request: of its session; -1: none */
    int32_t *next_turn;       /* the same */
    bool *held_back;     /* by request: its time came before the answer to the turn before it */
    int32_t next;        /* request to be sent, of a closed loop */
    int32_t *request_at; /* by request: the replica that it goes to */
    int64_t *end_of;     /* by replica: number of the event that ends its work */
    GArray *ended;       /* int32_t: work space */
    const RhCarrier *carrier; /* of keys and values between pools */
    int32_t *flows_of;        /* by request: how many of its are under way */
    int32_t flows;            /* of all */
    guint over;               /* requests */
} RhServiceClock;

static inline RhServiceStage *rh_service_stage(const RhServiceClock *c, int32_t replica,
                                               int32_t *inside)
{
    RhService *s = c->service;
    bool first = replica < s->stages[0].pool.replicas;
    *inside = first ? replica : replica - s->stages[0].pool.replicas;
    return &s->stages[first ? 0 : 1];
}

static inline RhServed *rh_service_served(const RhServiceClock *c, int32_t request)
{
    return &g_array_index(c->result->served, RhServed, request);
}

/* Does its cache remember prompts? */
bool rh_service_remembers(const RhServiceClock *c, const RhServiceStage *stage);
/* Counts what was done, and lets the replicas go. */
void rh_service_sum_up(RhServiceClock *c);
