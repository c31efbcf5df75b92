/* A mixture of experts (Shazeer et al. 2017, arXiv 1701.06538): a router sends each token to a few
 * of many feed-forward networks, whose outputs are summed by the router's weights; some models give
 * every token a shared expert besides (DeepSeekMoE, arXiv 2401.06066). Formulas:
 * docs/theory/workload.md.
 *
 * Tokens are copied into the order of their experts, the experts run as grouped GEMMs, and results
 * are copied back. Tensor parallelism cuts every expert's width, as it does a dense network's;
 * expert parallelism spreads whole experts, or parts of them, over ranks, which send one another
 * the tokens of their sequence part (GShard, Lepikhin et al. 2020, arXiv 2006.16668;
 * Megatron-Core's all-to-all dispatcher). expert_tokens.h knows which rank gets what. The router is whole
 * on every rank. Assumed: its weights are applied with the activation (as Megatron-Core's grouped
 * experts do), so that the experts' outputs need not be kept. */
#include "workloads/operators/mixture_of_experts.h"

#include <math.h>

#include "workloads/operators/expert_gemms.h"

/* Traffic of a probability: read the logit, write in fp32, read to choose; backward reads it and
 * its gradient and writes the logit's. */
#define CHOICE_FORWARD  (RH_READ + 2 * RH_FP32)
#define CHOICE_BACKWARD (2 * RH_FP32 + RH_WRITE)

/* Makes the context of the shared expert, a dense network of its own width; false: there is
 * none. */
static bool shared_of(const RhOps *ops, RhLayerKind *kind, RhOps *shared)
{
    *kind = *ops->kind;
    kind->ffn_width = kind->shared_width;
    *shared = *ops;
    shared->kind = kind;
    return kind->shared_width > 0;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->ffn_width =
        c->moe.intermediate_size > 0 ? c->moe.intermediate_size : c->intermediate_size;
    kind->ffn_gated = c->mlp.gated != 0;
    kind->ffn_bias = c->mlp.bias != 0;
    kind->experts = (int32_t)c->moe.num_experts;
    kind->experts_per_token = (int32_t)c->moe.num_experts_per_tok;
    kind->n_group = (int32_t)MAX(c->moe.n_group, 1);
    kind->topk_group = (int32_t)CLAMP(c->moe.topk_group, 1, kind->n_group);
    kind->shared_width = c->moe.shared_intermediate_size > 0
                             ? c->moe.shared_intermediate_size
                             : c->moe.n_shared_experts * kind->ffn_width;
    kind->shared_gate = c->moe.shared_gate != 0 && kind->shared_width > 0;
    kind->moe_latent = (int32_t)c->moe.latent_size;
    kind->latent_norm = c->moe.latent_norm != 0 && kind->moe_latent > 0;
    kind->router_bias = c->moe.router_bias != 0;
    kind->vision_experts = (int32_t)c->moe.num_vision_experts;
    kind->vision_expert_width = c->moe.num_vision_experts > 0 ? c->moe.vision_intermediate_size : 0;
}

/* Entries of the matrices that every rank holds whole and applies to its tokens of the sequence
 * part: the router, the shared expert's gate, into the experts' latent and out of it (duplicated in
 * Megatron-Core, too). */
static double whole_entries(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    double columns = kind->experts + (kind->shared_gate ? 1 : 0) + 2.0 * kind->moe_latent;
    return (double)ops->model->hidden * columns;
}

/* Adds the parameters of experts that tokens of text never go to (ERNIE 4.5's for pictures); they
 * are held like the others, with a router of their own. */
static void add_others(const RhOps *ops, RhParams *p)
{
    const RhLayerKind *kind = ops->kind;
    double others = kind->vision_experts, matrices = kind->ffn_gated ? 3 : 2;
    int32_t etp = rh_expert_tensor_of(ops->shard);
    double width = (double)((kind->vision_expert_width + etp - 1) / etp);
    double cut = others / MAX(ops->shard->ep, 1) * matrices * width * (double)ops->model->hidden;
    *(rh_experts_are_spread(ops->shard) ? &p->experts : &p->sharded) += cut;
    p->replicated += others * ((double)ops->model->hidden + (kind->router_bias ? 1 : 0));
}

