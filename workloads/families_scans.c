/* Families with scans of Mamba's kind: alone, with attention in turn or beside it, in patterns of letters. Keys and
 * defaults as in families_dense.c. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* --- Mamba-2, attention and feed-forward layers in a pattern (Nemotron-H) --- */

#define MAMBA_SIZES                                                                                \
    SIZE("mamba_num_heads", scan_heads, HEADS_MAX, RH_FIELD_REQUIRED),                             \
        SIZE("mamba_head_dim", scan_head_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                  \
        SIZE("n_groups", scan_groups, HEADS_MAX, RH_FIELD_REQUIRED),                               \
        SIZE("ssm_state_size", state_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                      \
        SIZE("conv_kernel", conv_size, HEAD_SIZE_MAX, 4),                                          \
        SIZE("chunk_size", chunk, TOKENS_MAX, 256)

/* Attention without positions, squared ReLU. Nemotron-3's experts may work in a latent. */
static const RhField NEMOTRON_H[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(4096),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    MAMBA_SIZES,
    FLAG("mamba_proj_bias", scan_bias, 0),
    FLAG("use_conv_bias", conv_bias, 1),
    COUNT("n_routed_experts", experts, EXPERTS_MAX, 0),
    COUNT("num_experts_per_tok", experts_per_token, EXPERTS_MAX, 0),
    COUNT("moe_intermediate_size", expert_ffn, WIDTH_MAX, 0),
    COUNT("moe_shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 0),
    COUNT("moe_latent_size", expert_latent, WIDTH_MAX, 0),
    CONSTANT(router_bias, 1),
    END,
};

static const RhLayerWord NEMOTRON_H_WORDS[] = {
    {.word = "mamba", .letter = 'M', .mixer = &rh_mamba, .ffn = RH_FFN_ABSENT},
    {.word = "linear_attention", .mixer = &rh_mamba, .ffn = RH_FFN_ABSENT},
    {.word = "attention", .letter = '*', .ffn = RH_FFN_ABSENT},
    {.word = "full_attention", .ffn = RH_FFN_ABSENT},
    {.word = "mlp", .letter = '-', .no_mixer = true, .ffn = RH_FFN_DENSE},
    {.word = "moe", .letter = 'E', .no_mixer = true, .ffn = RH_FFN_EXPERTS},
    {0},
};

/* Granite 4 and Bamba: Mamba-2, and attention where a list says so; each with experts or a dense network behind. A scan's
 * heads share its columns unless their size is said ("auto"). */
#define MAMBA_BESIDE_SIZES                                                                         \
    LLAMA_SIZES, POSITIONS(2048), ATTENTION_BIAS(0),                                               \
        SIZE("mamba_num_heads", scan_heads, HEADS_MAX, 128),                                       \
        SIZE("mamba_head_dim", scan_head_size, HEAD_SIZE_MAX, 0),                                  \
        SIZE("mamba_expand", scan_expand, 64, 2), SIZE("n_groups", scan_groups, HEADS_MAX, 1),     \
        SIZE("ssm_state_size", state_size, HEAD_SIZE_MAX, 256),                                    \
        SIZE("conv_kernel", conv_size, HEAD_SIZE_MAX, 4),                                          \
        SIZE("chunk_size", chunk, TOKENS_MAX, 256), FLAG("mamba_proj_bias", scan_bias, 0),         \
        FLAG("mamba_conv_bias", conv_bias, 1), FLAG("mlp_bias", ffn_bias, 0)

static const RhField BAMBA[] = {
    MAMBA_BESIDE_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    CONSTANT(full_every, LAYERS_MAX + 1),
    END,
};

static const RhField GRANITE_HYBRID[] = {
    MAMBA_BESIDE_SIZES,
    HEADS(0, 0),
    FLAG("tie_word_embeddings", tied, 1),
    COUNT("num_local_experts", experts, EXPERTS_MAX, 0),
    COUNT("num_experts_per_tok", experts_per_token, EXPERTS_MAX, 0),
    COUNT("shared_intermediate_size", shared_ffn, WIDTH_MAX, 0),
    CONSTANT(full_every, LAYERS_MAX + 1),
    END,
};

static void settle_mamba_heads(RhConfig *c)
{
    if (c->scan_head_size == 0)
        c->scan_head_size = MAX(c->scan_expand * c->hidden / MAX(c->scan_heads, 1), 1);
}

static const RhLayerWord MAMBA_WORDS[] = {
    {.word = "mamba", .mixer = &rh_mamba},
    {.word = "mamba2", .mixer = &rh_mamba},
    {.word = "linear_attention", .mixer = &rh_mamba},
    ATTENTION_WORDS,
    {0},
};

/* Mamba-2 alone (arXiv 2405.21060): every layer is one, nothing stands behind it. */
static const RhField MAMBA2[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("num_heads", scan_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", scan_head_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("n_groups", scan_groups, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("state_size", state_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("conv_kernel", conv_size, HEAD_SIZE_MAX, 4),
    SIZE("chunk_size", chunk, TOKENS_MAX, 256),
    FLAG("use_bias", scan_bias, 0),
    FLAG("use_conv_bias", conv_bias, 1),
    FLAG("tie_word_embeddings", tied, 0),
    CONSTANT(full_every, LAYERS_MAX + 1),
    CONSTANT(positions, TOKENS_MAX),
    END,
};

static const RhLayerWord MAMBA2_WORDS[] = {
    {.word = "mamba2", .mixer = &rh_mamba, .ffn = RH_FFN_ABSENT},
    {0},
};

/* What splits attention's heads and an ffn's columns has those of the scan. */
static void settle_mamba2(RhConfig *c)
{
    c->heads = c->kv_heads = c->scan_heads;
    c->head_size = c->scan_head_size;
    c->ffn = c->scan_heads * c->scan_head_size;
}

/* Mamba's first form alone (arXiv 2312.00752), whose channels are its heads. Falcon-Mamba says a figure in
 * `expand` that its own code does not read, so a width in the file goes before it. mamba_ssm keeps states
 * every 2,048 tokens. */
static const RhField MAMBA1[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    SIZE("expand", scan_expand, 64, 2),
    SIZE("state_size", state_size, HEAD_SIZE_MAX, 16),
    SIZE("time_step_rank", step_rank, WIDTH_MAX, 0),
    SIZE("conv_kernel", conv_size, HEAD_SIZE_MAX, 4),
    FLAG("use_bias", scan_bias, 0),
    FLAG("use_conv_bias", conv_bias, 1),
    FLAG("tie_word_embeddings", tied, 1),
    CONSTANT(full_every, LAYERS_MAX + 1),
    CONSTANT(positions, TOKENS_MAX),
    CONSTANT(chunk, 2048),
    CONSTANT(scan_groups, 1),
    CONSTANT(scan_head_size, 1),
    END,
};

static const RhLayerWord MAMBA1_WORDS[] = {
    {.word = "mamba", .mixer = &rh_selective_scan, .ffn = RH_FFN_ABSENT},
    {0},
};

static void settle_steps(RhConfig *c)
{
    if (c->step_rank == 0)
        c->step_rank = (c->hidden + 15) / 16;
}

static void settle_mamba1(RhConfig *c)
{
    if (c->ffn == 0)
        c->ffn = c->scan_expand * c->hidden;
    c->scan_heads = c->heads = c->kv_heads = c->ffn;
    c->head_size = 1;
    settle_steps(c);
}

/* RecurrentGemma (arXiv 2404.07839): Griffin's recurrent blocks, two of three, and attention in a window; each with a
 * bias where it puts out, as the network. `intermediate_size` is of both its matrices. */
static const RhField RECURRENT_GEMMA[] = {
    STACK_SIZES,
    SIZE("intermediate_size", ffn_both, 2 * WIDTH_MAX, RH_FIELD_REQUIRED),
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 1),
    FLAG("attention_bias", qkv_bias, 0),
    CONSTANT(out_bias, 1),
    CONSTANT(ffn_bias, 1),
    CONSTANT(ffn_gated, 1),
    SIZE("attention_window_size", window, TOKENS_MAX, 2048),
    CONSTANT(window_used, 1),
    SIZE("lru_width", scan_width, WIDTH_MAX, 0),
    SIZE("conv1d_width", conv_size, HEAD_SIZE_MAX, 4),
    CONSTANT(conv_bias, 1),
    CONSTANT(scan_bias, 1),
    CONSTANT(chunk, 2048),
    CONSTANT(full_every, 3),
    END,
};

static const RhLayerWord GRIFFIN_WORDS[] = {
    {.word = "recurrent", .mixer = &rh_rg_lru},
    {.word = "attention", .slides = true},
    {.word = "full_attention", .slides = true},
    {0},
};

static void settle_recurrent_gemma(RhConfig *c)
{
    if (c->ffn == 0)
        c->ffn = MAX(c->ffn_both / 2, 1);
    c->scan_heads = MAX(c->heads, 1);
    c->scan_head_size = (c->scan_width > 0 ? c->scan_width : c->hidden) / c->scan_heads;
}

/* Jamba (arXiv 2403.19887): attention without positions in one of eight layers, experts in every second;
 * what tells a step goes through norms. */
static const RhField JAMBA[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(262144),
    SIZE("attn_layer_period", full_every, LAYERS_MAX, 8),
    COUNT("attn_layer_offset", full_offset, LAYERS_MAX, 4),
    SIZE("expert_layer_period", expert_step, LAYERS_MAX, 2),
    COUNT("expert_layer_offset", expert_offset, LAYERS_MAX, 1),
    EXPERTS("num_experts"),
    SIZE("mamba_expand", scan_expand, 64, 2),
    SIZE("mamba_d_state", state_size, HEAD_SIZE_MAX, 16),
    SIZE("mamba_dt_rank", step_rank, WIDTH_MAX, 0),
    SIZE("mamba_d_conv", conv_size, HEAD_SIZE_MAX, 4),
    FLAG("mamba_proj_bias", scan_bias, 0),
    FLAG("mamba_conv_bias", conv_bias, 1),
    CONSTANT(step_norms, 1),
    CONSTANT(chunk, 2048),
    CONSTANT(scan_groups, 1),
    CONSTANT(scan_head_size, 1),
    END,
};

static const RhLayerWord JAMBA_WORDS[] = {
    {.word = "mamba", .mixer = &rh_selective_scan},
    {.word = "linear_attention", .mixer = &rh_selective_scan},
    ATTENTION_WORDS,
    {0},
};

/* One expert is a dense network. */
static void settle_jamba(RhConfig *c)
{
    if (c->experts == 1)
        c->experts = c->experts_per_token = 0;
    c->scan_heads = c->scan_expand * c->hidden;
    c->full_at = c->full_offset + 1;
    settle_steps(c);
}

/* PLaMo 2 (Preferred Networks, 2025): a selective scan of heads, and in the middle of every `mamba_step` layers attention in a
 * window; norms before and behind blocks, on q and k (counted as one of a head each). What tells steps is a sixteenth of the
 * hidden state's columns, 64 at least, and normed. */
static const RhField PLAMO2[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size_per_head", head_size, HEAD_SIZE_MAX, 128),
    POSITIONS(10485760),
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("attention_window_size", window, TOKENS_MAX, 2048),
    CONSTANT(window_used, 1),
    SIZE("mamba_step", full_every, LAYERS_MAX, 2),
    SIZE("mamba_num_heads", scan_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("mamba_d_state", state_size, HEAD_SIZE_MAX, 64),
    SIZE("mamba_d_conv", conv_size, HEAD_SIZE_MAX, 4),
    SIZE("mamba_chunk_size", chunk, TOKENS_MAX, 256),
    CONSTANT(scan_groups, 1),
    CONSTANT(step_norms, 1),
    CONSTANT(qk_norm, 1),
    CONSTANT(extra_norms, 1),
    END,
};

static const RhLayerWord PLAMO2_WORDS[] = {
    {.word = "mamba", .mixer = &rh_selective_scan},
    {.word = "attention", .slides = true},
    {.word = "full_attention", .slides = true},
    {0},
};

static void settle_plamo2(RhConfig *c)
{
    c->scan_head_size = MAX(c->head_size, 1);
    c->step_rank = MAX(c->hidden / 16, 64);
    c->full_at = c->full_every / 2 + 1;
}

/* Falcon-H1 (arXiv 2507.22448): Mamba-2 beside attention in every layer. */
static const RhField FALCON_H1[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(8192),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    MAMBA_SIZES,
    FLAG("mamba_proj_bias", scan_bias, 0),
    FLAG("mamba_conv_bias", conv_bias, 1),
    END,
};

/* Zamba2 (arXiv 2411.15242): Mamba-2, and before every so many layers one of `num_mem_blocks` blocks in turn, which are
 * counted as layers of their own. Its first files have other names; all of them list their layers. */
static const RhField ZAMBA2[] = {
    STACK_SIZES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    POSITIONS(4096),
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("n_mamba_heads", scan_heads, HEADS_MAX, 0),
    SIZE("mamba_headdim", scan_head_size, HEAD_SIZE_MAX, 0),
    SIZE("mamba_expand", scan_expand, 64, 2),
    SIZE("mamba_ngroups", scan_groups, HEADS_MAX, 1),
    SIZE("ssm_state_size", state_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("conv_kernel", conv_size, HEAD_SIZE_MAX, 4),
    SIZE("chunk_size", chunk, TOKENS_MAX, 256),
    FLAG("add_bias_linear", scan_bias, 0),
    FLAG("add_bias_linear", ffn_bias, 0),
    SIZE("num_mem_blocks", shared_blocks, LAYERS_MAX, 1),
    SIZE("adapter_rank", adapter_rank, WIDTH_MAX, 128),
    FLAG("use_shared_attention_adapter", adapts_attention, 0),
    CONSTANT(conv_bias, 1),
    CONSTANT(ffn_gated, 1),
    END,
};

/* Zamba (arXiv 2405.16712): the first selective scan, whose channels are parted into `n_mamba_heads` with B and C of their
 * own, which changes no count; one block, in every place the same but for the matrix behind it; no positions. */
static const RhField ZAMBA[] = {
    STACK_SIZES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    POSITIONS(4096),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("attention_dropout", attention_dropout, 0),
    SIZE("mamba_expand", scan_expand, 64, 2),
    SIZE("mamba_d_state", state_size, HEAD_SIZE_MAX, 16),
    SIZE("mamba_dt_rank", step_rank, WIDTH_MAX, 0),
    SIZE("mamba_d_conv", conv_size, HEAD_SIZE_MAX, 4),
    FLAG("mamba_proj_bias", scan_bias, 0),
    FLAG("mamba_conv_bias", conv_bias, 1),
    CONSTANT(shared_blocks, 1),
    CONSTANT(chunk, 2048),
    CONSTANT(scan_groups, 1),
    CONSTANT(scan_head_size, 1),
    CONSTANT(ffn_gated, 1),
    END,
};

static const RhLayerWord ZAMBA_WORDS[] = {
    {.word = "mamba", .mixer = &rh_selective_scan, .ffn = RH_FFN_ABSENT},
    {.word = "hybrid", .mixer = &rh_selective_scan, .ffn = RH_FFN_ABSENT, .before = "shared"},
    {.word = "shared", .mixer = &rh_shared_attention, .ffn = RH_FFN_DENSE},
    {0},
};

static void settle_zamba(RhConfig *c)
{
    c->scan_heads = c->scan_expand * c->hidden;
    settle_steps(c);
}

static const RhLayerWord ZAMBA2_WORDS[] = {
    {.word = "mamba", .mixer = &rh_mamba, .ffn = RH_FFN_ABSENT},
    {.word = "hybrid", .mixer = &rh_mamba, .ffn = RH_FFN_ABSENT, .before = "shared"},
    {.word = "shared", .mixer = &rh_shared_attention, .ffn = RH_FFN_DENSE},
    {0},
};

static void settle_zamba2(RhConfig *c)
{
    int64_t columns = MAX(c->scan_expand * c->hidden, 1);
    if (c->scan_heads == 0)
        c->scan_heads = MAX(columns / MAX(c->scan_head_size, 1), 1);
    if (c->scan_head_size == 0)
        c->scan_head_size = MAX(columns / c->scan_heads, 1);
}

/* xLSTM (arXiv 2503.13427): mLSTM and a gated network in every layer. Keys, values and the network are so many hidden states
 * wide, in steps of 64. */
static const RhField XLSTM[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("num_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    RATIO("qk_dim_factor", key_ratio, 500),
    RATIO("v_dim_factor", value_ratio, 1000),
    RATIO("ffn_proj_factor", ffn_ratio, 2667),
    SIZE("ffn_round_up_to_multiple_of", ffn_multiple, WIDTH_MAX, 64),
    SIZE("chunk_size", chunk, TOKENS_MAX, 64),
    FLAG("use_bias", scan_bias, 0),
    FLAG("use_bias", ffn_bias, 0),
    FLAG("tie_word_embeddings", tied, 0),
    CONSTANT(head_gates, 2),
    CONSTANT(ffn_gated, 1),
    CONSTANT(positions, TOKENS_MAX),
    END,
};

/* So many hidden states, up to the next step. */
static int64_t stepped(int64_t hidden, int64_t ratio, int64_t step)
{
    int64_t width = (hidden * ratio + 999) / 1000;
    return (width + step - 1) / step * step;
}

static void settle_xlstm(RhConfig *c)
{
    int64_t heads = MAX(c->heads, 1);
    c->scan_groups = c->scan_heads = c->kv_heads = heads;
    c->state_size = MAX(stepped(c->hidden, c->key_ratio, 64) / heads, 1);
    c->scan_head_size = MAX(stepped(c->hidden, c->value_ratio, 64) / heads, 1);
    c->head_size = 0; /* heads divide the hidden state */
    c->ffn = stepped(c->hidden, c->ffn_ratio, c->ffn_multiple);
}

/* RWKV-4 (arXiv 2305.13048), whose channels are its heads. */
static const RhField RWKV[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("attention_hidden_size", scan_width, WIDTH_MAX, 0),
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    SIZE("context_length", positions, TOKENS_MAX, 1024),
    FLAG("tie_word_embeddings", tied, 0),
    CONSTANT(scan_head_size, 1),
    CONSTANT(state_size, 1),
    CONSTANT(chunk, 1024),
    CONSTANT(receptance, 1),
    CONSTANT(embedding_norm, 1),
    END,
};

/* RWKV-5 and 6 (Eagle and Finch, arXiv 2404.05892): heads, 3.5 hidden states of a network in steps of 32, decays that the sixth
 * tells by latents, which its code makes twice as wide in models of 4,096 columns (modeling_rwkv6.py). */
static const RhField RWKV5[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("attention_hidden_size", scan_width, WIDTH_MAX, 0),
    SIZE("head_size", scan_head_size, HEAD_SIZE_MAX, 64),
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    FLAG("tie_word_embeddings", tied, 0),
    CONSTANT(positions, TOKENS_MAX),
    CONSTANT(chunk, 64),
    CONSTANT(full_gate, 1),
    CONSTANT(receptance, 1),
    CONSTANT(embedding_norm, 1),
    END,
};

/* RWKV-7 (arXiv 2503.14456), as flash-linear-attention and transformers write it. How many heads there are follows from
 * their size: a file may say another number. */
static const RhField RWKV7[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", scan_head_size, HEAD_SIZE_MAX, 64),
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    SIZE("decay_low_rank_dim", decay_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("a_low_rank_dim", rate_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("gate_low_rank_dim", gate_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("v_low_rank_dim", value_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 0),
    CONSTANT(chunk, 16),
    CONSTANT(embedding_norm, 1),
    END,
};

static void settle_rwkv(RhConfig *c)
{
    int64_t columns = c->scan_width > 0 ? c->scan_width : c->hidden;
    if (c->state_size != 1)
        c->state_size = c->scan_head_size;
    c->scan_heads = c->heads = c->kv_heads = MAX(columns / MAX(c->scan_head_size, 1), 1);
    c->head_size = c->scan_head_size;
}

static void settle_rwkv5(RhConfig *c)
{
    if (c->ffn == 0)
        c->ffn = MAX(c->hidden * 7 / 2 / 32 * 32, 1);
    settle_rwkv(c);
}

static void settle_rwkv6(RhConfig *c)
{
    bool wide = c->hidden == 4096;
    c->mix_rank = wide ? 64 : 32;
    c->decay_rank = wide ? 128 : 64;
    settle_rwkv5(c);
}

#define MIXED(name, position, mixer, fields, words, between, settle)                               \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_##position, &mixer, &rh_ffn, fields, words, between, settle \
    }

const RhFamily rh_families_scans[] = {
    MIXED("bamba", ROTARY, rh_attention, BAMBA, MAMBA_WORDS, "mamba", settle_mamba_heads),
    MIXED("falcon_h1", ROTARY, rh_attention_beside_mamba, FALCON_H1, NULL, "sliding_attention",
          NULL),
    MIXED("falcon_mamba", NONE, rh_attention, MAMBA1, MAMBA1_WORDS, "mamba", settle_mamba1),
    MIXED("granitemoehybrid", NONE, rh_attention, GRANITE_HYBRID, MAMBA_WORDS, "mamba",
          settle_mamba_heads),
    MIXED("jamba", NONE, rh_attention, JAMBA, JAMBA_WORDS, "mamba", settle_jamba),
    MIXED("mamba", NONE, rh_attention, MAMBA1, MAMBA1_WORDS, "mamba", settle_mamba1),
    MIXED("mamba2", NONE, rh_attention, MAMBA2, MAMBA2_WORDS, "mamba2", settle_mamba2),
    MIXED("nemotron_h", NONE, rh_attention, NEMOTRON_H, NEMOTRON_H_WORDS, "mamba", NULL),
    MIXED("plamo2", ROTARY, rh_attention, PLAMO2, PLAMO2_WORDS, "mamba", settle_plamo2),
    MIXED("recurrent_gemma", ROTARY, rh_attention, RECURRENT_GEMMA, GRIFFIN_WORDS, "recurrent",
          settle_recurrent_gemma),
    {"rwkv", RH_NORM_LAYER, RH_POSITION_NONE, &rh_time_mixing, &rh_channel_mixing, RWKV, NULL,
     "sliding_attention", settle_rwkv},
    {"rwkv5", RH_NORM_LAYER, RH_POSITION_NONE, &rh_time_mixing, &rh_channel_mixing, RWKV5, NULL,
     "sliding_attention", settle_rwkv5},
    {"rwkv6", RH_NORM_LAYER, RH_POSITION_NONE, &rh_time_mixing, &rh_channel_mixing, RWKV5, NULL,
     "sliding_attention", settle_rwkv6},
    {"rwkv7", RH_NORM_LAYER, RH_POSITION_NONE, &rh_time_mixing, &rh_channel_mixing, RWKV7, NULL,
     "sliding_attention", settle_rwkv},
    MIXED("xlstm", NONE, rh_mlstm, XLSTM, NULL, "sliding_attention", settle_xlstm),
    {"zamba", RH_NORM_RMS, RH_POSITION_NONE, &rh_selective_scan, &rh_shared_ffn, ZAMBA, ZAMBA_WORDS,
     "mamba", settle_zamba},
    {"zamba2", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_mamba, &rh_shared_ffn, ZAMBA2, ZAMBA2_WORDS,
     "mamba", settle_zamba2},
    {0},
};
