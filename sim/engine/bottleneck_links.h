#pragma once
/* Quotient links that can be the one that holds a flow back. A link is left out where another one is
 * always as full: every class that crosses it takes as large a share of the other. Whatever rates keep
 * within the other keep within it, so max-min rates are the same without it. A ring's flows leave by one
 * port or NIC and arrive by another of the same colours: half of its links are enough. */
#include "sim/engine/folded_network.h"

/* The hops of all classes, one behind another, without those links, as a route is given to SimGrid;
 * hops_first has room for one more than there are classes. Of links that stand for each other the first
 * stays. Caller frees. */
GArray *rh_bottleneck_hops(const RhFoldedNetwork *q, int32_t *hops_first);
