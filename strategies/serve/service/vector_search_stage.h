#pragma once
/* The stage of a service that looks requests up in an index of vectors: threads that search, and requests that wait
 * for one, first come first served. */
#include "strategies/serve/results/vector_searches.h"
#include "strategies/serve/service/vector_index.h"

typedef struct RhVectorSearchStage RhVectorSearchStage;
/* Borrows the index. */
RhVectorSearchStage *rh_vector_search_stage_new(const RhVectorIndex *index);
void rh_vector_search_stage_free(RhVectorSearchStage *stage);
/* Takes a request that comes at t_s, no earlier than the one before; returns when its search is done. Its effort is
 * that of its number, spread evenly over all. */
double rh_vector_search_stage_done_s(RhVectorSearchStage *stage, int32_t request, double t_s);

/* Returns the sums over all searches so far. */
RhVectorSearches rh_vector_search_stage_sums(const RhVectorSearchStage *stage);
