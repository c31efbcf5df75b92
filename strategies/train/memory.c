/* The memory account. Weights 2 B a parameter, main gradients of the stack's width, Adam 12 B (fp32
 * master copy and two moments); ZeRO shards optimizer (1), gradients (2), weights (3) over dp
 * (Rajbhandari et al. 2020, arXiv 1910.02054, figure 1). Activations per Korthikanti et al. 2022
 * (workloads/operators/). */
#include "strategies/train/memory.h"

#include <math.h>

#define WEIGHT_BYTES    2.0
#define OPTIMIZER_BYTES 12.0

double rh_embedding_params(const RhPieces *pieces, const RhLayout *l)
{
    (void)l;
    return pieces->embedding.params;
}

double rh_head_params(const RhPieces *pieces, const RhLayout *l)
{
    const RhModel *model = pieces->c->model;
    double norm = (double)model->hidden * (model->norm == RH_NORM_LAYER ? 2 : 1);
    return model->tied_embeddings && l->pp == 1 ? norm : pieces->head.params;
}

static void add_layers(const RhPieces *pieces, int32_t first, int32_t count, int32_t c,
                       RhStageMemory *m)
{
    bool replayed = pieces->recompute == RH_RECOMPUTE_FULL;
    for (int32_t i = first; i < first + count; i++) {
        int kind = rh_pieces_kind(pieces, i);
        const RhActivation *a = &pieces->mixer[kind].bytes, *f = &pieces->ffn[kind].bytes;
        m->chunk_params[c] += pieces->layer_params[kind];
        m->activations_bytes[c] += a->kept + f->kept;
        m->forward_bytes[c] = fmax(m->forward_bytes[c], fmax(a->forward, f->forward));
        /* Full recomputation brings back the whole layer at once. */
        m->backward_bytes[c] =
            fmax(m->backward_bytes[c],
                 replayed ? a->backward + f->backward : fmax(a->backward, f->backward));
    }
}

static void add_edges(const RhPieces *pieces, const RhLayout *l, int32_t g, int32_t c,
                      RhStageMemory *m)
{
    if (g == 0) {
        m->chunk_params[c] += rh_embedding_params(pieces, l);
        m->activations_bytes[c] += pieces->embedding.bytes.kept;
        m->forward_bytes[c] = fmax(m->forward_bytes[c], pieces->embedding.bytes.forward);
        m->backward_bytes[c] = fmax(m->backward_bytes[c], pieces->embedding.bytes.backward);
    }
    if (g == l->pp * l->vpp - 1) {
        m->chunk_params[c] += rh_head_params(pieces, l);
        m->logits_bytes[c] += pieces->head.bytes.kept;
        m->forward_bytes[c] = fmax(m->forward_bytes[c], pieces->head.bytes.forward);
        m->backward_bytes[c] = fmax(m->backward_bytes[c], pieces->head.bytes.backward);
    }
}

static double largest_layer_params(const RhPieces *pieces)
{
    double largest = 0;
    for (int k = 0; k < pieces->c->model->kinds_count; k++)
        largest = fmax(largest, pieces->layer_params[k]);
    return largest;
}

static void add_fixed(const RhPieces *pieces, const RhLayout *l, RhStageMemory *m)
{
    const RhStack *stack = pieces->c->stack;
    double dp = rh_train_replicas(l), layer = WEIGHT_BYTES * largest_layer_params(pieces);
    m->fixed_bytes[RH_MEMORY_WEIGHTS] = WEIGHT_BYTES * m->params / (l->zero >= 3 ? dp : 1);
    m->fixed_bytes[RH_MEMORY_GRADIENTS] =
        stack->gradient_bytes * m->params / (l->zero >= 2 ? dp : 1);
    m->fixed_bytes[RH_MEMORY_OPTIMIZER] = OPTIMIZER_BYTES * m->params / (l->zero >= 1 ? dp : 1);
    m->fixed_bytes[RH_MEMORY_COMMUNICATION] =
        (l->pp > 1 ? 2 * pieces->message_bytes : 0) + (l->zero >= 2 ? layer : 0) +
        (l->zero >= 3 ? (stack->prefetch_layers + 1) * layer : 0);
    m->fixed_bytes[RH_MEMORY_RESERVE] = stack->reserve_bytes.value;
}

