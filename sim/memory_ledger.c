#include "sim/memory_ledger.h"

#include <math.h>
#include <string.h>

RhLedger rh_ledger_walk(const RhProgram *p, int32_t role, RhMemoryTier tier)
{
    const RhRole *r = rh_program_role(p, role);
    double held[RH_MEMORY_LAST] = {0}, total = 0;
    RhLedger ledger = {.peak_task = -1};
    for (int32_t i = r->memory_first; i < r->memory_first + r->memory_count; i++) {
        const RhMemoryEvent *e = &g_array_index(p->memory, RhMemoryEvent, i);
        if (e->tier != tier)
            continue;
        held[e->use] += e->bytes;
        total += e->bytes;
        if (total > ledger.peak_bytes) {
            ledger.peak_bytes = total;
            ledger.peak_task = e->at_task;
            memcpy(ledger.at_peak_bytes, held, sizeof(held));
        }
    }
    ledger.end_bytes = total;
    return ledger;
}
