#pragma once
/* Layouts by the hundred thousand: of each its knobs, and the lists of layers of those few that have any
 * (RhLayout holds room for them in all). Private to this folder. */
#include "strategies/layout.h"

typedef struct RhLayoutStore RhLayoutStore;
RhLayoutStore *rh_layout_store_new(void);
void rh_layout_store_free(RhLayoutStore *kept);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLayoutStore, rh_layout_store_free)
/* Behind all others; `peak_bytes` is what its fullest stage needs, INFINITY where knobs of it are still open. */
void rh_layout_store_add(RhLayoutStore *kept, const RhLayout *layout, double peak_bytes);
int32_t rh_layout_store_count(const RhLayoutStore *kept);
RhLayout rh_layout_store_layout(const RhLayoutStore *kept, int32_t i);
double rh_layout_store_peak_bytes(const RhLayoutStore *kept, int32_t i);
