#pragma once
/* Times of a checkpoint: its bytes over the network to the storage, or over the links to host memory or the nodes'
 * drives and then to the storage in the background, where steps go on and share the network with it. Every byte is
 * written once: states are sharded over all GPUs (distributed checkpoints), however many replicas hold weights. */
#include "strategies/run/training_run_spec.h"
#include "strategies/training_problem.h"

typedef struct {
    double bytes;
    RhStorage storage;
    bool async;              /* to host memory first */
    double nvme_bytes_per_s; /* of a node's drives, written first; 0: none */
    double slow_frac;        /* by which steps are slower while the storage is written */
    double drain_times;      /* by which it is written slower beside steps; 0: as alone */
} RhCheckpointSetup;

/* Weights as the stack keeps them and states of the optimizer; gradients are not written. */
double rh_checkpoint_bytes(const RhProblem *c);
/* The platform's storage; where it has none, one with the rate of Llama 3's for each GPU of the job. */
RhStorage rh_checkpoint_storage(const RhPlatform *platform, int32_t gpus);
/* Are bytes written in the background, while steps go on? */
bool rh_checkpoint_drains(const RhCheckpointSetup *setup);
/* Times of write, drain and read by the narrowest link, which is what a rehearsal without steps takes; `every_s` is
 * left to the caller. The nodes are the platform's first. */
RhCheckpointTimes rh_checkpoint_times(const RhCheckpointSetup *setup, const RhPlatform *platform,
                                      int32_t nodes);
