#pragma once
/* Critical paths of a schedule: chains of slots, each waiting for the one before on its stage or by
 * a message. For any costs, a step takes at least as long as each path, and the longest path under
 * some costs is long under similar ones.
 *
 * Legend: p stages, v chunks a stage, m micro-batches. */
#include "strategies/train/schedules/schedule.h"

/* Maximum number of slots of all stages for which a path is searched; in longer schedules the
 * busiest stage takes nearly all of the step. */
#define RH_PATH_SLOTS_MAX 400000

/* A listed slot of a path: one that is its chunk's first or last with its pass, one after such a
 * last slot before the path leaves the stage, or any slot if the costs ask for all. */
typedef struct {
    int32_t stage;
    RhSlotKind kind;
    bool follows; /* the slot before it on its stage is the previous list element */
    bool leaves;  /* the path continues with its message */
    RhSlotStand stand;
} RhSchedulePathSlot;

/* A path with the costs under which it was found. */
typedef struct {
    double slots_s; /* seconds of its slots */
    double message_s, last_frac;
    bool all;
    /* [2 stage + back]: number of messages on the path from a stage to the next (the last wraps to
     * the first) and to the one before. */
    int32_t *messages;
    GArray *slots; /* RhSchedulePathSlot, in order; includes the path's first and last slot */
} RhSchedulePath;

/* Costs of a schedule: seconds of slots by [model chunk * RH_SLOT_PASSES + pass] until the stage is
 * free and until the output is ready; seconds of a message; and the fraction by which slots count
 * longer, during the search, that end their chunk's last micro-batch. */
typedef struct {
    const double *busy_s, *out_s;
    double message_s, last_frac;
    bool all; /* list every slot of the path */
    /* Further seconds of a slot right after one of its stage that sends a message, by the
     * sender's phase and direction: [(stand * 2 + down) * cells + cell]; NULL: none. Used during
     * the search. */
    const double *behind_s;
} RhSchedulePathCosts;

/* Returns the longest path under these costs, from the first slot to the one that ends last; NULL:
 * the schedule is too long. The caller frees it. */
RhSchedulePath *rh_schedule_path_find(const RhPipelineSchedule *schedule, int32_t p, int32_t v,
                                      int32_t m, const RhSchedulePathCosts *costs);
void rh_schedule_path_free(RhSchedulePath *path);
