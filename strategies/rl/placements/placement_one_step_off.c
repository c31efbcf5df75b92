/* Apart, one step off: while the trainer works on a batch, the next one is answered with the weights
 * before; new weights are sent between two batches (verl one_step_off_policy, NeMo-RL async 1-off). */
#include "strategies/rl/placements/placements.h"

const RhRlPlacement rh_rl_placement_one_off = {
    .name = "one-off",
    .title = "one step off-policy",
    .about = "one step off-policy, a batch is generated while the one before is trained on",
    .ahead_least = 1,
    .ahead_most = 1};
