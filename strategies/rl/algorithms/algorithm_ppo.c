/* Proximal policy optimisation with a critic and a reward model of the policy's size: beside old
 * log-probabilities there are values and rewards to compute, and two models to update. */
#include "strategies/rl/algorithms/algorithms.h"

const RhRlAlgorithm rh_rl_algorithm_ppo = {
    .name = "ppo",
    .about = "a critic and a reward model as large as the policy",
    .trained = 2,
    .forwards = 3,
    .reference = true,
    .samples = 1,
    .source = "Ouyang et al., arXiv 2203.02155, section 3.5"};
