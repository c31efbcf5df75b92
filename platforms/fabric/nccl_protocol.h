#pragma once
/* NCCL protocols of a platform's links, and how they follow changes of the link's fitted line. */
#include "platforms/platform.h"

/* Returns a protocol's facts for collectives inside a node, or between nodes; NULL where the
 * platform has none. */
const RhProtocolFacts *rh_protocol_of(const RhPlatform *p, RhProtocol protocol, bool between);
/* Returns whether the platform has facts of any protocol but the switches' between nodes, which is
 * beside the others. */
bool rh_protocols_any(const RhPlatform *p, bool between);
/* Scales the protocols' facts after the link's efficiency, latency or launch, `line` of the
 * platform, changed by a factor, except for facts that the user set. Does nothing for other facts.
 */
void rh_protocols_follow(RhPlatform *p, const RhFact *line, double by);
/* Fills in a protocol's missing latency or launch from the link's, so that it can be changed
 * separately. Does nothing for other facts. */
void rh_protocols_complete(RhPlatform *p, RhFact *fact);
