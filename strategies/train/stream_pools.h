#pragma once
/* The memory that an allocator keeps for streams apart, beyond the peak of what tensors take at once: PyTorch's has free blocks of each
 * stream, which no other gets as long as the device has memory (c10/cuda/CUDACachingAllocator.cpp). It makes nothing run out of
 * memory, as it is given back before that; but who reads what is reserved sees it. */
#include "strategies/train/train.h"

/* The bytes of FSDP2 (a stack that frees gradients; pytorch/pytorch 010ae4a8, torch/distributed/fsdp/_fully_shard): gathers arrive in
 * buffers of the stream that copies into them, two at a time, of the model's ends together and of a layer each
 * (_fsdp_collectives.py, foreach_all_gather; _fsdp_param_group.py, wait_for_unshard); and shares of reduced gradients are the
 * reduce-scatter stream's until the optimizer has run (foreach_reduce). `m` is the layout's. Of other stacks 0. */
double rh_train_streams_bytes(const RhProblem *c, const RhLayout *layout, const RhTrainMemory *m);
