#include "strategies/search/bounds/message_times.h"

#include <math.h>

#include "base/garray_access.h"

/* Makes hops without a message; any message is quicker. */
static RhLinkCost *hops_new(const RhMessageTimes *to)
{
    RhLinkCost *hops = g_new(RhLinkCost, 2 * to->stages);
    for (int32_t i = 0; i < 2 * to->stages; i++)
        hops[i] = (RhLinkCost){(double)INFINITY, (double)INFINITY};
    return hops;
}

static void take_luckier(RhLinkCost *hop, RhLinkCost other)
{
    hop->latency_s = rh_min_d(hop->latency_s, other.latency_s);
    hop->s_per_byte = rh_min_d(hop->s_per_byte, other.s_per_byte);
}

/* Is the pattern the stage's messages that way? */
static bool goes(const RhMessageTimes *to, const RhPattern *pattern, int back)
{
    return pattern->group < 0 && pattern->delta == to->distance[2 * pattern->role + back];
}

/* --- of a quotient --- */

/* Returns the least time per byte that the engine takes for the class alone: as a timer, and as a
 * flow, whose weights may be rounded. */
static double class_s_per_byte(const RhFoldedNetwork *q, const RhFlowClass *class)
{
    double flow = 0;
    for (int32_t h = 0; h < class->hops_count; h++) {
        const RhBridgeHop *hop = &g_array_index(q->hops, RhBridgeHop, class->hops_first + h);
        flow =
            fmax(flow, hop->weight / g_array_index(q->links, RhFoldedLink, hop->link).bytes_per_s);
    }
    return fmin(flow, 1 / class->bytes_per_s);
}

/* A colour's message: its classes begin together, and it ends with the last of them. False where the
 * colour has none. */
static bool colour_hop(const RhFoldedNetwork *q, int32_t pattern, int32_t colour, RhLinkCost *hop)
{
    const int32_t *cell = &q->classes_first[(int64_t)pattern * q->owners_count + colour];
    *hop = (RhLinkCost){0, 0};
    for (int32_t i = cell[0]; i < cell[1]; i++) {
        const RhFlowClass *class = &g_array_index(q->classes, RhFlowClass, i);
        hop->latency_s = fmax(hop->latency_s, class->latency_s);
        hop->s_per_byte = fmax(hop->s_per_byte, class_s_per_byte(q, class));
    }
    return cell[0] < cell[1];
}

/* The luckiest colour's of the stage. */
static void take(RhLinkCost *hop, const RhFoldedNetwork *q, int32_t pattern)
{
    RhLinkCost of_colour;
    for (int32_t colour = 0; colour < q->owners_count; colour++)
        if (colour_hop(q, pattern, colour, &of_colour))
            take_luckier(hop, of_colour);
}

RhLinkCost *rh_message_times_of_quotient(const RhMessageTimes *to, const RhTraffic *traffic,
                                         const RhFoldedNetwork *q)
{
    RhLinkCost *hops = hops_new(to);
    for (guint i = 0; i < traffic->patterns->len; i++) {
        const RhPattern *at = RH_AT(traffic->patterns, RhPattern, i);
        for (int back = 0; back < 2; back++)
            if (goes(to, at, back))
                take(&hops[2 * at->role + back], q, (int32_t)i);
    }
    return hops;
}

/* --- of merged ranks --- */

/* All flows over each link. */
static double *count_flows(const RhTraffic *t)
{
    double *flows = g_new0(double, t->links->len + 1);
    for (guint i = 0; i < t->flows->len; i++) {
        const RhTrafficFlow *flow = RH_AT(t->flows, RhTrafficFlow, i);
        const RhCrossing *route = rh_traffic_crossings(t, flow);
        for (int32_t k = 0; k < flow->links_count; k++)
            flows[route[k].at] += route[k].flows;
    }
    return flows;
}

/* The part of the seconds a byte that rounded weights leave: where `most` flows may be of one class, others' are
 * rounded to parts of 1 / RH_WEIGHT_MAX of them. */
static double kept_frac(double own, double most)
{
    return most <= RH_WEIGHT_MAX ? 1 : fmax(0, 1 - most / (2 * RH_WEIGHT_MAX * own));
}

/* Returns the cost of a hop with merged flows: each link holds as many flows of the pattern as they
 * take of its time. */
static RhLinkCost merged_hop(const RhTraffic *t, const RhTrafficFlow *flow,
                             const RhMergedRate *step, const double *flows)
{
    const RhCrossing *route = rh_traffic_crossings(t, flow);
    double kept = 1;
    for (int32_t k = 0; k < flow->links_count; k++) {
        double own = step->s_per_byte * rh_traffic_link(t, &route[k])->bytes_per_s;
        kept = fmin(kept, kept_frac(own, flows[route[k].at]));
    }
    return (RhLinkCost){step->latency_s, step->s_per_byte * kept};
}

/* The one message of the pattern whose sender stands for the others. */
static void take_merged(RhLinkCost *hop, const RhTraffic *t, const RhFold *fold, int32_t pattern,
                        const double *flows)
{
    const RhPattern *at = RH_AT(t->patterns, RhPattern, pattern);
    for (int32_t i = 0; i < at->flows_count; i++) {
        const RhTrafficFlow *flow = RH_AT(t->flows, RhTrafficFlow, at->flows_first + i);
        int32_t colour = fold->colour_of_rank[flow->owner];
        if (colour >= 0 && fold->representative[colour] == flow->owner && flow->links_count > 0)
            take_luckier(hop, merged_hop(t, flow, rh_merged_rate(fold->steps, pattern, i), flows));
    }
}

RhLinkCost *rh_message_times_of_merged(const RhMessageTimes *to, const RhTraffic *traffic,
                                       const RhFold *fold)
{
    RhLinkCost *hops = hops_new(to);
    g_autofree double *flows = count_flows(traffic);
    for (guint i = 0; i < traffic->patterns->len; i++) {
        const RhPattern *at = RH_AT(traffic->patterns, RhPattern, i);
        for (int back = 0; back < 2; back++)
            if (goes(to, at, back))
                take_merged(&hops[2 * at->role + back], traffic, fold, (int32_t)i, flows);
    }
    return hops;
}
