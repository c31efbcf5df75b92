#pragma once
/* Which protocols of a collective library a platform's links have, and how they follow its one line. */
#include "platforms/platform.h"

/* What it makes of collectives inside a node, or between nodes; NULL where the platform says nothing of it. */
const RhProtocolFacts *rh_protocol_of(const RhPlatform *p, RhProtocol protocol, bool between);
/* Are there any? */
bool rh_protocols_any(const RhPlatform *p, bool between);
/* Something changes the link's efficiency, latency or launch, `line` of the platform, by this factor: its protocols
 * keep their proportions to it, but for what the user said of them. Nothing for other facts. */
void rh_protocols_follow(RhPlatform *p, const RhFact *line, double by);
/* The platform leaves this latency or launch of a protocol out: it is the link's, and said now, so that it can be changed
 * by itself. Nothing for other facts. */
void rh_protocols_complete(RhPlatform *p, RhFact *fact);
