/* Finds the rate that one replica of a pool keeps among a few like it. The time to a first token
 * depends on the first of two pools, the time per token on the last: so the limits (batch, chunk)
 * of one are searched beside so much of the other that the other does not bind. */
#include <math.h>

#include "strategies/search/services/serve_private.h"

#define SLICE 4 /* replicas of the examined pool */
#define AMPLE 2 /* factor on the closed form's number of replicas of the other pool */

RhDeployment rh_serve_sized(const RhDeployment *d, const double *replicas)
{
    RhDeployment out = *d;
    for (int32_t p = 0; p < d->pools_count; p++)
        out.pools[p].replicas = (int32_t)replicas[p];
    return out;
}

/* Sets replicas of pool `which`, and ample ones of the other; 0: there are too few GPUs for
 * both. */
static int32_t set_slice(const RhServeSearch *s, const RhDeployment *d, int32_t which,
                         const double *bound_per_s, double *replicas)
{
    int32_t other = 1 - which, room = s->options->gpus / rh_pool_gpus(&d->pools[0]);
    replicas[which] = MIN(SLICE, room);
    replicas[other] = 0;
    if (d->pools_count == 1)
        return (int32_t)replicas[which];
    double ample = AMPLE * bound_per_s[which] / bound_per_s[other]; /* per replica */
    replicas[which] = CLAMP(floor(room / (1 + ample)), 1, SLICE);
    replicas[other] = fmin(ceil(ample * replicas[which]), room - replicas[which]);
    return replicas[other] >= 1 ? (int32_t)replicas[which] : 0;
}

/* Rate that one replica of pool `which` must keep for its whole to be useful. */
static double least_of_use(const RhServeSearch *s, const RhDeployment *d, int32_t which,
                           const double *bound_per_s)
{
    double rate = s->options->rate_per_s;
    double most = RH_SERVE_SHRINK_MOST * s->gpus_most / rh_pool_gpus(&d->pools[0]);
    if (d->pools_count > 1)
        most -= rate / bound_per_s[1 - which];
    return most > 0 ? rate / most : HUGE_VAL;
}

/* Tries these limits; they are kept if a replica keeps more than with all earlier ones. */
static void try_limits(RhServeSearch *s, const RhBoundedDeployment *b, int32_t which,
                       RhServeKindResult *best, RhServeReplicaRate *sliced)
{
    double replicas[RH_POOLS_MAX] = {0};
    g_autoptr(GPtrArray) none = g_ptr_array_new(); /* other draws are tried with the whole */
    RhServeSearch one_draw = *s;
    int32_t slice = set_slice(s, &b->deployment, which, b->each_per_s, replicas);
    if (slice == 0)
        return;
    one_draw.draws = none;
    one_draw.least_per_s = slice * least_of_use(s, &b->deployment, which, b->each_per_s);
    RhDeployment tried = rh_serve_sized(&b->deployment, replicas);
    double before = best->there ? best->best.rate_per_s : 0;
    rh_serve_try_rate(&one_draw, &tried, slice * b->each_per_s[which], best);
    if (!best->there || best->best.rate_per_s <= before)
        return;
    sliced->deployment = tried;
    sliced->kept_per_s[which] = best->best.rate_per_s / slice;
    for (int32_t p = 0; p < tried.pools_count; p++)
        sliced->bound_per_s[p] = b->each_per_s[p];
}

/* Sets these limits of the last pool together with those found for the first, and its chunk. False:
 * they do not fit. */
static bool set_first(const RhServeSearch *s, const RhServeReplicaRate *sliced,
                      RhBoundedDeployment *b)
{
    b->deployment.pools[0] = sliced->deployment.pools[0];
    b->deployment.pools[1].chunk = sliced->deployment.pools[0].chunk;
    b->deployment.pools[0].replicas = b->deployment.pools[1].replicas = 1;
    g_autoptr(RhService) service = rh_service_new(s->serving, &b->deployment, NULL);
    if (service)
        rh_serve_bound_pools(s, service, &b->deployment, b->each_per_s);
    return service && b->each_per_s[0] > 0 && b->each_per_s[1] > 0;
}

/* Is the batch the same as the one before? A pool that only makes tokens has no chunk, so of its
 * limits only the batch matters. */
static bool is_same_batch(const GArray *bounded, guint i)
{
    for (guint k = 0; k < i; k++)
        if (g_array_index(bounded, RhBoundedDeployment, k).deployment.pools[1].batch ==
            g_array_index(bounded, RhBoundedDeployment, i).deployment.pools[1].batch)
            return true;
    return false;
}

RhServeReplicaRate rh_serve_replica_rate(RhServeSearch *s, const GArray *bounded,
                                         RhServeKindResult *found)
{
    RhServeReplicaRate sliced = {0};
    int32_t pools = g_array_index(bounded, RhBoundedDeployment, 0).deployment.pools_count;
    for (int32_t p = 0; p < pools; p++) {
        RhServeKindResult best = {.best = found->best};
        for (guint i = 0; i < bounded->len; i++) {
            RhBoundedDeployment b = g_array_index(bounded, RhBoundedDeployment, i);
            if (p == 0 || (!is_same_batch(bounded, i) && set_first(s, &sliced, &b)))
                try_limits(s, &b, p, &best, &sliced);
        }
        found->runs += best.runs;
        found->simulated += best.simulated;
        sliced.there = best.there;
        if (!best.there) {
            found->best = best.best;
            break;
        }
    }
    return sliced;
}
