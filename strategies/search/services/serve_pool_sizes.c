/* Sizes pools for a rate, from the rate that one replica keeps among a few. Of more than
 * RH_SERVE_PART replicas a part of so many is simulated at its share of the rate, and the whole is
 * that part scaled up; the router of the whole has more servers to choose from, and is simulated
 * once. A part shrinks while it keeps the levels of one draw, then grows until it keeps them of
 * all. */
#include <math.h>

#include "strategies/search/services/serve_private.h"

#define GROW_FRAC 0.01 /* fraction by which a whole that breaks the levels grows */

typedef struct {
    RhServeSearch *asked;
    const RhServeReplicaRate *sliced;
    RhServeKindResult *found;
    double share; /* of the given rate */
    double replicas[RH_POOLS_MAX];
    RhServeEntry broken; /* the last broken entry */
} Whole;

static double sum_replicas(const double *replicas)
{
    return replicas[0] + replicas[1];
}

/* Adds replicas to the pool of the broken level: the first pool, or the last. */
static void add_replicas(Whole *w)
{
    const RhServeEntry *broken = &w->broken;
    bool known = broken->binding >= 0 && broken->deployment.pools_count > 1;
    bool first = known && w->asked->options->slos.list[broken->binding].metric == RH_METRIC_TTFT;
    for (int32_t p = 0; p < broken->deployment.pools_count; p++)
        if (!known || first == (p == 0))
            w->replicas[p] += fmax(1, floor(w->replicas[p] * GROW_FRAC));
}

/* --- checks of a number of replicas, at the share of the rate --- */

typedef bool (*Check)(RhServeSearch *, RhService *, double rate_per_s, RhServeEntry *,
                      RhServeKindResult *);

static bool keeps_span(RhServeSearch *s, RhService *service, double rate_per_s, RhServeEntry *entry,
                       RhServeKindResult *found)
{
    found->runs++;
    return rh_serve_keeps(service, s->requests, s->options, rate_per_s, entry);
}

static bool keeps_draws(RhServeSearch *s, RhService *service, double rate_per_s,
                        RhServeEntry *entry, RhServeKindResult *found)
{
    return rh_serve_all_keep(s, service, rate_per_s, entry, found);
}

static bool keeps_given(RhServeSearch *s, RhService *service, double rate_per_s,
                        RhServeEntry *entry, RhServeKindResult *found)
{
    return rh_serve_confirm(s, service, rate_per_s, entry, found);
}

static bool is_kept(Whole *w, const double *replicas, Check check, RhServeEntry *entry)
{
    RhServeSearch *s = w->asked;
    RhDeployment d = rh_serve_sized(&w->sliced->deployment, replicas);
    double bound = HUGE_VAL;
    for (int32_t p = 0; p < d.pools_count; p++)
        bound = fmin(bound, replicas[p] * w->sliced->bound_per_s[p]);
    *entry = rh_serve_entry_of(&d, bound);
    if (rh_deployment_gpus(&d) > s->options->gpus)
        return false;
    g_autoptr(RhService) service = rh_service_new(s->serving, &d, NULL);
    w->found->simulated++;
    return service && check(s, service, s->options->rate_per_s * w->share, entry, w->found);
}

/* --- shrinking --- */

/* Lower bound on a pool's replicas, by the closed form, and as a replica of the whole keeps at most
 * RH_SERVE_SHRINK_MOST times the rate of one in a slice. */
static double fewest_of(const Whole *w, int32_t pool)
{
    double bound =
        fmin(w->sliced->bound_per_s[pool], RH_SERVE_SHRINK_MOST * w->sliced->kept_per_s[pool]);
    double fewest = ceil(w->asked->options->rate_per_s * w->share / bound);
    return fmin(fmax(1, fewest), w->replicas[pool]);
}

