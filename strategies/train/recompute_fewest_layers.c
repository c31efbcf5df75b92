#include "strategies/train/recompute_fewest_layers.h"

#include <string.h>

#include "strategies/layer_partition.h"

/* A stage in which the first layers of each chunk are recomputed, equally many in each. */
typedef struct {
    const RhModelCost *model_cost;
    const RhPipelineProfile *profile;
    const RhLayout *l;
    RhChunkMemory *chunks;      /* per model chunk, at first with all layers recomputed */
    const RhChunkMemory **each; /* pointers to them */
    double most_bytes;          /* of the first device */
    RhGradientBytes gradients;
} Least;

/* Sets the number of recomputed layers of a stage's chunks. */
static void recompute(const Least *a, int32_t stage, int32_t again)
{
    for (int32_t c = 0; c < a->l->vpp; c++) {
        int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(a->l), a->l->pp, stage, c);
        RhChunkLayers items = a->chunks[g].items;
        items.again = MIN(again, items.count);
        a->chunks[g] = rh_chunk_memory(a->model_cost, a->l, &items);
    }
}

static bool fits(const Least *a, int32_t stage, int32_t again)
{
    const RhProblem *c = a->model_cost->c;
    recompute(a, stage, again);
    g_autofree RhStageHeld *held = rh_stage_held_new(a->each, a->l);
    RhInFlight peak = rh_stage_peak(a->model_cost, a->each, a->profile, &a->gradients, stage);
    RhTrainMemory m = rh_train_memory_of_stage(a->model_cost, held, &peak, a->l, stage);
    double room = rh_train_stage_capacity(c, a->l, stage) / rh_train_memory_capacity(c);
    return m.peak_bytes <= a->most_bytes * room;
}

static int32_t most_layers(const Least *a, int32_t stage)
{
    int32_t most = 0;
    for (int32_t c = 0; c < a->l->vpp; c++) {
        int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(a->l), a->l->pp, stage, c);
        most = MAX(most, a->chunks[g].items.count);
    }
    return most;
}

/* Finds the fewest layers of a stage that must be recomputed to fit; all, where no smaller number
 * suffices. Memory falls with each further recomputed layer, except that the first one may add its
 * working bytes. The search starts at `guess`, the result for the previous stage: most stages need
 * the same number. */
static int32_t settle_stage(const Least *a, int32_t stage, int32_t guess)
{
    int32_t low = 0, high = most_layers(a, stage);
    if (fits(a, stage, 0))
        return 0;
    int32_t middle = CLAMP(guess, low + 1, MAX(high - 1, low + 1));
    while (high - low > 1) {
        if (fits(a, stage, middle))
            high = middle;
        else
            low = middle;
        middle = middle == guess && high == guess ? guess - 1 : low + (high - low) / 2;
    }
    recompute(a, stage, high);
    return high;
}

void rh_recompute_fewest_layers(const RhModelCost *model_cost, const RhPipelineProfile *profile,
                                double most_bytes, RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp, again = 0, layers = 0;
    l->recomputed_layers_count = 0;
    if (chunks > (int32_t)G_N_ELEMENTS(l->recomputed_layers))
        return;
    g_autofree RhChunkMemory *all = rh_chunk_memory_new(model_cost, l);
    g_autofree const RhChunkMemory **each = rh_chunks_each(all, l);
    Least a = {model_cost, profile, l, all, each, most_bytes, rh_gradients_each(model_cost->c, l)};
    for (int32_t stage = 0, guess = most_layers(&a, 0) / 2; stage < l->pp; stage++)
        guess = settle_stage(&a, stage, guess);
    memset(l->recomputed_layers, 0, sizeof l->recomputed_layers);
    for (int32_t g = 0; g < chunks; g++) {
        l->recomputed_layers[g] = (int16_t)all[g].items.again;
        again += all[g].items.again;
        layers += all[g].items.count;
    }
    if (again == 0)
        l->recompute = RH_RECOMPUTE_NONE;
    l->recomputed_layers_count = again == 0 || again == layers ? 0 : chunks;
}

bool rh_recompute_evenly(const RhProblem *c, RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp, most = 0, largest = 0;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(c, l, layers);
    for (int32_t g = 0; g < chunks; g++) {
        most = MAX(most, rh_layout_again(l, g, layers[g]));
        largest = MAX(largest, layers[g]);
    }
    memset(l->recomputed_layers, 0, sizeof l->recomputed_layers);
    l->recomputed_layers[0] = (int16_t)most;
    l->recomputed_layers_count = 1;
    return most < largest;
}

void rh_train_settle(const RhProblem *c, RhLayout *l)
{
    if (l->recomputed_layers_count != RH_RECOMPUTED_FEWEST)
        return;
    g_autoptr(RhModelCost) model_cost = rh_model_cost_sized_new(c, l);
    g_autoptr(RhPipelineProfile) profile =
        rh_pipeline_profile_new(rh_pipeline_of(l), l->pp, l->vpp,
                                (int32_t)rh_train_microbatches(c, l), c->stack->frees_gradients);
    rh_recompute_fewest_layers(model_cost, profile, rh_train_memory_capacity(c), l);
}
