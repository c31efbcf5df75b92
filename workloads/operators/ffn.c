/* The dense feed-forward network: one GEMM up (gate and up together), the activation, one GEMM
 * down. Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* Traffic per element of an activation with one input: read and write; backward reads the input and
 * the output's gradient and writes the input's. */
#define ONE_FORWARD  (RH_READ + RH_WRITE)
#define ONE_BACKWARD (2 * RH_READ + RH_WRITE)
/* Traffic per element of an activation with two inputs: read both and write their product; backward
 * reads these and the product's gradient and writes two. */
#define TWO_FORWARD  (2 * RH_READ + RH_WRITE)
#define TWO_BACKWARD (3 * RH_READ + 2 * RH_WRITE)
/* SwiGLU. Eager: SiLU, then the product. */
static const RhStream GATED = {
    TWO_FORWARD, TWO_BACKWARD, ONE_FORWARD + TWO_FORWARD, ONE_BACKWARD + TWO_BACKWARD, 2, 0, 0};
/* GELU with the bias. Eager: bias, then GELU; backward as much for each. */
static const RhStream PLAIN = {
    ONE_FORWARD, ONE_BACKWARD, 2 * ONE_FORWARD, 2 * ONE_BACKWARD, 2, 0, 0};

/* One rank's rows of the matrix down, and columns of the one up (twice as many when gated). */
typedef struct {
    int64_t down, up;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    int64_t f = rh_ops_cut(ops, ops->kind->ffn_width);
    return (Widths){.down = f, .up = (ops->kind->ffn_gated ? 2 : 1) * f};
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->ffn_width =
        c->moe.dense_intermediate_size > 0 ? c->moe.dense_intermediate_size : c->intermediate_size;
    kind->ffn_gated = c->mlp.gated != 0;
    kind->ffn_bias = c->mlp.bias != 0;
}

static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden;
    bool bias = ops->kind->ffn_bias;
    return (RhParams){.sharded = h * (double)(w.up + w.down) + (bias ? (double)w.up : 0),
                      .replicated = bias ? h : 0};
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double entries = (double)ops->model->hidden * (double)(w.up + w.down);
    return (RhFlops){.weights = 2 * (double)ops->tokens * entries};
}

void rh_ffn_activation(RhOps *ops, double elements, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, ops->kind->ffn_gated ? &GATED : &PLAIN, elements,
                       backward);
}

static void activation(RhOps *ops, const Widths *w, bool backward)
{
    double gates = (double)ops->tokens * (double)w->up;
    (backward ? rh_ops_widen_gate : rh_ops_keep_gate)(ops, gates);
    rh_ffn_activation(ops, (double)ops->tokens * (double)w->down, backward);
}

static void forward(RhOps *ops, const Widths *w, bool again)
{
    rh_ops_linear_gathered(ops, w->up, ops->model->hidden);
    activation(ops, w, false);
    if (!again || !ops->shard->stops_early) /* backward does not read what the second GEMM makes */
        rh_ops_linear_summed(ops, ops->model->hidden, w->down);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    int64_t h = ops->model->hidden;
    switch (pass) {
    case RH_PASS_FORWARD:
    case RH_PASS_PREFILL:
    case RH_PASS_DECODE:
        forward(ops, &w, false);
        break;
    case RH_PASS_RECOMPUTE_FULL:
        forward(ops, &w, true);
        break;
    case RH_PASS_BACKWARD_DATA:
        rh_ops_linear_gathered(ops, w.down, h);
        activation(ops, &w, true);
        rh_ops_linear(ops, ops->tokens, h, w.up);
        break;
    case RH_PASS_BACKWARD_WEIGHT:
        rh_ops_linear_gradient(ops, h, w.down);
        rh_ops_linear_gradient(ops, w.up, h);
        if (ops->kind->ffn_bias) {
            rh_ops_bias_gradient(ops, h);
            rh_ops_bias_gradient(ops, w.up);
        }
        break;
    case RH_PASS_RECOMPUTE_SELECTIVE:
        if (rh_ops_replays(ops, RH_RECOMPUTE_FFN))
            forward(ops, &w, true);
        break;
    case RH_PASS_NONE:
    case RH_PASS_LAST:
    default:
        break;
    }
}

/* Bytes. Kept: input of the activation and of the second GEMM; an eager gate keeps SiLU's output as
 * well. Backward: the peak, a GEMM's result beside operands that nothing keeps. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens, e = ops->element_bytes, wide = rh_ops_hidden_elements(ops);
    double down = n * (double)w.down, up = n * (double)w.up;
    bool eager_gate = ops->kind->ffn_gated && !ops->shard->fused_elementwise;
    double into_activation = e * (wide + down), inside = e * (down + up);
    double out_of_activation = e * (up + wide) + rh_ops_gathered_bytes(ops);
    inside += rh_ops_wide_gate_bytes(ops, up);
    double kept = rh_ops_kept_gate_bytes(ops) * up + e * (eager_gate ? down : 0) +
                  rh_ops_kept_bytes(ops) * down;
    bool again = rh_ops_replays(ops, RH_RECOMPUTE_FFN);
    return (RhOperatorBytes){.kept = kept,
                             .dropped = again ? kept - rh_ops_wide_input_bytes(ops) : 0,
                             .forward = e * wide + rh_ops_gathered_bytes(ops),
                             .backward = MAX(into_activation, MAX(inside, out_of_activation))};
}

/* Linear layers. The second one's input is the activation's output, which the activation's own
 * backward does not read. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    Widths w = widths_of(ops);
    int64_t h = ops->model->hidden;
    bool again = rh_ops_replays(ops, RH_RECOMPUTE_FFN);
    double down = rh_ops_kept_bytes(ops) * (double)ops->tokens * (double)w.down;
    list[0] = (RhLinear){.name = RH_LINEAR_FC1,
                         .in = h,
                         .out = w.up,
                         .by_columns = true,
                         .kept = rh_ops_normed_input_bytes(ops),
                         .again = RH_RECOMPUTE_FFN};
    list[1] = (RhLinear){.name = RH_LINEAR_FC2,
                         .in = w.down,
                         .out = h,
                         .kept = again ? 0 : down,
                         .again = RH_RECOMPUTE_FFN};
    return 2;
}

const RhOperator rh_ffn = {.name = "ffn",
                           .shape = shape,
                           .params = params,
                           .flops = flops,
                           .kernels = kernels,
                           .bytes = bytes,
                           .linears = linears,
                           .modules = RH_RECOMPUTE_FFN,
                           .in_steps = true,
                           .gathers_operands = true};
