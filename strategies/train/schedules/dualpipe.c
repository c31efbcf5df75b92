/* DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1, figure 5; DeepSeek-AI 2025,
 * github.com/deepseek-ai/DualPipe): a pipeline of PP stages is fed from both ends, and each rank
 * holds two of them, i and PP-1-i, as does its mirror image, so each stage exists twice. Here p =
 * PP/2 counts the pairs of stages: rank i and rank PP-1-i are stage i of two replicas, which are
 * half of the replicas apart. Both run DualPipeV's order, the mirror image with the stream from its
 * own end; in the middle a micro-batch does not turn but goes on to the other half, whose own comes
 * the other way: the two last stages exchange outputs, and on the way back gradients. */
#include "strategies/train/schedules/dualpipe.h"

const RhPipelineSchedule rh_pipeline_dualpipe = {.splits_backward = true,
                                                 .turns = true,
                                                 .crosses = true,
                                                 .pairs = true,
                                                 .settles = true,
                                                 .rounds_least = 2,
                                                 .order = rh_dualpipe_order,
                                                 .bubble = RH_DUALPIPE_BUBBLE,
                                                 .bubble_frac = rh_dualpipe_bubble_frac};