static RhParams params(const RhOps *ops)
{
    RhRouted r = rh_routed_of(ops);
    RhLayerKind kind;
    RhOps shared;
    double in = (double)r.in, experts = (double)r.experts;
    double cut = experts * in * (double)(r.up + r.down), biases = 0;
    RhParams p = {.replicated = whole_entries(ops) +
                                (ops->kind->router_bias ? (double)ops->kind->experts : 0) +
                                (ops->kind->latent_norm ? (double)ops->kind->moe_latent : 0)};
    if (ops->kind->ffn_bias) {
        cut += experts * (double)r.up;
        biases += experts * in;
    }
    if (r.spread) {
        p.experts = cut + biases;
    } else {
        p.sharded = cut;
        p.replicated += biases;
    }
    if (shared_of(ops, &kind, &shared)) {
        RhParams dense = rh_ffn.params(&shared);
        p.sharded += dense.sharded;
        p.replicated += dense.replicated;
    }
    if (ops->kind->vision_experts > 0)
        add_others(ops, &p);
    return p;
}

static RhFlops flops(const RhOps *ops)
{
    RhRouted r = rh_routed_of(ops);
    RhLayerKind kind;
    RhOps shared;
    double entries = (double)r.in * (double)(r.up + r.down);
    RhFlops f = {.weights =
                     2 * ops->sequence_rows * whole_entries(ops) + 2 * (double)r.tokens * entries};
    if (shared_of(ops, &kind, &shared))
        f.weights += rh_ffn.flops(&shared).weights;
    return f;
}

/* --- Kernels --- */

/* Kernel of the gradients of all experts' biases, of so many columns: reads their tokens', adds to
 * main gradients. */
static void bias_gradient(RhOps *ops, const RhRouted *r, int64_t columns)
{
    double entries = (double)r->tokens * ops->element_bytes +
                     rh_ops_added_gradient_bytes(ops) * (double)rh_routed_busy(r);
    rh_ops_stream(ops, RH_KERNEL_REDUCE, entries * (double)columns, 1);
}

static void copy_rows(RhOps *ops, const RhRouted *r, double rows)
{
    rh_ops_stream(ops, RH_KERNEL_ADD, ops->element_bytes * rows * (double)r->in, 1);
}

/* Kernel that copies between the order of tokens and that of experts: reads one, writes the
 * other; or a product with the matrix of who goes where (GShard's einsum, arXiv 2006.16668, algorithm 2). */
static void copy_tokens(RhOps *ops, const RhRouted *r, bool to_experts)
{
    int64_t from = (int64_t)r->from, sent = (int64_t)r->sent;
    if (r->filled && ops->shard->sorts_by_products)
        rh_ops_gemm(ops, 1, to_experts ? sent : from, r->in, to_experts ? from : sent);
    else
        copy_rows(ops, r, r->from + r->sent);
}

/* Kernel that sorts tokens from the order of ranks into that of experts, a copy for each, or
 * back. */
static void sort_tokens(RhOps *ops, const RhRouted *r)
{
    if (r->spread && r->experts > 1)
        copy_rows(ops, r, (r->once ? r->come : (double)r->tokens) + (double)r->tokens);
}

/* Kernels [first, first + count) of the shared expert, which run while tokens are on their way. */
typedef struct {
    const GArray *kernels;
    guint first, count;
} Beside;

static void run_beside(RhOps *ops, const Beside *beside)
{
    if (beside->count == 0)
        return;
    g_array_append_vals(ops->out, &g_array_index(beside->kernels, RhKernel, beside->first),
                        beside->count);
    rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_ARRIVE});
}

static void travel(RhOps *ops, const RhRouted *r, RhExchangeKind kind, const Beside *beside)
{
    const RhRecipe *recipe = ops->shard->recipe;
    double element =
        kind == RH_EXCHANGE_DISPATCH && recipe ? recipe->dispatch_bytes : ops->element_bytes;
    RhExchange exchange = {.kind = kind,
                           .bytes = element * r->sent * r->busiest * (double)r->in,
                           .busiest = r->busiest,
                           .beside = beside->count > 0};
    if (r->once)
        exchange.routing = r->routing;
    if (r->spread)
        rh_ops_exchange(ops, exchange);
    run_beside(ops, beside);
}

/* Moves tokens to the experts, in their order. A backend that sends a token once reads it where it
 * lies, and sums where it brings it back (DeepEP). */
static void to_experts(RhOps *ops, const RhRouted *r, const Beside *beside)
{
    if (!r->once)
        copy_tokens(ops, r, true);
    travel(ops, r, RH_EXCHANGE_DISPATCH, beside);
    sort_tokens(ops, r);
}

static void from_experts(RhOps *ops, const RhRouted *r, const Beside *beside)
{
    sort_tokens(ops, r);
    travel(ops, r, RH_EXCHANGE_COMBINE, beside);
    if (!r->once)
        copy_tokens(ops, r, false);
}

