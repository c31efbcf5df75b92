#pragma once
/* Critical paths of a schedule: chains of slots, each waiting for the one before, on its stage or by a
 * message. Whatever slots cost, a step takes as long as any path; one that is the longest under some
 * costs is long under others that resemble them.
 *
 * Legend: p stages, v chunks a stage, m micro-batches. */
#include "strategies/train/schedules/schedule.h"

/* Longer schedules, in slots of all stages, have no path: there, what the busiest stage does between
 * fill and drain is nearly all. */
#define RH_PATH_SLOTS_MAX 400000

/* A slot that is its chunk's first or last with its pass, or comes behind such a last one before the
 * path leaves the stage; or any, where costs ask for all. */
typedef struct {
    int32_t stage;
    RhSlotKind kind;
    bool follows; /* the slot before it on its stage is the one listed before */
    bool leaves;  /* the path goes on with its message */
    RhSlotStand stand;
} RhSchedulePathSlot;

typedef struct {
    double slots_s;              /* what its slots take, at the costs that it was found under */
    double message_s, last_frac; /* of these */
    bool all;                    /* likewise */
    /* [2 stage + back]: how many a stage sends to the next, and to the one before, on the path; the
     * last one's next is the first */
    int32_t *messages;
    GArray *slots; /* RhSchedulePathSlot, in order; the path's first and last slot among them */
} RhSchedulePath;

/* Seconds of slots by [model chunk * RH_SLOT_PASSES + pass], until the stage is free and until the
 * output is there; of any message. A slot that ends its chunk's last micro-batch is taken to be longer
 * by `last_frac` while the path is looked for. */
typedef struct {
    const double *busy_s, *out_s;
    double message_s, last_frac;
    bool all; /* every slot of the path is listed */
    /* How much longer a slot takes right behind one of its stage that sends, that stands so and whose message goes
     * up or down, while the path is looked for: [(stand * 2 + down) * cells + cell]; NULL: no longer. */
    const double *behind_s;
} RhSchedulePathCosts;

/* The longest path under these costs, from the first slot to the one that ends last. NULL: the schedule
 * is too long. */
RhSchedulePath *rh_schedule_path_find(const RhPipelineSchedule *schedule, int32_t p, int32_t v,
                                      int32_t m, const RhSchedulePathCosts *costs);
void rh_schedule_path_free(RhSchedulePath *path);
