#pragma once
/* The size of a service's KV cache, in tokens and in requests of the longest kind. */
#include "base/json/json.h"
#include "strategies/serve/service/service.h"
#include "workloads/requests/requests.h"

typedef struct {
    int64_t tokens;   /* of a server's group of attention */
    int32_t groups;   /* of a server */
    int32_t replicas; /* servers */
    double bytes;     /* of a GPU */
    int64_t longest;  /* tokens of a request at most: max_model_len, or the model's; 0: not known */
    bool said;        /* longest is the deployment's */
    int32_t batch, chunk; /* sequences of a server, tokens of an iteration; at most, 0: any */
} RhServedCache;

typedef struct {
    int32_t count; /* pools; 0: the model keeps no keys and values */
    const char
        *server; /* that does not start where a longest request does not fit; NULL: it does */
    RhServedCache pools[RH_POOLS_MAX];
} RhServedCacheList;

RhServedCacheList rh_served_caches(const RhServing *serving, const RhDeployment *deployment,
                                   const RhService *service);
/* Appends "cache: 332,944 tokens (21.4 GiB a GPU): 145 requests of 2,300 tokens, the mean, or 2.5 of
 * 131,072, the longest". `requests` may be NULL. */
void rh_report_caches(GString *out, const RhServedCacheList *caches, const RhRequests *requests);
void rh_put_caches(RhJsonWriter *w, const RhServedCacheList *caches);
