#include "sim/engine/exec_private.h"

uint16_t **rh_exec_new_arrivals(const RhExec *x)
{
    uint16_t **arrived = g_new0(uint16_t *, x->quotient->meetings->len + 1);
    for (uint32_t m = 0; m < x->quotient->meetings->len; m++) {
        const RhCollectiveCall *meeting = RH_AT(x->quotient->meetings, RhCollectiveCall, m);
        int32_t most = 0;
        for (int32_t i = 0; i < meeting->colours_count; i++) {
            int32_t colour = *RH_AT(x->quotient->colours, int32_t, meeting->colours_first + i);
            const int32_t *calls = x->actors[colour].role->calls_first + meeting->group;
            most = MAX(most, calls[1] - calls[0]);
        }
        arrived[m] = g_new0(uint16_t, most + 1);
    }
    return arrived;
}
