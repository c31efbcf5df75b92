#include "strategies/train/program/chunk_layers.h"

#include "strategies/layer_partition.h"
#include "strategies/train/schedules/schedule.h"

RhChunkLayers *rh_chunk_layers_new(const RhProblem *c, const RhLayout *l)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    int32_t chunks = l->pp * l->vpp;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    RhChunkLayers *all = g_new(RhChunkLayers, chunks);
    rh_partition_layers(c, l, layers);
    for (int32_t g = 0, first = 0; g < chunks; g++) {
        bool begins = rh_pipeline_begins(schedule, l->pp, g);
        first = begins ? 0 : first;
        all[g] = (RhChunkLayers){.first = first,
                                 .count = layers[g],
                                 .again = rh_layout_again(l, g, layers[g]),
                                 .embedding = begins,
                                 .head = rh_pipeline_ends(schedule, l->pp, l->vpp, g)};
        first += layers[g];
    }
    return all;
}
