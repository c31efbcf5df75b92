#pragma once
/* Tables of lanes and of reasons to wait: RhLane (sim/program.h) and RhWait (sim/program_result.h) are
 * generated from them; reports and `explain` read them.
 *
 * ROW(suffix of RH_LANE_, name, suffix of RH_WAIT_: the reason that is recorded when compute is
 * idle until a collective on this lane ends). Streams have no row: waits for them are recorded as
 * COLLECTIVES, MESSAGES, OTHERS and HOST. */
#define RH_LANES(ROW)                                                                              \
    ROW(COMPUTE, "compute", TP) /* kernels; a collective on it counts as tensor parallel */        \
    ROW(TP, "tp", TP)           /* tensor-parallel collectives */                                  \
    ROW(CP, "cp", CP)                                                                              \
    ROW(EP, "ep", EP)                                                                              \
    ROW(DP, "dp", DP)         /* gradient reduction */                                             \
    ROW(GATHER, "gather", DP) /* parameter all-gather (ZeRO, FSDP), on its own stream */           \
    ROW(TIED, "tied", TIED)   /* sum of a tied matrix's gradients over two stages */               \
    ROW(NORM, "norm", NORM)   /* norm of all gradients */                                          \
    ROW(SEND_NEXT, "send-next", PIPELINE_TRANSFER) /* activations out */                           \
    ROW(RECV_PREV, "recv-prev", PIPELINE_TRANSFER)                                                 \
    ROW(SEND_PREV, "send-prev", PIPELINE_TRANSFER) /* gradients out */                             \
    ROW(RECV_NEXT, "recv-next", PIPELINE_TRANSFER)                                                 \
    /* Lanes of the second half of a V-shaped schedule, which runs back from the last stage */     \
    ROW(TURNED_SEND_PREV, "turned-send-prev", PIPELINE_TRANSFER) /* activations out */             \
    ROW(TURNED_RECV_NEXT, "turned-recv-next", PIPELINE_TRANSFER)                                   \
    ROW(TURNED_SEND_NEXT, "turned-send-next", PIPELINE_TRANSFER) /* gradients out */               \
    ROW(TURNED_RECV_PREV, "turned-recv-prev", PIPELINE_TRANSFER)                                   \
    ROW(COPY_IN, "copy-in", COPY)                                                                  \
    ROW(COPY_OUT, "copy-out", COPY)                                                                \
    /* Lanes of what is held on the host: weights and gradients on their way, and its own work */  \
    ROW(STATES_IN, "states-in", COPY)                                                              \
    ROW(STATES_OUT, "states-out", COPY)                                                            \
    ROW(WEIGHTS_IN, "weights-in", COPY)                                                            \
    ROW(DRIVES_IN, "drives-in", COPY)                                                              \
    ROW(DRIVES_OUT, "drives-out", COPY)                                                            \
    ROW(HOST, "host", HOST)                                                                        \
    ROW(LOADER, "loader", HOST) /* samples of the next step, on cores of the host or a DPU */

/* ROW(suffix of RH_WAIT_, name, source in a cost tree, whether it is communication) */
#define RH_WAITS(ROW)                                                                              \
    ROW(COMPUTE, "compute", "", false) /* no wait: kernels run */                                  \
    ROW(STRETCH, "compute slowed by comm", "communication kernels occupy SMs", false)              \
    ROW(TP, "exposed tensor-parallel comm", "collectives on the critical path", true)              \
    ROW(CP, "exposed context-parallel comm", "keys and values", true)                              \
    ROW(EP, "exposed expert-parallel comm", "tokens to and from the experts", true)                \
    ROW(DP, "exposed data-parallel comm", "gradients and parameters", true)                        \
    ROW(TIED, "exposed tied-embedding comm", "gradients summed by the first and last stage", true) \
    ROW(NORM, "gradient norm", "all ranks sum one number before the optimizer", true)              \
    ROW(PIPELINE_TRANSFER, "exposed pipeline transfers", "activations and gradients", true)        \
    ROW(BUBBLE, "waiting for pipeline stages", "bubble and imbalance", false)                      \
    ROW(COPY, "exposed host copies", "copies between GPU and host memory", false)                  \
    ROW(COLLECTIVES, "exposed collectives", "collectives of a program from a file", true)          \
    ROW(MESSAGES, "exposed messages", "messages of a program from a file", true)                   \
    ROW(OTHERS, "waiting for other ranks", "ranks that take part in a collective", false)          \
    ROW(HOST, "exposed host work", "CPU work that no kernel hides", false)                         \
    ROW(JITTER, "jitter", "kernels wait for the slower ones of other ranks", false) /* folded */   \
    ROW(END, "waiting for the slowest rank", "ranks that finish the step early", false)
