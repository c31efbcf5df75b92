/* Adapters beside an operator's linear layers (workloads/lora.h), on one rank: parameters, kernels and
 * bytes from the operator's list of linear layers. Cut as Megatron-Bridge cuts them (peft/utils.py,
 * ParallelLinearAdapter): beside a matrix that is cut by columns, A by columns of the r and B with it;
 * beside one that is cut by rows, A with it and B by columns. So a rank has r (k + n) / t entries, and all
 * of them beside a matrix that every rank has. Each expert has adapters of its own, run as grouped GEMMs as
 * the experts are. Adapters run in 16 bits whatever the recipe. Left out: what tensor ranks exchange of r
 * columns, dropout, and adapters that the experts of a rank share. */
#include "workloads/operators/operator.h"

/* Traffic of adding the adapter's output: read the layer's result and the adapter's, write the
 * sum. */
#define ADD_BYTES (2 * RH_READ + RH_WRITE)

/* One rank's two matrices, A and B, beside a linear layer: rows x columns. */
typedef struct {
    int64_t a_rows, a_columns, b_rows, b_columns;
} Adapter;

static int64_t sharded_columns(const RhOps *ops, const RhLinear *l, int64_t columns)
{
    int64_t parts = l->whole ? 1 : l->experts > 0 ? MAX(l->parts, 1) : MAX(ops->shard->tp, 1);
    return (columns + parts - 1) / parts;
}

static Adapter adapter_of(const RhOps *ops, const RhLinear *l)
{
    int64_t r = ops->shard->lora.rank;
    return l->by_columns ? (Adapter){l->in, sharded_columns(ops, l, r), r, l->out}
                         : (Adapter){l->in, r, r, sharded_columns(ops, l, l->out)};
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

static int64_t tokens_of(const RhOps *ops, const RhLinear *l)
{
    return l->experts > 0 ? l->tokens : l->others > 0 ? l->others : ops->tokens;
}

/* Parameters of the adapters. Those of experts are spread over ranks like the experts' weights. */
RhParams rh_adapters_params(const RhOps *ops, const RhOperator *op)
{
    RhLinear linears[RH_LINEARS_MAX];
    int count = linears_of(ops, op, linears);
    RhParams sum = {0};
    for (int i = 0; i < count; i++) {
        const RhLinear *l = &linears[i];
        Adapter m = adapter_of(ops, l);
        double entries =
            (double)m.a_rows * (double)m.a_columns + (double)m.b_rows * (double)m.b_columns;
        if (!is_adapted(ops, l))
            continue;
        if (l->experts > 0)
            *(l->spread ? &sum.experts : &sum.sharded) += (double)l->experts * entries;
        else
            *(l->whole ? &sum.replicated : &sum.sharded) += entries;
    }
    return sum;
}

/* Product (tokens x k) (k x n), for routed experts one for each expert. */
static void multiply(RhOps *ops, const RhLinear *l, int64_t n, int64_t k)
{
    if (l->experts == 0) {
        rh_ops_gemm(ops, 1, tokens_of(ops, l), n, k);
        return;
    }
    double tokens = (double)l->tokens, entries = (double)n * (double)k;
    RhKernel kernel = {.cls = RH_KERNEL_GEMM,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .grouped = true,
                       .batch = l->busy,
                       .m = l->rows,
                       .n = n,
                       .k = k,
                       .flops = 2 * tokens * entries,
                       .bytes = ops->element_bytes *
                                ((double)l->busy * entries + tokens * (double)(n + k))};
    g_array_append_val(ops->out, kernel);
}

/* Gradient of a matrix (rows x columns), or of each expert's. It is added to the main gradient by a
 * kernel of its own, for experts by the GEMM that makes it. */
static void weight_gradient(RhOps *ops, const RhLinear *l, int64_t columns, int64_t rows)
{
    if (l->experts == 0) {
        RhOps own = *ops;
        own.tokens = tokens_of(ops, l);
        rh_ops_weight_gradient(&own, columns, rows);
        return;
    }
    double tokens = (double)l->tokens, entries = (double)rows * (double)columns;
    RhKernel kernel = {.cls = RH_KERNEL_GEMM,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .batch = l->busy,
                       .m = rows,
                       .n = columns,
                       .k = l->rows,
                       .flops = 2 * tokens * entries,
                       .bytes = ops->element_bytes * tokens * (double)(rows + columns) +
                                rh_ops_added_gradient_bytes(ops) * (double)l->busy * entries};
    g_array_append_val(ops->out, kernel);
}

static void add_output(RhOps *ops, const RhLinear *l, int64_t columns)
{
    rh_ops_stream(ops, RH_KERNEL_ADD,
                  ADD_BYTES * ops->element_bytes / 2 * (double)tokens_of(ops, l) * (double)columns,
                  1);
}

static void forward(RhOps *ops, const RhLinear *l, const Adapter *m)
{
    multiply(ops, l, m->a_columns, m->a_rows);
    multiply(ops, l, m->b_columns, m->b_rows);
    add_output(ops, l, l->out);
}

static void backward_data(RhOps *ops, const RhLinear *l, const Adapter *m)
{
    multiply(ops, l, m->b_rows, m->b_columns);
    multiply(ops, l, m->a_rows, m->a_columns);
    add_output(ops, l, l->in);
}

static bool runs_forward(const RhOps *ops, const RhLinear *l, RhPass pass)
{
    return pass == RH_PASS_FORWARD || pass == RH_PASS_RECOMPUTE_FULL ||
           (pass == RH_PASS_RECOMPUTE_SELECTIVE && rh_ops_replays(ops, l->again));
}

void rh_adapters_kernels(RhOps *ops, const RhOperator *op, RhPass pass)
{
    RhLinear linears[RH_LINEARS_MAX];
    int count = linears_of(ops, op, linears);
    for (int i = 0; i < count; i++) {
        Adapter m = adapter_of(ops, &linears[i]);
        if (!is_adapted(ops, &linears[i]))
            continue;
        if (runs_forward(ops, &linears[i], pass)) {
            forward(ops, &linears[i], &m);
        } else if (pass == RH_PASS_BACKWARD_DATA) {
            backward_data(ops, &linears[i], &m);
        } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
            weight_gradient(ops, &linears[i], m.b_columns, m.b_rows);
            weight_gradient(ops, &linears[i], m.a_columns, m.a_rows);
        }
    }
}

