#include "platforms/fabric/nccl_protocol.h"

const RhProtocolFacts *rh_protocol_of(const RhPlatform *p, RhProtocol protocol, bool between)
{
    const RhProtocolFacts *facts =
        between ? &p->nic_protocols[protocol] : &p->nvlink_protocols[protocol];
    return facts->efficiency_frac.value > 0 ? facts : NULL;
}

bool rh_protocols_any(const RhPlatform *p, bool between)
{
    bool any = false;
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_SHARP; i++)
        any = any || rh_protocol_of(p, i, between) != NULL;
    return any;
}

static void scale(RhFact *fact, double by)
{
    if (!rh_fact_is_users(fact))
        fact->value *= by;
}

void rh_protocols_follow(RhPlatform *p, const RhFact *line, double by)
{
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_LAST; i++) {
        RhProtocolFacts *nvlink = &p->nvlink_protocols[i], *nic = &p->nic_protocols[i];
        if (line == &p->nvlink_efficiency_frac)
            scale(&nvlink->efficiency_frac, by);
        else if (line == &p->nvlink_latency_s)
            scale(&nvlink->latency_s, by);
        else if (line == &p->nic_efficiency_frac)
            scale(&nic->efficiency_frac, by);
        else if (line == &p->nic_latency_s)
            scale(&nic->latency_s, by);
        else if (line == &p->collective_launch_s) {
            scale(&nvlink->launch_s, by);
            scale(&nic->launch_s, by);
        }
    }
}

static void complete(const RhFact *line, RhFact *own, const RhFact *fact)
{
    if (own == fact && own->tag == RH_TAG_NONE)
        *own = *line;
}

void rh_protocols_complete(RhPlatform *p, RhFact *fact)
{
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_LAST; i++) {
        RhProtocolFacts *nvlink = &p->nvlink_protocols[i], *nic = &p->nic_protocols[i];
        complete(&p->nvlink_latency_s, &nvlink->latency_s, fact);
        complete(&p->collective_launch_s, &nvlink->launch_s, fact);
        complete(&p->nic_latency_s, &nic->latency_s, fact);
        complete(&p->collective_launch_s, &nic->launch_s, fact);
    }
}
