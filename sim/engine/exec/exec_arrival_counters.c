#include "sim/engine/exec/exec_private.h"

uint16_t **rh_exec_new_arrivals(const RhExec *x)
{
    uint16_t **arrived = g_new0(uint16_t *, x->quotient->calls->len + 1);
    for (uint32_t m = 0; m < x->quotient->calls->len; m++) {
        const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, m);
        int32_t most = 0;
        for (int32_t i = 0; i < call->colours_count; i++) {
            int32_t colour = *RH_AT(x->quotient->colours, int32_t, call->colours_first + i);
            const int32_t *calls = x->actors[colour].role->calls_first + call->group;
            most = MAX(most, calls[1] - calls[0]);
        }
        arrived[m] = g_new0(uint16_t, most + 1);
    }
    return arrived;
}
