#include "strategies/search/explain/stage_memory.h"

#include <string.h>

#define SAVERS_FRAC 0.005 /* fraction of the peak below which a saving is not listed */

RhMemoryAnswer *rh_memory_answer_new(const RhProblem *c, const RhRehearsal *r,
                                     const RhProgram *program)
{
    int32_t stages = r->layout.pp;
    RhMemoryAnswer *a = g_new0(RhMemoryAnswer, 1);
    a->stages = g_new0(RhStageMemoryPeak, stages);
    a->stages_count = stages;
    for (int32_t i = 0; i < stages; i++) {
        RhLedger ledger = rh_ledger_walk(program, i, RH_MEMORY_TIER_HBM);
        a->stages[i] =
            (RhStageMemoryPeak){.when = rh_peak_moment(program, i),
                                .peak_bytes = ledger.peak_bytes,
                                .capacity_bytes = rh_train_stage_capacity(c, &r->layout, i)};
        memcpy(a->stages[i].bytes, ledger.at_peak_bytes, sizeof ledger.at_peak_bytes);
    }
    a->reliefs = rh_memory_savers_new(c, &r->layout, SAVERS_FRAC);
    return a;
}

void rh_memory_answer_free(RhMemoryAnswer *answer)
{
    if (!answer)
        return;
    for (int32_t i = 0; i < answer->stages_count; i++)
        g_free(answer->stages[i].when);
    g_free(answer->stages);
    g_clear_pointer(&answer->reliefs, g_array_unref);
    g_free(answer);
}

RhStageContents rh_stage_contents(const RhProblem *c, const RhLayout *l, int32_t stage)
{
    g_autoptr(RhModelCost) model_cost = rh_model_cost_sized_new(c, l);
    g_autofree RhChunkMemory *chunks = rh_chunk_memory_new(model_cost, l);
    g_autofree const RhChunkMemory **each = rh_chunks_each(chunks, l);
    g_autofree RhStageHeld *held = rh_stage_held_new(each, l);
    RhStageContents out = {.states = held[stage].states};
    for (int32_t k = 0; k < l->vpp; k++) {
        const RhChunkMemory *chunk =
            each[rh_pipeline_model_chunk(rh_pipeline_of(l), l->pp, stage, k)];
        out.kept_bytes += chunk->kept.activations;
        out.layers += chunk->items.count;
    }
    return out;
}
