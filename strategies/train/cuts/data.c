/* Data parallelism: replicas sum their gradients.
 *
 * All-reduced in buckets behind the last backward of each chunk, beside what runs then; the bucket
 * is the stack's. Gradients travel in the stack's main width. What sharding changes of this:
 * zero.c. */
#include "strategies/train/cuts/cut.h"
#include "strategies/train/cuts/gradients.h"

static bool acts(const RhScriptWriter *w)
{
    return rh_train_replicas(w->script->layout) > 1 && w->script->layout->zero == 0;
}

static void after_item(RhScriptWriter *w, const RhSlotKind *slot, int32_t item)
{
    if (acts(w) && slot->last && rh_slot_ends(slot->pass))
        rh_gradients_collect(w, rh_script_item(w->script, item)->params, RH_OP_ALL_REDUCE);
}

static void close(RhScriptWriter *w, const RhSlotKind *slot)
{
    if (acts(w) && slot->last && rh_slot_ends(slot->pass))
        rh_gradients_flush(w, RH_OP_ALL_REDUCE);
}

const RhCut rh_cut_data = {.name = "dp", .after_item = after_item, .close = close};
