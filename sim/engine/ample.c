/* Links between switches that the flows of this program cannot fill: on each of its other links a flow
 * gets no more than their capacity, and the sum of these over the flows that cross is no more than the
 * link's own. Max-min rates without such a link are those with it, as they keep within it by
 * themselves; and what crosses it need not be told from what does not (fold.h). */
#include <math.h>

#include "sim/engine/traffic.h"
#include "sim/map64.h"

#define AT(array, Type, i) (&g_array_index((array), Type, (i)))

typedef struct {
    const RhTraffic *t;
    RhMap64 *place_of_link; /* first of an orbit -> index */
    GArray *most;           /* double: bytes/s that can want to cross it */
} Demand;

static bool joins_switches(const Demand *d, const RhCrossing *crossing)
{
    return rh_platform_link_joins_switches(d->t->platform, crossing->first);
}

/* What a flow can have at most by its links that are not between switches. */
static double most_of(const Demand *d, const RhTrafficFlow *flow)
{
    const RhCrossing *route = rh_traffic_crossings(d->t, flow);
    double most = (double)INFINITY;
    for (int32_t k = 0; k < flow->links_count; k++)
        if (!joins_switches(d, &route[k]))
            most = MIN(most, d->t->bytes_per_s[route[k].first]);
    return most;
}

static void add_demand(Demand *d, const RhTrafficFlow *flow)
{
    const RhCrossing *route = rh_traffic_crossings(d->t, flow);
    for (int32_t k = 0; k < flow->links_count; k++) {
        if (!joins_switches(d, &route[k]))
            continue;
        int32_t fresh = (int32_t)d->most->len;
        int32_t at = *rh_map64_at(d->place_of_link, (uint64_t)route[k].first + 1, fresh);
        if (at == fresh)
            g_array_set_size(d->most, d->most->len + 1);
        *AT(d->most, double, at) += route[k].flows * most_of(d, flow);
    }
}

static bool is_ample(const Demand *d, const RhCrossing *crossing)
{
    if (!joins_switches(d, crossing))
        return false;
    int32_t at = rh_map64_get(d->place_of_link, (uint64_t)crossing->first + 1);
    return *AT(d->most, double, at) <= d->t->bytes_per_s[crossing->first];
}

static void leave_out(const Demand *d, RhTrafficFlow *flow)
{
    RhCrossing *route = AT(d->t->crossings, RhCrossing, flow->links_first);
    int32_t kept = 0;
    for (int32_t k = 0; k < flow->links_count; k++)
        if (!is_ample(d, &route[k]))
            route[kept++] = route[k];
    flow->links_count = kept;
}

void rh_traffic_leave_out_ample(RhTraffic *t)
{
    Demand d = {t, rh_map64_new(), g_array_new(FALSE, TRUE, sizeof(double))};
    for (uint32_t i = 0; i < t->flows->len; i++)
        add_demand(&d, AT(t->flows, RhTrafficFlow, i));
    for (uint32_t i = 0; i < t->flows->len && d.most->len > 0; i++)
        leave_out(&d, AT(t->flows, RhTrafficFlow, i));
    rh_map64_free(d.place_of_link);
    g_array_unref(d.most);
}
