/* The names of fields of a configuration, and what a key that sets one may be unless a family says otherwise. */
#include "workloads/config_fields.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/fields.h"

#define FIELD(field, type, low, high, null_is_none)                                                \
    {                                                                                              \
#field, AT(field), RH_FIELD_##type, low, high, null_is_none                                \
    }
/* A size of at least 1; a number that may be 0; one that a file may give as null, which is 0. */
#define SIZE_FIELD(field, high)     FIELD(field, SIZE, 1, high, false)
#define COUNT_FIELD(field, high)    FIELD(field, SIZE, 0, high, false)
#define NULLABLE_FIELD(field, high) FIELD(field, SIZE, 0, high, true)
#define FLAG_FIELD(field)           FIELD(field, FLAG, 0, 1, false)
#define RATE_FIELD(field)           FIELD(field, RATE, 0, 1, false)
#define RATIO_FIELD(field)          FIELD(field, RATIO, 1, 1000000, false)

/* By name, for a binary search. */
static const RhConfigField FIELDS[] = {
    SIZE_FIELD(adapter_rank, WIDTH_MAX),
    FLAG_FIELD(adapts_attention),
    FLAG_FIELD(alibi),
    SIZE_FIELD(alternates, 64),
    FLAG_FIELD(around_shared),
    RATE_FIELD(attention_dropout),
    COUNT_FIELD(bare_norms, TOKENS_MAX),
    COUNT_FIELD(beside_pictures, TOKENS_MAX),
    SIZE_FIELD(between, LAYERS_MAX),
    FLAG_FIELD(both_ways),
    SIZE_FIELD(channels, WIDTH_MAX),
    SIZE_FIELD(chunk, TOKENS_MAX),
    COUNT_FIELD(compress, TOKENS_MAX),
    SIZE_FIELD(compress_few, TOKENS_MAX),
    SIZE_FIELD(compress_many, TOKENS_MAX),
    FLAG_FIELD(conv_bias),
    SIZE_FIELD(conv_size, HEAD_SIZE_MAX),
    COUNT_FIELD(cross_norms, TOKENS_MAX),
    COUNT_FIELD(crosses, TOKENS_MAX),
    COUNT_FIELD(decoder_sparse, LAYERS_MAX),
    SIZE_FIELD(dense_ffn, WIDTH_MAX),
    COUNT_FIELD(dense_layers, LAYERS_MAX),
    SIZE_FIELD(distances, TOKENS_MAX),
    FLAG_FIELD(distances_each),
    SIZE_FIELD(embedding, WIDTH_MAX),
    FLAG_FIELD(embedding_norm),
    COUNT_FIELD(encoder_expert_turn, LAYERS_MAX),
    SIZE_FIELD(encoder_ffn, WIDTH_MAX),
    COUNT_FIELD(encoder_global, TOKENS_MAX),
    SIZE_FIELD(encoder_head_size, HEAD_SIZE_MAX),
    SIZE_FIELD(encoder_heads, HEADS_MAX),
    SIZE_FIELD(encoder_hidden, WIDTH_MAX),
    SIZE_FIELD(encoder_kv_heads, HEADS_MAX),
    SIZE_FIELD(encoder_layers, LAYERS_MAX),
    COUNT_FIELD(encoder_norm, TOKENS_MAX),
    SIZE_FIELD(encoder_positions, TOKENS_MAX),
    COUNT_FIELD(encoder_sparse, LAYERS_MAX),
    FLAG_FIELD(encoder_sparse_used),
    SIZE_FIELD(encoder_tokens, TOKENS_MAX),
    SIZE_FIELD(encoder_window, TOKENS_MAX),
    SIZE_FIELD(expert_ffn, WIDTH_MAX),
    COUNT_FIELD(expert_groups, EXPERTS_MAX),
    COUNT_FIELD(expert_groups_chosen, EXPERTS_MAX),
    COUNT_FIELD(expert_last, TOKENS_MAX),
    COUNT_FIELD(expert_latent, WIDTH_MAX),
    COUNT_FIELD(expert_offset, LAYERS_MAX),
    SIZE_FIELD(expert_step, LAYERS_MAX),
    COUNT_FIELD(expert_turn, LAYERS_MAX),
    SIZE_FIELD(experts, EXPERTS_MAX),
    SIZE_FIELD(experts_asked, EXPERTS_MAX),
    SIZE_FIELD(experts_per_token, EXPERTS_MAX),
    COUNT_FIELD(extra_norms, TOKENS_MAX),
    SIZE_FIELD(ffn, WIDTH_MAX),
    FLAG_FIELD(ffn_adjusted),
    FLAG_FIELD(ffn_bias),
    SIZE_FIELD(ffn_both, 2097152),
    SIZE_FIELD(ffn_divisor, WIDTH_MAX),
    FLAG_FIELD(ffn_gated),
    SIZE_FIELD(ffn_multiple, 64),
    RATIO_FIELD(ffn_ratio),
    COUNT_FIELD(full_at, TOKENS_MAX),
    SIZE_FIELD(full_every, LAYERS_MAX),
    FLAG_FIELD(full_gate),
    COUNT_FIELD(full_offset, LAYERS_MAX),
    FLAG_FIELD(gate_by_column),
    FLAG_FIELD(gate_by_head),
    COUNT_FIELD(gate_of_latent, TOKENS_MAX),
    COUNT_FIELD(global_keys, TOKENS_MAX),
    COUNT_FIELD(head_gates, TOKENS_MAX),
    SIZE_FIELD(head_size, HEAD_SIZE_MAX),
    SIZE_FIELD(head_width, WIDTH_MAX),
    SIZE_FIELD(heads, HEADS_MAX),
    SIZE_FIELD(hidden, WIDTH_MAX),
    RATE_FIELD(hidden_dropout),
    SIZE_FIELD(image, TOKENS_MAX),
    COUNT_FIELD(index_borrowed, TOKENS_MAX),
    SIZE_FIELD(index_heads, HEADS_MAX),
    SIZE_FIELD(index_size, HEAD_SIZE_MAX),
    SIZE_FIELD(index_top, TOKENS_MAX),
    SIZE_FIELD(inner_layers, 1),
    RATIO_FIELD(key_ratio),
    COUNT_FIELD(keys_as_values, TOKENS_MAX),
    SIZE_FIELD(kv_heads, HEADS_MAX),
    SIZE_FIELD(kv_rank, WIDTH_MAX),
    COUNT_FIELD(languages, VOCAB_MAX),
    FLAG_FIELD(languages_used),
    FLAG_FIELD(latent_norm),
    SIZE_FIELD(layer_groups, LAYERS_MAX),
    COUNT_FIELD(layer_input, WIDTH_MAX),
    SIZE_FIELD(layer_pairs, 2048),
    SIZE_FIELD(layer_vocab, VOCAB_MAX),
    SIZE_FIELD(layers, LAYERS_MAX),
    SIZE_FIELD(loops, 64),
    FLAG_FIELD(many_kv_heads),
    SIZE_FIELD(near_head_size, HEAD_SIZE_MAX),
    SIZE_FIELD(near_heads, HEADS_MAX),
    SIZE_FIELD(near_kv_heads, HEADS_MAX),
    FLAG_FIELD(near_norms),
    SIZE_FIELD(near_value_size, HEAD_SIZE_MAX),
    SIZE_FIELD(nope_size, HEAD_SIZE_MAX),
    FLAG_FIELD(one_kv_head),
    COUNT_FIELD(other_experts, TOKENS_MAX),
    COUNT_FIELD(other_ffn, TOKENS_MAX),
    FLAG_FIELD(out_bias),
    FLAG_FIELD(out_gate),
    SIZE_FIELD(out_groups, HEADS_MAX),
    SIZE_FIELD(out_rank, WIDTH_MAX),
    COUNT_FIELD(own_table, TOKENS_MAX),
    FLAG_FIELD(parallel),
    SIZE_FIELD(patch, TOKENS_MAX),
    SIZE_FIELD(picture_height, WIDTH_MAX),
    SIZE_FIELD(picture_width, WIDTH_MAX),
    SIZE_FIELD(positions, TOKENS_MAX),
    COUNT_FIELD(predict_layers, TOKENS_MAX),
    NULLABLE_FIELD(q_rank, WIDTH_MAX),
    FLAG_FIELD(qk_norm),
    FLAG_FIELD(qkv_bias),
    COUNT_FIELD(registers, TOKENS_MAX),
    SIZE_FIELD(rope_size, HEAD_SIZE_MAX),
    SIZE_FIELD(rotary_base, BASE_MAX),
    FLAG_FIELD(router_bias),
    FLAG_FIELD(scan_bias),
    SIZE_FIELD(scan_expand, 64),
    SIZE_FIELD(scan_groups, HEADS_MAX),
    SIZE_FIELD(scan_head_size, HEAD_SIZE_MAX),
    SIZE_FIELD(scan_heads, HEADS_MAX),
    SIZE_FIELD(share_every, LAYERS_MAX),
    FLAG_FIELD(share_used),
    SIZE_FIELD(shared_blocks, LAYERS_MAX),
    COUNT_FIELD(shared_experts, EXPERTS_MAX),
    COUNT_FIELD(shared_ffn, WIDTH_MAX),
    COUNT_FIELD(shared_gate, TOKENS_MAX),
    COUNT_FIELD(shared_layers, LAYERS_MAX),
    FLAG_FIELD(shared_wide),
    SIZE_FIELD(side_rank, WIDTH_MAX),
    SIZE_FIELD(sound_rows, WIDTH_MAX),
    SIZE_FIELD(sparse_block, TOKENS_MAX),
    SIZE_FIELD(sparse_near, TOKENS_MAX),
    SIZE_FIELD(sparse_stride, TOKENS_MAX),
    SIZE_FIELD(state_size, HEAD_SIZE_MAX),
    COUNT_FIELD(step_norms, TOKENS_MAX),
    SIZE_FIELD(step_rank, WIDTH_MAX),
    SIZE_FIELD(streams, 64),
    FLAG_FIELD(tied),
    COUNT_FIELD(token_types, VOCAB_MAX),
    RATIO_FIELD(value_ratio),
    SIZE_FIELD(value_size, HEAD_SIZE_MAX),
    SIZE_FIELD(vocab, VOCAB_MAX),
    SIZE_FIELD(wide_head_size, HEAD_SIZE_MAX),
    FLAG_FIELD(wide_keys_as_values),
    SIZE_FIELD(wide_kv_heads, HEADS_MAX),
    NULLABLE_FIELD(window, TOKENS_MAX),
    COUNT_FIELD(window_from, LAYERS_MAX),
    FLAG_FIELD(window_used),
    COUNT_FIELD(zero_experts, EXPERTS_MAX),
};

static int compare(const void *name, const void *field)
{
    return strcmp(name, ((const RhConfigField *)field)->name);
}

const RhConfigField *rh_config_field_named(const char *name)
{
    return bsearch(name, FIELDS, G_N_ELEMENTS(FIELDS), sizeof *FIELDS, compare);
}

static const char *const *collect_names(void)
{
    const char **names = g_new0(const char *, G_N_ELEMENTS(FIELDS) + 1);
    for (size_t i = 0; i < G_N_ELEMENTS(FIELDS); i++)
        names[i] = FIELDS[i].name;
    return names;
}

const char *const *rh_config_field_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, collect_names());
    return names;
}
