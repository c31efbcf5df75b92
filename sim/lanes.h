#pragma once
/* Tables of lanes and of reasons to wait: RhLane (sim/program.h) and RhWait (sim/run.h) are
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
    ROW(COPY_OUT, "copy-out", COPY)

/* ROW(suffix of RH_WAIT_, name, source in a cost tree, whether it is communication) */
#define RH_WAITS(ROW)                                                                              \
    ROW(COMPUTE, "compute", "", false) /* no wait: kernels run */                                  \
    ROW(STRETCH, "SMs held by communication",                                                      \
        "kernels run at (sms - held) / sms beside communication", false)                           \
    ROW(TP, "tensor parallel", "tensor-parallel collectives on the critical path", true)           \
    ROW(CP, "context parallel", "context-parallel collectives", true)                              \
    ROW(EP, "expert parallel", "expert-parallel collectives", true)                                \
    ROW(DP, "data parallel", "gradient and parameter collectives not hidden behind kernels", true) \
    ROW(TIED, "tied embeddings", "gradients that the first and the last stage sum", true)          \
    ROW(NORM, "gradient norm", "one number that all ranks sum before the optimizer", true)         \
    ROW(PIPELINE_TRANSFER, "pipeline transfer",                                                    \
        "activations and gradients in flight between stages", true)                                \
    ROW(BUBBLE, "pipeline bubble", "pipeline fill, drain and unequal stages", false)               \
    ROW(COPY, "host copy", "copies between memory tiers", false)                                   \
    ROW(COLLECTIVES, "collectives", "collectives of a program from a file", true)                  \
    ROW(MESSAGES, "messages", "messages of a program from a file, under way", true)                \
    ROW(OTHERS, "other ranks", "waiting for ranks that take part", false)                          \
    ROW(HOST, "host", "work of the host that nothing hides", false)                                \
    ROW(JITTER, "jitter", "order statistics: kernels wait for the slower ones of unequal ranks",   \
        false) /* of folded runs only */                                                           \
    ROW(END, "end of step", "done early: waiting for the slowest rank", false)
