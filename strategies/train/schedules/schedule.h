#pragma once
/* Pipeline schedules: in which order a stage runs its micro-batches. One file here for each row of
 * strategies/schedules.h.
 *
 * Legend: p stages, v chunks per stage, m micro-batches. Chunk c of stage s is chunk c*p + s of the
 * model; where the schedule turns, that of an odd c is c*p + p-1-s: the last stage hands on to itself
 * and the first one has both ends. */
#include "strategies/layout.h"

/* What runs in a slot. Backward as a whole, or its two halves apart: gradients of the inputs, which
 * the stage before waits for, and gradients of the weights, which nobody waits for. */
typedef enum {
    RH_SLOT_FORWARD,
    RH_SLOT_BACKWARD,
    RH_SLOT_BACKWARD_DATA,
    RH_SLOT_BACKWARD_WEIGHT,
    RH_SLOT_PASSES
} RhSlotPass;

/* Of a forward, `beside` may be the number of slots right behind it, a whole backward of one micro-batch
 * and chunk (one slot, or the two halves), that runs beside it: a *pair*. Layers of both take turns, so
 * that kernels of the one run while the other waits for a collective (layer_ops.h). */
typedef struct {
    int32_t microbatch;
    int32_t chunk; /* of the stage: 0 .. v-1 */
    RhSlotPass pass;
    int32_t beside; /* 0: runs alone */
} RhSlot;

typedef struct RhPipelineSchedule {
    bool splits_backward; /* three slots for each micro-batch and chunk instead of two */
    bool turns;           /* odd chunks run from the last stage to the first */
    bool crosses;         /* where it turns, outputs change places with those of another replica */
    bool in_rounds;       /* m must be a multiple of p */
    bool pairs;           /* has slots that run beside others */
    int32_t rounds_least; /* m must be at least so many times p */
    /* Beyond 4 p micro-batches, p more only repeat what a stage does in the middle of the step. */
    bool settles;
    /* Fills the slots of one stage: rh_pipeline_slots_count of them. */
    void (*order)(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots);
    /* The bubble over the work where stages are equal and messages free: as text, pp, vpp and m
     * named so, and F, B, W seconds forward, backward to the inputs, to the weights; and its value,
     * the seconds by pass. */
    const char *bubble;
    double (*bubble_frac)(int32_t p, int32_t v, int64_t m, const double pass_s[RH_SLOT_PASSES]);
    /* The same with pairs (epoverlap=pairs); NULL: there is none, or it has them anyway. */
    const struct RhPipelineSchedule *paired;
} RhPipelineSchedule;

const RhPipelineSchedule *rh_pipeline_schedule(RhPipelineKind kind);
/* The one that the layout runs: with pairs where it says so. */
const RhPipelineSchedule *rh_pipeline_of(const RhLayout *layout);

/* The model's chunk that a stage has as its chunk c; and the stage that holds model chunk g. */
static inline int32_t rh_pipeline_model_chunk(const RhPipelineSchedule *s, int32_t p, int32_t stage,
                                              int32_t c)
{
    return c * p + (s->turns && c % 2 ? p - 1 - stage : stage);
}
static inline int32_t rh_pipeline_stage(const RhPipelineSchedule *s, int32_t p, int32_t g)
{
    return s->turns && g / p % 2 ? p - 1 - g % p : g % p;
}
/* Does one stage hold the model's first chunk and its last? */
static inline bool rh_pipeline_ends_meet(const RhPipelineSchedule *s, int32_t p, int32_t v)
{
    return rh_pipeline_stage(s, p, p * v - 1) == 0;
}

/* Slots of one stage. */
static inline int64_t rh_pipeline_slots_count(const RhPipelineSchedule *s, int32_t v, int64_t m)
{
    return (s->splits_backward ? 3 : 2) * m * v;
}
/* The pass whose output goes to the model chunk before. */
static inline bool rh_slot_goes_back(RhSlotPass pass)
{
    return pass == RH_SLOT_BACKWARD || pass == RH_SLOT_BACKWARD_DATA;
}
/* Does the slot's output go to the stage before, not to the one behind? */
static inline bool rh_slot_goes_down(const RhPipelineSchedule *s, const RhSlot *slot)
{
    return rh_slot_goes_back(slot->pass) != (s->turns && slot->chunk % 2);
}
/* The pass that ends a micro-batch: weights have their gradients, activations are let go. */
static inline bool rh_slot_ends(RhSlotPass pass)
{
    return pass == RH_SLOT_BACKWARD || pass == RH_SLOT_BACKWARD_WEIGHT;
}

/* Where a slot stands among those of its stage: no forward is to come behind it; there is one, and
 * nothing was handed back so far; neither. */
typedef enum { RH_STAND_DRAINS, RH_STAND_FILLS, RH_STAND_AMIDST, RH_STANDS } RhSlotStand;
/* What tells them of a stage: the first slot that hands gradients on, the last forward. */
typedef struct {
    int64_t first_back, last_forward;
} RhSlotTurn;
static inline RhSlotTurn rh_slot_turn(const RhSlot *slots, int64_t count)
{
    RhSlotTurn turn = {count, -1};
    for (int64_t i = 0; i < count; i++)
        if (slots[i].pass == RH_SLOT_FORWARD)
            turn.last_forward = i;
        else if (rh_slot_goes_back(slots[i].pass) && turn.first_back == count)
            turn.first_back = i;
    return turn;
}
static inline RhSlotStand rh_slot_stand(const RhSlotTurn *turn, int64_t at)
{
    if (at >= turn->last_forward)
        return RH_STAND_DRAINS;
    return at < turn->first_back ? RH_STAND_FILLS : RH_STAND_AMIDST;
}

/* Slots of one kind are alike: all of a chunk and pass, but for the first and the last. */
typedef struct {
    int32_t chunk; /* of the stage */
    RhSlotPass pass;
    bool first, last; /* of the chunk's slots with this pass */
} RhSlotKind;

static inline int32_t rh_slot_kind_index(const RhSlotKind *k)
{
    return (k->chunk * RH_SLOT_PASSES + (int32_t)k->pass) * 4 + (k->first ? 2 : 0) +
           (k->last ? 1 : 0);
}
/* Counts the slots of each chunk and pass as they come: which kind is the next slot? `done` has
 * chunks x RH_SLOT_PASSES entries, 0 at first. */
static inline RhSlotKind rh_slot_kind_next(const RhSlot *slot, int32_t microbatches, int32_t *done)
{
    int32_t *count = &done[slot->chunk * RH_SLOT_PASSES + (int32_t)slot->pass];
    RhSlotKind kind = {slot->chunk, slot->pass, *count == 0, *count == microbatches - 1};
    ++*count;
    return kind;
}

#define RH_PIPELINE_OBJECT(constant, object, ...)                                                  \
    extern const RhPipelineSchedule rh_pipeline_##object;
RH_PIPELINES(RH_PIPELINE_OBJECT)
#undef RH_PIPELINE_OBJECT
