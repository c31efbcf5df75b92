/* Load of links over the time of a run: bytes moved in equal intervals. The bytes of a collective
 * or message are spread evenly over its time, latency included. */
#include <math.h>

#include "sim/engine/exec/exec_private.h"

void rh_exec_note_transfer(RhExec *x, const RhActivity *a)
{
    if (!x->options->timeline)
        return;
    const RhExecJob *job = &x->jobs[RH_AT(x->comm_plans, RhCommPlan, a->plan)->job];
    RhLinkTransfer move = {a->plan, a->t_start_s - job->t_origin_s, x->t_s - job->t_origin_s};
    g_array_append_val(x->moves, move);
}

/* Computes the bytes that one execution of the plan puts on each of the links. */
static void plan_bytes(const RhExec *x, const RhCommPlan *plan, const int32_t *links, int32_t count,
                       double *bytes)
{
    for (int32_t k = plan->rounds_first; k < plan->rounds_end; k++) {
        const RhTrafficRound *what = &RH_AT(x->comm_rounds, RhCommRound, k)->what;
        RhClassRange range = rh_exec_classes(x, plan, what->pattern);
        for (int32_t c = range.first; c < range.end; c++) {
            const RhFlowClass *class = RH_AT(x->quotient->classes, RhFlowClass, c);
            const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
            for (int32_t h = 0; h < class->hops_count; h++)
                for (int32_t l = 0; l < count; l++)
                    if (hops[h].link == links[l])
                        bytes[l] += what->bytes * what->repeat * class->share * hops[h].weight *
                                    RH_AT(x->quotient->links, RhFoldedLink, links[l])->divisor;
        }
    }
}

/* Spreads the transfer's bytes over the bins between its start and end. */
static void spread(double *bins, double bin_s, const RhLinkTransfer *move, double bytes)
{
    double length_s = move->t_end_s - move->t_start_s;
    int first = CLAMP((int)(move->t_start_s / bin_s), 0, RH_LINK_BINS - 1);
    int last = CLAMP((int)(move->t_end_s / bin_s), first, RH_LINK_BINS - 1);
    if (first == last) {
        bins[first] += bytes;
        return;
    }
    for (int i = first; i <= last; i++) {
        double from_s = i == first ? move->t_start_s : i * bin_s;
        double to_s = i == last ? move->t_end_s : (i + 1) * bin_s;
        bins[i] += bytes * (to_s - from_s) / length_s;
    }
}

void rh_exec_link_loads(const RhExec *x, int32_t job, const int32_t *links, int32_t count,
                        double span_s, GArray *loads)
{
    if (!x->moves || x->moves->len == 0 || span_s <= 0)
        return;
    double bin_s = span_s / RH_LINK_BINS;
    g_autofree double *bins = g_new0(double, (size_t)count *RH_LINK_BINS + 1);
    g_autofree double *bytes = g_new0(double, (size_t)count * x->comm_plans->len + 1);
    for (uint32_t i = 0; i < x->comm_plans->len; i++)
        plan_bytes(x, RH_AT(x->comm_plans, RhCommPlan, i), links, count, bytes + (size_t)i * count);
    for (uint32_t i = 0; i < x->moves->len; i++) {
        const RhLinkTransfer *move = RH_AT(x->moves, RhLinkTransfer, i);
        if (RH_AT(x->comm_plans, RhCommPlan, move->plan)->job != job)
            continue;
        for (int32_t l = 0; l < count; l++)
            if (bytes[(size_t)move->plan * count + l] > 0)
                spread(bins + (size_t)l * RH_LINK_BINS, bin_s, move,
                       bytes[(size_t)move->plan * count + l]);
    }
    for (int32_t l = 0; l < count; l++) {
        const RhFoldedLink *link = RH_AT(x->quotient->links, RhFoldedLink, links[l]);
        for (int i = 0; i < RH_LINK_BINS; i++) {
            double load =
                bins[(size_t)l * RH_LINK_BINS + i] / (link->bytes_per_s * link->divisor * bin_s);
            g_array_append_val(loads, load);
        }
    }
}
