/* What transformers assumes of a decoder inside a model of several parts. It writes a part without the sizes that
 * are its class's defaults (PreTrainedConfig.to_diff_dict), so real files leave them out: google/gemma-3-4b-it
 * its heads and vocabulary, llava-hf/llava-1.5-7b-hf all sizes but one. At the top of a file every size is
 * written, and a missing one is an error. Defaults as in configuration_TYPE.py. */
#include <glib.h>

#include "workloads/fields.h"

/* 0: the table of the family says it, or it has none. */
typedef struct {
    const char *family;
    int64_t layers, hidden, heads, kv_heads, ffn, vocab;
    int64_t experts, experts_per_token, expert_ffn, dense_ffn;
} UsualSizes;

static const UsualSizes USUAL[] = {
    {"cohere", 40, 8192, 64, 0, 22528, 256000, 0, 0, 0, 0},
    {"cohere2", 40, 8192, 64, 0, 22528, 256000, 0, 0, 0, 0},
    {"gemma", 28, 3072, 16, 16, 24576, 256000, 0, 0, 0, 0},
    {"gemma2", 26, 2304, 8, 4, 9216, 256000, 0, 0, 0, 0},
    {"gemma3", 26, 2304, 8, 4, 9216, 262208, 0, 0, 0, 0},
    {"gemma3_text", 26, 2304, 8, 4, 9216, 262208, 0, 0, 0, 0},
    {"gemma3n_text", 35, 2048, 8, 2, 16384, 262400, 0, 0, 0, 0},
    {"glm4v_text", 40, 4096, 32, 2, 13696, 151552, 0, 0, 0, 0},
    {"granite", 32, 4096, 32, 0, 11008, 32000, 0, 0, 0, 0},
    {"llama", 32, 4096, 32, 0, 11008, 32000, 0, 0, 0, 0},
    {"llama4_text", 48, 5120, 40, 8, 8192, 202048, 16, 1, 0, 16384},
    {"mistral", 32, 4096, 32, 8, 14336, 32000, 0, 0, 0, 0},
    {"mixtral", 32, 4096, 32, 8, 14336, 32000, 8, 2, 0, 0},
    {"mllama_text_model", 40, 4096, 32, 8, 14336, 128256, 0, 0, 0, 0},
    {"opt", 12, 768, 12, 0, 3072, 50272, 0, 0, 0, 0},
    {"persimmon", 36, 4096, 64, 0, 16384, 262144, 0, 0, 0, 0},
    {"phi3", 32, 3072, 32, 0, 8192, 32064, 0, 0, 0, 0},
    {"qwen2", 32, 4096, 32, 32, 22016, 151936, 0, 0, 0, 0},
    {"qwen2_5_vl_text", 80, 8192, 64, 8, 29568, 152064, 0, 0, 0, 0},
    {"qwen2_vl_text", 80, 8192, 64, 8, 29568, 152064, 0, 0, 0, 0},
    {"qwen3", 32, 4096, 32, 32, 22016, 151936, 0, 0, 0, 0},
    {"qwen3_vl_moe_text", 24, 2048, 16, 16, 5632, 151936, 60, 4, 1408, 0},
    {"qwen3_vl_text", 32, 4096, 32, 32, 22016, 151936, 0, 0, 0, 0},
};

static const struct {
    size_t field, size; /* offsets of RhConfig, of UsualSizes */
} OFFSETS[] = {
    {AT(layers), offsetof(UsualSizes, layers)},
    {AT(hidden), offsetof(UsualSizes, hidden)},
    {AT(heads), offsetof(UsualSizes, heads)},
    {AT(kv_heads), offsetof(UsualSizes, kv_heads)},
    {AT(ffn), offsetof(UsualSizes, ffn)},
    {AT(vocab), offsetof(UsualSizes, vocab)},
    {AT(experts), offsetof(UsualSizes, experts)},
    {AT(experts_per_token), offsetof(UsualSizes, experts_per_token)},
    {AT(expert_ffn), offsetof(UsualSizes, expert_ffn)},
    {AT(dense_ffn), offsetof(UsualSizes, dense_ffn)},
};

int64_t rh_family_usual_size(const RhFamily *family, size_t offset)
{
    const UsualSizes *usual = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(USUAL) && usual == NULL; i++)
        if (g_str_equal(USUAL[i].family, family->name))
            usual = &USUAL[i];
    for (size_t i = 0; i < G_N_ELEMENTS(OFFSETS) && usual != NULL; i++)
        if (OFFSETS[i].field == offset)
            return *(const int64_t *)(const void *)((const char *)usual + OFFSETS[i].size);
    return 0;
}

