/* Rates of steps: by the platform's single line, or by the protocol's own. */
#include "platforms/fabric/nccl_protocol.h"
#include "sim/collective/algorithm_interface.h"

RhAlgo rh_collective_plain(RhAlgo algo)
{
    const RhAlgorithm *row = rh_algorithm(algo);
    return row && row->plain != RH_ALGO_NONE ? row->plain : algo;
}

RhProtocol rh_collective_protocol(RhAlgo algo)
{
    const RhAlgorithm *row = rh_algorithm(algo);
    return row ? row->protocol : RH_PROTOCOL_NONE;
}

bool rh_is_between(int32_t members, const int32_t *node_of)
{
    bool between = false;
    for (int32_t i = 1; node_of && i < members; i++)
        between = between || node_of[i] != node_of[0];
    return between;
}

/* Bytes that a member's threads move per byte that it sends. */
static double copied(const RhAlgorithm *row, RhOp op, int32_t members, const RhPlatform *p)
{
    int32_t steps = row->steps_beside_copy ? row->steps_beside_copy(op, members) : 0;
    return steps > 0 ? 1 + p->nvlink_copy_frac.value / steps : 1;
}

static double more_s(const RhFact *own, const RhFact *line)
{
    return own->tag == RH_TAG_NONE ? 0 : own->value - line->value;
}

RhProtocolRate rh_protocol_rate(const RhAlgorithm *row, RhOp op, int32_t members, bool between,
                                const RhPlatform *p)
{
    RhProtocolRate pace = RH_PACE_OF_LINE;
    const RhProtocolFacts *facts = p ? rh_protocol_of(p, row->protocol, between) : NULL;
    if (!facts)
        return pace;
    const RhFact *line = between ? &p->nic_efficiency_frac : &p->nvlink_efficiency_frac;
    pace.launch_more_s = more_s(&facts->launch_s, &p->collective_launch_s);
    pace.step_more_s =
        more_s(&facts->latency_s, between ? &p->nic_latency_s : &p->nvlink_latency_s);
    pace.wire_factor =
        line->value / facts->efficiency_frac.value * (between ? 1 : copied(row, op, members, p));
    pace.wire_factor_inside = row->between_alone ? 1 : pace.wire_factor;
    return pace;
}

double rh_collective_launch_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *node_of,
                              const RhPlatform *p)
{
    RhProtocolRate pace =
        rh_protocol_rate(rh_algorithm(algo), op, members, rh_is_between(members, node_of), p);
    return p->collective_launch_s.value + pace.launch_more_s;
}
