/* REINFORCE leave-one-out: the baseline of an answer is the mean reward of its group's other answers. */
#include "strategies/rl/algorithms/algorithms.h"

const RhRlAlgorithm rh_rl_algorithm_rloo = {
    .name = "rloo",
    .about = "the baseline of an answer is the mean of the others of its prompt; no critic",
    .trained = 1,
    .forwards = 1,
    .reference = true,
    .samples = 4,
    .source = "Ahmadian et al., arXiv 2402.14740"};
