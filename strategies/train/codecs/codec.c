/* Building blocks of codecs: kernels and collectives that wait for one another. */
#include "strategies/train/codecs/codec.h"

void rh_codec_run(const RhCodecExchange *x, double moved_bytes, const char *label)
{
    RhKernel kernel = {.cls = RH_KERNEL_CAST, .dtype = RH_DTYPE_FP32, .bytes = moved_bytes};
    if (moved_bytes > 0)
        rh_stage_program_run_kernel(x->w, &kernel, label);
}

void rh_codec_send(const RhCodecExchange *x, RhOp op, double bytes, const char *label)
{
    rh_stage_program_communicate(x->w, (RhInstr){.lane = RH_LANE_DP,
                                                 .group = (uint8_t)rh_params_group(x->cls),
                                                 .op = (uint8_t)op,
                                                 .phase = RH_PHASE_GRADIENT,
                                                 .bytes = bytes,
                                                 .label = label});
    rh_stage_program_wait(x->w, RH_LANE_DP);
}
