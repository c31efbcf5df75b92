/* Finds links between switches that the flows of this program cannot fill: on each of its other
 * links a flow gets no more than their capacity, and the sum of these over the flows that cross is
 * no more than the link's own. Max-min rates are the same without such a link, so flows that cross
 * it and flows that do not need not be distinguished (symmetry_fold.h). */
#include <math.h>

#include "base/garray_access.h"
#include "sim/engine/program_flows.h"

static bool joins_switches(const RhTraffic *t, RhLink link)
{
    return link >= t->switch_links.first && link < t->switch_links.end;
}

/* Largest rate that a flow can have by its links that are not between switches. */
static double most_of(const RhTraffic *t, const RhTrafficFlow *flow)
{
    const RhCrossing *route = rh_traffic_crossings(t, flow);
    double most = (double)INFINITY;
    for (int32_t k = 0; k < flow->links_count; k++)
        if (!joins_switches(t, route[k].link))
            most = MIN(most, rh_traffic_link(t, &route[k])->bytes_per_s);
    return most;
}

/* Adds the rates that flows can reach to the links between switches that they cross. */
static void add_demand(const RhTraffic *t, const RhTrafficFlow *flow, double *demand)
{
    const RhCrossing *route = rh_traffic_crossings(t, flow);
    double most = -1;
    for (int32_t k = 0; k < flow->links_count; k++)
        if (joins_switches(t, route[k].link)) {
            most = most < 0 ? most_of(t, flow) : most;
            demand[route[k].at] += route[k].flows * most;
        }
}

/* Sets ample[index of a link]; returns whether any is. */
static bool find_ample(const RhTraffic *t, const double *demand, bool *ample)
{
    bool any = false;
    for (uint32_t l = 0; l < t->links->len; l++) {
        ample[l] = demand[l] > 0 && demand[l] <= RH_AT(t->links, RhTrafficLink, l)->bytes_per_s;
        any |= ample[l];
    }
    return any;
}

static void leave_out(const RhTraffic *t, const bool *ample, RhTrafficFlow *flow)
{
    RhCrossing *route = RH_AT(t->crossings, RhCrossing, flow->links_first);
    int32_t kept = 0;
    for (int32_t k = 0; k < flow->links_count; k++)
        if (!ample[route[k].at])
            route[kept++] = route[k];
    flow->links_count = kept;
}

void rh_traffic_leave_out_slack(RhTraffic *t)
{
    g_autofree double *demand = g_new0(double, t->links->len + 1);
    g_autofree bool *ample = g_new0(bool, t->links->len + 1);
    for (uint32_t i = 0; i < t->flows->len; i++)
        add_demand(t, RH_AT(t->flows, RhTrafficFlow, i), demand);
    bool any = find_ample(t, demand, ample);
    for (uint32_t i = 0; any && i < t->flows->len; i++)
        leave_out(t, ample, RH_AT(t->flows, RhTrafficFlow, i));
}