/* Kernel of a matrix that every rank applies to its tokens of the sequence part. */
static void whole_gemm(RhOps *ops, int64_t columns, int64_t rows)
{
    if (columns > 0 && rows > 0)
        rh_ops_gemm(ops, 1, (int64_t)ops->sequence_rows, columns, rows);
}

/* Kernel of the shared expert's gate: its output is scaled by a sigmoid of one column, read and
 * written. */
static void gate(RhOps *ops, bool backward)
{
    if (!ops->kind->shared_gate)
        return;
    whole_gemm(ops, backward ? ops->model->hidden : 1, backward ? 1 : ops->model->hidden);
    rh_ops_stream(ops, RH_KERNEL_ACTIVATION,
                  (backward ? 2 * RH_READ + RH_WRITE : RH_READ + RH_WRITE) *
                      rh_ops_sequence_elements(ops),
                  1);
}

static void choose(RhOps *ops, double bytes)
{
    rh_ops_stream(ops, RH_KERNEL_ACTIVATION,
                  bytes * ops->sequence_rows * (double)ops->kind->experts, 1);
}

static void experts_forward(RhOps *ops, const RhRouted *r)
{
    rh_grouped_gemm(ops, r, r->up, r->in);
    rh_ops_keep_gate(ops, (double)r->tokens * (double)r->up);
    rh_ffn_activation(ops, (double)r->tokens * (double)r->down, false);
    rh_grouped_gemm(ops, r, r->in, r->down);
}

/* Norm of the experts' output, before it leaves their latent. */
static void latent_norm(RhOps *ops, bool backward)
{
    if (ops->kind->latent_norm)
        rh_ops_norm(ops, ops->sequence_rows * (double)ops->kind->moe_latent, backward);
}

static void forward(RhOps *ops, const RhRouted *r, const Beside beside[2])
{
    int64_t h = ops->model->hidden, latent = ops->kind->moe_latent;
    rh_ops_gemm(ops, 1, (int64_t)ops->sequence_rows, ops->kind->experts, h);
    choose(ops, CHOICE_FORWARD);
    whole_gemm(ops, latent, h);
    to_experts(ops, r, &beside[0]);
    experts_forward(ops, r);
    from_experts(ops, r, &beside[1]);
    latent_norm(ops, false);
    whole_gemm(ops, h, latent);
    gate(ops, false);
}

static void backward_data(RhOps *ops, const RhRouted *r, const Beside beside[2])
{
    int64_t h = ops->model->hidden, latent = ops->kind->moe_latent;
    gate(ops, true);
    whole_gemm(ops, latent, h);
    latent_norm(ops, true);
    if (r->filled && ops->shard->sorts_by_products) /* of the weights of who goes where */
        rh_ops_gemm(ops, 1, (int64_t)r->from, (int64_t)r->sent, r->in);
    to_experts(ops, r, &beside[0]);
    rh_grouped_gemm(ops, r, r->down, r->in);
    rh_ops_widen_gate(ops, (double)r->tokens * (double)r->up);
    rh_ffn_activation(ops, (double)r->tokens * (double)r->down, true);
    rh_grouped_gemm(ops, r, r->in, r->up);
    from_experts(ops, r, &beside[1]);
    whole_gemm(ops, h, latent);
    choose(ops, CHOICE_BACKWARD);
    rh_ops_gemm(ops, 1, (int64_t)ops->sequence_rows, h, ops->kind->experts);
}

static void backward_weight(RhOps *ops, const RhRouted *r)
{
    int64_t h = ops->model->hidden, latent = ops->kind->moe_latent;
    RhOps whole = *ops;
    whole.tokens = (int64_t)ops->sequence_rows;
    rh_grouped_gradient(ops, r, r->in, r->down);
    rh_grouped_gradient(ops, r, r->up, r->in);
    rh_ops_weight_gradient(&whole, ops->kind->experts, h);
    if (ops->kind->shared_gate)
        rh_ops_weight_gradient(&whole, 1, h);
    if (latent > 0) {
        rh_ops_weight_gradient(&whole, h, latent);
        rh_ops_weight_gradient(&whole, latent, h);
    }
    if (ops->kind->ffn_bias) {
        bias_gradient(ops, r, r->in);
        bias_gradient(ops, r, r->up);
    }
}

/* Divides the shared expert's kernels of a pass: all before its last GEMM run beside the dispatch,
 * and that one beside the combine (Megatron-Core's shared-expert overlap). */
static void part_shared(const GArray *shared, Beside beside[2])
{
    guint last = shared->len;
    for (guint i = 0; i < shared->len; i++)
        if (g_array_index(shared, RhKernel, i).cls == RH_KERNEL_GEMM)
            last = i;
    beside[0] = (Beside){shared, 0, last};
    beside[1] = (Beside){shared, last, shared->len - last};
}

