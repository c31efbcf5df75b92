#pragma once
/* Models of every family, and what their operators ask for, for tests of operators. */
#include <string.h>

#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "workloads/operators/operator.h"

static const RhBlock BLOCKS[] = {RH_BLOCK_EMBEDDING, RH_BLOCK_MIXER, RH_BLOCK_FFN, RH_BLOCK_HEAD};

/* Latent attention as DeepSeek-V2-Lite has it, and as DeepSeek-V3 does, with dense layers. */
#define DEEPSEEK(hidden, heads, q_rank)                                                            \
    "{'model_type': 'deepseek_v2', 'num_hidden_layers': 4, 'hidden_size': " hidden                 \
    ", 'num_attention_heads': " heads ", 'intermediate_size': 10944, 'vocab_size': 102400, "       \
    "'q_lora_rank': " q_rank ", 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, "                    \
    "'qk_rope_head_dim': 64, 'v_head_dim': 128}"
/* Experts in every layer: eight of which a token goes to two, and sixteen of which it goes to four and
 * to a shared one besides. */
#define MIXTRAL                                                                                    \
    "{'model_type': 'mixtral', 'num_hidden_layers': 4, 'hidden_size': 4096, "                      \
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'intermediate_size': 14336, "            \
    "'num_local_experts': 8, 'num_experts_per_tok': 2, 'vocab_size': 32000}"
#define SHARED                                                                                     \
    "{'model_type': 'deepseek_v3', 'num_hidden_layers': 4, 'hidden_size': 2048, "                  \
    "'num_attention_heads': 16, 'intermediate_size': 10944, 'vocab_size': 102400, "                \
    "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "    \
    "'q_lora_rank': null, 'n_routed_experts': 16, 'num_experts_per_tok': 4, "                      \
    "'n_shared_experts': 1, 'moe_intermediate_size': 1408, 'first_k_dense_replace': 0}"
/* Side by side; with a sparse attention's indexer, which 1024 tokens do not need; experts in a latent,
 * and a gated shared one. */
#define NEOX                                                                                       \
    "{'model_type': 'gpt_neox', 'num_hidden_layers': 4, 'hidden_size': 6144, "                     \
    "'num_attention_heads': 64, 'intermediate_size': 24576, 'vocab_size': 50432}"
#define V32                                                                                        \
    "{'model_type': 'deepseek_v32', 'num_hidden_layers': 4, 'hidden_size': 7168, "                 \
    "'num_attention_heads': 128, 'intermediate_size': 18432, 'vocab_size': 129280, "               \
    "'q_lora_rank': 1536, 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, "  \
    "'v_head_dim': 128, 'index_n_heads': 64, 'index_head_dim': 128, 'index_topk': 2048, "          \
    "'n_routed_experts': null, 'num_experts_per_tok': null, 'moe_intermediate_size': null}"
#define BLOOM                                                                                      \
    "{'model_type': 'bloom', 'n_layer': 4, 'hidden_size': 4096, 'n_head': 32, 'vocab_size': "      \
    "250880}"
#define LATENT                                                                                     \
    "{'model_type': 'nemotron_h', 'num_hidden_layers': 2, 'hidden_size': 4096, "                   \
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, "                       \
    "'intermediate_size': 2688, 'vocab_size': 131072, 'mamba_num_heads': 128, "                    \
    "'mamba_head_dim': 64, 'n_groups': 8, 'ssm_state_size': 128, 'n_routed_experts': 512, "        \
    "'num_experts_per_tok': 22, 'moe_intermediate_size': 2688, 'moe_latent_size': 1024, "          \
    "'moe_shared_expert_intermediate_size': 5376, 'layers_block_type': ['moe', 'attention']}"
#define GATED                                                                                      \
    "{'model_type': 'qwen3_5_moe_text', 'num_hidden_layers': 4, 'hidden_size': 2048, "             \
    "'num_attention_heads': 16, 'num_key_value_heads': 8, 'vocab_size': 248320, "                  \
    "'linear_num_value_heads': 32, 'linear_num_key_heads': 16, 'linear_key_head_dim': 128, "       \
    "'linear_value_head_dim': 128, 'num_experts': 256, 'num_experts_per_tok': 8, "                 \
    "'moe_intermediate_size': 512, 'shared_expert_intermediate_size': 512, "                       \
    "'layer_types': ['full_attention', 'full_attention', 'full_attention', 'full_attention']}"
/* Values of another size than keys, each head's output scaled by a number. */
#define NARROW                                                                                     \
    "{'model_type': 'mimo_v2_flash', 'num_hidden_layers': 4, 'n_routed_experts': 0, "              \
    "'num_experts_per_tok': 0, 'moe_intermediate_size': 0, 'hidden_size': 4096, "                  \
    "'num_attention_heads': 64, 'num_key_value_heads': 4, 'head_dim': 192, 'v_head_dim': 128, "    \
    "'intermediate_size': 16384, 'vocab_size': 152576}"
#define BY_HEAD                                                                                    \
    "{'model_type': 'laguna', 'num_hidden_layers': 4, 'hidden_size': 2048, "                       \
    "'num_attention_heads': 48, 'num_key_value_heads': 8, 'intermediate_size': 8192, "             \
    "'vocab_size': 100352, 'num_experts': 16, 'num_experts_per_tok': 8, "                          \
    "'moe_intermediate_size': 512}"
#define V2_LITE DEEPSEEK("2048", "16", "null")
#define V3      DEEPSEEK("7168", "128", "1536")

/* One of each family, and of each attention. */
static const char *const MODELS[] = {
    "llama-3.1-8b", "mistral-7b", "qwen2.5-7b", "qwen3-32b", "gpt2-xl", V2_LITE, V3,     MIXTRAL,
    SHARED,         NEOX,         V32,          BLOOM,       GATED,     NARROW,  BY_HEAD};

typedef struct {
    double flops, bytes;
    guint kernels;
} Sum;

/* Loads a model of the catalogue, or a configuration with single quotes for double ones. */
RhModel *load(const char *name);

const RhLayerKind *kind_for(const RhModel *m, RhBlock block);

GArray *kernels_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard);

Sum sum_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard);

RhKernel attention_of(const RhModel *m, RhPass pass, const RhShard *shard);

/* Returns the FLOPs of a mixer's kernels, by the number of the layer's kind. */
double flops_of(const RhModel *m, int kind, RhPass pass, const RhShard *shard);
