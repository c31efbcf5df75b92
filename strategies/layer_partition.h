#pragma once
/* Which layers each chunk of a pipeline holds (knobs partition and stages). */
#include "strategies/layout.h"
#include "strategies/training_problem.h"

/* Returns the number of chunks of one copy of the model: pp x vpp, unless the schedule has two. */
int32_t rh_partition_chunks(const RhLayout *layout);
/* How many layers each of the pp x vpp chunks holds, in the order of the model, one copy after the
 * other. A copy's first chunk has the embedding besides, its last one the head. */
void rh_partition_layers(const RhProblem *c, const RhLayout *layout, int32_t *layers);
/* Why no layer of it can be on another stage than the rest, as "has layers that ..."; NULL: they can. `trained`: their
 * gradients are summed, too. Static. */
const char *rh_partition_whole(const RhModel *model, bool trained);
/* Tells whether `by` makes other chunks than each partition that is listed before it. */
bool rh_partition_is_new(const RhProblem *c, const RhLayout *layout, RhPartition by);
