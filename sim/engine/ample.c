/* Links between switches that the flows of this program cannot fill: on each of its other links a flow
 * gets no more than their capacity, and the sum of these over the flows that cross is no more than the
 * link's own. Max-min rates without such a link are those with it, as they keep within it by
 * themselves; and what crosses it need not be told from what does not (fold.h). */
#include <math.h>

#include "sim/engine/traffic.h"

#define AT(array, Type, i) (&g_array_index((array), Type, (i)))

typedef struct {
    const RhTraffic *t;
    double *most; /* bytes/s that can want to cross a link, by its index; 0: not between switches */
} Demand;

static bool joins_switches(const Demand *d, const RhCrossing *crossing)
{
    RhLink first = rh_traffic_link(d->t, crossing)->first;
    return first >= d->t->switch_links.first && first < d->t->switch_links.end;
}

/* What a flow can have at most by its links that are not between switches. */
static double most_of(const Demand *d, const RhTrafficFlow *flow)
{
    const RhCrossing *route = rh_traffic_crossings(d->t, flow);
    double most = (double)INFINITY;
    for (int32_t k = 0; k < flow->links_count; k++)
        if (!joins_switches(d, &route[k]))
            most = MIN(most, rh_traffic_link(d->t, &route[k])->bytes_per_s);
    return most;
}

static void add_demand(Demand *d, const RhTrafficFlow *flow)
{
    const RhCrossing *route = rh_traffic_crossings(d->t, flow);
    for (int32_t k = 0; k < flow->links_count; k++)
        if (joins_switches(d, &route[k]))
            d->most[route[k].at] += route[k].flows * most_of(d, flow);
}

static bool is_ample(const Demand *d, const RhCrossing *crossing)
{
    double most = d->most[crossing->at];
    return most > 0 && most <= rh_traffic_link(d->t, crossing)->bytes_per_s;
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
    g_autofree double *most = g_new0(double, t->links->len + 1);
    Demand d = {t, most};
    for (uint32_t i = 0; i < t->flows->len; i++)
        add_demand(&d, AT(t->flows, RhTrafficFlow, i));
    for (uint32_t i = 0; i < t->flows->len; i++)
        leave_out(&d, AT(t->flows, RhTrafficFlow, i));
}
