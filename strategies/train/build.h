#pragma once
/* Parts of a program that the bounds need without its tasks. */
#include "strategies/train/grid.h"
#include "strategies/train/layer_ops.h"
#include "strategies/train/schedules/schedule.h"
#include "strategies/train/train.h"

/* Groups (-1 when of one member) and roles (one per stage) of the layout, without tasks. Caller
 * frees. */
RhProgram *rh_train_skeleton(const RhProblem *c, const RhLayout *layout,
                             int32_t groups[RH_GROUP_LAST]);
/* Kinds of groups that join stages in one layout's program, bits of RhGroupKind. */
uint32_t rh_train_joined(const RhModelCost *model_cost, const RhLayout *layout);

/* Lanes of a slot's messages: a stream has one peer and one direction, so none waits behind another. */
RhLane rh_train_send_lane(const RhPipelineSchedule *schedule, const RhSlot *slot);
RhLane rh_train_receive_lane(const RhPipelineSchedule *schedule, const RhSlot *slot);
