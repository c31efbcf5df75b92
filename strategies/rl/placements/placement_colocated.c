/* Trainer and servers take turns on the same GPUs (verl's hybrid engine, NeMo-RL colocated): while
 * answers are made, the trainer's states are in host memory; before training, servers free their
 * weights and cache. */
#include "strategies/rl/placements/placements.h"

const RhRlPlacement rh_rl_placement_colocated = {.name = "colocated",
                                                 .title = "colocated",
                                                 .about = "all GPUs generate, then all train",
                                                 .shares_gpus = true};
