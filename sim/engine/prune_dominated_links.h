#pragma once
/* Finds the quotient links that can be a flow's bottleneck. A link is omitted where another one is
 * always at least as full: every class that crosses it takes at least as large a fraction of the
 * other. Rates that respect the other then respect it, so max-min rates do not change. A ring's
 * flows leave by one port or NIC and arrive by another of the same colours, so half of its links
 * suffice. */
#include "sim/engine/folded_network.h"

/* Returns the hops of all classes in a row, without the omitted links, in the form of a SimGrid
 * route; hops_first has room for the number of classes plus one. Of links that can replace each
 * other the first is kept. Caller frees. */
GArray *rh_bottleneck_hops(const RhFoldedNetwork *q, int32_t *hops_first);
