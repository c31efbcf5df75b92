/* ZB-V (Qi et al. 2024, arXiv 2401.10241, section 6): a stage has two chunks, and the model runs
 * down the stages and up again, a V. The first stage has both ends, so gradients come back to it
 * soonest, and a stage keeps p micro-batches at most, as 1F1B's first one: 2 p of chunks. Where
 * forward and both halves of backward take equal time no stage idles between its first slot and its
 * last, and the step is longer than the work by p - 1 forwards of a chunk. The paper finds orders
 * by search. This one is by hand, after DualPipeV (DeepSeek-AI 2025, DualPipe, whose stages have
 * the same parts): forwards; forwards of both chunks; backward of the second with its forward; then
 * a round of both; and at the end weights fill the rest. Backward goes first in a round, which
 * keeps a chunk less than DualPipeV. */
#include "strategies/train/schedules/schedule.h"

typedef struct {
    RhSlot *slots;
    int32_t m, count;
    int32_t done[2][RH_SLOT_PASSES]; /* by chunk */
} Writer;

/* Adds the next micro-batch of the chunk, if there is one left. */
static void add_slot(Writer *w, RhSlotPass pass, int32_t chunk)
{
    int32_t *next = &w->done[chunk][pass];
    int32_t most = pass == RH_SLOT_BACKWARD_WEIGHT ? w->done[chunk][RH_SLOT_BACKWARD_DATA] : w->m;
    if (*next < most)
        w->slots[w->count++] = (RhSlot){.microbatch = (*next)++, .chunk = chunk, .pass = pass};
}

static void forward(Writer *w, int32_t chunk)
{
    add_slot(w, RH_SLOT_FORWARD, chunk);
}

static void add_data_gradient(Writer *w, int32_t chunk)
{
    add_slot(w, RH_SLOT_BACKWARD_DATA, chunk);
}

static void add_backward(Writer *w, int32_t chunk)
{
    add_slot(w, RH_SLOT_BACKWARD_DATA, chunk);
    add_slot(w, RH_SLOT_BACKWARD_WEIGHT, chunk);
}

/* Adds delayed gradients of weights, those of the second chunk first. */
static bool add_delayed_weights(Writer *w)
{
    int32_t before = w->count;
    add_slot(w, RH_SLOT_BACKWARD_WEIGHT, 1);
    if (w->count == before)
        add_slot(w, RH_SLOT_BACKWARD_WEIGHT, 0);
    return w->count > before;
}

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)v;
    Writer w = {.slots = slots, .m = m};
    int32_t behind = p - 1 - stage; /* later stages */
    for (int32_t i = 0; i < 2 * behind; i++)
        forward(&w, 0);
    for (int32_t i = 0; i < stage + 1; i++)
        forward(&w, 0), forward(&w, 1);
    for (int32_t i = 0; i < behind; i++)
        add_backward(&w, 1), forward(&w, 1);
    for (int32_t i = 0; i < m - 2 * p + stage + 1; i++)
        add_backward(&w, 1), forward(&w, 0), add_backward(&w, 0), forward(&w, 1);
    for (int32_t i = 0; i < behind; i++)
        add_backward(&w, 1), add_backward(&w, 0), forward(&w, 1);
    for (int32_t i = 0; i < stage + 1; i++)
        add_data_gradient(&w, 1), add_data_gradient(&w, 0);
    for (int32_t i = 0; i < behind; i++)
        add_delayed_weights(&w), add_data_gradient(&w, 0);
    while (add_delayed_weights(&w))
        ;
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    double f = pass_s[RH_SLOT_FORWARD], b = pass_s[RH_SLOT_BACKWARD_DATA],
           w = pass_s[RH_SLOT_BACKWARD_WEIGHT];
    return (p - 1) * MAX(MAX(f, 2 * (b - w)), MAX(b, w)) / (v * (double)m * (f + b + w));
}

const RhPipelineSchedule rh_pipeline_zb_v = {
    .splits_backward = true,
    .turns = true,
    .settles = true,
    .order = order,
    .bubble = "(pp - 1) max(F, B, W, 2 (B - W)) / (2 m (F + B + W))",
    .bubble_frac = bubble_frac};
