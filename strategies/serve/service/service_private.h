#pragma once
/* A service while it is played. Private to service*.c. */
#include "base/deadline.h"
#include "sim/event_queue.h"
#include "strategies/serve/cache/prompt_prefixes.h"
#include "strategies/serve/replica/replica.h"
#include "strategies/serve/replica/replica_internode_flows.h"
#include "strategies/serve/service/autoscaling.h"
#include "strategies/serve/service/router.h"
#include "strategies/serve/service/service.h"
#include "strategies/serve/service/vector_search_stage.h"

typedef enum {
    RH_SERVICE_SENT,
    RH_SERVICE_FOUND, /* its search in the index is done */
    RH_SERVICE_COMES,
    RH_SERVICE_ENDS,
    RH_SERVICE_MOVES,
    RH_SERVICE_LOOKS,
    RH_SERVICE_STARTS,
    RH_SERVICE_WAKES,
    RH_SERVICE_EXCHANGES, /* the work of a part of an iteration is done */
    RH_SERVICE_GIVES_UP_FIRST,
    RH_SERVICE_GIVES_UP,
    RH_SERVICE_FAILS,
    RH_SERVICE_FAILS_DRAWN,
    RH_SERVICE_IS_BACK,
} RhServiceEvent;

typedef struct {
    RhPool pool; /* settled */
    RhIterations *iterations;
    RhKvBudget budget;
    RhReplica **replicas;
    RhScaling *scaling; /* NULL: all replicas are there */
    int64_t turn;
} RhServicePool;

/* A pool with all limits set, as sums over the groups that a server has. */
RhPool rh_service_settled(const RhPool *pool, const RhServer *server, const RhDevice *device);
/* Does the cache hold one request of the pool's max_model_len, where the server requires that? */
bool rh_service_holds_longest(const RhServer *server, const RhPool *pool, const RhKvBudget *budget);

struct RhService {
    RhServing serving;
    RhDeployment deployment;
    const RhRouter *router;
    RhServicePool stages[RH_POOLS_MAX];
    GPtrArray *traffic;  /* RhReplicaTraffic by replica; NULL: not asked yet */
    bool *traffic_meets; /* by replica and replica: on one link */
};

/* Inter-node traffic of a replica (service_link_contention.c). */
typedef struct {
    RhReplicaTraffic *traffic; /* borrowed; NULL: on one node */
    int32_t met;               /* caches on its links */
    bool plays; /* its iteration goes part by part, through all of them so many times: */
    int32_t rounds, part, flows;
    int32_t flows_void; /* under way, of an iteration that a failure ended */
    double left_frac;   /* of the part's flows, that are still to be sent */
    int32_t tokens, sequences;
    double t_end_s;                   /* when it would end by itself */
    double iteration_s, work_s;       /* of each part, its work */
    double alone_s[RH_TRAFFIC_PARTS]; /* of a round's parts, their flows by themselves */
} RhServiceTransfer;

/* GPU-seconds that add up while GPUs are at something: sum_gpu_s + gpus x t. */
typedef struct {
    double gpus, sum_gpu_s;
} RhServiceMeter;

/* Running totals at a moment. */
typedef struct {
    double t_s, busy_gpu_s, reading_gpu_s, gpu_s, replica_s;
} RhServiceMark;

/* Replicas are numbered through all pools. */
typedef struct {
    RhService *service;
    const RhRequests *requests;
    const RhClient *client;
    RhServiceResult *result;
    RhEvents *events;
    const RhPromptPrefixes *prompts; /* which begin alike; NULL: none are known to */
    int32_t *turn_before;            /* by request: of its session; -1: none */
    int32_t *next_turn;              /* the same */
    bool *held_back;     /* by request: its time came before the answer to the turn before it */
    int32_t next;        /* request to be sent, of a closed loop */
    int32_t *request_at; /* by request: the replica that it goes to */
    RhDeadline deadline; /* of the whole call */
    int64_t *end_of;     /* by replica: number of the event that ends its work */
    GArray *ended;       /* int32_t: work space */
    const RhKvTransport *carrier; /* of keys and values between pools */
    int32_t *flows_of;            /* by request: how many of its are under way */
    bool *broken; /* by request: who has sent its cache, or was to have it, has failed since */
    GArray *stranded[RH_POOLS_MAX]; /* int32_t: requests for which no server of the pool is there */
    int32_t *drawn_of;              /* by replica: failures that were drawn; NULL: none fails */
    int32_t flows;                  /* of all */
    guint over;                     /* requests */
    double last_s;                  /* that a request came, had its outcome, or a server worked */
    RhVectorSearchStage *search;    /* NULL: there is none */
    RhServiceTransfer *traffic;     /* by replica; NULL: nothing of theirs meets others */
    int32_t replicas;
    RhServiceMeter busy, reading; /* servers with a batch under way; those that read prompts */
    double *begun_s;              /* by replica: its batch; NaN: none is under way */
    GArray *marks;                /* RhServiceMark: when a request came */
} RhServiceClock;

