#pragma once
/* Times of a checkpoint: its bytes over the storage, or over the links to host memory or the nodes' drives and then
 * the storage in the background, where steps go on and share the NICs with it. Every byte is written once:
 * states are sharded over all GPUs (distributed checkpoints), however many replicas hold weights. */
#include "strategies/problem.h"
#include "strategies/run/training_run.h"

typedef struct {
    double bytes;
    RhFact storage_bytes_per_s; /* of the storage, for all clients together */
    double client_bytes_per_s;  /* of a node; 0: its NICs */
    bool async;                 /* to host memory first */
    double nvme_bytes_per_s;    /* of a node's drives, written first; 0: none */
    double slow_frac;           /* by which steps are slower while the storage is written */
} RhCheckpointSetup;

/* Weights as the stack keeps them and states of the optimizer; gradients are not written. */
double rh_checkpoint_bytes(const RhProblem *c);
/* The default rate: that of Llama 3's storage for each GPU. */
RhFact rh_checkpoint_storage(int32_t gpus);
/* Share of the nodes' NICs that writing in the background takes; 0: it does not. */
double rh_checkpoint_nics_frac(const RhCheckpointSetup *setup, const RhPlatform *platform,
                               int32_t nodes);
/* Times of write, drain and read; `every_s` is left to the caller. The NICs of all nodes are an upper limit. */
RhCheckpointTimes rh_checkpoint_times(const RhCheckpointSetup *setup, const RhPlatform *platform,
                                      int32_t nodes);
