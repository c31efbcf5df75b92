/* Shapes at the costs of a span: what slots, stages and critical paths take. */
#include "strategies/search/screen.h"

/* Lane time of stage s in the slots counted, [chunk][pass], each alone: at its least, or all of it. */
static double price_slots(const RhSpans *spans, const RhShape *shape, int32_t s,
                          const int32_t *counts, bool least)
{
    double sum = 0;
    counts += (int64_t)s * shape->v * RH_SLOT_PASSES;
    for (int32_t c = 0; c < shape->v; c++) {
        int32_t g = rh_pipeline_model_chunk(shape->schedule, shape->p, s, c);
        const RhChunkTimes *chunk = spans->chunk[g];
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            sum += counts[c * RH_SLOT_PASSES + pass] *
                   (least ? chunk->least[pass].busy_s : chunk->of[pass].busy_s);
    }
    return sum;
}

/* Of all slots. */
static double price_stage(const RhSpans *spans, const RhShape *shape, int32_t s)
{
    if (!shape->pairs)
        return shape->m * spans->work_s[s];
    double sum = price_slots(spans, shape, s, shape->alone, false);
    for (int32_t i = s * shape->v * shape->v; i < (s + 1) * shape->v * shape->v; i++)
        sum += shape->pairs[i] * spans->pair_s[i];
    return sum;
}

static double price_path(const RhSpans *spans, const RhShape *shape, const RhPathCount *counts)
{
    double sum = 0;
    for (int32_t g = 0; g < shape->p * shape->v; g++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
            const RhPathCount *count = &counts[g * RH_SLOT_PASSES + pass];
            sum += count->on * spans->chunk[g]->least[pass].busy_s +
                   count->sent * spans->chunk[g]->least[pass].out_s;
        }
    return sum;
}

static RhPrices *prices_new(const RhSpans *spans, const RhShape *shape)
{
    RhPrices *prices = g_new0(RhPrices, 1);
    int64_t entries = (int64_t)shape->p * shape->v * RH_SLOT_PASSES;
    prices->before_last_s = g_new(double, shape->p);
    prices->behind_back_s = g_new(double, shape->p);
    prices->work_s = g_new(double, shape->p);
    prices->path_s = g_new(double, shape->paths_count + 1);
    prices->longest = g_array_new(FALSE, FALSE, sizeof(RhLongest));
    for (int32_t s = 0; s < shape->p; s++) {
        prices->before_last_s[s] = price_slots(spans, shape, s, shape->before_last, true);
        prices->behind_back_s[s] = price_slots(spans, shape, s, shape->behind_back, !shape->pairs);
        prices->work_s[s] = price_stage(spans, shape, s);
    }
    for (int32_t i = 0; i < shape->paths_count; i++)
        prices->path_s[i] = price_path(spans, shape, shape->paths + i * entries);
    return prices;
}

const RhPrices *rh_screen_prices(RhSpans *spans, const RhShape *shape)
{
    if (spans->prices_shape == shape)
        return spans->prices_last;
    RhPrices *found = g_hash_table_lookup(spans->prices, shape);
    if (!found)
        g_hash_table_insert(spans->prices, (void *)(uintptr_t)shape,
                            found = prices_new(spans, shape));
    spans->prices_shape = shape;
    return spans->prices_last = found;
}
