#pragma once
/* Pipeline schedules: the order in which a stage runs its micro-batches. One file here for each row
 * of strategies/schedules.h.
 *
 * Legend: p stages, v chunks per stage, m micro-batches. Chunk c of stage s is chunk c*p + s of the
 * model; in a schedule that turns, chunk c of stage s is c*p + p-1-s for odd c: the last stage
 * sends to itself, and the first stage has both ends of the model. In one that mirrors, chunks p to
 * 2p-1 are those of a second copy, and nothing is sent from one copy to the other. */
#include "strategies/layout.h"

/* Passes that a slot may run. Backward is one slot, or two: gradients of the inputs, for which the
 * stage before waits, and gradients of the weights, for which no stage waits. */
typedef enum {
    RH_SLOT_FORWARD,
    RH_SLOT_BACKWARD,
    RH_SLOT_BACKWARD_DATA,
    RH_SLOT_BACKWARD_WEIGHT,
    RH_SLOT_PASSES
} RhSlotPass;

/* A slot: one pass of a micro-batch through a chunk of a stage. A forward with `beside` > 0 forms a
 * *pair* with that many slots after it, a whole backward of one micro-batch and chunk (one slot, or
 * its two halves): the layers of both are interleaved, so that kernels of one run while the other
 * waits for a collective (layer_ops.h). */
typedef struct {
    int32_t microbatch;
    int32_t chunk; /* of the stage: 0 .. v-1 */
    RhSlotPass pass;
    int32_t beside; /* 0: runs alone */
} RhSlot;

/* A pipeline schedule. */
typedef struct RhPipelineSchedule {
    bool splits_backward; /* three slots for each micro-batch and chunk instead of two */
    bool turns;           /* odd chunks run from the last stage to the first */
    bool mirrors;         /* the second chunk is of a second copy of the model */
    bool crosses;         /* at the turn, outputs are swapped with those of another replica */
    bool in_rounds;       /* m must be a multiple of p */
    bool pairs;           /* has pairs of slots */
    int32_t rounds_least; /* minimum of m / p */
    /* Beyond 4 p micro-batches, p more only repeat the middle of a stage's step. */
    bool settles;
    /* Fills the slots of one stage: rh_pipeline_slots_count of them. */
    void (*order)(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots);
    /* Bubble over work for equal stages and free messages, as a formula in pp, vpp, m and the
     * seconds F, B and W of forward, backward to the inputs and backward to the weights. */
    const char *bubble;
    /* Value of that formula for the seconds of each pass. */
    double (*bubble_frac)(int32_t p, int32_t v, int64_t m, const double pass_s[RH_SLOT_PASSES]);
    /* This schedule with pairs (epoverlap=pairs); NULL: there is none, or it has pairs itself. */
    const struct RhPipelineSchedule *paired;
} RhPipelineSchedule;

const RhPipelineSchedule *rh_pipeline_schedule(RhPipelineKind kind);
/* Returns the schedule that the layout runs, with pairs if it asks for them. */
const RhPipelineSchedule *rh_pipeline_of(const RhLayout *layout);

/* Return the model chunk of chunk c of a stage, and the stage that holds model chunk g. */
static inline int32_t rh_pipeline_model_chunk(const RhPipelineSchedule *s, int32_t p, int32_t stage,
                                              int32_t c)
{
    return c * p + (s->turns && c % 2 ? p - 1 - stage : stage);
}
static inline int32_t rh_pipeline_stage(const RhPipelineSchedule *s, int32_t p, int32_t g)
{
    return s->turns && g / p % 2 ? p - 1 - g % p : g % p;
}
/* Is model chunk g the first of a copy of the model, which has no chunk before; and the last? */
static inline bool rh_pipeline_begins(const RhPipelineSchedule *s, int32_t p, int32_t g)
{
    return g == 0 || (s->mirrors && g == p);
}
static inline bool rh_pipeline_ends(const RhPipelineSchedule *s, int32_t p, int32_t v, int32_t g)
{
    return g == p * v - 1 || (s->mirrors && g == p - 1);
}
/* Returns the model chunk that the output of a pass through chunk g goes to; -1: none. */
static inline int32_t rh_pipeline_receiver(const RhPipelineSchedule *s, int32_t p, int32_t v,
                                           RhSlotPass pass, int32_t g)
{
    if (pass == RH_SLOT_BACKWARD || pass == RH_SLOT_BACKWARD_DATA)
        return rh_pipeline_begins(s, p, g) ? -1 : g - 1;
    return pass != RH_SLOT_FORWARD || rh_pipeline_ends(s, p, v, g) ? -1 : g + 1;
}
/* Does one stage hold the model's first chunk and its last? */
static inline bool rh_pipeline_ends_meet(const RhPipelineSchedule *s, int32_t p, int32_t v)
{
    return rh_pipeline_stage(s, p, p * v - 1) == 0;
}

/* Returns the number of slots of one stage. */
static inline int64_t rh_pipeline_slots_count(const RhPipelineSchedule *s, int32_t v, int64_t m)
{
    return (s->splits_backward ? 3 : 2) * m * v;
}
/* Does the output of the pass go to the model chunk before? */
static inline bool rh_slot_goes_back(RhSlotPass pass)
{
    return pass == RH_SLOT_BACKWARD || pass == RH_SLOT_BACKWARD_DATA;
}
/* Does the slot's output go to the stage before, not to the one after? */
static inline bool rh_slot_goes_down(const RhPipelineSchedule *s, const RhSlot *slot)
{
    return rh_slot_goes_back(slot->pass) != (s->turns && slot->chunk % 2);
}
/* Does the pass end a micro-batch: are weight gradients complete and activations freed? */
static inline bool rh_slot_ends(RhSlotPass pass)
{
    return pass == RH_SLOT_BACKWARD || pass == RH_SLOT_BACKWARD_WEIGHT;
}

/* Phase of a stage's step that a slot belongs to: no later forward (drain); no gradients sent back
 * yet (fill); neither. */
typedef enum { RH_STAND_DRAINS, RH_STAND_FILLS, RH_STAND_AMIDST, RH_STANDS } RhSlotStand;
/* Limits of these phases: index of the first slot that sends gradients back, and of the last
 * forward. */
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

/* Kind of a slot: slots of a chunk and pass are alike except the first and the last. */
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
/* Returns the kind of a stage's next slot and counts it in `done`, which has chunks x
 * RH_SLOT_PASSES entries, 0 at first. */
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
