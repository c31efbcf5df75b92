#pragma once
/* Times of a checkpoint: its bytes over the storage, or over the links to host memory and then the
 * storage in the background, where steps go on and share the NICs with it. Every byte is written once:
 * states are sharded over all GPUs (distributed checkpoints), however many replicas hold weights. */
#include "strategies/problem.h"
#include "strategies/run/training_run.h"

typedef struct {
    double bytes;
    RhFact storage_bytes_per_s; /* of the storage, for all clients together */
    double client_bytes_per_s;  /* of a node; 0: its NICs */
    bool async;                 /* to host memory first */
    double exposed_frac;        /* share of a step in which communication is waited for */
} RhCheckpointSetup;

/* Weights as the stack keeps them and states of the optimizer; gradients are not written. */
double rh_checkpoint_bytes(const RhProblem *c);
/* The default rate: that of Llama 3's storage for each GPU. */
RhFact rh_checkpoint_storage(int32_t gpus);
/* Times of write, drain and read; `every_s` is left to the caller. The NICs of all nodes are an upper limit. */
RhCheckpointTimes rh_checkpoint_times(const RhCheckpointSetup *setup, const RhPlatform *platform,
                                      int32_t nodes);
