/* Flows on links: a flow is a timer while it is alone on all of its links, and becomes SimGrid's as
 * soon as another one comes. */
#include <math.h>

#include "sim/engine/exec/exec_private.h"

#define NONE (-1)

static const RhFlowClass *class_at(const RhExec *x, int32_t class)
{
    return RH_AT(x->quotient->classes, RhFlowClass, class);
}

static int32_t flow_new(RhExec *x)
{
    int32_t flow = x->free_flow;
    if (flow == NONE) {
        flow = (int32_t)x->flows->len;
        g_array_set_size(x->flows, x->flows->len + 1);
    } else {
        x->free_flow = RH_AT(x->flows, RhActiveFlow, flow)->next;
    }
    return flow;
}

static void occupy(RhOccupants *link, int32_t id)
{
    if (link->count == link->room) {
        link->room = link->room ? link->room * 2 : 4;
        link->ids = g_renew(int32_t, link->ids, link->room);
    }
    link->ids[link->count++] = id;
}

static void leave(RhOccupants *link, int32_t id)
{
    for (int32_t i = link->count - 1; i >= 0; i--)
        if (link->ids[i] == id) {
            link->ids[i] = link->ids[--link->count];
            return;
        }
}

void rh_exec_occupy_whole(RhExec *x, int32_t activity)
{
    const RhCommPlan *plan = RH_AT(x->comm_plans, RhCommPlan, x->activities[activity].plan);
    for (int32_t i = plan->links_first; i < plan->links_end; i++)
        occupy(&x->occupants[*RH_AT(x->comm_links, int32_t, i)], ~activity);
}

void rh_exec_leave_whole(RhExec *x, int32_t activity)
{
    const RhCommPlan *plan = RH_AT(x->comm_plans, RhCommPlan, x->activities[activity].plan);
    for (int32_t i = plan->links_first; i < plan->links_end; i++)
        leave(&x->occupants[*RH_AT(x->comm_links, int32_t, i)], ~activity);
}

void rh_exec_flow_leave(RhExec *x, int32_t index)
{
    RhActiveFlow *flow = RH_AT(x->flows, RhActiveFlow, index);
    const RhFlowClass *class = class_at(x, flow->class);
    const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
    flow->ended = true;
    for (int32_t h = 0; h < class->hops_count; h++)
        leave(&x->occupants[hops[h].link], index);
}

void rh_exec_flows_end(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    for (int32_t index = a->flows; index != NONE;) {
        RhActiveFlow *flow = RH_AT(x->flows, RhActiveFlow, index);
        int32_t next = flow->next;
        if (!flow->ended)
            rh_exec_flow_leave(x, index);
        flow->next = x->free_flow;
        x->free_flow = index;
        index = next;
    }
    a->flows = NONE;
}

/* Is the flow still on its links at this time? Timed flows are only removed when their round
 * ends. */
static bool is_moving(const RhExec *x, int32_t id)
{
    if (id < 0)
        return x->activities[~id].t_end_s > x->t_s;
    const RhActiveFlow *flow = RH_AT(x->flows, RhActiveFlow, id);
    return flow->fluid || flow->t_end_s > x->t_s;
}

bool rh_exec_links_idle(const RhExec *x, const RhCommPlan *plan)
{
    for (int32_t i = plan->links_first; i < plan->links_end; i++) {
        const RhOccupants *link = &x->occupants[*RH_AT(x->comm_links, int32_t, i)];
        for (int32_t k = 0; k < link->count; k++)
            if (is_moving(x, link->ids[k]))
                return false;
    }
    return true;
}

static int32_t job_of(const RhExec *x, int32_t activity)
{
    return RH_AT(x->comm_plans, RhCommPlan, x->activities[activity].plan)->job;
}

/* Hands the last `bytes` of a flow to SimGrid. False when they are less than its grain. */
static bool make_fluid(RhExec *x, int32_t index, double bytes)
{
    RhActiveFlow *flow = RH_AT(x->flows, RhActiveFlow, index);
    double units = bytes * x->units_per_byte;
    if (units < 0.5)
        return false;
    flow->fluid = true;
    x->activities[flow->activity].fluid_count++;
    x->jobs[job_of(x, flow->activity)].bytes_as_flows +=
        bytes * class_at(x, flow->class)->flows_count;
    rh_exec_send(x, (RhSend){flow->class, index, (uint64_t)ceil(units)});
    return true;
}

/* Splits activities on a link that run as one timer into their current round. */
static void materialise_on(RhExec *x, const RhOccupants *link)
{
    for (int32_t i = 0; i < link->count;) {
        if (link->ids[i] < 0 && is_moving(x, link->ids[i])) {
            rh_exec_materialise(x, ~link->ids[i]);
            i = 0; /* the list has changed */
        } else {
            i++;
        }
    }
}

/* Makes the flows on the links of `class` SimGrid's; true when there were any. `job` is the new
 * flow's job. */
static bool revoke_on_links(RhExec *x, const RhFlowClass *class, int32_t job)
{
    bool shared = false;
    const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
    for (int32_t h = 0; h < class->hops_count; h++) {
        const RhOccupants *link = &x->occupants[hops[h].link];
        bool meets = false;
        materialise_on(x, link);
        for (int32_t i = 0; i < link->count; i++) {
            if (link->ids[i] < 0 || !is_moving(x, link->ids[i]))
                continue;
            shared = true;
            const RhActiveFlow *flow = RH_AT(x->flows, RhActiveFlow, link->ids[i]);
            meets = meets || job_of(x, flow->activity) != job;
            if (!flow->fluid)
                make_fluid(x, link->ids[i],
                           (flow->t_end_s - x->t_s) * class_at(x, flow->class)->bytes_per_s);
        }
        x->met[hops[h].link] += meets;
    }
    return shared;
}

static int32_t add_flow(RhExec *x, int32_t activity, int32_t class_index, double bytes,
                        double t_start_s)
{
    const RhFlowClass *class = class_at(x, class_index);
    int32_t index = flow_new(x), job = job_of(x, activity);
    double *link_bytes = x->link_bytes + (size_t)job * x->quotient->links->len;
    *RH_AT(x->flows, RhActiveFlow, index) =
        (RhActiveFlow){.class = class_index,
                       .activity = activity,
                       .next = x->activities[activity].flows,
                       .t_end_s = t_start_s + bytes / class->bytes_per_s};
    x->activities[activity].flows = index;
    const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
    for (int32_t h = 0; h < class->hops_count; h++) {
        occupy(&x->occupants[hops[h].link], index);
        link_bytes[hops[h].link] +=
            bytes * hops[h].weight * RH_AT(x->quotient->links, RhFoldedLink, hops[h].link)->divisor;
    }
    x->jobs[job].bytes_total += bytes * class->flows_count;
    return index;
}

void rh_exec_flow_start(RhExec *x, int32_t activity, int32_t class, double bytes, double *t_end_s)
{
    bool shared = revoke_on_links(x, class_at(x, class), job_of(x, activity)) ||
                  x->options->collapse_disabled;
    int32_t index = add_flow(x, activity, class, bytes, x->t_s);
    if (!shared || !make_fluid(x, index, bytes))
        *t_end_s = MAX(*t_end_s, RH_AT(x->flows, RhActiveFlow, index)->t_end_s);
}

void rh_exec_flow_resume(RhExec *x, int32_t activity, int32_t class, double bytes, double t_start_s)
{
    add_flow(x, activity, class, bytes, t_start_s);
}
