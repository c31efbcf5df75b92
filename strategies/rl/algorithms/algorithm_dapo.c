/* Decoupled clip and dynamic sampling: GRPO without a reference policy; prompts whose answers all get one reward are
 * replaced (RhRlJob.useful_frac). */
#include "strategies/rl/algorithms/algorithms.h"

const RhRlAlgorithm rh_rl_algorithm_dapo = {
    .name = "dapo",
    .about = "answers of a prompt are compared with each other; no critic, no reference",
    .trained = 1,
    .forwards = 1,
    .samples = 16,
    .source = "Yu et al., arXiv 2503.14476, section 3"};