/* Largest useful number of a pool's replicas, if later pools are as small as possible. */
static double most_of_use(const Whole *w, int32_t pool)
{
    double most = w->asked->gpus_most * w->share / rh_pool_gpus(&w->sliced->deployment.pools[0]);
    for (int32_t p = 0; p < w->sliced->deployment.pools_count; p++)
        most -= p == pool ? 0 : p < pool ? w->replicas[p] : fewest_of(w, p);
    return ceil(most - 1e-9);
}

static bool keep_span(Whole *w, int32_t pool, double replicas)
{
    double tried[RH_POOLS_MAX] = {w->replicas[0], w->replicas[1]};
    RhServeEntry entry;
    tried[pool] = replicas;
    return is_kept(w, tried, keeps_span, &entry);
}

/* Finds the fewest replicas of a pool that keep the span; false: too many are needed to be
 * useful. */
static bool shrink(Whole *w, int32_t pool)
{
    double low = fewest_of(w, pool) - 1, most = most_of_use(w, pool);
    double *high = &w->replicas[pool];
    if (most <= low || (most < *high && !keep_span(w, pool, most)))
        return false;
    *high = fmin(*high, most);
    while (*high - low > fmax(1, floor(*high * RH_SERVE_RATE_STEP))) {
        double middle = floor((low + *high) / 2);
        *(keep_span(w, pool, middle) ? high : &low) = middle;
    }
    return true;
}

/* --- the whole --- */

/* Starts with as many replicas as slices keep the rate with, as far as there are GPUs; and the
 * simulated part of these. */
static Whole begin_whole(RhServeSearch *s, const RhServeReplicaRate *sliced,
                         RhServeKindResult *found)
{
    Whole w = {.asked = s, .sliced = sliced, .found = found};
    double room = s->options->gpus / rh_pool_gpus(&sliced->deployment.pools[0]);
    for (int32_t p = 0; p < sliced->deployment.pools_count; p++)
        w.replicas[p] = ceil(s->options->rate_per_s / sliced->kept_per_s[p]);
    double sum = sum_replicas(w.replicas), fit = fmin(1, room / sum);
    w.share = fmin(1, RH_SERVE_PART / sum / fit);
    for (int32_t p = 0; p < sliced->deployment.pools_count; p++) {
        double all = fit < 1 ? fmax(1, floor(w.replicas[p] * fit)) : w.replicas[p];
        w.replicas[p] = ceil(all * w.share - 1e-9);
    }
    return w;
}

static void unfold(Whole *w)
{
    for (int32_t p = 0; p < RH_POOLS_MAX; p++)
        w->replicas[p] = ceil(w->replicas[p] / w->share - 1e-9);
    w->share = 1;
}

/* Records the entry; what broke the last whole is reported as what one replica fewer breaks. */
static void record_entry(const Whole *w, RhServeEntry entry, int32_t part)
{
    if (w->broken.broken_per_s > 0) {
        entry.fewer_broke = true;
        entry.binding = w->broken.binding;
        entry.cache_full = w->broken.cache_full;
    }
    entry.broken_per_s = 0;
    entry.part = part;
    w->found->best = entry;
    w->found->there = true;
}

void rh_serve_size_whole(RhServeSearch *s, const RhServeReplicaRate *sliced,
                         RhServeKindResult *found)
{
    Whole w = begin_whole(s, sliced, found);
    int32_t part = 0;
    for (int32_t p = 0; p < sliced->deployment.pools_count; p++)
        if (!shrink(&w, p))
            return;
    for (;; add_replicas(&w)) {
        RhServeEntry entry = {0};
        if (most_of_use(&w, sliced->deployment.pools_count - 1) <
            w.replicas[sliced->deployment.pools_count - 1])
            break;
        bool drawn = part > 0 || is_kept(&w, w.replicas, keeps_draws, &entry);
        if (drawn && w.share < 1) {
            part = (int32_t)sum_replicas(w.replicas);
            unfold(&w);
        }
        if (drawn && is_kept(&w, w.replicas, keeps_given, &entry)) {
            record_entry(&w, entry, part);
            return;
        }
        w.broken = entry;
    }
    if (w.broken.broken_per_s > 0)
        found->best = w.broken;
}
