#pragma once
/* Which layers each chunk of a pipeline holds (knobs partition and stages). */
#include "strategies/case.h"
#include "strategies/layout.h"

/* How many layers each of the pp x vpp chunks holds, in the order of the model. Chunk 0 has the
 * embedding besides, the last one the head. */
void rh_partition_layers(const RhCase *c, const RhLayout *layout, int32_t *layers);
/* Does `by` make other chunks than the even split? */
bool rh_partition_differs(const RhCase *c, const RhLayout *layout, RhPartition by);
