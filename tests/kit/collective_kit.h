#pragma once
/* Helpers of the tests of collectives. */
#include "sim/collective/collective.h"
#include "tests/kit/testkit.h"

/* Nodes of the members: `per_node` side by side (the last node may hold fewer); -1: dealt out like
 * cards to three nodes; -2: node 0 twice as full as the others. */
void place(int32_t *nodes, int32_t members, int32_t per_node);
