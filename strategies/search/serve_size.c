/* The fewest replicas that keep a rate.
 *
 * Replicas are independent but for the router, which deals out requests the more evenly the more of them there are. So
 * of many replicas a slice is searched, a few of each pool: its limits (batch, chunk), its mix of pools, and the highest
 * rate that it keeps of one draw. The whole has as many slices as the given rate takes. It is played as a whole, and
 * shrinks while it keeps the levels, or grows until it does (caches go to other nodes there, say), of all draws. */
#include <math.h>

#include "strategies/search/serve_private.h"

#define FEW       8 /* replicas are tried one number after another */
#define SLICE     4 /* replicas of one pool */
#define SLICE_TWO 8 /* of both: for shares in eighths */
#define SHRINK_MOST                                                                                \
    1.5             /* times what a slice keeps by itself, no share of the whole keeps (assumed) */
#define SHRINKS   5 /* halvings of that: to 1 % */
#define GROW_FRAC 0.01 /* by which the whole grows where it does not keep the levels */
#define MANY      (1 << 20)

static const int32_t mixes[][RH_POOLS_MAX] = {
    {1, 1}, {1, 2}, {2, 1}, {1, 3}, {3, 1}, {2, 3}, {3, 2}, {1, 4}, {4, 1}, {1, 5}, {5, 1},
    {2, 5}, {5, 2}, {3, 4}, {4, 3}, {1, 6}, {6, 1}, {3, 5}, {5, 3}, {1, 7}, {7, 1}};

static RhDeployment sized(const RhDeployment *d, const double *replicas)
{
    RhDeployment out = *d;
    for (int32_t p = 0; p < d->pools_count; p++)
        out.pools[p].replicas = (int32_t)fmin(replicas[p], MANY);
    return out;
}

static int32_t sum_of(const RhDeployment *d)
{
    return d->pools[0].replicas + (d->pools_count > 1 ? d->pools[1].replicas : 0);
}

/* Of one replica of a pool, were there enough of the other. */
static void bound_pools(const RhServeAsked *s, const RhDeployment *d, double *each_per_s)
{
    const double one[] = {1, 1};
    RhDeployment pair = sized(d, one);
    g_autoptr(RhService) service = rh_service_new(s->serving, &pair, NULL);
    for (int32_t p = 0; p < d->pools_count; p++) {
        double replicas[] = {MANY, MANY};
        replicas[p] = 1;
        RhDeployment alone = sized(d, replicas);
        each_per_s[p] = service ? rh_serve_bound_per_s(service, &alone, s->serving->server,
                                                       &s->means, &s->options->slos)
                                : 0;
    }
}

/* How many of each the rate takes, where so many keep `kept_per_s`. */
static void size_for(double rate_per_s, double kept_per_s, const RhDeployment *slice,
                     double *replicas)
{
    for (int32_t p = 0; p < slice->pools_count; p++)
        replicas[p] = fmax(1, ceil(rate_per_s / kept_per_s * slice->pools[p].replicas));
}

static double least_replicas(const RhServeAsked *s, const RhServeBounded *b)
{
    double rate = s->options->rate_per_s, each_per_s[RH_POOLS_MAX], sum = 0;
    if (b->deployment.pools_count == 1)
        return ceil(rate / b->bound_per_s * b->deployment.pools[0].replicas);
    bound_pools(s, &b->deployment, each_per_s);
    for (int32_t p = 0; p < b->deployment.pools_count; p++)
        sum += each_per_s[p] > 0 ? ceil(rate / each_per_s[p]) : MANY;
    return sum;
}

double rh_serve_gpus_least(const RhServeAsked *s, const GArray *bounded)
{
    double least = HUGE_VAL;
    for (guint i = 0; i < bounded->len; i++) {
        const RhServeBounded *b = &g_array_index(bounded, RhServeBounded, i);
        least = fmin(least, least_replicas(s, b) * rh_pool_gpus(&b->deployment.pools[0]));
        if (b->deployment.pools_count == 1)
            break; /* the first is the highest bound */
    }
    return least;
}

bool rh_serve_is_large(const RhServeAsked *s, const GArray *bounded)
{
    if (bounded->len == 0)
        return false;
    const RhServeBounded *first = &g_array_index(bounded, RhServeBounded, 0);
    return least_replicas(s, first) > FEW;
}

/* --- Few replicas of one pool: one after another --- */

