#pragma once
/* Memory reserve: memory of a device that a server leaves free by default, as SGLang does, for
 * tokens of an iteration, sequences of its graphs, and ranks; their default numbers depend on the
 * size of the memory. */
#include "base/json/json.h"
#include "strategies/serve/deployment.h"

#define RH_SERVER_SIZES_MAX 6

/* By the size of a device's memory: of one below `below_bytes`, in ascending order. */
typedef struct {
    int32_t count;
    struct {
        double below_bytes;
        int32_t chunk;     /* tokens of an iteration */
        int32_t few, many; /* sequences of a graph, on less than 4 ranks and on more */
    } list[RH_SERVER_SIZES_MAX];
} RhServerSizes;

typedef struct {
    double base_bytes, token_bytes, sequence_bytes, rank_bytes, least_bytes;
    double
        group_bytes; /* of each sequence of a graph and each group of attention, where there are several */
    RhServerSizes sizes; /* none: a server leaves by fraction alone */
} RhMemoryReserve;

/* "memory_left" of a server's file; what is wrong becomes a problem of the document. */
void rh_memory_reserve_read(RhJson *doc, const RhJsonNode *root, RhMemoryReserve *left);
/* Tokens of an iteration on such a device; 0: not said. */
int32_t rh_memory_reserve_chunk(const RhMemoryReserve *left, double capacity_bytes);
/* `pool` has its limits, those of all its groups together; tokens count as of one. 0: not said. */
double rh_memory_reserve_bytes(const RhMemoryReserve *left, const RhPool *pool,
                               double capacity_bytes);
