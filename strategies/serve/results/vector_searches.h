#pragma once
/* Sums over the searches in an index that requests waited for, in seconds. */
#include <stdint.h>

typedef struct {
    int64_t count;
    double search_s, wait_s;
    double most_s; /* of a wait and its search together */
} RhVectorSearches;
