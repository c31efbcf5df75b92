#pragma once
/* Layouts by the hundred thousand: of each its knobs, and the lists of layers of those few that have any
 * (RhLayout holds room for them in all). Private to this folder. */
#include "strategies/layout.h"

typedef struct RhKept RhKept;
RhKept *rh_kept_new(void);
void rh_kept_free(RhKept *kept);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhKept, rh_kept_free)
/* Behind all others; `peak_bytes` is what its fullest stage needs, INFINITY where knobs of it are still open. */
void rh_kept_add(RhKept *kept, const RhLayout *layout, double peak_bytes);
int32_t rh_kept_count(const RhKept *kept);
RhLayout rh_kept_layout(const RhKept *kept, int32_t i);
double rh_kept_peak_bytes(const RhKept *kept, int32_t i);
