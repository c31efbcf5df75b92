/* DualPipeV (DeepSeek-AI 2025, github.com/deepseek-ai/DualPipe, after "cut in half" of Qi et al.):
 * DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1) has two copies of the model in its
 * pipeline and feeds it from both ends, so that each rank has the same two chunks as its mirror
 * image; this schedule keeps one half of these ranks. A stage has chunks s and 2p-1-s, as in ZB-V.
 * In the middle of the step every forward runs beside a backward of the other chunk, in pairs, so
 * that the communication of each hides behind the kernels of the other; at both ends backward is
 * split in two halves, and gradients of weights fill the idle time. Parts of stage s, with j later
 * stages: 2j forwards; s+1 times a forward of both chunks; j times a whole backward of the second
 * and its forward; m-2p+s+1 rounds of two pairs; j of a backward and a pair; s+1 backwards of both,
 * of which the later ones delay their weights; j times such weights and a backward; the remaining
 * weights. The pipeline's PP are the 2p chunks: with F&B for a pair, B for a whole backward, its
 * bubble is (PP/2 - 1) (F&B + B - 3 W). */
#include "strategies/train/schedules/dualpipe.h"

typedef struct {
    RhSlot *slots;
    int32_t count;
    int32_t oldest;                  /* no earlier slot has delayed weights */
    int32_t done[2][RH_SLOT_PASSES]; /* by chunk */
} Writer;

static void add(Writer *w, RhSlotPass pass, int32_t chunk, int32_t beside)
{
    w->slots[w->count++] = (RhSlot){
        .microbatch = w->done[chunk][pass]++, .chunk = chunk, .pass = pass, .beside = beside};
}

static void forward(Writer *w, int32_t chunk)
{
    add(w, RH_SLOT_FORWARD, chunk, 0);
}

static void add_data_gradient(Writer *w, int32_t chunk)
{
    add(w, RH_SLOT_BACKWARD_DATA, chunk, 0);
}

static void add_backward(Writer *w, int32_t chunk)
{
    add_data_gradient(w, chunk);
    add(w, RH_SLOT_BACKWARD_WEIGHT, chunk, 0);
}

static void pair(Writer *w, int32_t ahead)
{
    add(w, RH_SLOT_FORWARD, ahead, 2);
    add_backward(w, 1 - ahead);
}

/* Adds the gradients of weights that were delayed longest. */
static bool add_delayed_weights(Writer *w)
{
    for (; w->oldest < w->count; w->oldest++) {
        const RhSlot *slot = &w->slots[w->oldest];
        if (slot->pass == RH_SLOT_BACKWARD_DATA &&
            slot->microbatch == w->done[slot->chunk][RH_SLOT_BACKWARD_WEIGHT]) {
            add(w, RH_SLOT_BACKWARD_WEIGHT, slot->chunk, 0);
            return true;
        }
    }
    return false;
}

/* Adds backwards of both chunks: from the middle one on without their weights. */
static void last_backwards(Writer *w, int32_t count)
{
    for (int32_t i = 0; i < 2 * count; i++)
        (i < count ? add_backward : add_data_gradient)(w, 1 - i % 2);
}

void rh_dualpipe_order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)v;
    Writer w = {.slots = slots};
    int32_t behind = p - 1 - stage; /* later stages */
    for (int32_t i = 0; i < 2 * behind; i++)
        forward(&w, 0);
    for (int32_t i = 0; i < stage + 1; i++)
        forward(&w, 0), forward(&w, 1);
    for (int32_t i = 0; i < behind; i++)
        add_backward(&w, 1), forward(&w, 1);
    for (int32_t i = 0; i < m - 2 * p + stage + 1; i++) {
        if (i == 0 &&
            behind == 0) /* at the turn: the stage that waits for this forward should not wait for a
                          * pair */
            forward(&w, 0), add_backward(&w, 1);
        else
            pair(&w, 0);
        pair(&w, 1);
    }
    for (int32_t i = 0; i < behind; i++)
        add_backward(&w, 1), pair(&w, 1);
    last_backwards(&w, stage + 1);
    for (int32_t i = 0; i < behind; i++)
        add_delayed_weights(&w), add_data_gradient(&w, 0);
    while (add_delayed_weights(&w))
        ;
}

/* Bubble for a pair that takes as long as its two slots in sequence. */
double rh_dualpipe_bubble_frac(int32_t p, int32_t v, int64_t m, const double pass_s[RH_SLOT_PASSES])
{
    double f = pass_s[RH_SLOT_FORWARD], b = pass_s[RH_SLOT_BACKWARD_DATA],
           w = pass_s[RH_SLOT_BACKWARD_WEIGHT];
    return (p - 1) * (f + 2 * b - w) / (v * (double)m * (f + b + w));
}

const RhPipelineSchedule rh_pipeline_dualpipe_v = {.splits_backward = true,
                                                   .turns = true,
                                                   .pairs = true,
                                                   .settles = true,
                                                   .rounds_least = 2,
                                                   .order = rh_dualpipe_order,
                                                   .bubble = RH_DUALPIPE_BUBBLE,
                                                   .bubble_frac = rh_dualpipe_bubble_frac};