static inline RhServicePool *rh_service_stage(const RhServiceClock *c, int32_t replica,
                                              int32_t *inside)
{
    RhService *s = c->service;
    bool first = replica < s->stages[0].pool.replicas;
    *inside = first ? replica : replica - s->stages[0].pool.replicas;
    return &s->stages[first ? 0 : 1];
}

static inline RhRequestRecord *rh_service_served(const RhServiceClock *c, int32_t request)
{
    return &g_array_index(c->result->served, RhRequestRecord, request);
}

static inline RhReplica *rh_service_replica(const RhServiceClock *c, int32_t replica)
{
    int32_t inside;
    RhServicePool *stage = rh_service_stage(c, replica, &inside);
    return stage->replicas[inside];
}

static inline int32_t rh_service_first_gpu(const RhServiceClock *c, int32_t replica)
{
    return rh_deployment_first_gpu(&c->service->deployment, replica);
}

/* --- service.c --- */

/* Sends the next request of those that are not sent by themselves. */
void rh_service_begin_next(RhServiceClock *c, double t_s);
/* Its beginning, or its beginning anew: to a server of the first pool. */
void rh_service_route(RhServiceClock *c, int32_t request, double t_s);
/* Its prompt is read, and its cache goes to a server of the second. */
void rh_service_hand_over(RhServiceClock *c, int32_t request, double t_s);
/* It has an outcome: whoever waits for that goes on. */
void rh_service_over(RhServiceClock *c, int32_t request, double t_s);

/* --- service_request_pacing.c --- */

/* Sends what the pacer releases at t_s; without a pacer nothing. */
void rh_service_pacer_release(RhServiceClock *c, double t_s);
double rh_service_paused_until_s(const RhServiceClock *c);
/* Performs the pacer's next event if nothing comes before it; returns whether it did. */
bool rh_service_pacer_acts(RhServiceClock *c);

/* --- request_timeouts.c --- */

/* It was sent: when does its client give up? */
void rh_service_request_timeouts(RhServiceClock *c, int32_t request, double t_s);
/* Drops an unfinished request with the iteration under way. */
void rh_service_drop(RhServiceClock *c, int32_t request, double t_s);
void rh_service_gives_up(RhServiceClock *c, const RhTimedEvent *event);
/* Returns the time at which the client of a request that is done at t_s gave up before it had the
 * whole answer, or HUGE_VAL. */
double rh_service_too_late_s(const RhServiceClock *c, int32_t request, double t_s);

/* --- service_failures.c --- */

void rh_service_failures_open(RhServiceClock *c);
void rh_service_failures_close(RhServiceClock *c);
void rh_service_fails(RhServiceClock *c, const RhTimedEvent *event);
void rh_service_is_back(RhServiceClock *c, int32_t number, double t_s);
/* It waits for a server of the pool. */
void rh_service_strand(RhServiceClock *c, int32_t request, int32_t pool);
/* On its way (`read`: its cache): given up since, or who has or had it has failed. It is seen
 * to, then. */
bool rh_service_in_vain(RhServiceClock *c, int32_t request, bool read, double t_s);

/* --- service_link_contention.c --- */

void rh_service_traffic_open(RhServiceClock *c);
/* Its work has begun: part by part where others are on its links, and so has that of those it
 * meets. */
void rh_service_traffic_begin(RhServiceClock *c, int32_t number, double t_s);
bool rh_service_traffic_play(const RhServiceClock *c, int32_t number);
bool rh_service_traffic_exchange(RhServiceClock *c, const RhTimedEvent *event,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Its server has failed. */
void rh_service_traffic_fail(RhServiceClock *c, int32_t number);
/* One of its flows is there. */
void rh_service_traffic_carried(RhServiceClock *c, int32_t number, double t_s);
/* A request's cache sets out, and is there. */
void rh_service_traffic_met(RhServiceClock *c, int32_t request, double t_s);
void rh_service_traffic_parted(RhServiceClock *c, int32_t request);

/* --- service_steady_window.c --- */

void rh_service_window_open(RhServiceClock *c);
/* Its batch is under way, and has ended or is broken off; nothing where none was. */
void rh_service_window_begins(RhServiceClock *c, int32_t number, double t_s);
void rh_service_window_ends(RhServiceClock *c, int32_t number, double t_s);
/* A request comes. */
void rh_service_window_mark(RhServiceClock *c, double t_s);
/* All has ended; servers and their scaling are still there. */
void rh_service_window_close(RhServiceClock *c);

/* --- service_totals.c --- */

/* Does its cache remember prompts? */
bool rh_service_remembers(const RhServiceClock *c, const RhServicePool *stage);
/* Would it, if it knew which? */
bool rh_service_finds_again(const RhServiceClock *c, const RhServicePool *stage);
/* Counts what was done, and lets the replicas go. */
void rh_service_sum_up(RhServiceClock *c);
