#pragma once
/* The table of lanes, and the table of what waiting is called: RhLane (sim/program.h) and RhWait
 * (sim/run.h) are made of them, and reports and `explain` read them.
 *
 * ROW(what follows RH_LANE_, name, what follows RH_WAIT_: on what idle compute is booked that a
 * collective on this lane ends). Streams have no row: what they end is booked on COLLECTIVES,
 * MESSAGES, OTHERS and HOST. */
#define RH_LANES(ROW)                                                                              \
    ROW(COMPUTE, "compute", TP) /* kernels; a collective among them is tensor parallelism's */     \
    ROW(TP, "tp", TP)           /* tensor-parallel collectives */                                  \
    ROW(CP, "cp", CP)                                                                              \
    ROW(EP, "ep", EP)                                                                              \
    ROW(DP, "dp", DP)         /* gradient reduction */                                             \
    ROW(GATHER, "gather", DP) /* parameter gathering (ZeRO, FSDP): a stream of its own */          \
    ROW(TIED, "tied", TIED)   /* gradients of one matrix on two stages */                          \
    ROW(NORM, "norm", NORM)   /* of all gradients */                                               \
    ROW(SEND_NEXT, "send-next", PIPELINE_TRANSFER) /* activations out */                           \
    ROW(RECV_PREV, "recv-prev", PIPELINE_TRANSFER)                                                 \
    ROW(SEND_PREV, "send-prev", PIPELINE_TRANSFER) /* gradients out */                             \
    ROW(RECV_NEXT, "recv-next", PIPELINE_TRANSFER)                                                 \
    /* Where the model turns at the last stage and runs back up */                                 \
    ROW(TURNED_SEND_PREV, "turned-send-prev", PIPELINE_TRANSFER) /* activations out */             \
    ROW(TURNED_RECV_NEXT, "turned-recv-next", PIPELINE_TRANSFER)                                   \
    ROW(TURNED_SEND_NEXT, "turned-send-next", PIPELINE_TRANSFER) /* gradients out */               \
    ROW(TURNED_RECV_PREV, "turned-recv-prev", PIPELINE_TRANSFER)                                   \
    ROW(COPY_IN, "copy-in", COPY)                                                                  \
    ROW(COPY_OUT, "copy-out", COPY)

/* ROW(what follows RH_WAIT_, name, its source in a tree of costs, is it communication?) */
#define RH_WAITS(ROW)                                                                              \
    ROW(COMPUTE, "compute", "", false) /* not waiting: kernels ran */                              \
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
        false) /* a folded run's */                                                                \
    ROW(END, "end of step", "done early: waiting for the slowest rank", false)
