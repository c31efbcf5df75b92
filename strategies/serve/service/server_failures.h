#pragma once
/* Servers that fail: which and when, how long they are away, and how often a request is sent again.
 *
 *     g_autoptr(GArray) list = rh_failures_parse("0@30s,1@2min", &error);
 *     RhFailures failures = {.list = list, .retries = 1}; ... RhClient.failures = &failures
 *
 * A failure ends the process of a server: the iteration under way is void, its cache is empty, what it had of requests
 * is gone, and their connections break at once. The router then sends them to another server, or when one is back. */
#include "strategies/serve/deployment.h"

/* Replicas are numbered through all pools. */
typedef struct {
    int32_t replica;
    double t_s;
} RhFailure;

typedef struct {
    const GArray *list; /* RhFailure, borrowed; NULL: none is said */
    double mtbf_s;      /* of each replica, while it is there; 0: none is drawn */
    double restart_s;   /* until it serves again; 0: what it takes to start (kv_budget.h) */
    int32_t retries;    /* times that a request is sent again at most, at once; then it is lost */
    uint64_t seed;
} RhFailures;

/* "REPLICA@TIME,...". RH_ERROR_USAGE. Caller frees. */
GArray *rh_failures_parse(const char *text, GError **error);
/* RH_ERROR_USAGE: replicas that the deployment has not. */
bool rh_failures_check(const RhFailures *failures, const RhDeployment *deployment, GError **error);
/* From one drawn failure of a replica to its n-th next one (the first: from 0): exponential, the same for one seed
 * whatever else happens. One that finds the replica away does nothing. */
double rh_failures_life_s(const RhFailures *failures, int32_t replica, int32_t n);
