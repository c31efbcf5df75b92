/* Finds the fewest replicas that keep a rate. Few replicas of one pool are tried one number after
 * another. Replicas are independent except for the router, which distributes requests the more
 * evenly the more of them there are: so of many a few are examined (serve_replica_rate.c), and the
 * whole is sized from the rate that each of these keeps (serve_pool_sizes.c). */
#include <math.h>

#include "base/garray_access.h"
#include "strategies/search/services/serve_private.h"

#define FEW 8 /* replicas up to which every number is tried */

/* Lower bound on the replicas of all pools, each with its best limits. */
static double least_replicas(const RhServeSearch *s, const GArray *bounded)
{
    double sum = 0;
    for (int32_t p = 0; p < RH_POOLS_MAX; p++) {
        double least = HUGE_VAL;
        for (guint i = 0; i < bounded->len; i++) {
            const RhBoundedDeployment *b = &g_array_index(bounded, RhBoundedDeployment, i);
            bool there = p < b->deployment.pools_count;
            least = fmin(least, there ? ceil(s->options->rate_per_s / b->each_per_s[p]) : 0);
        }
        sum += least;
    }
    return sum;
}

double rh_serve_gpus_least(const RhServeSearch *s, const GArray *bounded)
{
    const RhBoundedDeployment *first = RH_ELEMENTS(bounded, RhBoundedDeployment);
    return bounded->len > 0 ? least_replicas(s, bounded) * rh_pool_gpus(&first->deployment.pools[0])
                            : HUGE_VAL;
}

bool rh_serve_is_large(const RhServeSearch *s, const GArray *bounded)
{
    return bounded->len > 0 && least_replicas(s, bounded) > FEW;
}

/* --- few replicas of one pool --- */

/* Finds the fewest replicas that keep the rate: fewer than the best so far, and as GPUs allow. */
static void try_replicas(RhServeSearch *s, const RhBoundedDeployment *bounded,
                         RhServeKindResult *found)
{
    const RhDeployment *d = &bounded->deployment;
    double rate = s->options->rate_per_s, each = bounded->bound_per_s / d->pools[0].replicas;
    int32_t most = found->there ? found->best.deployment.pools[0].replicas - 1
                                : (int32_t)fmin(d->pools[0].replicas,
                                                s->gpus_most / rh_pool_gpus(&d->pools[0]));
    RhServeEntry before = {0}; /* with one replica fewer */
    for (double n = fmax(1, ceil(rate / each)); n <= most; n++) {
        RhDeployment tried = *d;
        tried.pools[0].replicas = (int32_t)n;
        g_autoptr(RhService) service = rh_service_new(s->serving, &tried, NULL);
        RhServeEntry entry = rh_serve_entry_of(&tried, each * n);
        found->runs++;
        found->simulated += n <= fmax(1, ceil(rate / each));
        bool kept = service && rh_serve_keeps(service, s->requests, s->options, rate, &entry) &&
                    rh_serve_draws_keep(s, service, rate, &entry, found) &&
                    rh_serve_confirm(s, service, rate, &entry, found);
        if (kept && before.broken_per_s > 0) {
            entry.fewer_broke = true;
            entry.binding = before.binding;
            entry.cache_full = before.cache_full;
        }
        before = entry;
        if (kept || (!found->there && found->best.broken_per_s <= 0))
            found->best = entry;
        found->there |= kept;
        if (kept)
            return;
    }
}

void rh_serve_try_size(RhServeSearch *s, const GArray *bounded, RhServeKindResult *found)
{
    if (rh_serve_gpus_least(s, bounded) > s->gpus_most)
        return;
    bool two = g_array_index(bounded, RhBoundedDeployment, 0).deployment.pools_count > 1;
    bool slice = two || rh_serve_is_large(s, bounded);
    for (guint i = 0; i < bounded->len && !slice; i++)
        try_replicas(s, &g_array_index(bounded, RhBoundedDeployment, i), found);
    if (!slice)
        return;
    RhServeReplicaRate sliced = rh_serve_replica_rate(s, bounded, found);
    if (sliced.there)
        rh_serve_size_whole(s, &sliced, found);
}
