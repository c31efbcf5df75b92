/* Whole layers, and what recomputation replays: full recomputation keeps a layer's input alone and
 * runs its forward again before its backward (Chen et al. 2016, arXiv 1604.06174); selective
 * replays attention's core, which is part of the mixer's data piece. */
#include "strategies/train/emit.h"

static const RhBlockPieces *mixer_of(const RhEmit *e, int32_t layer)
{
    return &e->pieces->mixer[rh_pieces_kind(e->pieces, layer)];
}

static const RhBlockPieces *ffn_of(const RhEmit *e, int32_t layer)
{
    return &e->pieces->ffn[rh_pieces_kind(e->pieces, layer)];
}

void rh_emit_layer_forward(RhEmit *e, int32_t layer, bool output)
{
    const RhBlockPieces *mixer = mixer_of(e, layer), *ffn = ffn_of(e, layer);
    e->layer = layer;
    if (e->layout->tp == 1) {
        rh_emit_compute(e, "layer",
                        RH_PARTS(&mixer->sequence_forward, &mixer->tensor_forward,
                                 &ffn->sequence_forward, &ffn->tensor_forward));
        return;
    }
    rh_emit_block_forward(e, mixer, "mixer", true);
    rh_emit_block_forward(e, ffn, "ffn", output);
}

void rh_emit_layer_backward(RhEmit *e, int32_t layer)
{
    const RhBlockPieces *mixer = mixer_of(e, layer), *ffn = ffn_of(e, layer);
    e->layer = layer;
    if (e->layout->recompute == RH_RECOMPUTE_FULL) {
        RhPhase phase = e->phase;
        e->phase = RH_PHASE_RECOMPUTE;
        rh_emit_layer_forward(e, layer, false);
        e->phase = phase;
    }
    if (e->layout->tp == 1) {
        rh_emit_compute(e, "layer",
                        RH_PARTS(&ffn->data, &ffn->weight, &ffn->sequence_backward, &mixer->data,
                                 &mixer->weight, &mixer->sequence_backward));
        return;
    }
    rh_emit_block_backward(e, ffn, "ffn");
    rh_emit_block_backward(e, mixer, "mixer");
}
