#pragma once
/* KV-cache budget: use of the memory of a server's GPU, and the cache that remains. Formulas and
 * their sources: docs/theory/serving.md, "Memory"; compared with start-up logs in
 * validate/data/published-caches.csv. */
#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/iteration/iteration.h"

/* Memory of one GPU of a pool, and the cache of a replica. */
typedef struct {
    double capacity_bytes; /* of the device, as a framework sees it */
    double weight_bytes, activation_bytes, reserve_bytes;
    double state_bytes;                     /* of all sequences of a batch, independent of length */
    double cache_bytes;                     /* remaining memory, at least 0 */
    int32_t blocks;                         /* of a whole replica */
    int64_t tokens;                         /* capacity of these blocks */
    double start_s;                         /* start-up of a replica, weights included */
    double tier_tokens[RH_CACHE_TIER_LAST]; /* capacity of slower tiers, of a whole replica */
    double tier_s[RH_CACHE_TIER_LAST];      /* seconds to load one token from there */
} RhKvBudget;

/* Returns the budget of a pool whose limits are set, as sums over its attention groups
 * (service_check.c). */
RhKvBudget rh_kv_budget_of(const RhServing *serving, const RhPool *pool,
                           const RhIterations *iterations);
/* Returns the fraction of a GPU's memory, as the server defines it: the pool's, or the server's
 * default. */
double rh_service_memory_frac(const RhServer *server, const RhPool *pool, double capacity_bytes);
/* Sets tier_tokens and tier_s from `host` and `nvme` of the pool. RH_ERROR_USAGE: more than the
 * node has, drives on a node without any, or a cache without prefix caching. */
bool rh_service_tiers(const RhServing *serving, const RhPool *pool, const RhIterations *iterations,
                      RhKvBudget *budget, GError **error) G_GNUC_WARN_UNUSED_RESULT;
