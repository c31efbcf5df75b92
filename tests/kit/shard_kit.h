#pragma once
/* A rank's share of a layer as stacks of today run it, and what its kernels do. */
#include "workloads/operator_costs.h"

/* bf16, and every fused kernel that there is. */
RhShard shard_of(int32_t tp, int64_t sequence, int64_t microbatch);

/* Returns the kernels of a block's part that tensor parallelism cuts; the caller unrefs. */
GArray *block_kernels(const RhModel *m, const RhLayerKind *kind, RhBlock block, RhPass pass,
                      const RhShard *shard);

double kernels_flops(const GArray *kernels);

double block_flops(const RhModel *m, const RhLayerKind *kind, RhBlock block, RhPass pass,
                   const RhShard *shard);
