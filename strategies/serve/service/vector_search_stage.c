#include "strategies/serve/service/vector_search_stage.h"

#include <math.h>

struct RhVectorSearchStage {
    const RhVectorIndex *index;
    double *free_s; /* by thread: when it is free */
    RhVectorSearches sums;
};

RhVectorSearchStage *rh_vector_search_stage_new(const RhVectorIndex *index)
{
    RhVectorSearchStage *stage = g_new0(RhVectorSearchStage, 1);
    stage->index = index;
    stage->free_s = g_new0(double, index->threads);
    return stage;
}

void rh_vector_search_stage_free(RhVectorSearchStage *stage)
{
    if (!stage)
        return;
    g_free(stage->free_s);
    g_free(stage);
}

/* Returns a place in [0, 1) by the golden section: any run of numbers is spread evenly. */
static double place_of(int32_t request)
{
    double turns = (request + 0.5) * 0.6180339887498949;
    return turns - floor(turns);
}

double rh_vector_search_stage_done_s(RhVectorSearchStage *stage, int32_t request, double t_s)
{
    int32_t first = 0, busy = 1;
    for (int32_t i = 1; i < stage->index->threads; i++)
        if (stage->free_s[i] < stage->free_s[first])
            first = i;
    double begin_s = fmax(t_s, stage->free_s[first]);
    for (int32_t i = 0; i < stage->index->threads; i++)
        busy += i != first && stage->free_s[i] > begin_s;
    double effort = rh_vector_index_effort(stage->index, place_of(request));
    double search_s = rh_vector_index_search_s(stage->index, effort, busy);
    stage->free_s[first] = begin_s + search_s;
    stage->sums.count++;
    stage->sums.search_s += search_s;
    stage->sums.wait_s += begin_s - t_s;
    stage->sums.most_s = fmax(stage->sums.most_s, begin_s + search_s - t_s);
    return begin_s + search_s;
}

RhVectorSearches rh_vector_search_stage_sums(const RhVectorSearchStage *stage)
{
    return stage->sums;
}
