#pragma once
/* An index of vectors in which a request is looked up before it is served, as a file: how a search walks through the
 * parts of a graph, and in which tier of memory each part lies.
 *
 *     {"name": "two tiers", "source": "...", "vectors": 1000000000, "threads": 16,
 *      "tiers": {"dram": {"latency": FACT, "bandwidth": FACT},
 *                "ssd": {"latency": FACT, "bandwidth": FACT, "shared": FACT, "reads_per_s": FACT}},
 *      "parts": [{"name": "upper layers", "tier": "dram", "size": "96GB", "hops": 40, "reads": 32, "at_once": 8,
 *                 "bytes": "512B", "compute": "20ns"}],
 *      "effort": [[0.5, 0.2], [0.9, 0.6], [1, 1]], "stop": "early"}
 *
 * A hop reads `reads` vectors or blocks of `bytes`, `at_once` of them in flight, each of which takes `compute` to
 * compare. `hops` are those of the hardest queries; `effort` says which share of queries needs at most which part of
 * them, and "stop": "early" lets each stop there, where "fixed" (if left out) lets all go on. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fact.h"

#define RH_INDEX_TIERS_MAX   8
#define RH_INDEX_PARTS_MAX   8
#define RH_INDEX_EFFORTS_MAX 32

typedef struct {
    const char *name;
    RhFact latency_s, bytes_per_s;          /* of one thread */
    RhFact shared_bytes_per_s, reads_per_s; /* of all threads together; value 0: no limit */
} RhIndexTier;

typedef struct {
    const char *name;
    int32_t tier;
    double bytes_stored;
    int32_t hops, reads, at_once;
    double read_bytes, compute_s;
} RhIndexPart;

typedef struct {
    const char *name, *source;
    int64_t vectors;
    int32_t threads; /* searches at once */
    int32_t tiers_count, parts_count, efforts_count;
    RhIndexTier tiers[RH_INDEX_TIERS_MAX];
    RhIndexPart parts[RH_INDEX_PARTS_MAX];
    struct {
        double queries_frac, hops_frac; /* both ascending, up to 1 */
    } efforts[RH_INDEX_EFFORTS_MAX];
    bool stops_early;
} RhVectorIndex;

/* Reads an index. RH_ERROR_IO; RH_ERROR_INPUT with file:line:col. */
RhVectorIndex *rh_vector_index_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhVectorIndex *rh_vector_index_parse(const char *name, const char *text, size_t length,
                                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the part of the hops that a query takes: that of the place u, 0 up to 1, among queries by their effort. */
double rh_vector_index_effort(const RhVectorIndex *index, double u);
/* Returns seconds of a search that takes `hops_frac` of the hops, while `busy` threads search, itself included. */
double rh_vector_index_search_s(const RhVectorIndex *index, double hops_frac, int32_t busy);
/* Returns the searches a second of threads that never rest, all efforts in their shares. */
double rh_vector_index_most_per_s(const RhVectorIndex *index);
/* Returns the bytes that lie in a tier. */
double rh_vector_index_tier_bytes(const RhVectorIndex *index, int32_t tier);
