#pragma once
/* Memory that the allocator reserves per stream beyond the peak of the tensors: PyTorch keeps the
 * free blocks of each stream apart while the device has memory (c10/cuda/CUDACachingAllocator.cpp).
 * It never causes an out-of-memory error, since it is released before, but it is part of the
 * reserved memory that PyTorch reports. */
#include "strategies/train/train.h"

/* Bytes that the allocator reserves over those it has given out, fragments of its blocks: 1.053 in
 * the median of SimuMax' 19 layouts on B200, 1.028 to 1.093 (MooreThreads/SimuMax
 * docs/b200/b200_release_v1.2_summary.json: real_reserved_gib over real_alloc_gib). */
#define RH_RESERVED_OVER 1.053

/* Returns these bytes for FSDP2 (a stack that frees gradients; pytorch/pytorch 010ae4a8,
 * torch/distributed/fsdp/_fully_shard); 0 for other stacks. Gathers arrive in buffers of the
 * copy-in stream, two at a time, one for the model's ends together and one per layer
 * (_fsdp_collectives.py, foreach_all_gather; _fsdp_param_group.py, wait_for_unshard); shards of
 * reduced gradients belong to the reduce-scatter stream until the optimizer has run
 * (foreach_reduce). `m` is the layout's. */
double rh_train_streams_bytes(const RhProblem *c, const RhLayout *layout, const RhTrainMemory *m);
