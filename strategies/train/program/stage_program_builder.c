/* Appends instructions to a stage program, for the parallelisms. */
#include "strategies/train/program/stage_program.h"

void rh_stage_program_communicate(RhStageProgramWriter *w, RhInstr step)
{
    if (step.bytes <= 0)
        return;
    step.kind = RH_INSTR_COMMUNICATE;
    g_array_append_val(w->stage_program->steps, step);
    w->stage_program->communicates = true;
    w->stage_program->ahead_most = MAX(w->stage_program->ahead_most, step.ahead);
}

void rh_stage_program_copy(RhStageProgramWriter *w, RhInstr step)
{
    step.kind = RH_INSTR_COPY;
    if (step.bytes > 0)
        g_array_append_val(w->stage_program->steps, step);
}

void rh_stage_program_run_kernel(RhStageProgramWriter *w, const RhKernel *kernel, const char *label)
{
    RhStageProgram *s = w->stage_program;
    RhInstr step = {.kind = RH_INSTR_KERNEL,
                    .label = label,
                    .item = (int32_t)s->kernels->len,
                    .begin_index = -1};
    g_array_append_vals(s->kernels, kernel, 1);
    g_array_append_val(s->steps, step);
}

void rh_stage_program_wait(RhStageProgramWriter *w, RhLane lane)
{
    RhInstr step = {.kind = RH_INSTR_WAIT, .lane = (uint8_t)lane, .begin_index = -1};
    g_array_append_val(w->stage_program->steps, step);
}

void rh_stage_program_wait_before(RhStageProgramWriter *w, RhLane lane)
{
    RhInstr step = {.kind = RH_INSTR_WAIT, .lane = (uint8_t)lane, .begin_index = -1, .ahead = 1};
    g_array_append_val(w->stage_program->steps, step);
}

void rh_stage_program_wait_begin(RhStageProgramWriter *w, int32_t index)
{
    RhInstr step = {.kind = RH_INSTR_WAIT, .lane = RH_LANE_GATHER, .begin_index = index};
    g_array_append_val(w->stage_program->steps, step);
}
