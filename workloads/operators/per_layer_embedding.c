/* Embeddings for every layer (Gemma 3n and 4, after transformers' modeling_gemma3n.py and
 * modeling_gemma4.py): a second table has p columns for each token and layer; the product of the
 * first table's output and a matrix of h by p L, normed, is added to them. After its network a
 * layer multiplies p columns of its state with its own, with a matrix in and one out, and norms and
 * adds the result. Both tables are cut by rows over tensor ranks; every rank has everything else
 * whole and applies it to its own rows.
 *
 * Gemma 3n has besides a low-rank path beside attention (LAuReL, arXiv 2411.07501) and m copies of
 * the hidden state, one of which a layer works on (AltUp, arXiv 2301.13310): the others are
 * predicted from it before, and corrected after. As with hyper-connections (hyper_connections.c)
 * the bytes dominate their cost, and messages between stages are not known. */
#include "workloads/operators/operator.h"

/* Traffic of a sum: read two, write the sum. */
#define SUM (2 * RH_READ + RH_WRITE)
/* GELU times the layer's own columns. */
static const RhStream PRODUCT = {SUM,
                                 3 * RH_READ + 2 * RH_WRITE,
                                 SUM + RH_READ + RH_WRITE,
                                 3 * RH_READ + 2 * RH_WRITE + 2 * RH_READ + RH_WRITE,
                                 2,
                                 0,
                                 0};

/* --- The two tables --- */

static double columns_of(const RhOps *ops)
{
    return (double)ops->model->per_layer_inputs;
}

static double table_entries(const RhOps *ops)
{
    return (double)rh_ops_cut(ops, ops->model->per_layer_vocab) * columns_of(ops);
}

/* Entries of the matrices that make copies of the first hidden state, and one state of the last
 * ones. */
static double copies_entries(const RhOps *ops)
{
    double h = (double)ops->model->hidden;
    return ops->model->altup_num_inputs > 1 ? 2 * (ops->model->altup_num_inputs - 1) * h * h : 0;
}

static RhParams tables_params(const RhOps *ops)
{
    RhParams p = rh_embedding.params(ops);
    p.sharded += table_entries(ops);
    p.replicated += (double)ops->model->hidden * columns_of(ops) +
                    (double)ops->model->per_layer_input + copies_entries(ops);
    return p;
}

static RhFlops tables_flops(const RhOps *ops)
{
    double projection = (double)ops->model->hidden * columns_of(ops);
    return (RhFlops){.weights = 2 * (double)ops->tokens * (projection + copies_entries(ops))};
}

static void copy_states(RhOps *ops)
{
    int64_t h = ops->model->hidden;
    for (int32_t i = 1; i < 2 * ops->model->altup_num_inputs - 1; i++)
        rh_ops_gemm(ops, 1, ops->tokens, h, h);
}

static void tables_kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, columns = ops->model->per_layer_inputs;
    double e = ops->element_bytes, elements = (double)ops->tokens * columns_of(ops);
    rh_embedding.kernels(ops, pass);
    if (rh_pass_is_forward(pass)) {
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, 2 * e * elements, 1);
        rh_ops_gemm(ops, 1, ops->tokens, columns, h);
        rh_ops_norm(ops, elements, false);
        rh_ops_stream(ops, RH_KERNEL_ADD, SUM / 2 * e * elements, 1);
        copy_states(ops);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        copy_states(ops);
        rh_ops_norm(ops, elements, true);
        rh_ops_gemm(ops, 1, ops->tokens, h, columns);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, e * elements * (1 + 2.0 / MAX(ops->shard->tp, 1)),
                      1);
        rh_ops_stream(ops, RH_KERNEL_REDUCE, rh_ops_table_gradient_bytes(ops) * table_entries(ops),
                      1);
        rh_ops_weight_gradient(ops, columns, h);
        for (int32_t i = 1; i < 2 * ops->model->altup_num_inputs - 1; i++)
            rh_ops_weight_gradient(ops, h, h);
    }
}

/* Bytes. Kept: all layers' columns, the input of their norm, and copies of the first and the last
 * hidden state. Backward: the dense gradient of the table. */
static RhOperatorBytes tables_bytes(const RhOps *ops)
{
    RhOperatorBytes b = rh_embedding.bytes(ops);
    double e = ops->element_bytes, elements = (double)ops->tokens * columns_of(ops);
    double copies = ops->model->altup_num_inputs > 1 ? 2.0 * (ops->model->altup_num_inputs - 1) : 0;
    b.kept +=
        elements * (2 * e + rh_ops_norm_copies(ops)) + copies * e * rh_ops_hidden_elements(ops);
    b.forward += e * elements;
    b.backward += e * elements + e * table_entries(ops);
    return b;
}

const RhOperator rh_embedding_of_layers = {.name = "embedding, also of layers",
                                           .params = tables_params,
                                           .flops = tables_flops,
                                           .kernels = tables_kernels,
                                           .bytes = tables_bytes};

/* --- The end of a layer --- */

typedef struct {
    int64_t h, input, side;
    double alternates; /* 0: one state */
    int64_t rows;      /* rows of this rank */
} End;

static End end_of(const RhOps *ops)
{
    int32_t m = ops->model->altup_num_inputs;
    return (End){.h = ops->model->hidden,
                 .input = ops->kind->per_layer_input,
                 .side = ops->kind->laurel_rank,
                 .alternates = m > 1 ? m : 0,
                 .rows = (int64_t)(ops->sequence_rows + 0.5)};
}

