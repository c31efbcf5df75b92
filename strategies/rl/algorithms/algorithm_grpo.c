/* Group-relative policy optimisation: the advantage of an answer is its reward less the mean of its
 * group, in deviations of the group. */
#include "strategies/rl/algorithms/algorithms.h"

const RhRlAlgorithm rh_rl_algorithm_grpo = {
    .name = "grpo",
    .about = "answers of a prompt are compared with each other; no critic",
    .trained = 1,
    .forwards = 1,
    .reference = true,
    .samples = 16,
    .source = "DeepSeekMath, arXiv 2402.03300, section 4.1"};