/* The part that is recomputed before backward: all of it, or the experts' activation, the shared
 * expert, or both. */
static RhPass replay_of(const RhOps *ops, RhPass pass, RhRecompute module)
{
    bool again = rh_ops_replays(ops, RH_RECOMPUTE_MIXTURE) || rh_ops_replays(ops, module);
    return pass != RH_PASS_RECOMPUTE_SELECTIVE ? pass
           : again                             ? RH_PASS_RECOMPUTE_FULL
                                               : RH_PASS_NONE;
}

static void replay_activation(RhOps *ops, const RhRouted *r)
{
    double elements = (double)r->tokens * (double)r->down;
    rh_ffn_activation(ops, elements, false);
    rh_grouped_cast(ops, r, elements);
}

static void kernels(RhOps *ops, RhPass asked)
{
    RhPass pass = replay_of(ops, asked, RH_RECOMPUTE_NONE);
    RhRouted r = rh_routed_of(ops);
    RhLayerKind kind;
    RhOps shared;
    Beside beside[2] = {{0}};
    g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    bool overlaps = r.spread && ops->shard->shared_beside && pass != RH_PASS_BACKWARD_WEIGHT &&
                    pass != RH_PASS_NONE;
    bool inside = rh_pass_is_forward(pass) && rh_experts_share_inside(ops);
    if (inside)
        r = rh_routed_with_shared(r);
    if (!inside && shared_of(ops, &kind, &shared)) {
        shared.out = own;
        rh_ffn.kernels(&shared, replay_of(ops, asked, RH_RECOMPUTE_SHARED));
    }
    if (overlaps)
        part_shared(own, beside);
    if (pass == RH_PASS_BACKWARD_DATA)
        backward_data(ops, &r, beside);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        backward_weight(ops, &r);
    else if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        forward(ops, &r, beside);
    else if (asked == RH_PASS_RECOMPUTE_SELECTIVE &&
             rh_ops_replays(ops, RH_RECOMPUTE_EXPERT_ACTIVATION))
        replay_activation(ops, &r);
    if (!overlaps)
        g_array_append_vals(ops->out, own->data, own->len);
}

void rh_experts_kernels(const RhExperts *e, GArray *out)
{
    g_return_if_fail(e != NULL && e->experts > 0 && out != NULL);
    RhModel model = {.hidden = e->hidden};
    RhLayerKind kind = {.ffn_gated = true};
    RhShard shard = {.tp = 1,
                     .dtype = e->dtype,
                     .fused_norms = true,
                     .fused_softmax = true,
                     .fused_elementwise = true};
    RhOps ops = {.model = &model,
                 .kind = &kind,
                 .shard = &shard,
                 .tokens = e->tokens,
                 .element_bytes = rh_dtype_bytes(e->dtype),
                 .out = out};
    RhRouted r = {.experts = e->experts,
                  .tokens = e->tokens,
                  .in = e->hidden,
                  .from = (double)e->tokens,
                  .sent = (double)e->tokens,
                  .up = 2 * e->ffn,
                  .down = e->ffn};
    experts_forward(&ops, &r);
}

/* --- Bytes --- */

