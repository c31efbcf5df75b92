#pragma once
/* A service: clients, a router, replicas in pools, and what became of every request.
 *
 * One simulated clock: arrivals, ends of iterations and of transfers are events (sim/event_queue.h) that drive
 * schedulers, which are policies. The same inputs give the same bytes. */
#include "strategies/serve/cache/kv_budget.h"
#include "strategies/serve/kv_transport.h"
#include "strategies/serve/results/request_records.h"
#include "strategies/serve/service/server_failures.h"
#include "strategies/serve/service/trainer_pacer.h"
#include "strategies/serve/service/vector_index.h"
#include "workloads/requests/requests.h"

typedef struct RhService RhService;

/* How requests come. `at_once` above 0: a closed loop of so many clients, who send the requests in their
 * order, the next one `turnaround_s` after the last has ended, a session to its end; their arrival times
 * say nothing. In an open loop no turn of a session comes before so long after the answer to the turn
 * before it. */
typedef struct {
    int32_t at_once;
    double turnaround_s;
    double timeout_s; /* of the computation; 0: none */
    double stagger_s; /* each begins so much after the one before; 0: all at once */
    /* who has no first, or no last token so long after sending gives up; 0: never */
    double ttft_patience_s, e2e_patience_s;
    const RhFailures *failures;  /* borrowed; NULL: no server fails */
    RhKvTransport *carrier;      /* between its pools; NULL: links of its own */
    const RhRequestPacer *pacer; /* of an open loop; borrowed; NULL: requests come by themselves */
    /* Where each request is looked up before a server takes it; borrowed; NULL: nowhere. With it nobody gives up and
     * no server fails. */
    const RhVectorIndex *index;
    bool timeline; /* what replicas do is kept: RhServiceResult.works */
    bool history;  /* and what there was over time, in bins: RhServiceResult.history */
    /* is performed, and none is told by the closed form of a run: for checks */
    bool each_iteration;
} RhClient;

/* Borrows what the serving borrows. RH_ERROR_USAGE: a pool that cannot be. RH_ERROR_NO_ANSWER: weights
 * leave no budget for a cache, with the numbers. */
RhService *rh_service_new(const RhServing *serving, const RhDeployment *deployment,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Adds to an error that says a deployment has no room (RH_ERROR_NO_ANSWER) what would make room, in the
 * order of what it costs: found by trying, so that only what helps is named. */
void rh_service_room(const RhServing *serving, const RhDeployment *deployment, GError **error);
void rh_service_free(RhService *service);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhService, rh_service_free)

/* Whether the model can be asked these at all. RH_ERROR_INPUT: there are none, they ask for tokens that it
 * does not make, or say none that it makes, or are no pictures of its size. */
bool rh_service_takes(const RhModel *model, const RhRequests *requests,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* All requests, from an empty service until the last has ended. Caller frees. RH_ERROR_NO_ANSWER: not
 * within the client's timeout. RH_ERROR_INPUT: rh_service_takes(). RH_ERROR_USAGE: rh_failures_check(). */
RhServiceResult *rh_service_run(RhService *service, const RhRequests *requests,
                                const RhClient *client, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* How many of the requests it refuses however empty it is: their tokens are more than its cache, or its model, holds. */
int32_t rh_service_too_long(const RhService *service, const RhRequests *requests);
RhKvBudget rh_service_kv_budget(const RhService *service, int32_t pool);
int32_t rh_service_batch(const RhService *service, int32_t pool); /* sequences of a replica */
int32_t rh_service_chunk(const RhService *service,
                         int32_t pool); /* tokens of an iteration; 0: any */
RhIterations *rh_service_iterations(const RhService *service, int32_t pool); /* borrowed */
