/* Plans of communication: the rounds of a collective or message with their times on idle links, and
 * the links used. A plan is made on first use, then looked up. */
#include "sim/engine/exec/exec_private.h"

RhClassRange rh_exec_classes(const RhExec *x, const RhCommPlan *plan, int32_t pattern)
{
    if (pattern < 0)
        return (RhClassRange){0, 0};
    int64_t cell = (int64_t)pattern * x->quotient->owners_count + plan->owner;
    return (RhClassRange){x->quotient->classes_first[cell], x->quotient->classes_first[cell + 1]};
}

/* Adds the link to the latest plan; false when its latest round has it already. Plans and rounds are numbered
 * by the lists that they go to, so links remember the last of each. */
static bool note_link(RhExec *x, int32_t link)
{
    int32_t plan = 1 + (int32_t)x->comm_plans->len, round = 1 + (int32_t)x->comm_rounds->len;
    RhLinkLatest *last = &x->link_plans[link];
    if (last->round == round)
        return false;
    if (last->plan != plan)
        g_array_append_val(x->comm_links, link);
    *last = (RhLinkLatest){plan, round};
    return true;
}

static void plan_round(RhExec *x, RhCommPlan *plan, RhTrafficRound what, double before_s,
                       double step_more_s)
{
    RhCommRound round = {.what = what};
    RhClassRange range = rh_exec_classes(x, plan, what.pattern);
    for (int32_t c = range.first; c < range.end; c++) {
        const RhFlowClass *class = RH_AT(x->quotient->classes, RhFlowClass, c);
        round.latency_s = MAX(round.latency_s, class->latency_s);
        double bytes = what.bytes * what.repeat * class->share;
        if (bytes <= 0)
            continue;
        round.move_s = MAX(round.move_s, bytes / class->bytes_per_s);
        for (int32_t h = 0; h < class->hops_count; h++)
            plan->disjoint =
                note_link(x, RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first + h)->link) &&
                plan->disjoint;
    }
    round.latency_s = MAX(0, round.latency_s + step_more_s) * what.repeat + before_s;
    plan->total_s += round.latency_s + round.move_s;
    g_array_append_val(x->comm_rounds, round);
}

static RhCommPlan plan_begin(const RhExec *x, int32_t owner, int32_t actor)
{
    return (RhCommPlan){.rounds_first = (int32_t)x->comm_rounds->len,
                        .links_first = (int32_t)x->comm_links->len,
                        .owner = owner,
                        .job = x->actors[actor].job,
                        .disjoint = true};
}

static int32_t plan_end(RhExec *x, RhCommPlan *plan)
{
    plan->rounds_end = (int32_t)x->comm_rounds->len;
    plan->links_end = (int32_t)x->comm_links->len;
    g_array_append_vals(x->comm_plans, plan, 1);
    return (int32_t)x->comm_plans->len - 1;
}

static int32_t make_collective(RhExec *x, int32_t call_index, int32_t kind)
{
    const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, call_index);
    const RhTrafficSchedule *schedule =
        RH_AT(x->traffic->schedules, RhTrafficSchedule,
              RH_AT(x->traffic->kinds, RhTrafficKind, kind)->schedules_first + call->shape);
    RhCommPlan plan =
        plan_begin(x, call_index, *RH_AT(x->quotient->colours, int32_t, call->colours_first));
    double before_s = schedule->alone_s > 0
                          ? schedule->alone_s
                          : x->platform->collective_launch_s.value + schedule->launch_more_s;
    for (int32_t i = 0; i < schedule->rounds_count; i++) {
        RhTrafficRound what =
            *RH_AT(x->traffic->rounds, RhTrafficRound, schedule->rounds_first + i);
        if (what.pattern < 0)
            continue;
        plan_round(x, &plan, what, before_s, schedule->step_more_s);
        before_s = 0;
    }
    if (before_s > 0)
        plan_round(x, &plan, (RhTrafficRound){.pattern = -1}, before_s, 0);
    return plan_end(x, &plan);
}

int32_t rh_exec_comm_collective(RhExec *x, int32_t call, int32_t kind)
{
    uint64_t key = rh_mix64((uint64_t)call + 97, (uint64_t)kind);
    int32_t plan = rh_map64_get(x->comm_plan_of, key);
    if (plan < 0) {
        plan = make_collective(x, call, kind);
        rh_map64_at(x->comm_plan_of, key, plan);
    }
    return plan;
}

int32_t rh_exec_comm_message(RhExec *x, int32_t sender, int32_t pattern, double bytes)
{
    uint64_t key = rh_mix64(((uint64_t)sender << 32 | (uint64_t)pattern) + 101, rh_bits64(bytes));
    int32_t index = rh_map64_get(x->comm_plan_of, key);
    if (index < 0) {
        RhCommPlan plan = plan_begin(x, sender, sender);
        plan_round(x, &plan, (RhTrafficRound){.pattern = pattern, .repeat = 1, .bytes = bytes}, 0,
                   0);
        index = plan_end(x, &plan);
        rh_map64_at(x->comm_plan_of, key, index);
    }
    return index;
}

/* Accounts for a round's bytes, performed so many times by timers. */
void rh_exec_comm_account(RhExec *x, const RhCommPlan *plan, const RhCommRound *round, double times)
{
    RhClassRange range = rh_exec_classes(x, plan, round->what.pattern);
    double *link_bytes = x->link_bytes + (size_t)plan->job * x->quotient->links->len;
    for (int32_t c = range.first; c < range.end; c++) {
        const RhFlowClass *class = RH_AT(x->quotient->classes, RhFlowClass, c);
        double bytes = round->what.bytes * round->what.repeat * class->share * times;
        x->jobs[plan->job].bytes_total += bytes * class->flows_count;
        const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
        for (int32_t h = 0; h < class->hops_count; h++)
            link_bytes[hops[h].link] +=
                bytes * hops[h].weight *
                RH_AT(x->quotient->links, RhFoldedLink, hops[h].link)->divisor;
    }
}
