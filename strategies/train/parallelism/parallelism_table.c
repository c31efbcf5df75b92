#include "strategies/train/parallelism/parallelism.h"

const RhParallelism *const rh_parallelisms[] = {&rh_parallelism_tensor,
                                                &rh_parallelism_context,
                                                &rh_parallelism_spatial,
                                                &rh_parallelism_expert,
                                                &rh_parallelism_data,
                                                &rh_parallelism_weight_offload,
                                                &rh_parallelism_zero,
                                                &rh_parallelism_compressed_exchange,
                                                &rh_parallelism_mirrored_copies,
                                                &rh_parallelism_tied_embeddings,
                                                &rh_parallelism_gradient_norm,
                                                &rh_parallelism_activation_offload,
                                                &rh_parallelism_state_offload,
                                                NULL};

RhShares rh_parallelism_shares(const RhProblem *c, const RhLayout *layout, RhParamsClass cls)
{
    RhShares shares = {1, 1, 1, 1, 0};
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->share)
            rh_parallelisms[i]->share(c, layout, cls, &shares);
    return shares;
}
