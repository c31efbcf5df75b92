/* Adapters beside an operator's linear layers (workloads/lora.h), on one rank: parameters, kernels and
 * bytes from the operator's list of linear layers. Cut as Megatron-Bridge cuts them (peft/utils.py,
 * ParallelLinearAdapter): beside a matrix that is cut by columns, A by columns of the r and B with it;
 * beside one that is cut by rows, A with it and B by columns. So a rank has r (k + n) / t entries.
 * Adapters run in 16 bits whatever the recipe. Left out: what tensor ranks exchange of r columns, and
 * dropout. */
#include "workloads/operators/operator.h"

/* Read the layer's result and the adapter's, write the sum. */
#define ADD_BYTES (2 * RH_READ + RH_WRITE)

/* One rank's matrices beside a linear layer: rows x columns. */
typedef struct {
    int64_t a_rows, a_columns, b_rows, b_columns;
} Adapter;

static Adapter adapter_of(const RhOps *ops, const RhLinear *l)
{
    int64_t r = ops->shard->lora.rank, cut = rh_ops_cut(ops, r);
    return l->by_columns ? (Adapter){l->in, cut, r, l->out}
                         : (Adapter){l->in, r, r, rh_ops_cut(ops, l->out)};
}

static int linears_of(const RhOps *ops, const RhOperator *op, RhLinear linears[RH_LINEARS_MAX])
{
    bool some = ops->shard->lora.rank > 0 && op != NULL && op->linears != NULL;
    return some ? op->linears(ops, linears) : 0;
}

static bool is_adapted(const RhOps *ops, const RhLinear *l)
{
    return rh_lora_adapts(&ops->shard->lora, l->name);
}

double rh_adapters_params(const RhOps *ops, const RhOperator *op)
{
    RhLinear linears[RH_LINEARS_MAX];
    int count = linears_of(ops, op, linears);
    double sum = 0;
    for (int i = 0; i < count; i++) {
        Adapter m = adapter_of(ops, &linears[i]);
        if (is_adapted(ops, &linears[i]))
            sum += (double)m.a_rows * (double)m.a_columns + (double)m.b_rows * (double)m.b_columns;
    }
    return sum;
}

static void add(RhOps *ops, int64_t columns)
{
    rh_ops_stream(ops, RH_KERNEL_ADD,
                  ADD_BYTES * ops->element_bytes / 2 * (double)ops->tokens * (double)columns, 1);
}

static void forward(RhOps *ops, const RhLinear *l, const Adapter *m)
{
    rh_ops_gemm(ops, 1, ops->tokens, m->a_columns, m->a_rows);
    rh_ops_gemm(ops, 1, ops->tokens, m->b_columns, m->b_rows);
    add(ops, l->out);
}

static void backward_data(RhOps *ops, const RhLinear *l, const Adapter *m)
{
    rh_ops_gemm(ops, 1, ops->tokens, m->b_rows, m->b_columns);
    rh_ops_gemm(ops, 1, ops->tokens, m->a_rows, m->a_columns);
    add(ops, l->in);
}

void rh_adapters_kernels(RhOps *ops, const RhOperator *op, RhPass pass)
{
    RhLinear linears[RH_LINEARS_MAX];
    int count = linears_of(ops, op, linears);
    for (int i = 0; i < count; i++) {
        Adapter m = adapter_of(ops, &linears[i]);
        if (!is_adapted(ops, &linears[i]))
            continue;
        if (pass == RH_PASS_FORWARD || pass == RH_PASS_RECOMPUTE_FULL) {
            forward(ops, &linears[i], &m);
        } else if (pass == RH_PASS_BACKWARD_DATA) {
            backward_data(ops, &linears[i], &m);
        } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
            rh_ops_weight_gradient(ops, m.b_columns, m.b_rows);
            rh_ops_weight_gradient(ops, m.a_columns, m.a_rows);
        }
    }
}

/* What adapters keep, the r columns between their matrices, less what frozen layers without one need
 * no more: inputs that were kept for the weight's gradient alone. */
double rh_adapters_kept_bytes(const RhOps *ops, const RhOperator *op)
{
    RhLinear linears[RH_LINEARS_MAX];
    int count = linears_of(ops, op, linears);
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += is_adapted(ops, &linears[i])
                   ? ops->element_bytes * (double)ops->tokens * ops->shard->lora.rank
                   : -linears[i].kept;
    return sum;
}
