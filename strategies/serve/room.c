#include "strategies/serve/room.h"

#include <math.h>

#include "workloads/ops.h"

/* Bytes of a tensor of `columns` of 16 bits for every token of an iteration. */
static double rows_bytes(double tokens, double columns)
{
    return 2 * tokens * columns;
}

/* Columns that a network makes of a token before its last product: what goes into the activation, gate and up, and
 * what comes out. */
static double inner_columns(const RhLayerKind *kind, int32_t cut)
{
    return (kind->ffn_gated ? 3 : 2) * (double)kind->ffn_width / cut;
}

/* The widest moment of a dense layer: what its network makes, beside four copies of the hidden state (the residual
 * stream, the norm's output, queries' and the network's inputs and outputs as they come). */
static double dense_bytes(const RhModel *model, const RhPool *pool, double tokens)
{
    const RhLayerKind *kind = rh_model_ffn_kind(model);
    double inner = kind && kind->experts == 0 ? inner_columns(kind, pool->tp) : 0;
    return rows_bytes(tokens, inner + 4 * (double)model->hidden);
}

/* Buffers of a mixture, kept between iterations: for each expert of each token what the first product makes or the
 * second one, whichever is wider, and the second one's input. */
static double mixture_bytes(const RhModel *model, const RhPool *pool, double tokens)
{
    const RhLayerKind *kind = rh_model_experts_kind(model);
    if (!kind)
        return 0;
    double cut = pool->ep > 1 ? 1 : pool->tp;
    double width = (double)kind->ffn_width / cut, first = (kind->ffn_gated ? 2 : 1) * width;
    return rows_bytes(tokens * kind->experts_per_token, fmax(first, (double)model->hidden) + width);
}

/* Of an iteration as full as there can be one: `batch` sequences in `chunk` tokens. Logits of all sequences and all
 * words lie on every rank, several times over while tokens are drawn. */
static double activation_bytes(const RhServing *s, const RhPool *pool)
{
    const RhModel *model = s->model;
    double tokens = (double)pool->chunk / pool->dp, sequences = (double)pool->batch / pool->dp;
    double drawing = s->server->logit_bytes.value * fmin(sequences, tokens) * (double)model->vocab +
                     rows_bytes(tokens, (double)model->hidden);
    return fmax(drawing + mixture_bytes(model, pool, tokens), dense_bytes(model, pool, tokens));
}

/* The server's fraction is of all, of what is free before it loads anything, or of what weights and an iteration
 * leave. */
static double cache_bytes(const RhServer *server, const RhPool *pool, const RhServiceRoom *r)
{
    double frac = pool->memory > 0 ? pool->memory / 100.0 : server->memory_frac.value;
    double working = r->activation_bytes + r->reserve_bytes, left = 0;
    switch (server->memory_of) {
    case RH_MEMORY_OF_ALL:
        left = frac * r->capacity_bytes - r->weight_bytes - working;
        break;
    case RH_MEMORY_OF_FREE:
        left = frac * (r->capacity_bytes - r->reserve_bytes) - r->weight_bytes;
        break;
    case RH_MEMORY_OF_REST:
        left = frac * (r->capacity_bytes - r->weight_bytes - working);
        break;
    }
    return fmax(left - r->state_bytes, 0);
}

RhServiceRoom rh_service_room_of(const RhServing *s, const RhPool *pool, const RhIterations *it)
{
    RhServiceRoom room = {.capacity_bytes = rh_iterations_platform(it)->device->hbm_bytes.value,
                          .weight_bytes = rh_iterations_weight_bytes(it),
                          .activation_bytes = activation_bytes(s, pool),
                          .reserve_bytes = s->server->reserve_bytes.value +
                                           (pool->tp > 1 ? s->server->rank_reserve_bytes.value : 0),
                          .state_bytes = rh_iterations_sequence_bytes(it) * pool->batch / pool->dp};
    double block = rh_iterations_token_bytes(it) * s->server->block_tokens;
    room.cache_bytes = cache_bytes(s->server, pool, &room);
    double blocks = block > 0 ? floor(room.cache_bytes / block) * pool->dp : 1 << 30;
    room.blocks = (int32_t)fmin(blocks, pool->blocks > 0 ? pool->blocks : 1 << 30);
    room.tokens = (int64_t)room.blocks * s->server->block_tokens;
    return room;
}
