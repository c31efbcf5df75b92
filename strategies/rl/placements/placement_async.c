/* Apart and asynchronous with a bounded queue: a group begins as soon as fewer than prompts x
 * (ahead + 1) are started and not trained on; servers take new weights as they are made, in the
 * middle of answers (partial rollouts; AReaL, PipelineRL, verl fully_async_policy). */
#include "strategies/rl/placements/placements.h"

const RhRlPlacement rh_rl_placement_async = {
    .name = "async",
    .title = "asynchronous",
    .about =
        "generation runs `ahead` steps in advance: the trainer waits while the queue is empty, servers "
        "while it is full; long answers keep running beside those of the next batch",
    .streams = true,
    .ahead_least = 1,
    .ahead_most = 64};
