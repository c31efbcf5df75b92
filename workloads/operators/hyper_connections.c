/* Hyper-connections: m copies of the hidden state run between blocks (Xie et al., "mHC: manifold-
 * constrained hyper-connections", 2025, arXiv 2512.24880, as DeepSeek-V4 has them). Before a block its
 * input is a weighted sum of them; behind it the copies are mixed with each other and the block's
 * output is added to each. The weights, m + m + m m of them, come from all copies of a token.
 *
 * Few columns on many rows: what counts is the bytes. The mapping reads m h; the sum reads m h and
 * writes h; the mixture reads m h and h and writes m h. Assumed: backward touches twice as much (each
 * tensor and its gradient). Messages between stages are counted with one copy. */
#include "workloads/operators/operator.h"

static double copies_of(const RhOps *ops)
{
    return ops->model->hc_mult > 1 ? ops->model->hc_mult : 0;
}

/* Parameters. Before the head there is only the weighted sum. */
double rh_hyper_params(const RhOps *ops)
{
    double m = copies_of(ops), h = (double)ops->model->hidden;
    if (m <= 0)
        return 0;
    double weights = ops->kind != NULL ? m * (2 + m) : m;
    return weights * (m * h + 1) + (ops->kind != NULL ? 3 : 1);
}

void rh_hyper_kernels(RhOps *ops, bool backward)
{
    double m = copies_of(ops), times = backward ? 2 : 1;
    double tensor = times * ops->element_bytes * rh_ops_sequence_elements(ops);
    if (m <= 0)
        return;
    rh_ops_stream(ops, RH_KERNEL_REDUCE, tensor * m, 1);
    rh_ops_stream(ops, RH_KERNEL_ADD, tensor * (m + 1), 1);
    if (ops->kind != NULL)
        rh_ops_stream(ops, RH_KERNEL_ADD, tensor * (2 * m + 1), 1);
}

double rh_hyper_kept_bytes(const RhOps *ops)
{
    return copies_of(ops) * ops->element_bytes * rh_ops_sequence_elements(ops);
}
