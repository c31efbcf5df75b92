#include "strategies/train/cuts/cut.h"

const RhCut *const rh_cuts[] = {&rh_cut_tensor, &rh_cut_context, &rh_cut_expert,
                                &rh_cut_data,   &rh_cut_zero,    &rh_cut_tied,
                                &rh_cut_norm,   &rh_cut_offload, NULL};

RhShares rh_cut_shares(const RhProblem *c, const RhLayout *layout, RhParamsClass cls)
{
    RhShares shares = {1, 1, 1, 1, 0};
    for (int i = 0; rh_cuts[i]; i++)
        if (rh_cuts[i]->share)
            rh_cuts[i]->share(c, layout, cls, &shares);
    return shares;
}