/* Models of several parts, and the type of their decoder where it does not say its own. */
static const struct {
    const char *whole, *decoder;
} WHOLES[] = {
    {"aria", "aria_text"},
    {"audioflamingo3", "qwen2"},
    {"aya_vision", "cohere2"},
    {"blip-2", "opt"},
    {"cohere2_vision", "cohere2"},
    {"DeepseekOCR", "deepseek_v2"},
    {"deepseek_vl", "llama"},
    {"deepseek_vl_hybrid", "llama"},
    {"deepseek_vl_v2", "deepseek_v2"},
    {"exaone4_5", "exaone4"},
    {"florence2", "florence2_language"},
    {"fuyu", "persimmon"},
    {"gemma3", "gemma3_text"},
    {"gemma3n", "gemma3n_text"},
    {"glm46v", "glm4v_text"},
    {"glmasr", "llama"},
    {"got_ocr2", "qwen2"},
    {"granite_speech", "granite"},
    {"granite_speech_plus", "granite"},
    {"idefics2", "mistral"},
    {"idefics3", "llama"},
    {"inkling_mm_model", "inkling_text"},
    {"instructblip", "opt"},
    {"instructblipvideo", "opt"},
    {"internvl", "qwen2"},
    {"janus", "llama"},
    {"kimi_vl", "deepseek_v3"},
    {"lfm2_vl", "lfm2"},
    {"lighton_ocr", "qwen3"},
    {"llava", "llama"},
    {"llava_next", "llama"},
    {"llava_next_video", "llama"},
    {"llava_onevision", "qwen2"},
    {"mistral3", "mistral"},
    {"minicpmv4_6", "qwen3_5_text"},
    {"minimax_m3_vl", "minimax_m3_vl_text"},
    {"musicflamingo", "qwen2"},
    {"ovis2", "qwen2"},
    {"paligemma", "gemma"},
    {"perception_lm", "llama"},
    {"qianfan_ocr", "qwen3"},
    {"qwen2_audio", "qwen2"},
    {"qwen3_asr", "qwen3"},
    {"shieldgemma2", "gemma3_text"},
    {"smolvlm", "llama"},
    {"step3p7", "step3p5"},
    {"vibevoice_asr", "qwen2"},
    {"video_llama_3", "qwen2"},
    {"video_llava", "llama"},
    {"vipllava", "llama"},
    {"voxtral", "llama"},
};

const char *rh_family_of_whole(const char *type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(WHOLES); i++)
        if (g_str_equal(WHOLES[i].whole, type))
            return WHOLES[i].decoder;
    return NULL;
}

/* One type for several decoders, by a number of its file (modeling_minicpmv.py, modeling_minicpmo.py of each). */
static const struct {
    const char *type;
    double version;
    const char *decoder;
} VERSIONS[] = {
    {"minicpmv", 0, "minicpm"}, {"minicpmv", 2.5, "llama"}, {"minicpmv", 2.6, "qwen2"},
    {"minicpmv", 4.0, "llama"}, {"minicpmv", 4.5, "qwen3"}, {"minicpmo", 2.6, "qwen2"},
    {"minicpmo", 4.5, "qwen3"},
};

const char *rh_family_of_version(const char *type, double version)
{
    const char *found = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(VERSIONS); i++)
        if (g_str_equal(VERSIONS[i].type, type) && version >= VERSIONS[i].version)
            found = VERSIONS[i].decoder;
    return found;
}

/* Keys that make a family another: where a file says false (modeling_deepseek.py of DeepSeek-VL2 and -OCR), whatever it
 * says (Ling 3.0 beside 2.5, configuration_bailing_moe_v3.py; ChatGLM's first, configuration_chatglm.py), or where it says a
 * word (Jina's BERT, configuration_bert.py of jinaai/jina-bert-implementation; its third, configuration_xlm_roberta.py).
 * MosaicBERT, of which DNABERT-2 is one (bert_layers.py), has ALiBi and gated networks as Jina's second. */
static const RhFamilySwitch SWITCHED[] = {
    {"deepseek_v2", "use_mla", "deepseek", RH_SWITCH_FALSE, NULL},
    {"bailing_hybrid", "short_conv_kernel_size", "bailing_hybrid_delta", RH_SWITCH_SAID, NULL},
    {"bailing_hybrid", "no_kda_lora", "bailing_hybrid_delta", RH_SWITCH_SAID, NULL},
    {"bailing_hybrid", "kda_lower_bound", "bailing_hybrid_delta", RH_SWITCH_SAID, NULL},
    {"bert", "alibi_starting_size", "jina_bert", RH_SWITCH_SAID, NULL},
    {"bert", "feed_forward_type", "jina_bert", RH_SWITCH_TEXT, "glu"},
    {"xlm-roberta", "position_embedding_type", "jina_embeddings_v3", RH_SWITCH_TEXT, "rotary"},
    {"wav2vec2-conformer", "position_embeddings_type", "wav2vec2-conformer-rotary", RH_SWITCH_TEXT,
     "rotary"},
    {"chatglm", "inner_hidden_size", "chatglm_first", RH_SWITCH_SAID, NULL},
    {0},
};

const RhFamilySwitch *rh_family_switches(void)
{
    return SWITCHED;
}

/* Two towers side by side, which only meet in a loss, of other parts than CLIP's and SigLIP's (families_pairs.c). */
static const char *const PAIRS[] = {
    "aimv2",    "align",    "altclip",    "chinese_clip", "clap",     "clipseg",
    "flava",    "groupvit", "owlv2",      "owlvit",       "pe_audio", "pe_audio_video",
    "pe_video", "tipsv2",   "videoprism", "xclip",        NULL};

bool rh_family_is_pair(const char *type)
{
    return g_strv_contains(PAIRS, type);
}
