#pragma once
/* Products of all experts that have tokens: one kernel, or one after another where the shard says so. Who is given what,
 * expert_tokens.h knows. */
#include "workloads/operators/expert_tokens.h"

/* For each expert (its tokens x k) (k x n); every busy expert's matrix is read. Operands are cast first, in the recipe's
 * format. */
void rh_grouped_gemm(RhOps *ops, const RhRouted *routed, int64_t n, int64_t k);
/* Gradients of all experts' matrices (rows x columns), added into fp32 main gradients as rh_ops_weight_gradient() does. */
void rh_grouped_gradient(RhOps *ops, const RhRouted *routed, int64_t rows, int64_t columns);
/* What experts read, of so many elements, made narrow. */
void rh_grouped_cast(RhOps *ops, const RhRouted *routed, double elements);
