#pragma once
/* Memory that the allocator reserves per stream beyond the peak of the tensors: PyTorch keeps the
 * free blocks of each stream apart while the device has memory (c10/cuda/CUDACachingAllocator.cpp).
 * It never causes an out-of-memory error, since it is released before, but it is part of the
 * reserved memory that PyTorch reports. */
#include "strategies/train/train.h"

/* Returns these bytes for FSDP2 (a stack that frees gradients; pytorch/pytorch 010ae4a8,
 * torch/distributed/fsdp/_fully_shard); 0 for other stacks. Gathers arrive in buffers of the
 * copy-in stream, two at a time, one for the model's ends together and one per layer
 * (_fsdp_collectives.py, foreach_all_gather; _fsdp_param_group.py, wait_for_unshard); shards of
 * reduced gradients belong to the reduce-scatter stream until the optimizer has run
 * (foreach_reduce). `m` is the layout's. */
double rh_train_streams_bytes(const RhProblem *c, const RhLayout *layout, const RhTrainMemory *m);
