/* Trainer and servers on GPUs of their own, in turns: answers of a step are made with the weights of
 * the step before, and nothing runs ahead. */
#include "strategies/rl/placements/placements.h"

const RhRlPlacement rh_rl_placement_apart = {.name = "apart",
                                             .title = "synchronous on separate GPUs",
                                             .about = "generate, then train, on separate GPUs"};
