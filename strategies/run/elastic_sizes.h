#pragma once
/* Sizes at which an elastic job may run: the batch stays, so that a size is valid if the batch is micro-batch
 * x accumulation x size (DeepSpeed's elasticity 0.1). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Ascending sizes (int32_t) in [low, high] at which a batch can be cut into one of the micro-batches.
 * Caller frees. */
GArray *rh_elastic_sizes(int64_t batch, const int64_t *micro_batches, int32_t micro_batches_count,
                         int32_t low, int32_t high);
/* The batch of at most `most` with the most valid sizes, the larger of equals: each micro-batch, and the least
 * common multiple of all, times the largest highly composite number that fits. */
int64_t rh_elastic_batch(int64_t most, const int64_t *micro_batches, int32_t micro_batches_count,
                         int32_t low, int32_t high);

/* How fast a job goes with some of its replicas, whose pipelines fill and drain with every step. */
typedef struct {
    int64_t batch, micro_batch;
    int32_t replicas; /* of the whole job */
    double fill; /* micro-batches that filling and draining take: (stages - 1) / chunks a stage */
    bool
        even; /* only sizes at which all replicas have as many micro-batches; else some have one less */
} RhElasticJob;

/* Writes speeds[0] .. speeds[replicas], of that of the whole job. */
void rh_elastic_speeds(const RhElasticJob *job, double *speeds);
