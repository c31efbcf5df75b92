/* Searches the highest rate that a deployment keeps in all draws of the requests. */
#include <math.h>

#include "strategies/search/services/serve_private.h"

#define LOWEST    1e-3 /* fraction of the bound below which nothing counts as kept */
#define RUNS_MOST 24
#define CHANCE_LEAST                                                                               \
    0.5 /* fraction of a rate that one draw kept: draws that keep less show nothing */

RhServeEntry rh_serve_entry_of(const RhDeployment *d, double bound_per_s)
{
    return (RhServeEntry){
        .deployment = *d, .bound_per_s = bound_per_s, .binding = -1, .gpus = rh_deployment_gpus(d)};
}

/* Finds the highest rate kept above `least`, to a hundredth; false: none is. */
static bool find_rate(RhServeSearch *s, RhService *service, double least, RhServeEntry *entry,
                      RhServeKindResult *found)
{
    double low = fmax(least, LOWEST * entry->bound_per_s), high = entry->bound_per_s;
    found->runs++;
    if (!rh_serve_keeps(service, s->requests, s->options, low, entry))
        return false;
    for (int32_t i = 0; i < RUNS_MOST && high > low * (1 + RH_SERVE_RATE_STEP); i++) {
        /* rates are near their bounds, so the first guesses are, too */
        double rate = i == 0             ? fmax(low, 0.9 * high)
                      : low < 0.1 * high ? 0.5 * high
                                         : sqrt(low * high);
        rate = fmin(fmax(rate, low * (1 + RH_SERVE_RATE_STEP / 2)), high);
        found->runs++;
        if (rh_serve_keeps(service, s->requests, s->options, rate, entry))
            low = rate;
        else
            high = rate;
    }
    return true;
}

bool rh_serve_draws_keep(RhServeSearch *s, RhService *service, double least, RhServeEntry *entry,
                         RhServeKindResult *found)
{
    double rate = entry->rate_per_s;
    for (guint k = 0; k < s->draws->len; k++) {
        const RhRequests *draw = g_ptr_array_index(s->draws, k);
        for (found->runs++; !rh_serve_keeps_too(service, draw, s->options, rate, entry);
             found->runs++) {
            rate /= 1 + RH_SERVE_RATE_STEP;
            if (rate < least)
                return false;
        }
    }
    entry->rate_per_s = rate;
    return true;
}

/* Tries the draw that broke the last deployment first: draws have the same random numbers for all
 * deployments, so one that is hard for one is hard for similar ones. */
bool rh_serve_all_keep(RhServeSearch *s, RhService *service, double rate_per_s, RhServeEntry *entry,
                       RhServeKindResult *found)
{
    for (guint i = 0; i < s->draws->len; i++) {
        guint k = (s->hardest + i) % s->draws->len;
        found->runs++;
        if (!rh_serve_keeps_too(service, g_ptr_array_index(s->draws, k), s->options, rate_per_s,
                                entry)) {
            s->hardest = k;
            return false;
        }
    }
    return true;
}

/* The best rate in a single draw is also the luckiest; so a deployment that would become the best
 * is tried with all draws. */
void rh_serve_try_rate(RhServeSearch *s, const RhDeployment *d, double bound_per_s,
                       RhServeKindResult *found)
{
    double least = found->there ? found->best.rate_per_s * (1 + RH_SERVE_RATE_STEP) : 0;
    least = fmax(least, s->least_per_s);
    if (bound_per_s <= least)
        return;
    g_autoptr(RhService) service = rh_service_new(s->serving, d, NULL);
    RhServeEntry entry = rh_serve_entry_of(d, bound_per_s);
    found->simulated++;
    bool kept = service && (least <= 0 || rh_serve_all_keep(s, service, least, &entry, found)) &&
                find_rate(s, service, least, &entry, found);
    if (kept) {
        kept = rh_serve_draws_keep(s, service, fmax(least, CHANCE_LEAST * entry.rate_per_s), &entry,
                                   found);
        entry.rate_per_s = kept ? entry.rate_per_s : 0;
    }
    if (kept || (!found->there && found->best.broken_per_s <= 0))
        found->best = entry;
    found->there |= kept;
}

/* Rounds a rate to the digits with which it is printed. */
static double printable(double rate_per_s)
{
    double unit = pow(10, floor(log10(rate_per_s)) - 4);
    return floor(rate_per_s / unit) * unit;
}

bool rh_serve_confirm(RhServeSearch *s, RhService *service, double least, RhServeEntry *entry,
                      RhServeKindResult *found)
{
    double given = s->options->rate_per_s, rate = given > 0 ? given : printable(entry->rate_per_s);
    least = fmax(least, CHANCE_LEAST * rate);
    while (rate >= least) {
        found->runs++;
        if (rh_serve_settle(service, s->requests, s->options, rate, entry))
            return true;
        if (given > 0)
            break;
        rate = printable(rate / (1 + RH_SERVE_RATE_STEP));
    }
    return false;
}