/* The fewest replicas that keep the rate: fewer than the best so far, and no more than there are. */
static void try_replicas(RhServeAsked *s, const RhServeBounded *bounded, RhServeFound *found)
{
    const RhDeployment *d = &bounded->deployment;
    double rate = s->options->rate_per_s, each = bounded->bound_per_s / d->pools[0].replicas;
    int32_t most =
        found->there ? found->best.deployment.pools[0].replicas - 1 : d->pools[0].replicas;
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

/* --- Slices --- */

typedef struct {
    RhServeFound found; /* its best, and the rate that it keeps */
    double replicas;    /* that the given rate takes; HUGE_VAL: it keeps none */
} Sliced;

static double replicas_for(const RhServeAsked *s, double kept_per_s, const RhDeployment *slice)
{
    double replicas[RH_POOLS_MAX] = {0}, sum = 0;
    if (kept_per_s <= 0)
        return HUGE_VAL;
    size_for(s->options->rate_per_s, kept_per_s, slice, replicas);
    for (int32_t p = 0; p < slice->pools_count; p++)
        sum += replicas[p];
    return sum;
}

static double bound_of(const RhDeployment *slice, const double *each_per_s)
{
    double bound = HUGE_VAL;
    for (int32_t p = 0; p < slice->pools_count; p++)
        bound = fmin(bound, slice->pools[p].replicas * each_per_s[p]);
    return bound;
}

static void try_slice(RhServeAsked *s, const RhDeployment *d, const RhDeployment *mix,
                      Sliced *sliced)
{
    double each_per_s[RH_POOLS_MAX], replicas[RH_POOLS_MAX] = {0};
    g_autoptr(GPtrArray) none = g_ptr_array_new(); /* other draws are asked of the whole */
    RhServeAsked one_draw = *s;
    one_draw.draws = none;
    for (int32_t p = 0; p < d->pools_count; p++)
        replicas[p] = mix->pools[p].replicas;
    RhDeployment slice = sized(d, replicas);
    bound_pools(s, d, each_per_s);
    rh_serve_try_rate(&one_draw, &slice, bound_of(&slice, each_per_s), &sliced->found);
    if (sliced->found.there)
        sliced->replicas =
            replicas_for(s, sliced->found.best.rate_per_s, &sliced->found.best.deployment);
}

/* The mixes that there is room for, the fewest replicas by the closed form first; `least`: so many each. */
static guint list_mixes(const RhServeAsked *s, const RhDeployment *d, RhDeployment *out,
                        double *least)
{
    int32_t most =
        MIN(d->pools_count > 1 ? SLICE_TWO : SLICE, s->options->gpus / rh_pool_gpus(&d->pools[0]));
    double each_per_s[RH_POOLS_MAX];
    guint count = 0;
    bound_pools(s, d, each_per_s);
    for (guint i = 0; i < (d->pools_count > 1 ? G_N_ELEMENTS(mixes) : 1); i++) {
        double replicas[] = {d->pools_count > 1 ? mixes[i][0] : most, mixes[i][1]};
        RhDeployment mix = sized(d, replicas);
        if (sum_of(&mix) > most)
            continue;
        double sum = replicas_for(s, bound_of(&mix, each_per_s), &mix);
        guint at = count++;
        for (; at > 0 && least[at - 1] > sum; at--) {
            least[at] = least[at - 1];
            out[at] = out[at - 1];
        }
        least[at] = sum;
        out[at] = mix;
    }
    return count;
}

/* The best limits in the mix that the closed form says, then the best mix with these. */
static Sliced best_slice(RhServeAsked *s, const GArray *bounded)
{
    RhDeployment list[G_N_ELEMENTS(mixes)];
    double least[G_N_ELEMENTS(mixes)];
    const RhServeBounded *all = (const RhServeBounded *)(const void *)bounded->data;
    Sliced best = {.replicas = HUGE_VAL};
    guint count = list_mixes(s, &all[0].deployment, list, least);
    best.found.best = rh_serve_entry_of(&all[0].deployment, all[0].bound_per_s);
    for (guint i = 0; i < bounded->len && count > 0; i++)
        try_slice(s, &all[i].deployment, &list[0], &best);
    if (!best.found.there)
        return best;
    RhDeployment limits = best.found.best.deployment;
    count = list_mixes(s, &limits, list, least);
    for (guint k = 0; k < count; k++) {
        Sliced other = {.replicas = HUGE_VAL};
        if (least[k] >= best.replicas)
            continue;
        try_slice(s, &limits, &list[k], &other);
        other.found.runs += best.found.runs;
        other.found.simulated += best.found.simulated;
        if (other.replicas < best.replicas)
            best = other;
        best.found.runs = other.found.runs;
        best.found.simulated = other.found.simulated;
    }
    return best;
}

/* One of the levels broke: it is of the first pool, or of the last. */
static void grow(const RhServeAsked *s, const RhServeEntry *broken, double *replicas)
{
    bool known = broken->binding >= 0 && broken->deployment.pools_count > 1;
    bool first = known && s->options->slos.list[broken->binding].metric == RH_METRIC_TTFT;
    for (int32_t p = 0; p < broken->deployment.pools_count; p++)
        if (!known || first == (p == 0))
            replicas[p] += fmax(1, floor(replicas[p] * GROW_FRAC));
}

/* A whole that is tried. */
typedef struct {
    RhServeEntry entry;
    bool kept;
} Whole;

/* `check` with the requests of a span, with all that were given, or with other draws. */
typedef bool (*Check)(RhServeAsked *, RhService *, RhServeEntry *, RhServeFound *);

static bool keeps_span(RhServeAsked *s, RhService *service, RhServeEntry *entry,
                       RhServeFound *found)
{
    found->runs++;
    return rh_serve_keeps(service, s->requests, s->options, s->options->rate_per_s, entry);
}

static bool keeps_all(RhServeAsked *s, RhService *service, RhServeEntry *entry, RhServeFound *found)
{
    double rate = s->options->rate_per_s;
    return rh_serve_all_keep(s, service, rate, entry, found) &&
           rh_serve_confirm(s, service, rate, entry, found);
}

static Whole try_whole(RhServeAsked *s, const RhServeEntry *slice, const double *replicas,
                       Check check, RhServeFound *found)
{
    RhDeployment d = sized(&slice->deployment, replicas);
    Whole whole = {
        rh_serve_entry_of(&d, slice->bound_per_s / sum_of(&slice->deployment) * sum_of(&d)), false};
    if (rh_deployment_gpus(&d) > s->options->gpus)
        return whole;
    g_autoptr(RhService) service = rh_service_new(s->serving, &d, NULL);
    found->simulated++;
    whole.kept = service && check(s, service, &whole.entry, found);
    return whole;
}

/* Between what a slice keeps and what it is bounded by lies what its share of the whole keeps, whose router has more
 * servers to choose from: the fewest replicas that keep the span, at least `least` of them. */
static void shrink(RhServeAsked *s, const RhServeEntry *slice, double *replicas,
                   RhServeFound *found)
{
    double low = slice->rate_per_s, high = fmin(slice->bound_per_s, SHRINK_MOST * low);
    for (int32_t i = 0; i < SHRINKS && high > low * (1 + RH_SERVE_RATE_STEP); i++) {
        double kept = sqrt(low * high), fewer[RH_POOLS_MAX] = {0};
        size_for(s->options->rate_per_s, kept, &slice->deployment, fewer);
        bool same = fewer[0] >= replicas[0] && fewer[1] >= replicas[1];
        bool keeps = same || try_whole(s, slice, fewer, keeps_span, found).kept;
        *(keeps ? &low : &high) = kept;
        for (int32_t p = 0; p < RH_POOLS_MAX && keeps; p++)
            replicas[p] = fewer[p];
    }
}

/* What broke the last whole is what one replica fewer breaks. */
static void note_whole(const Whole *whole, const RhServeEntry *broken, RhServeFound *found)
{
    RhServeEntry entry = whole->entry;
    if (whole->kept && broken->broken_per_s > 0) {
        entry.fewer_broke = true;
        entry.binding = broken->binding;
        entry.cache_full = broken->cache_full;
    }
    if (whole->kept)
        entry.broken_per_s = 0;
    if (whole->kept || found->best.broken_per_s <= 0)
        found->best = entry;
    found->there = whole->kept;
}

/* The whole shrinks while the span is kept, then grows until all draws are. */
static void size_whole(RhServeAsked *s, const RhServeEntry *slice, RhServeFound *found)
{
    double replicas[RH_POOLS_MAX] = {0};
    RhServeEntry broken = *slice;
    size_for(s->options->rate_per_s, slice->rate_per_s, &slice->deployment, replicas);
    shrink(s, slice, replicas, found);
    for (;;) {
        RhDeployment d = sized(&slice->deployment, replicas);
        if (rh_deployment_gpus(&d) > s->options->gpus)
            return;
        Whole whole = try_whole(s, slice, replicas, keeps_all, found);
        note_whole(&whole, &broken, found);
        if (whole.kept)
            return;
        broken = whole.entry;
        grow(s, &broken, replicas);
    }
}

void rh_serve_try_size(RhServeAsked *s, const GArray *bounded, RhServeFound *found)
{
    if (bounded->len == 0)
        return;
    bool two = g_array_index(bounded, RhServeBounded, 0).deployment.pools_count > 1;
    for (guint i = 0; i < bounded->len && !two && !rh_serve_is_large(s, bounded); i++)
        try_replicas(s, &g_array_index(bounded, RhServeBounded, i), found);
    if (!two && !rh_serve_is_large(s, bounded))
        return;
    if (rh_serve_gpus_least(s, bounded) > s->options->gpus)
        return;
    Sliced sliced = best_slice(s, bounded);
    found->runs += sliced.found.runs;
    found->simulated += sliced.found.simulated;
    if (sliced.found.there)
        size_whole(s, &sliced.found.best, found);
    else
        found->best = sliced.found.best;
}
