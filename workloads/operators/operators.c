/* The table of operators. */
#include "workloads/operators/operator.h"

const RhOperator *const rh_operators[] = {
    &rh_attention, &rh_latent_attention, &rh_ffn,  &rh_mixture, &rh_norm,
    &rh_positions, &rh_embedding,        &rh_head, NULL,
};

const char *rh_operator_name(const RhOperator *op)
{
    return op != NULL ? op->name : "none";
}
