#include "tests/kit/program_kit.h"

static int32_t program_gemm(RhProgram *p, int32_t pred)
{
    RhKernel kernels[] = {{.cls = RH_KERNEL_GEMM,
                           .dtype = RH_DTYPE_BF16,
                           .batch = 1,
                           .m = 4096,
                           .n = 1024,
                           .k = 8192,
                           .flops = 2.0 * 4096 * 1024 * 8192,
                           .bytes = 0.1 + 0.2},
                          {.cls = RH_KERNEL_ATTENTION,
                           .dtype = RH_DTYPE_FP16,
                           .causal = true,
                           .heads = 8,
                           .kv_heads = 2,
                           .v_head = 64,
                           .batch = 3,
                           .m = 512,
                           .n = 512,
                           .k = 128,
                           .flops = 1e9 / 3,
                           .bytes = 1e6}};
    RhTask task = kit_task(RH_TASK_KERNEL, RH_LANE_COMPUTE);
    task.label = rh_program_label(p, "mixer \"a\"");
    task.phase = RH_PHASE_FORWARD;
    task.layer = 7;
    task.microbatch = 3;
    task.bundle = rh_program_add_bundle(p, kernels, 2);
    return rh_program_add_task(p, task, &pred, 1);
}

RhProgram *two_stages(void)
{
    RhProgram *p = rh_program_new(4);
    RhStride pair = {1, 2};
    p->kernel_gap_s = 1e-5 / 3;
    p->gap_source = rh_intern("a fit");
    rh_program_begin_role(p, "stage 0", 0, &pair, 1);
    int32_t tp = rh_program_add_group(p, "tp", &pair, 1);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_WEIGHTS, 1e9 / 7);
    int32_t kernel = program_gemm(p, -1);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS, 5e8);
    int32_t sum = kit_collective(p, RH_LANE_TP, RH_OP_ALL_REDUCE, RH_ALGO_RING, tp, 8192.5, kernel);
    int32_t send = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 2, 1000, sum);
    int32_t recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_NEXT, 2, 3000, -1);
    RhTask copy = kit_task(RH_TASK_COPY, RH_LANE_COPY_OUT), mark = kit_task(RH_TASK_MARK, 0);
    copy.bytes = 64e6;
    copy.to = RH_MEMORY_TIER_HOST;
    int32_t both[] = {recv, kernel};
    rh_program_add_task(p, copy, both, 2);
    rh_program_add_task(p, mark, &recv, 1);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS, -5e8);
    rh_program_add_memory(p, RH_MEMORY_TIER_HOST, RH_MEMORY_OPTIMIZER, 12e9);
    rh_program_end_role(p);
    rh_program_begin_role(p, "stage 1", 2, &pair, 1);
    int32_t arrives = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -2, 1000, -1);
    int32_t wait = kit_wait(p, 1e-3, &arrives, 1);
    int32_t back = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_PREV, -2, 3000, wait);
    rh_program_end_role(p);
    rh_program_match(p, send, arrives);
    rh_program_match(p, back, recv);
    return p;
}
