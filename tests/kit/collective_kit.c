#include "tests/kit/collective_kit.h"

void place(int32_t *nodes, int32_t members, int32_t per_node)
{
    for (int32_t m = 0; m < members; m++)
        nodes[m] = per_node > 0 ? m / per_node : per_node == -1 ? m % 3 : MAX(0, m / 2 - 1);
}
