/* Shapes at the costs of a span: what slots, stages and critical paths take. */
#include "strategies/search/bounds/bound_cache.h"

/* Lane time of stage s in the slots counted, [chunk][pass], each alone: at its least, or all of it. */
static double price_slots(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                          int32_t s, const int32_t *counts, bool least)
{
    double sum = 0;
    counts += (int64_t)s * profile->v * RH_SLOT_PASSES;
    for (int32_t c = 0; c < profile->v; c++) {
        int32_t g = rh_pipeline_model_chunk(profile->schedule, profile->p, s, c);
        const RhChunkTimes *chunk = spans->chunk[g];
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            sum += counts[c * RH_SLOT_PASSES + pass] *
                   (least ? chunk->least[pass].busy_s : chunk->of[pass].busy_s);
    }
    return sum;
}

/* Returns the lane time of stage s in all its slots. */
static double price_stage(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                          const double *pair_s, int32_t s)
{
    if (!profile->pairs)
        return profile->m * spans->work_s[s];
    double sum = price_slots(spans, profile, s, profile->alone, false);
    for (int32_t i = s * profile->v * profile->v; i < (s + 1) * profile->v * profile->v; i++)
        sum += profile->pairs[i] * pair_s[i];
    return sum;
}

void rh_bound_pair_work(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                        const double *pair_s, double *work_s)
{
    for (int32_t s = 0; s < profile->p; s++)
        work_s[s] = price_stage(spans, profile, pair_s, s);
}

RhSchedulePath *rh_bound_path_find(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                                   double message_s, double last_frac, bool all,
                                   const double *behind_s)
{
    int32_t entries = profile->p * profile->v * RH_SLOT_PASSES;
    g_autofree double *busy_s = g_new(double, entries), *out_s = g_new(double, entries);
    for (int32_t i = 0; i < entries; i++) {
        const RhChunkTimes *chunk = spans->chunk[i / RH_SLOT_PASSES];
        busy_s[i] = chunk->least[i % RH_SLOT_PASSES].busy_s;
        out_s[i] = chunk->least[i % RH_SLOT_PASSES].out_s;
    }
    return rh_schedule_path_find(
        profile->schedule, profile->p, profile->v, profile->m,
        &(RhSchedulePathCosts){busy_s, out_s, message_s, last_frac, all, behind_s});
}

const RhSchedulePath *rh_bound_path(const RhChunkTimeTable *spans, const RhPipelineProfile *profile,
                                    RhProfileCosts *prices, double message_s, double last_frac,
                                    bool all)
{
    for (guint i = 0; prices->paths && i < prices->paths->len; i++) {
        const RhSchedulePath *known = prices->paths->pdata[i];
        if (known->message_s == message_s && known->last_frac == last_frac && known->all == all)
            return known;
    }
    RhSchedulePath *path = rh_bound_path_find(spans, profile, message_s, last_frac, all, NULL);
    if (path && !prices->paths)
        prices->paths = g_ptr_array_new_with_free_func((GDestroyNotify)rh_schedule_path_free);
    if (path)
        g_ptr_array_add(prices->paths, path);
    return path;
}

void rh_profile_costs_free(RhProfileCosts *p)
{
    for (; p; p = p->next) {
        if (p->paths)
            g_ptr_array_unref(p->paths);
        if (p->longest)
            g_array_unref(p->longest);
    }
}

static RhProfileCosts *prices_new(RhArena *arena, const RhChunkTimeTable *spans,
                                  const RhPipelineProfile *profile)
{
    size_t stages = (size_t)profile->p;
    RhProfileCosts *prices =
        rh_arena_take(arena, sizeof *prices + 3 * stages * sizeof *prices->numbers);
    *prices = (RhProfileCosts){.profile = profile,
                               .before_last_s = prices->numbers,
                               .behind_back_s = prices->numbers + stages,
                               .work_s = prices->numbers + 2 * stages};
    for (int32_t s = 0; s < profile->p; s++) {
        prices->before_last_s[s] = price_slots(spans, profile, s, profile->before_last, true);
        prices->behind_back_s[s] =
            price_slots(spans, profile, s, profile->behind_back, !profile->pairs);
    }
    return prices;
}

const double *rh_bound_slot_work(RhBoundCache *cache, const RhLayout *l, const RhTables *tables)
{
    RhProfileCosts *prices = tables->prices;
    const double *pair_s = prices->work_known ? NULL : rh_bound_pairs(cache, l, tables);
    for (int32_t s = 0; s < tables->profile->p && !prices->work_known; s++)
        prices->work_s[s] = price_stage(tables->spans, tables->profile, pair_s, s);
    prices->work_known = true;
    return prices->work_s;
}

RhProfileCosts *rh_bound_profile_costs(RhBoundCache *cache, RhChunkTimeTable *spans,
                                       const RhPipelineProfile *profile)
{
    RhProfileCosts *prices = spans->prices;
    while (prices && prices->profile != profile)
        prices = prices->next;
    if (!prices) {
        prices = prices_new(cache->tables, spans, profile);
        prices->next = spans->prices;
        spans->prices = prices;
    }
    return prices;
}
