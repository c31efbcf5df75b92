#include "strategies/train/pieces.h"

#include "strategies/train/cuts/cut.h"

typedef struct {
    const RhPieces *pieces;
    const RhLayerKind *kind;
    RhBlock block;
    double context_bytes; /* keys and values of the rank's own tokens */
} BlockOf;

double rh_piece_kernel_s(const RhCase *c, const RhKernel *kernel)
{
    return rh_kernel_time_s(c->platform->device, kernel) + c->stack->kernel_gap_s.value;
}

RhKernel rh_optimizer_kernel(const RhCase *c, const RhLayout *l, double params)
{
    double share = params / rh_cut_shares(l).optimizer;
    return (RhKernel){.cls = RH_KERNEL_OPTIMIZER,
                      .dtype = RH_DTYPE_FP32,
                      .bytes = c->stack->optimizer_bytes.value * share,
                      .flops = 12 * share};
}

/* --- parts of a ring --- */

static RhPiece *add_part(GArray *parts, int32_t step, double bytes)
{
    RhPiece part = {.kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel)),
                    .ring_step = step,
                    .ring_bytes = bytes};
    g_array_append_val(parts, part);
    return &g_array_index(parts, RhPiece, parts->len - 1);
}

/* A step begins with its attention kernel; what follows the last one's merge is no step. */
static void part_ring(RhPiece *piece, const BlockOf *of)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(RhPiece));
    RhPiece *part = NULL;
    int32_t step = -1, merges = 0, cp = of->pieces->shard.cp;
    for (guint i = 0; i < piece->kernels->len; i++) {
        const RhKernel *kernel = &g_array_index(piece->kernels, RhKernel, i);
        bool back = kernel->cls == RH_KERNEL_ATTENTION_BACKWARD;
        bool attention = back || kernel->cls == RH_KERNEL_ATTENTION;
        bool merge = step > 0 && merges == 0 && kernel->cls == RH_KERNEL_ADD;
        if (attention) {
            step = step + 1 < cp && step >= 0 ? step + 1 : 0;
            merges = 0;
            part = add_part(parts, step, (back ? 2 : 1) * of->context_bytes);
        } else if (!part || (part->ring_step >= 0 && !merge)) {
            part = add_part(parts, -1, 0);
        }
        merges += merge;
        g_array_append_vals(part->kernels, kernel, 1);
        part->seconds += rh_piece_kernel_s(of->pieces->c, kernel);
    }
    piece->parts_count = (int32_t)parts->len;
    piece->parts = g_memdup2(parts->data, sizeof(RhPiece) * parts->len);
}

static RhPiece piece_new(const BlockOf *of, RhPart part, RhPass pass, RhPass also)
{
    const RhCase *c = of->pieces->c;
    RhPiece piece = {.kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel))};
    if (also != RH_PASS_NONE)
        rh_block_kernels(c->model, of->kind, of->block, part, also, &of->pieces->shard,
                         piece.kernels);
    rh_block_kernels(c->model, of->kind, of->block, part, pass, &of->pieces->shard, piece.kernels);
    for (guint i = 0; i < piece.kernels->len; i++)
        piece.seconds += rh_piece_kernel_s(c, &g_array_index(piece.kernels, RhKernel, i));
    if (of->pieces->shard.cp > 1 && of->block == RH_BLOCK_MIXER && part == RH_PART_TENSOR)
        part_ring(&piece, of);
    return piece;
}

static RhBlockPieces block_new(const RhPieces *pieces, const RhLayerKind *kind, RhBlock block)
{
    RhActivation bytes =
        rh_block_activation_bytes(pieces->c->model, kind, block, pieces->recompute, &pieces->shard);
    BlockOf of = {pieces, kind, block, bytes.context};
    RhParams params = rh_block_params(pieces->c->model, kind, block, pieces->shard.tp);
    bool replay = block == RH_BLOCK_MIXER && pieces->recompute == RH_RECOMPUTE_SELECTIVE;
    /* Parameters have no gradient on the sequence part but the norm's own: its kernels come with
     * the data pass. */
    return (RhBlockPieces){
        .sequence_forward = piece_new(&of, RH_PART_SEQUENCE, RH_PASS_FORWARD, RH_PASS_NONE),
        .tensor_forward = piece_new(&of, RH_PART_TENSOR, RH_PASS_FORWARD, RH_PASS_NONE),
        .data = piece_new(&of, RH_PART_TENSOR, RH_PASS_BACKWARD_DATA,
                          replay ? RH_PASS_RECOMPUTE_SELECTIVE : RH_PASS_NONE),
        .weight = piece_new(&of, RH_PART_TENSOR, RH_PASS_BACKWARD_WEIGHT, RH_PASS_NONE),
        .sequence_backward =
            piece_new(&of, RH_PART_SEQUENCE, RH_PASS_BACKWARD_DATA, RH_PASS_BACKWARD_WEIGHT),
        .params = params.sharded + params.replicated,
        .whole_params = params.replicated,
        .bytes = bytes,
    };
}

RhPieces *rh_pieces_new(const RhCase *c, const RhLayout *layout)
{
    RhPieces *p = g_new0(RhPieces, 1);
    p->c = c;
    p->recompute = layout->recompute;
    p->shard = (RhShard){.tp = layout->tp,
                         .cp = layout->cp,
                         .sequence_parallel = layout->sequence_parallel && layout->tp > 1,
                         .sequence = c->job.sequence,
                         .microbatch = layout->microbatch,
                         .dtype = c->job.dtype,
                         .flash = c->stack->flash_attention,
                         .fused_norms = c->stack->fused_norms};
    for (int k = 0; k < c->model->kinds_count; k++) {
        p->mixer[k] = block_new(p, &c->model->kinds[k], RH_BLOCK_MIXER);
        p->ffn[k] = block_new(p, &c->model->kinds[k], RH_BLOCK_FFN);
        p->layer_params[k] = p->mixer[k].params + p->ffn[k].params;
    }
    p->embedding = block_new(p, NULL, RH_BLOCK_EMBEDDING);
    p->head = block_new(p, NULL, RH_BLOCK_HEAD);
    p->boundary_bytes = rh_boundary_bytes(c->model, &p->shard);
    p->message_bytes = p->boundary_bytes / (p->shard.sequence_parallel ? layout->tp : 1);
    return p;
}

static void block_clear(RhBlockPieces *b)
{
    RhPiece *all[] = {&b->sequence_forward, &b->tensor_forward, &b->data, &b->weight,
                      &b->sequence_backward};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        for (int32_t k = 0; k < all[i]->parts_count; k++)
            g_array_unref(all[i]->parts[k].kernels);
        g_free(all[i]->parts);
        g_array_unref(all[i]->kernels);
    }
}

void rh_pieces_free(RhPieces *p)
{
    if (!p)
        return;
    for (int k = 0; k < p->c->model->kinds_count; k++) {
        block_clear(&p->mixer[k]);
        block_clear(&p->ffn[k]);
    }
    block_clear(&p->embedding);
    block_clear(&p->head);
    g_free(p);
}