/* Bytes that adapters keep: the r columns between their matrices, less the inputs that frozen
 * layers without an adapter would keep for the weight's gradient alone. */
double rh_adapters_kept_bytes(const RhOps *ops, const RhOperator *op)
{
    RhLinear linears[RH_LINEARS_MAX];
    int count = linears_of(ops, op, linears);
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum +=
            is_adapted(ops, &linears[i])
                ? ops->element_bytes * (double)tokens_of(ops, &linears[i]) * ops->shard->lora.rank
                : -linears[i].kept;
    return sum;
}

/* Matrices of a linear layer: each expert has its own. */
static double matrices_of(const RhLinear *l)
{
    return l->experts > 0 ? (double)l->busy : 1;
}

void rh_frozen_kernels(RhOps *ops, const RhOperator *op, RhPass pass)
{
    RhLinear linears[RH_LINEARS_MAX];
    const RhFrozenFormat *format = ops->shard->frozen;
    int count = format ? linears_of(ops, op, linears) : 0;
    for (int i = 0; i < count; i++) {
        const RhLinear *l = &linears[i];
        double entries = matrices_of(l) * (double)l->in * (double)l->out;
        if (runs_forward(ops, l, pass) || pass == RH_PASS_BACKWARD_DATA)
            rh_ops_stream(ops, RH_KERNEL_CAST, (format->bytes + ops->element_bytes) * entries, 1);
    }
}

double rh_frozen_wide_bytes(const RhOps *ops, const RhOperator *op)
{
    RhLinear linears[RH_LINEARS_MAX];
    int count = ops->shard->frozen ? linears_of(ops, op, linears) : 0;
    double most = 0;
    for (int i = 0; i < count; i++) {
        const RhLinear *l = &linears[i];
        /* a gated network's first layer is two matrices, one after the other */
        int32_t parts = l->name == RH_LINEAR_FC1 && ops->kind->ffn_gated ? 2 : 1;
        most = MAX(most, ops->element_bytes * (double)l->in * (double)l->out / parts);
    }
    return most;
}
