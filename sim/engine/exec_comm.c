/* Plans: the phases of a collective or message with their times on idle links, and which links it
 * uses. Made when first met, then looked up. */
#include "sim/engine/exec_private.h"

RhClassRange rh_exec_classes(const RhExec *x, const RhCommPlan *plan, int32_t pattern)
{
    if (pattern < 0)
        return (RhClassRange){0, 0};
    int64_t cell = (int64_t)pattern * x->quotient->owners_count + plan->owner;
    return (RhClassRange){x->quotient->classes_first[cell], x->quotient->classes_first[cell + 1]};
}

/* Adds the link to the plan's; false when this phase has it already. `from` is where the phase's
 * links are noted. */
static bool note_link(RhExec *x, RhCommPlan *plan, GArray *phase_links, int32_t link)
{
    bool known = false;
    for (uint32_t i = 0; i < phase_links->len; i++)
        if (*RH_AT(phase_links, int32_t, i) == link)
            return false;
    g_array_append_val(phase_links, link);
    for (uint32_t i = (uint32_t)plan->links_first; i < x->comm_links->len; i++)
        known = known || *RH_AT(x->comm_links, int32_t, i) == link;
    if (!known)
        g_array_append_val(x->comm_links, link);
    return true;
}

static void plan_phase(RhExec *x, RhCommPlan *plan, RhTrafficPhase what, double before_s,
                       double step_more_s)
{
    RhCommPhase phase = {.what = what};
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(int32_t));
    RhClassRange range = rh_exec_classes(x, plan, what.pattern);
    for (int32_t c = range.first; c < range.end; c++) {
        const RhFlowClass *class = RH_AT(x->quotient->classes, RhFlowClass, c);
        phase.latency_s = MAX(phase.latency_s, class->latency_s);
        double bytes = what.bytes * what.repeat * class->share;
        if (bytes <= 0)
            continue;
        phase.move_s = MAX(phase.move_s, bytes / class->bytes_per_s);
        for (int32_t h = 0; h < class->hops_count; h++)
            plan->disjoint =
                note_link(x, plan, links,
                          RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first + h)->link) &&
                plan->disjoint;
    }
    phase.latency_s = MAX(0, phase.latency_s + step_more_s) * what.repeat + before_s;
    plan->total_s += phase.latency_s + phase.move_s;
    g_array_append_val(x->comm_phases, phase);
}

static RhCommPlan plan_begin(const RhExec *x, int32_t owner, int32_t actor)
{
    return (RhCommPlan){.phases_first = (int32_t)x->comm_phases->len,
                        .links_first = (int32_t)x->comm_links->len,
                        .owner = owner,
                        .job = x->actors[actor].job,
                        .disjoint = true};
}

static int32_t plan_end(RhExec *x, RhCommPlan *plan)
{
    plan->phases_end = (int32_t)x->comm_phases->len;
    plan->links_end = (int32_t)x->comm_links->len;
    g_array_append_vals(x->comm_plans, plan, 1);
    return (int32_t)x->comm_plans->len - 1;
}

static int32_t make_collective(RhExec *x, int32_t meeting_index, int32_t kind)
{
    const RhMeeting *meeting = RH_AT(x->quotient->meetings, RhMeeting, meeting_index);
    const RhTrafficSchedule *schedule =
        RH_AT(x->traffic->schedules, RhTrafficSchedule,
              RH_AT(x->traffic->kinds, RhTrafficKind, kind)->schedules_first + meeting->shape);
    RhCommPlan plan =
        plan_begin(x, meeting_index, *RH_AT(x->quotient->colours, int32_t, meeting->colours_first));
    double before_s = schedule->alone_s > 0
                          ? schedule->alone_s
                          : x->platform->collective_launch_s.value + schedule->launch_more_s;
    for (int32_t i = 0; i < schedule->phases_count; i++) {
        RhTrafficPhase what =
            *RH_AT(x->traffic->phases, RhTrafficPhase, schedule->phases_first + i);
        if (what.pattern < 0)
            continue;
        plan_phase(x, &plan, what, before_s, schedule->step_more_s);
        before_s = 0;
    }
    if (before_s > 0)
        plan_phase(x, &plan, (RhTrafficPhase){.pattern = -1}, before_s, 0);
    return plan_end(x, &plan);
}

int32_t rh_exec_comm_collective(RhExec *x, int32_t meeting, int32_t kind)
{
    uint64_t key = rh_mix64((uint64_t)meeting + 97, (uint64_t)kind);
    int32_t plan = rh_map64_get(x->comm_plan_of, key);
    if (plan < 0) {
        plan = make_collective(x, meeting, kind);
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
        plan_phase(x, &plan, (RhTrafficPhase){.pattern = pattern, .repeat = 1, .bytes = bytes}, 0,
                   0);
        index = plan_end(x, &plan);
        rh_map64_at(x->comm_plan_of, key, index);
    }
    return index;
}

/* Books a phase's bytes as performed so many times by timers. */
void rh_exec_comm_account(RhExec *x, const RhCommPlan *plan, const RhCommPhase *phase, double times)
{
    RhClassRange range = rh_exec_classes(x, plan, phase->what.pattern);
    double *link_bytes = x->link_bytes + (size_t)plan->job * x->quotient->links->len;
    for (int32_t c = range.first; c < range.end; c++) {
        const RhFlowClass *class = RH_AT(x->quotient->classes, RhFlowClass, c);
        double bytes = phase->what.bytes * phase->what.repeat * class->share * times;
        x->jobs[plan->job].bytes_total += bytes * class->flows_count;
        const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
        for (int32_t h = 0; h < class->hops_count; h++)
            link_bytes[hops[h].link] +=
                bytes * hops[h].weight *
                RH_AT(x->quotient->links, RhQuotientLink, hops[h].link)->divisor;
    }
}
