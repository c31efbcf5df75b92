#pragma once
/* Parts of the builder that the bounds use without building tasks. */
#include "strategies/train/program/layer_ops.h"
#include "strategies/train/rank_grid.h"
#include "strategies/train/schedules/schedule.h"
#include "strategies/train/train.h"

/* Returns a program with the groups (-1 for those of one member) and roles (one per stage) of the
 * layout, without tasks. The caller frees it. */
RhProgram *rh_train_skeleton(const RhProblem *c, const RhLayout *layout,
                             int32_t groups[RH_GROUP_LAST]);
/* Returns the kinds of groups that join stages in the layout's program, bits of RhGroupKind. */
uint32_t rh_train_joined(const RhModelCost *model_cost, const RhLayout *layout);

/* Return the lanes of a slot's messages. A lane has one peer and one direction, so that messages of
 * different directions do not wait for each other. */
RhLane rh_train_send_lane(const RhPipelineSchedule *schedule, const RhSlot *slot);
RhLane rh_train_receive_lane(const RhPipelineSchedule *schedule, const RhSlot *slot);
