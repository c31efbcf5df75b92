/* Finds the deployments of a kind that fit, with bounds of their rates, and why the others do
 * not. */
#include <math.h>

#include "strategies/search/services/serve_private.h"

#define MANY (1 << 20)

bool rh_serve_is_nearer(const RhMissedLevel *a, const RhMissedLevel *b, const RhSlos *slos)
{
    return a->least_s / slos->list[a->level].limit_s < b->least_s / slos->list[b->level].limit_s;
}

static gint highest_first(gconstpointer a, gconstpointer b)
{
    const RhBoundedDeployment *x = a, *y = b;
    double p = x->bound_per_s, q = y->bound_per_s;
    return (p < q) - (p > q) ?: (x->place > y->place) - (x->place < y->place);
}

/* Records by how much a deployment misses a level at any rate, for the level that it misses most,
 * if it is the least of its kind. */
static void note_unkept(const RhServeSearch *s, const RhService *service, const RhDeployment *d,
                        RhServeKindResult *found)
{
    const RhSlos *slos = &s->options->slos;
    RhMissedLevel worst = {.deployment = *d};
    double most = 0, least_s;
    for (int32_t k = 0; k < slos->count; k++) {
        double missed_s = rh_serve_missed_s(service, d, s->serving->server, &s->means,
                                            &slos->list[k], k, &least_s);
        if (missed_s / slos->list[k].limit_s > most) {
            most = missed_s / slos->list[k].limit_s;
            worst.level = k;
            worst.least_s = least_s;
        }
    }
    const RhMissedLevel *known = &found->unkept;
    if (most > 0 && (known->least_s <= 0 || rh_serve_is_nearer(&worst, known, slos)))
        found->unkept = worst;
}

static void note_room(const RhServeSearch *s, const RhService *service, const RhDeployment *d,
                      RhServeKindResult *found)
{
    RhServeLargestCache *most = &found->largest_cache;
    int64_t tokens = rh_service_kv_budget(service, d->pools_count - 1).tokens;
    if (tokens > most->tokens)
        *most = (RhServeLargestCache){
            .tokens = tokens, .count = rh_service_too_long(service, s->requests), .deployment = *d};
}

void rh_serve_bound_pools(const RhServeSearch *s, const RhService *service, const RhDeployment *d,
                          double *each_per_s)
{
    for (int32_t p = 0; p < d->pools_count; p++) {
        RhDeployment alone = *d;
        alone.pools[1 - p].replicas = MANY;
        alone.pools[p].replicas = 1;
        each_per_s[p] =
            rh_serve_bound_per_s(service, &alone, s->serving->server, &s->means, &s->options->slos);
    }
}

double rh_serve_bound_of(const RhDeployment *d, const double *each_per_s)
{
    double bound_per_s = HUGE_VAL;
    for (int32_t p = 0; p < d->pools_count; p++)
        bound_per_s = fmin(bound_per_s, d->pools[p].replicas * each_per_s[p]);
    return bound_per_s;
}

GArray *rh_serve_list_legal(const RhServeSearch *s, const RhDeployment *kind, guint count,
                            guint place, RhServeKindResult *found)
{
    GArray *screened = g_array_new(FALSE, FALSE, sizeof(RhBoundedDeployment));
    for (guint i = 0; i < count; i++) {
        const RhDeployment *d = &kind[i];
        g_autoptr(RhService) service = rh_service_new(s->serving, d, NULL);
        if (!service)
            continue;
        RhBoundedDeployment entry = {.deployment = *d, .place = place + i};
        rh_serve_bound_pools(s, service, d, entry.each_per_s);
        entry.bound_per_s = rh_serve_bound_of(d, entry.each_per_s);
        found->fit++;
        note_room(s, service, d, found);
        if (entry.bound_per_s > 0)
            g_array_append_val(screened, entry);
        else
            note_unkept(s, service, d, found);
    }
    g_array_sort(screened, highest_first);
    return screened;
}
