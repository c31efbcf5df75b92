/* Trainer and servers on GPUs of their own, in turns: answers of a step are made with the weights of
 * the step before, and nothing runs ahead. */
#include "strategies/rl/placements/placements.h"

const RhRlPlacement rh_rl_placement_apart = {.name = "apart",
                                             .title = "apart, in turns",
                                             .about = "GPUs of their own, one waits for the other"};
