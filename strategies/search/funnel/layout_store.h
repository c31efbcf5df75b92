#pragma once
/* Store of hundreds of thousands of layouts. It keeps the knobs of each, and lists of layers only
 * for the few that have any (RhLayout has room for all). Private to this folder. */
#include "strategies/layout.h"

typedef struct RhLayoutStore RhLayoutStore;
RhLayoutStore *rh_layout_store_new(void);
void rh_layout_store_free(RhLayoutStore *kept);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLayoutStore, rh_layout_store_free)
/* Appends a layout; `peak_bytes` is the peak of its fullest stage, INFINITY while some of its knobs
 * are open. */
void rh_layout_store_add(RhLayoutStore *kept, const RhLayout *layout, double peak_bytes);
int32_t rh_layout_store_count(const RhLayoutStore *kept);
RhLayout rh_layout_store_layout(const RhLayoutStore *kept, int32_t i);
double rh_layout_store_peak_bytes(const RhLayoutStore *kept, int32_t i);