/* Bytes. Kept: probabilities, tokens in the order of experts, input of the activation and of the
 * second GEMM; an eager gate keeps SiLU's output as well; where experts work in a latent, their sum
 * before it leaves the latent; a gated shared expert's output. Working, as for a dense network,
 * with a copy of a token for each of its experts. Tokens that travel are held at both ends, on
 * either way; they are not gathered over a tensor group. Routed experts and the shared one work one
 * after the other. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    RhRouted r = rh_routed_of(ops);
    RhLayerKind kind;
    RhOps one;
    double n = (double)r.tokens, e = ops->element_bytes;
    double up = n * (double)r.up, down = n * (double)r.down, copies = n * (double)r.in;
    double latent = ops->sequence_rows * ops->kind->moe_latent;
    double normed = ops->kind->latent_norm ? latent * (e + rh_ops_norm_copies(ops)) : 0;
    double gated = ops->kind->shared_gate ? rh_ops_sequence_elements(ops) : 0;
    double wide = r.spread ? r.come * (double)r.in : rh_ops_hidden_elements(ops);
    double gathered = r.spread ? 0 : rh_ops_gathered_bytes(ops);
    bool eager_gate = ops->kind->ffn_gated && !ops->shard->fused_elementwise;
    double choice = RH_FP32 * ops->sequence_rows * (double)ops->kind->experts;
    double operand = rh_ops_kept_bytes(ops); /* the router's own input is kept wide */
    double wide_input = (e - operand) * rh_ops_sequence_elements(ops);
    choice += wide_input;
    double activated = operand * down + (eager_gate ? e * down : 0);
    double rest = choice + operand * copies + rh_ops_kept_gate_bytes(ops) * up +
                  e * (latent + gated) + normed;
    bool again = rh_ops_replays(ops, RH_RECOMPUTE_EXPERT_ACTIVATION);
    bool input_again = rh_ops_replays(ops, RH_RECOMPUTE_NORM);
    RhOperatorBytes b = {.kept = rest + activated,
                         .dropped = (again ? activated : 0) + (input_again ? wide_input : 0),
                         .forward = e * (copies + wide) + gathered,
                         .backward = fmax(e * (copies + down),
                                          fmax(e * (down + up) + rh_ops_wide_gate_bytes(ops, up),
                                               e * (up + copies) + gathered))};
    if (r.spread)
        b.backward = fmax(b.backward, e * (wide + copies));
    RhOperatorBytes shared = {0};
    if (shared_of(ops, &kind, &one))
        shared = rh_ffn.bytes(&one);
    b.kept += shared.kept;
    b.dropped += rh_ops_replays(ops, RH_RECOMPUTE_SHARED) ? shared.kept : 0;
    if (rh_ops_replays(ops, RH_RECOMPUTE_MIXTURE))
        b.dropped = b.kept - (input_again ? 0 : wide_input);
    double beside = shared.kept > 0 ? e * rh_ops_hidden_elements(ops) : 0;
    return (RhOperatorBytes){.kept = b.kept,
                             .dropped = b.dropped,
                             .forward = fmax(b.forward, shared.forward + beside),
                             .backward = fmax(b.backward, shared.backward + beside)};
}

/* A linear layer of the routed experts. */
static RhLinear of_experts(const RhOps *ops, const RhRouted *r, RhLinearName name, int64_t in,
                           int64_t out)
{
    return (RhLinear){.name = name,
                      .in = in,
                      .out = out,
                      .by_columns = name == RH_LINEAR_FC1,
                      .again = RH_RECOMPUTE_MIXTURE,
                      .experts = r->experts,
                      .parts = rh_expert_tensor_of(ops->shard),
                      .busy = rh_routed_busy(r),
                      .rows = rh_routed_rows(r),
                      .tokens = r->tokens,
                      .spread = r->spread};
}

/* Linear layers: both of every expert, and of the shared one. Without a shared one the norm's
 * output, which only the router reads, is kept for its gradient alone, and the router has no
 * adapter. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    RhRouted r = rh_routed_of(ops);
    RhLayerKind kind;
    RhOps shared;
    double operand = rh_ops_kept_bytes(ops), n = (double)r.tokens;
    bool again = rh_ops_replays(ops, RH_RECOMPUTE_MIXTURE);
    bool activated = again || rh_ops_replays(ops, RH_RECOMPUTE_EXPERT_ACTIVATION);
    list[0] = of_experts(ops, &r, RH_LINEAR_FC1, r.in, r.up);
    list[0].kept = again ? 0 : operand * n * (double)r.in;
    list[1] = of_experts(ops, &r, RH_LINEAR_FC2, r.down, r.in);
    list[1].kept = activated ? 0 : operand * n * (double)r.down;
    if (!shared_of(ops, &kind, &shared)) {
        list[2] = (RhLinear){.kept = rh_ops_normed_input_bytes(ops)};
        return 3;
    }
    int count = 2 + rh_ffn.linears(&shared, list + 2);
    for (int i = 2; i < count; i++)
        list[i].again = RH_RECOMPUTE_MIXTURE | RH_RECOMPUTE_SHARED;
    if (again || rh_ops_replays(ops, RH_RECOMPUTE_SHARED))
        list[3].kept = 0;
    return count;
}

/* Does the block take all tokens of a tensor-parallel group, as for a dense network and its shared
 * expert? */
static bool takes_whole(const RhOps *ops)
{
    return !rh_experts_are_spread(ops->shard) || ops->kind->shared_width > 0;
}

const RhOperator rh_mixture = {.name = "experts",
                               .shape = shape,
                               .params = params,
                               .flops = flops,
                               .kernels = kernels,
                               .bytes = bytes,
                               .linears = linears,
                               .takes_whole = takes_whole,
                               .modules = RH_RECOMPUTE_MIXTURE | RH_RECOMPUTE_EXPERT_ACTIVATION |
                                          RH_RECOMPUTE_SHARED};
