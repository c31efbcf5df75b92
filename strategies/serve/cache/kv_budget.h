#pragma once
/* What the memory of a server's GPU is taken by, and how much of a cache is left. Formulas and where they come from:
 * docs/theory/serving.md, "Memory"; judged on start-up logs by validate/data/published-caches.csv. */
#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/iteration/iteration.h"

/* Of one GPU of a pool. */
typedef struct {
    double capacity_bytes; /* of the device, as a framework sees it */
    double weight_bytes, activation_bytes, reserve_bytes;
    double state_bytes;                     /* of all sequences of a batch, however long they are */
    double cache_bytes;                     /* what is left: at least 0 */
    int32_t blocks;                         /* of a whole replica */
    int64_t tokens;                         /* that they hold */
    double start_s;                         /* of a replica: weights and all (autoscaling.h) */
    double tier_tokens[RH_CACHE_TIER_LAST]; /* that slower memory holds, of a whole replica */
    double tier_s[RH_CACHE_TIER_LAST];      /* to load one from there */
} RhKvBudget;

/* `pool` has its limits, those of all its groups together (service_open.c). */
RhKvBudget rh_kv_budget_of(const RhServing *serving, const RhPool *pool,
                           const RhIterations *iterations);
/* Of a GPU's memory, in the server's own sense: what the pool says, or what the server takes by itself. */
double rh_service_memory_frac(const RhServer *server, const RhPool *pool, double capacity_bytes);
/* Fills in what `host` and `nvme` of the pool are good for. RH_ERROR_USAGE: more than the node has, drives that it
 * has not, or a cache that remembers nothing. */
bool rh_service_tiers(const RhServing *serving, const RhPool *pool, const RhIterations *iterations,
                      RhKvBudget *room, GError **error);
