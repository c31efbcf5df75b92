#pragma once
/* Adapters beside linear layers (LoRA, Hu et al. 2021, arXiv 2106.09685): a layer's weight W (k x n) is
 * left as it is, and two small matrices A (k x r) and B (r x n) beside it are trained; its output is
 * x W + x A B. A fact of the job: weights without adapters are frozen everywhere. The factor alpha / r
 * changes no time. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Linear layers that may have one, as Megatron-Bridge names them (peft/lora.py, target_modules); the five from
 * linear_q_proj on are latent attention's, the last two linear mixers' (scans and short convolutions). ROW(constant, bit, name) */
#define RH_LINEARS(ROW)                                                                            \
    ROW(QKV, 0, "linear_qkv")                                                                      \
    ROW(PROJ, 1, "linear_proj")                                                                    \
    ROW(FC1, 2, "linear_fc1")                                                                      \
    ROW(FC2, 3, "linear_fc2")                                                                      \
    ROW(Q, 4, "linear_q_proj")                                                                     \
    ROW(Q_DOWN, 5, "linear_q_down_proj")                                                           \
    ROW(Q_UP, 6, "linear_q_up_proj")                                                               \
    ROW(KV_DOWN, 7, "linear_kv_down_proj")                                                         \
    ROW(KV_UP, 8, "linear_kv_up_proj")                                                             \
    ROW(IN, 9, "in_proj")                                                                          \
    ROW(OUT, 10, "out_proj")

#define RH_LINEAR_BIT(constant, bit, name) RH_LINEAR_##constant = 1 << (bit),
typedef enum {
    RH_LINEAR_NONE,
    RH_LINEARS(RH_LINEAR_BIT) RH_LINEAR_ALL = (1 << 11) - 1
} RhLinearName;
#undef RH_LINEAR_BIT

/* The rank where modules are named and it is not: Megatron-Bridge's `dim` (peft/lora.py). */
#define RH_LORA_RANK 32

typedef struct {
    int32_t rank;     /* r; 0: no adapters, all weights are trained */
    uint32_t modules; /* sum of RhLinearName; 0: all */
} RhLora;

/* Does this linear layer have an adapter? */
bool rh_lora_adapts(const RhLora *lora, RhLinearName linear);
/* "linear_qkv+linear_proj"; a rank of 0 becomes RH_LORA_RANK. RH_ERROR_USAGE; *lora changes only on
 * success. */
bool rh_lora_parse_modules(const char *text, RhLora *lora,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* "16:linear_qkv", or the rank alone. RH_ERROR_USAGE, likewise. */
bool rh_lora_parse(const char *text, RhLora *lora, GError **error) G_GNUC_WARN_UNUSED_RESULT;