RhStageMemory rh_stage_memory(const RhPieces *pieces, const RhLayout *l, int32_t stage)
{
    size_t n = (size_t)l->vpp;
    double *rows = g_new0(double, 5 * n);
    RhStageMemory m = {.chunks_count = l->vpp,
                       .chunk_params = rows,
                       .activations_bytes = rows + n,
                       .logits_bytes = rows + 2 * n,
                       .forward_bytes = rows + 3 * n,
                       .backward_bytes = rows + 4 * n};
    for (int32_t c = 0; c < l->vpp; c++) {
        int32_t first, count, g = c * l->pp + stage;
        rh_train_chunk_layers(pieces->c, l, g, &first, &count);
        add_layers(pieces, first, count, c, &m);
        add_edges(pieces, l, g, c, &m);
        m.params += m.chunk_params[c];
    }
    add_fixed(pieces, l, &m);
    return m;
}

void rh_stage_memory_clear(RhStageMemory *m)
{
    g_clear_pointer(&m->chunk_params, g_free);
}

/* The moment of the peak: how much is kept, and which slot's working space comes on top. */
typedef struct {
    double activations, logits, working;
} Peak;

static double peak_sum(const Peak *p)
{
    return p->activations + p->logits + p->working;
}

static Peak peak_of_stage(const RhStageMemory *m, const RhShape *shape, int32_t stage)
{
    Peak peak = {0};
    for (int32_t i = shape->moments_first[stage]; i < shape->moments_first[stage + 1]; i++) {
        const RhFullMoment *moment = &g_array_index(shape->moments, RhFullMoment, i);
        const int32_t *kept = &g_array_index(shape->kept, int32_t, moment->kept_first);
        Peak now = {.working = moment->pass == RH_SLOT_FORWARD ? m->forward_bytes[moment->chunk]
                                                               : m->backward_bytes[moment->chunk]};
        for (int32_t c = 0; c < shape->v; c++) {
            now.activations += kept[c] * m->activations_bytes[c];
            now.logits += kept[c] * m->logits_bytes[c];
        }
        if (peak_sum(&now) > peak_sum(&peak))
            peak = now;
    }
    return peak;
}

static void keep_worst(RhTrainMemory *worst, const RhStageMemory *m, const Peak *peak,
                       int32_t stage)
{
    double total = peak_sum(peak);
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        total += m->fixed_bytes[use];
    if (total <= worst->peak_bytes)
        return;
    *worst = (RhTrainMemory){.peak_bytes = total, .stage = stage};
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        worst->at_peak_bytes[use] = m->fixed_bytes[use];
    worst->at_peak_bytes[RH_MEMORY_ACTIVATIONS] += peak->activations;
    worst->at_peak_bytes[RH_MEMORY_LOGITS] += peak->logits;
    worst->at_peak_bytes[RH_MEMORY_RECOMPUTE] += peak->working;
}

RhTrainMemory rh_train_memory_with(const RhPieces *pieces, const RhShape *shape, const RhLayout *l)
{
    RhTrainMemory worst = {0};
    for (int32_t stage = 0; stage < l->pp; stage++) {
        RhStageMemory m = rh_stage_memory(pieces, l, stage);
        Peak peak = peak_of_stage(&m, shape, stage);
        keep_worst(&worst, &m, &peak, stage);
        rh_stage_memory_clear(&m);
    }
    return worst;
}

RhTrainMemory rh_train_memory(const RhCase *c, const RhLayout *layout)
{
    g_autoptr(RhPieces) pieces = rh_pieces_new(c, layout);
    g_autoptr(RhShape) shape = rh_shape_new(layout->schedule, layout->pp, layout->vpp,
                                            (int32_t)rh_train_microbatches(c, layout));
    return rh_train_memory_with(pieces, shape, layout);
}

double rh_train_memory_capacity(const RhCase *c)
{
    return c->platform->device->hbm_bytes.value;
}
