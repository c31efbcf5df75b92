/* Counts of parameters against the weights that were published: the `total_size` of a checkpoint's
 * model.safetensors.index.json (or pytorch_model.bin.index.json), beside the config.json of the same repository. The
 * repositories are on github.com; fetched 2026-11-23. */
#include "tests/kit/model_counts.h"

/* Sizes are in bytes; what is stored beside parameters is taken off. */
typedef struct {
    const char *repository, *config;
    int64_t total_bytes, beside_bytes;
} Index;

/* A second copy of a tied table; frequencies of rotation in fp32, of each layer or once. */
#define TABLE(vocab, hidden) (2LL * (vocab) * (hidden))

static const Index INDICES[] = {
    {"amansingh61/bloom 3b1c622",
     "{'model_type': 'bloom', 'n_layer': 70, 'n_embed': 14336, 'num_attention_heads': 112, "
     "'vocab_size': 250880}",
     352494542848, 0},
    {"Alikhan13r/falcon-180B-chat b872674",
     "{'model_type': 'falcon', 'num_hidden_layers': 80, 'hidden_size': 14848, "
     "'num_attention_heads': 232, 'num_kv_heads': 8, 'vocab_size': 65024, 'multi_query': true, "
     "'new_decoder_architecture': true, 'parallel_attn': true, 'bias': false, 'alibi': false}",
     359045130240, TABLE(65024, 14848)},
    {"Decentralised-AI/falcon-40b 6e61c89",
     "{'model_type': 'RefinedWeb', 'n_layer': 60, 'hidden_size': 8192, 'n_head': 128, "
     "'n_head_kv': 8, 'vocab_size': 65024, 'parallel_attn': true, 'bias': false, 'alibi': false}",
     83671941120, TABLE(65024, 8192)},
    {"IDLEOAK/openpangu-lightweight-methods bc3cf2c",
     "{" SHAPE("PanguEmbedded", 34, 4096, 32, 8, 12800, 153376) ", 'bias': true}", 16061784576,
     34 * 64 * 4},
    {"stvlynn/Qwen-7B-Chat-Cantonese 83aed4a",
     "{'model_type': 'qwen', 'num_hidden_layers': 32, 'hidden_size': 4096, "
     "'num_attention_heads': 32, 'intermediate_size': 22016, 'vocab_size': 151936, 'kv_channels': "
     "128, 'no_bias': true, 'seq_length': 8192}",
     15442649088, 0},
    {"ananddhanabal/gemma 718cb18",
     "{" SHAPE("gemma", 18, 2048, 8, 1, 16384, 256000) ", 'head_dim': 256}", 5012344832, 0},
    {"Ayush2006128/mithoon-2b a62b813",
     "{" SHAPE("gemma2", 26, 2304, 8, 4, 9216, 256000) ", 'head_dim': 256}", 5228683776, 0},
    {"ashishn-08/granite-3b-code-instruct-128k 6c20608",
     "{" SHAPE("llama", 32, 2560, 32, 32, 10240, 49152) ", 'attention_bias': true, 'mlp_bias': "
                                                        "true, 'tie_word_embeddings': true}",
     6965007360, 0},
    {"fetchwiki/mistralai-Devstral-Small-2507 2074b22",
     "{" SHAPE("mistral", 40, 5120, 32, 8, 32768, 131072) ", 'head_dim': 128, 'sliding_window': "
                                                          "null}",
     47144806400, 0},
    {"tbressers/WizardLM-2-8x22B c209267",
     "{" SHAPE("mixtral", 56, 6144, 48, 8, 16384, 32000) ", 'num_local_experts': 8, "
                                                         "'num_experts_per_tok': 2}",
     281241268224, 0},
    {"yangulei/internlm-20b c8acf43", "{" SHAPE("llama", 60, 5120, 40, 40, 13824, 103168) "}",
     40177428480, 0},
    {"emotibot-inc/Zhuzhi-6B 65cb1d9",
     "{'model_type': 'chatglm', 'num_layers': 28, 'hidden_size': 4096, 'ffn_hidden_size': 13696, "
     "'kv_channels': 128, 'num_attention_heads': 32, 'multi_query_attention': true, "
     "'multi_query_group_num': 2, 'padded_vocab_size': 65024, 'add_qkv_bias': true, "
     "'add_bias_linear': false}",
     12487168064, 2 * 32},
    {"Bwin-AI/LiverGPT 242fe6b",
     "{" SHAPE("qwen2", 40, 5120, 40, 40, 13696, 152064) ", 'use_sliding_window': false}",
     28334581760, 0},
    {"bryce-hoehn/Qwen3.5-25B-REAP-A3B-Coding 2714ffd",
     "{" SHAPE("qwen3_5_moe_text", 40, 2048, 16, 2, 512,
               248320) ", 'head_dim': 256, 'linear_num_value_heads': 32, 'linear_num_key_heads': "
                       "16, 'linear_key_head_dim': 128, 'linear_value_head_dim': 128, "
                       "'num_experts': 180, 'num_experts_per_tok': 8, 'moe_intermediate_size': "
                       "512, 'shared_expert_intermediate_size': 512}",
     50182743296, 0},
};

/* Twice the parameters are the bytes of the published weights. Source: the repositories named in
 * the table, `total_size` of their indices. */
static void parameters_are_those_of_published_weights(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(INDICES); i++) {
        const Index *x = &INDICES[i];
        g_autoptr(RhModel) m = model_load(x->config);
        CU_ASSERT_EQUAL(2 * rh_model_params(m), x->total_bytes - x->beside_bytes);
        if (2 * rh_model_params(m) != x->total_bytes - x->beside_bytes)
            g_printerr("  %s: %" G_GINT64_FORMAT "\n", x->repository, 2 * rh_model_params(m));
    }
}

/* MiMo-7B with its layer that predicts a token (jj8127/mimo_kor 1bdf82c).
 * Source: jj8127/mimo_kor 1bdf82c, `total_size` of its index. */
static void a_layer_that_predicts_counts_as_published(void)
{
    g_autoptr(RhModel) m = model_load("{" SHAPE("mimo", 36, 4096, 32, 8, 11008, 151680) "}");
    CU_ASSERT_TRUE(rh_model_set(m, "predict_layers", "1", NULL));
    CU_ASSERT_EQUAL(2 * rh_model_params(m), 15666819072);
}

int main(void)
{
    return rh_test_main("checkpoint_sizes", (RhTest[]){{"parameters_are_those_of_published_weights",
                                                        parameters_are_those_of_published_weights},
                                                       {"a_layer_that_predicts_counts_as_published",
                                                        a_layer_that_predicts_counts_as_published},
                                                       {0}});
}
