/* Differential attention (Ye et al. 2024, arXiv 2410.05258, section 2.1; DiffLlama, transformers' modeling_diffllama.py): heads work in
 * pairs, whose two maps look at the values of both, 2 d columns; from the first's output the second's is taken, lambda times, which four
 * vectors of d make, and what is left is normed over 2 d columns, without scales. Tensor ranks have both of a pair. Formulas:
 * docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* One rank's heads, and columns of its matrices. */
typedef struct {
    int64_t heads, kv_heads, q, kv, qkv;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    int64_t d = ops->kind->head_size;
    Widths w = {.heads = rh_ops_cut(ops, ops->kind->heads),
                .kv_heads = MAX(rh_ops_cut(ops, ops->kind->kv_heads), 1)};
    w.q = w.heads * d;
    w.kv = w.kv_heads * d;
    w.qkv = w.q + 2 * w.kv;
    return w;
}

static RhCore core_of(const RhOps *ops, const Widths *w)
{
    int64_t d = ops->kind->head_size;
    return (RhCore){.heads = w->heads, .kv_heads = w->kv_heads, .key = d, .value = 2 * d};
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_attention.shape(c, kind);
}

static RhParams params(const RhOps *ops)
{
    RhParams p = rh_attention.params(ops);
    p.replicated += 4.0 * ops->kind->head_size;
    return p;
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    RhFlops f = rh_attention.flops(ops);
    f.pairs = rh_core_flops(ops, &core, false);
    return f;
}

/* --- Kernels --- */

static double rotated(const RhOps *ops, const Widths *w)
{
    return (double)ops->tokens * (double)(w->q + w->kv);
}

/* Of two outputs one, in two steps (lambda times the second; the difference), and its norm. */
static const RhStream DIFFERENCE = {.fused_forward = 2 * RH_READ + RH_WRITE,
                                    .fused_backward = RH_READ + 2 * RH_WRITE,
                                    .eager_forward = 3 * RH_READ + 2 * RH_WRITE,
                                    .eager_backward = 2 * RH_READ + 2 * RH_WRITE,
                                    .eager_steps = 2};

static void take(RhOps *ops, const Widths *w, bool backward)
{
    double elements = (double)ops->tokens * (double)w->q;
    if (backward)
        rh_ops_norm(ops, elements, true);
    rh_ops_elementwise(ops, RH_KERNEL_ADD, &DIFFERENCE, elements, backward);
    if (!backward)
        rh_ops_norm(ops, elements, false);
}

static void rotate(RhOps *ops, const Widths *w, bool backward)
{
    if (ops->model->position == RH_POSITION_ROTARY)
        rh_ops_rotary(ops, rotated(ops, w), backward);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    int64_t h = ops->model->hidden;
    rh_ops_linear_gradient(ops, h, w->q);
    rh_ops_linear_gradient(ops, w->qkv, h);
    if (ops->kind->out_bias)
        rh_ops_bias_gradient(ops, h);
    if (ops->kind->qkv_bias)
        rh_ops_bias_gradient(ops, w->qkv);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    int64_t h = ops->model->hidden;
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL) {
        rh_ops_linear_gathered(ops, w.qkv, h);
        rotate(ops, &w, false);
        rh_core_kernels(ops, &core, pass);
        take(ops, &w, false);
        rh_ops_linear_summed(ops, h, w.q);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_linear_gathered(ops, w.q, h);
        take(ops, &w, true);
        rh_core_kernels(ops, &core, pass);
        rotate(ops, &w, true);
        rh_ops_linear(ops, ops->tokens, h, w.qkv);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        weight_gradients(ops, &w);
    } else if (pass == RH_PASS_RECOMPUTE_SELECTIVE && rh_ops_replays(ops, RH_RECOMPUTE_CORE)) {
        rh_core_kernels(ops, &core, pass);
    }
}

/* Kept: q, k, v (anew where rotation is a kernel of its own); both maps' outputs, 2 a d; their difference, and its norm. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double e = ops->element_bytes, n = (double)ops->tokens, q = n * (double)w.q;
    double of_core = rh_core_kept_bytes(ops, &core);
    bool anew = ops->model->position == RH_POSITION_ROTARY && !ops->shard->fused_elementwise &&
                ops->shard->flash;
    double kept = e * (n * (double)w.qkv + (anew ? rotated(ops, &w) : 0) + 2 * q + 2 * q) +
                  (rh_ops_norm_copies(ops) + rh_ops_kept_copy_bytes(ops)) * q;
    return (RhOperatorBytes){.kept = kept + of_core,
                             .dropped = rh_ops_replays(ops, RH_RECOMPUTE_CORE) ? of_core : 0,
                             .forward =
                                 e * rh_ops_hidden_elements(ops) + rh_ops_gathered_bytes(ops),
                             .backward = rh_core_backward_bytes(ops, &core)};
}

static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    return rh_ops_cached(ops, 2.0 * (double)w.kv);
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    return rh_attention.linears(ops, list);
}

const RhOperator rh_attention_differential = {.name = "differential attention",
                                              .shape = shape,
                                              .params = params,
                                              .flops = flops,
                                              .kernels = kernels,
                                              .bytes = bytes,
                                              .cache = cache,
                                              .linears = linears,
                                              .modules = RH_RECOMPUTE_CORE,
                                              .in_steps = true,
                                              .gathers_operands = true,
                                              .key_heads = true};
