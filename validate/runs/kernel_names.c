/* Names of kernels as libraries give them: NCCL and RCCL (src/device/generate.py of NVIDIA/nccl:
 * "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), cuBLAS and CUTLASS ("nvjet_...", "sm90_xmma_gemm_...",
 * "cutlass_80_tensorop_..."), Tensile of rocBLAS ("Cijk_..."), cuDNN, FlashAttention and CK ("..._fmha_...",
 * "flash_fwd_kernel", "cudnn_generated_fort_native_sdpa_..."), DeepEP ("dispatch", "combine"). PyTorch's
 * own name of a collective (c10d's ParamCommsUtils: "_allgather_base") goes before the kernel's. */
#include "validate/runs/kernel_names.h"

#include <string.h>

typedef struct {
    const char *word; /* in lower case */
    RhStepPart part;
} Word;

/* The first word that a name holds tells; collectives of several words before shorter ones. */
static const Word collectives[] = {{"reduce_scatter", RH_PART_REDUCE_SCATTER},
                                   {"reducescatter", RH_PART_REDUCE_SCATTER},
                                   {"allreduce", RH_PART_ALL_REDUCE},
                                   {"all_reduce", RH_PART_ALL_REDUCE},
                                   {"allgather", RH_PART_ALL_GATHER},
                                   {"all_gather", RH_PART_ALL_GATHER},
                                   {"alltoall", RH_PART_ALL_TO_ALL},
                                   {"all_to_all", RH_PART_ALL_TO_ALL},
                                   {"sendrecv", RH_PART_SEND_RECV},
                                   {"send", RH_PART_SEND_RECV},
                                   {"recv", RH_PART_SEND_RECV}};
static const Word attentions[] = {
    {"flash", RH_PART_ATTENTION},       {"fmha", RH_PART_ATTENTION},
    {"attention", RH_PART_ATTENTION},   {"sdpa", RH_PART_ATTENTION},
    {"fused_attn", RH_PART_ATTENTION},  {"chunk_scan", RH_PART_ATTENTION},
    {"chunk_state", RH_PART_ATTENTION}, {"selective_scan", RH_PART_ATTENTION}};
static const Word products[] = {{"gemm", RH_PART_GEMM},    {"nvjet", RH_PART_GEMM},
                                {"cutlass", RH_PART_GEMM}, {"xmma", RH_PART_GEMM},
                                {"cijk_", RH_PART_GEMM},   {"tensorop", RH_PART_GEMM},
                                {"_mm_", RH_PART_GEMM},    {"matmul", RH_PART_GEMM}};

static RhStepPart find(const Word *words, size_t count, const char *name, RhStepPart otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, words[i].word))
            return words[i].part;
    return otherwise;
}
#define FIND(words, name, otherwise) find(words, G_N_ELEMENTS(words), name, otherwise)

static RhStepPart part_of_communication(const char *name, const char *collective)
{
    RhStepPart said = FIND(collectives, collective, RH_PART_LAST);
    return said < RH_PART_LAST ? said : FIND(collectives, name, RH_PART_COLLECTIVE);
}

RhStepPart rh_kernel_name_part(const char *name, const char *category, const char *collective)
{
    g_autofree char *kernel = g_ascii_strdown(name, -1), *kind = g_ascii_strdown(category, -1),
                    *said = g_ascii_strdown(collective, -1);
    if (strstr(kind, "mem"))
        return RH_PART_COPY;
    if (strstr(kernel, "nccl") || strstr(kernel, "rccl") || *said)
        return part_of_communication(kernel, said);
    if (strstr(kernel, "deep_ep") || strstr(kernel, "nvshmem"))
        return RH_PART_ALL_TO_ALL;
    RhStepPart attention = FIND(attentions, kernel, RH_PART_LAST);
    return attention < RH_PART_LAST ? attention : FIND(products, kernel, RH_PART_MEMORY);
}