static double matrix_entries(const End *w)
{
    return 2.0 * (double)w->h * (double)(w->input + w->side);
}

/* Parameters besides matrices: a norm after each path; for m states a router with its norm, the
 * scale of the first, and coefficients of corrections and of predictions. */
static RhParams end_params(const RhOps *ops)
{
    End w = end_of(ops);
    RhParams p = ops->kind->inner_ffn->params(ops);
    double m = w.alternates, norms = rh_ops_norm_params(ops);
    p.replicated += matrix_entries(&w) + (w.input > 0 ? norms : 0) + (w.side > 0 ? norms : 0);
    p.replicated += m > 0 ? (m + 2) * (double)w.h + m * m + m * m * m : 0;
    return p;
}

static RhFlops end_flops(const RhOps *ops)
{
    End w = end_of(ops);
    RhFlops f = ops->kind->inner_ffn->flops(ops);
    f.weights += 2 * (double)w.rows * matrix_entries(&w);
    return f;
}

static void add_paths(RhOps *ops, const End *w, bool backward)
{
    double rows = (double)w->rows * (double)w->h;
    rh_ops_norm(ops, rows, backward);
    rh_ops_stream(ops, RH_KERNEL_ADD, SUM / 2 * ops->element_bytes * rows, 1);
}

/* Kernels of AltUp: predictions read and write all states, corrections read them and the layer's
 * result; routers read one each. */
static void alternate(RhOps *ops, const End *w, bool backward)
{
    double times = backward ? 2 : 1, row = ops->element_bytes * (double)w->rows * (double)w->h;
    if (w->alternates <= 0)
        return;
    rh_ops_stream(ops, RH_KERNEL_REDUCE, times * 2 * row, 2);
    rh_ops_stream(ops, RH_KERNEL_ADD, times * 2 * w->alternates * row, 1);
    rh_ops_stream(ops, RH_KERNEL_ADD, times * (2 * w->alternates + 1) * row, 1);
}

static void forward(RhOps *ops, const End *w)
{
    if (w->side > 0) {
        rh_ops_linear(ops, w->rows, w->side, w->h);
        rh_ops_linear(ops, w->rows, w->h, w->side);
        add_paths(ops, w, false);
    }
    if (w->input > 0) {
        rh_ops_linear(ops, w->rows, w->input, w->h);
        rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &PRODUCT, (double)(w->rows * w->input),
                           false);
        rh_ops_linear(ops, w->rows, w->h, w->input);
        add_paths(ops, w, false);
    }
    alternate(ops, w, false);
}

static void backward(RhOps *ops, const End *w)
{
    alternate(ops, w, true);
    if (w->input > 0) {
        add_paths(ops, w, true);
        rh_ops_linear(ops, w->rows, w->input, w->h);
        rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &PRODUCT, (double)(w->rows * w->input), true);
        rh_ops_linear(ops, w->rows, w->h, w->input);
    }
    if (w->side > 0) {
        add_paths(ops, w, true);
        rh_ops_linear(ops, w->rows, w->side, w->h);
        rh_ops_linear(ops, w->rows, w->h, w->side);
    }
}

static void weight_gradients(RhOps *ops, const End *w)
{
    RhOps own = *ops;
    const int64_t narrow[] = {w->input, w->side};
    own.tokens = w->rows;
    for (size_t i = 0; i < G_N_ELEMENTS(narrow); i++)
        if (narrow[i] > 0) {
            rh_ops_linear_gradient(&own, w->h, narrow[i]);
            rh_ops_linear_gradient(&own, narrow[i], w->h);
        }
}

static void end_kernels(RhOps *ops, RhPass pass)
{
    End w = end_of(ops);
    if (pass == RH_PASS_BACKWARD_DATA)
        backward(ops, &w);
    ops->kind->inner_ffn->kernels(ops, pass);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        forward(ops, &w);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        weight_gradients(ops, &w);
}

/* Bytes kept: for each path its input, the tensors between its matrices and its norm's input; all
 * predicted states. */
static RhOperatorBytes end_bytes(const RhOps *ops)
{
    End w = end_of(ops);
    RhOperatorBytes b = ops->kind->inner_ffn->bytes(ops);
    double e = ops->element_bytes, rows = (double)w.rows, h = (double)w.h;
    double paths = (w.input > 0 ? 1 : 0) + (w.side > 0 ? 1 : 0);
    double between = (double)(2 * w.input + w.side);
    b.kept +=
        rows * (paths * h * (2 * e + rh_ops_norm_copies(ops)) + e * between + e * w.alternates * h);
    b.backward += rows * e * w.alternates * h;
    return b;
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    return ops->kind->inner_ffn->linears(ops, list);
}

void rh_layer_end_wrap(RhLayerKind *kind, int32_t input, int32_t side)
{
    kind->inner_ffn = kind->ffn;
    kind->ffn = &rh_layer_end;
    kind->per_layer_input = input;
    kind->laurel_rank = side;
}

const RhOperator rh_layer_end = {.name = "ffn, then the layer's own input",
                                 .params = end_params,
                                 .flops = end_flops,
                                 .kernels = end_kernels,
                                 .bytes = end_bytes,
                                 .linears = linears,
                                 .gathers_operands = true};
