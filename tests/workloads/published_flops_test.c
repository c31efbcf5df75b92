/* FLOPs and active parameters of models beside what papers and model cards print of their training. */
#include <math.h>

#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"

static RhModel *catalogue(const char *name)
{
    RhModel *m = rh_model_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* FLOPs a token where all of attention's square counts, as most papers have it: ours counts half. */
static double whole_square_flops(const RhModel *m, int64_t sequence)
{
    double flops = rh_model_flops_per_token(m, sequence);
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        flops += 6.0 * kind->heads * kind->head_size * (double)sequence;
    }
    return flops;
}

/* FLOPs a token with the forward pass of all layers run again. */
static double recomputed_flops(const RhModel *m, int64_t sequence)
{
    double whole = whole_square_flops(m, sequence);
    return whole + (whole - 6.0 * (double)m->hidden * (double)m->vocab) / 3;
}

/* Training compute of the eight sizes of GPT-3 on 300 billion tokens; the paper counts 6 FLOPs a
 * parameter and token and no attention, and its parameters include positions, which multiply nothing. Heads and
 * columns that do not fit each other are taken as heads of 128: 16 and not 24 of the fourth, 5,120 of the seventh.
 * Source: Brown et al. 2020 (arXiv 2005.14165), table D.1. */
static void gpt_3_took_the_flops_of_its_table(void)
{
    static const struct {
        int32_t layers, hidden, heads;
        double flops;
    } rows[] = {{12, 768, 12, 2.25e20},  {24, 1024, 16, 6.41e20}, {24, 1536, 16, 1.37e21},
                {24, 2048, 16, 2.38e21}, {32, 2560, 32, 4.77e21}, {32, 4096, 32, 1.20e22},
                {40, 5120, 40, 2.31e22}, {96, 12288, 96, 3.14e23}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m =
            rh_model_gpt("gpt", rows[i].layers, rows[i].hidden, rows[i].heads, 0, 50257, 2048);
        double positions = 6 * 2048.0 * rows[i].hidden;
        RH_CHECK_CLOSE((rh_model_flops_per_token(m, 1) + positions) * 300e9, rows[i].flops, 0.01);
    }
}

/* Training compute of Llama 3.1 405B: 15.6 T tokens, without attention.
 * Source: Llama 3 report (arXiv 2407.21783), section 3.2. */
static void llama_3_took_the_flops_of_its_report(void)
{
    g_autoptr(RhModel) m = catalogue("llama-3.1-405b");
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 1) * 15.6e12, 3.8e25, 0.05 / 3.8);
}

/* Days that training takes at the FLOP/s that were measured, with all layers recomputed: GPT-3 on
 * 1,024 A100s, and a trillion parameters on 3,072. The equation, 8 T P / (n X), leaves out attention and the
 * head, 3 % of GPT-3.
 * Source: Narayanan et al. 2021 (arXiv 2104.04473), section 5.1, equation 4. */
static void megatron_takes_the_days_of_its_paper(void)
{
    g_autoptr(RhModel) gpt3 = catalogue("gpt3-175b"), trillion = catalogue("gpt-1t");
    double first_s = 300e9 * recomputed_flops(gpt3, 2048) / (1024 * 140e12);
    double second_s = 450e9 * recomputed_flops(trillion, 2048) / (3072 * 163e12);
    RH_CHECK_CLOSE(first_s / 86400, 34, 0.03);
    RH_CHECK_CLOSE(second_s / 86400, 84, 0.03);
}

/* FLOP/s a GPU while 530 billion parameters train, from the seconds of an iteration of 1,920 samples.
 * Source: Smith et al. 2022 (arXiv 2201.11990), section 2.3. */
static void megatron_turing_does_the_flops_of_its_paper(void)
{
    static const struct {
        double gpus, iteration_s, flops_per_s;
    } rows[] = {{2240, 60.1, 126e12}, {2800, 50.2, 121e12}, {3360, 44.4, 113e12}};
    g_autoptr(RhModel) m = catalogue("gpt-530b");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        RH_CHECK_CLOSE(1920 * 2048 * recomputed_flops(m, 2048) / rows[i].gpus / rows[i].iteration_s,
                       rows[i].flops_per_s, 0.006);
}

/* MFU of the same run on 2,240 GPUs, of 312 TFLOP/s each.
 * Source: Chowdhery et al. 2022 (arXiv 2204.02311), table 3. */
static void megatron_turing_has_the_mfu_of_palms_table(void)
{
    g_autoptr(RhModel) m = catalogue("gpt-530b");
    double flops_per_s = 1920 * 2048 / 60.1 * whole_square_flops(m, 2048);
    RH_CHECK_CLOSE(flops_per_s / 2240 / 312e12, 0.302, 0.005);
}

/* PaLM counts 6 N + 12 L H Q T FLOPs a token, N without positions and with one table of words.
 * Source: Chowdhery et al. 2022 (arXiv 2204.02311), appendix B. */
static void flops_are_those_of_palms_formula(void)
{
    static const char *const names[] = {"gpt3-175b", "gpt-1t", "gpt-1.7b", "gemma-2-2b"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(RhModel) m = catalogue(names[i]);
        const RhLayerKind *kind = rh_model_attention_kind(m);
        CU_ASSERT_TRUE(m->tied_embeddings);
        double parameters = (double)rh_model_params(m);
        if (m->position == RH_POSITION_LEARNED)
            parameters -= (double)m->positions * (double)m->hidden;
        double formula =
            6 * parameters + 12.0 * m->layers_count * kind->heads * kind->head_size * 2048;
        RH_CHECK_CLOSE(whole_square_flops(m, 2048), formula, 1e-3);
    }
}

/* MFU of 22, 175, 530 and 1,000 billion parameters, from the seconds of an iteration; 2,048 tokens a sample.
 * Source: Korthikanti et al. 2022 (arXiv 2205.05198), tables 3 and 5. */
static void sequence_parallelism_has_the_mfu_of_its_paper(void)
{
    static const struct {
        int32_t layers, hidden, heads;
        double gpus, batch, iteration_s, mfu_frac;
    } rows[] = {{48, 6144, 64, 8, 4, 1.10, 0.415},
                {96, 12288, 96, 64, 64, 13.75, 0.514},
                {105, 20480, 128, 280, 280, 37.83, 0.560},
                {128, 25600, 160, 512, 512, 71.49, 0.563}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m =
            rh_model_gpt("gpt", rows[i].layers, rows[i].hidden, rows[i].heads, 0, 51200, 2048);
        double flops = rows[i].batch * 2048 * whole_square_flops(m, 2048);
        RH_CHECK_CLOSE(flops / rows[i].gpus / rows[i].iteration_s / 312e12, rows[i].mfu_frac,
                       0.005);
    }
}

/* Checks the MFU of runs on H100s, of 989.4 TFLOP/s each, from the seconds of an iteration. */
typedef struct {
    double gpus, batch, iteration_s, mfu_frac;
} H100Run;

static void check_mfu(const char *model, const H100Run *runs, size_t count)
{
    g_autoptr(RhModel) m = catalogue(model);
    for (size_t i = 0; i < count; i++) {
        double flops = runs[i].batch * 4096 * whole_square_flops(m, 4096);
        RH_CHECK_CLOSE(flops / runs[i].gpus / runs[i].iteration_s / 989.4e12, runs[i].mfu_frac,
                       0.01);
    }
}

/* MFU of Nemotron-4 15B at three sizes.
 * Source: Parmar et al. 2024 (arXiv 2402.16819), table 2. */
static void nemotron_15b_has_the_mfu_of_its_report(void)
{
    static const H100Run runs[] = {
        {768, 384, 0.57, 0.343}, {1536, 768, 0.58, 0.333}, {2304, 1152, 0.64, 0.305}};
    check_mfu("nemotron-4-15b", runs, G_N_ELEMENTS(runs));
}

/* MFU of Nemotron-4 340B at three sizes.
 * Source: Nemotron-4 340B report (arXiv 2406.11704), table 2. */
static void nemotron_340b_has_the_mfu_of_its_report(void)
{
    static const H100Run runs[] = {
        {1536, 768, 10.3, 0.424}, {3072, 1536, 10.3, 0.423}, {6144, 2304, 8.0, 0.410}};
    check_mfu("nemotron-4-340b", runs, G_N_ELEMENTS(runs));
}

/* Parameters that a token meets; papers differ in whether they count tables of words, one or both.
 * Source: Mixtral (arXiv 2401.04088), section 2.1; the model cards of Mixtral-8x22B, DeepSeek-V2 and its
 * Lite (arXiv 2405.04434), DeepSeek-V3 (arXiv 2412.19437), Qwen3 (arXiv 2505.09388), Kimi-K2. */
static void mixtures_have_the_active_parameters_of_their_cards(void)
{
    static const struct {
        const char *model;
        double billions;
    } rows[] = {{"mixtral-8x7b", 12.9},    {"mixtral-8x22b", 39}, {"deepseek-v2", 21},
                {"deepseek-v2-lite", 2.4}, {"deepseek-v3", 37},   {"qwen3-30b-a3b", 3.3},
                {"qwen3-235b-a22b", 22},   {"kimi-k2", 32}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = catalogue(rows[i].model);
        double least = rh_model_flops_per_token(m, 1) / 6; /* the head and no table */
        double most = least + (double)m->vocab * (double)m->hidden;
        CU_ASSERT_TRUE(most > rows[i].billions * 1e9 * 0.985);
        CU_ASSERT_TRUE(least < rows[i].billions * 1e9 * 1.025);
    }
}

/* Billions of parameters of a model's blocks, head and table as well. */
static double block_billions(const RhModel *m, RhBlock block)
{
    const RhShard one = shard_of(1, 4096, 1);
    bool in_layer = block == RH_BLOCK_MIXER || block == RH_BLOCK_FFN;
    double sum = 0;
    for (int32_t i = 0; i < (in_layer ? m->layers_count : 1); i++) {
        const RhLayerKind *kind = in_layer ? &m->kinds[m->kind_of_layer[i]] : NULL;
        RhParams p = rh_block_params(m, kind, block, &one);
        sum += p.sharded + p.replicated + p.experts;
    }
    return sum / 1e9;
}

/* Parameters of gpt-oss by part, as printed in billions with two digits, and those that a token meets: the
 * card counts the head and no table.
 * Source: gpt-oss model card (arXiv 2508.10925), table 1. */
static void gpt_oss_has_the_parts_of_its_card(void)
{
    static const struct {
        const char *model;
        double mlp, attention, ends, active, total;
    } rows[] = {{"gpt-oss-120b", 114.71, 0.96, 1.16, 5.13, 116.83},
                {"gpt-oss-20b", 19.12, 0.64, 1.16, 3.61, 20.91}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = catalogue(rows[i].model);
        double ends = block_billions(m, RH_BLOCK_EMBEDDING) + block_billions(m, RH_BLOCK_HEAD);
        CU_ASSERT_DOUBLE_EQUAL(block_billions(m, RH_BLOCK_FFN), rows[i].mlp, 0.006);
        CU_ASSERT_DOUBLE_EQUAL(block_billions(m, RH_BLOCK_MIXER), rows[i].attention, 0.006);
        CU_ASSERT_DOUBLE_EQUAL(ends, rows[i].ends, 0.006);
        CU_ASSERT_DOUBLE_EQUAL((double)rh_model_params(m) / 1e9, rows[i].total, 0.006);
        CU_ASSERT_DOUBLE_EQUAL(rh_model_flops_per_token(m, 1) / 6e9, rows[i].active, 0.02);
    }
}

/* A run as performance pages print it: TFLOP/s a GPU, and what tokens a second follow from. */
typedef struct {
    const char *model;
    double sequence, gpus, batch, iteration_s, tflops_per_s;
} Printed;

/* Checks that FLOPs a token, whole square or half, are those that the two figures imply. */
static void check_printed(const Printed *runs, size_t count, bool whole, double within_frac)
{
    for (size_t i = 0; i < count; i++) {
        g_autoptr(RhModel) m = catalogue(runs[i].model);
        double tokens_per_s = runs[i].batch * runs[i].sequence / runs[i].iteration_s / runs[i].gpus;
        int64_t s = (int64_t)runs[i].sequence;
        double flops = whole ? whole_square_flops(m, s) : rh_model_flops_per_token(m, s);
        RH_CHECK_CLOSE(tokens_per_s * flops / 1e12, runs[i].tflops_per_s, within_frac);
    }
}

/* NeMo counts the whole square of attention; TFLOP/s are printed without decimals.
 * Source: NVIDIA/NeMo 24.07, docs/source/performance/performance_summary.md. */
static void flops_are_those_of_nemos_page(void)
{
    static const Printed runs[] = {{"gpt3-175b", 2048, 128, 256, 5.6419, 782},
                                   {"llama-2-7b", 4096, 8, 128, 3.8901, 776},
                                   {"llama-2-13b", 4096, 16, 128, 3.79, 754},
                                   {"llama-2-70b", 4096, 64, 128, 4.7991, 759},
                                   {"nemotron-4-340b", 4096, 128, 32, 3.1801, 678},
                                   {"llama-3.1-8b", 8192, 8, 128, 10.89, 697},
                                   {"llama-3.1-70b", 8192, 64, 128, 10.6875, 738}};
    check_printed(runs, G_N_ELEMENTS(runs), true, 0.0015);
}

/* Megatron-Bridge counts half of it, as here; layers that predict further tokens are no part of these.
 * Source: NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md, 26.02 to 26.08. */
static void flops_are_those_of_megatron_bridges_page(void)
{
    static const Printed runs[] = {{"llama-3.1-405b", 8192, 256, 1536, 46.9008, 2646},
                                   {"llama-3.1-70b", 8192, 64, 256, 4.4299, 3321},
                                   {"llama-3.1-70b", 4096, 32, 32, 0.9499, 1877},
                                   {"qwen3-235b-a22b", 4096, 256, 8192, 14.5506, 1333},
                                   {"qwen3-30b-a3b", 4096, 8, 512, 5.79, 1041},
                                   {"gpt-oss-120b", 4096, 64, 1280, 2.47, 1081},
                                   {"kimi-k2", 4096, 256, 4096, 12.1996, 1099}};
    check_printed(runs, G_N_ELEMENTS(runs), false, 0.006);
}

/* LLM Foundry counts 6 N and the whole square, from 1,024 to 65,536 tokens.
 * Source: mosaicml/llm-foundry, scripts/train/benchmarking/README.md. */
static void flops_are_those_of_llm_foundrys_page(void)
{
    static const Printed runs[] = {{"mpt-7b", 2048, 512, 3072, 1.2706, 417},
                                   {"mpt-7b", 1024, 8, 1024, 30.0822, 180},
                                   {"mpt-7b", 8192, 8, 128, 40.8722, 169},
                                   {"mpt-7b", 65536, 8, 16, 129.3261, 146}};
    check_printed(runs, G_N_ELEMENTS(runs), true, 0.01);
}

/* MFU that NVIDIA's benchmarks print of their steps, with the whole square, on H100s of 989.4 TFLOP/s.
 * Source: NVIDIA/dgxc-benchmarking v24.11.1 and v25.02, README of each model. */
static void mfu_is_that_of_nvidias_benchmarks(void)
{
    static const struct {
        const char *model;
        double sequence, gpus, batch, iteration_s, mfu_frac;
    } runs[] = {{"llama-3.1-70b", 8192, 64, 128, 14.72, 0.5410},
                {"llama-3.1-70b", 8192, 2048, 4096, 14.84, 0.5368},
                {"llama-3.1-8b", 8192, 8, 128, 12.91, 0.5937},
                {"llama-3.1-8b", 8192, 128, 2048, 13.16, 0.5828},
                {"llama-3.1-405b", 8192, 576, 252, 17.2, 0.5578},
                {"llama-3.1-405b", 8192, 2304, 1008, 17.7, 0.5423},
                {"gpt3-175b", 2048, 512, 1024, 9.09, 0.4894},
                {"gpt3-175b", 2048, 2048, 4096, 8.49, 0.5240},
                {"llama-2-70b", 4096, 64, 128, 6.999, 0.5259},
                {"llama-2-70b", 4096, 2048, 4096, 7.066, 0.5209}};
    for (size_t i = 0; i < G_N_ELEMENTS(runs); i++) {
        g_autoptr(RhModel) m = catalogue(runs[i].model);
        double flops =
            runs[i].batch * runs[i].sequence * whole_square_flops(m, (int64_t)runs[i].sequence);
        RH_CHECK_CLOSE(flops / runs[i].gpus / runs[i].iteration_s / 989.4e12, runs[i].mfu_frac,
                       0.01);
    }
}

/* MFU of Megatron-LM beside MegaScale: 175 billion parameters, 768 samples, on 256 A100s.
 * Source: Jiang et al. 2024 (arXiv 2402.15627), table 2. */
static void megatron_has_the_mfu_of_megascales_table(void)
{
    g_autoptr(RhModel) m = catalogue("gpt3-175b");
    double flops = 768 * 2048 * whole_square_flops(m, 2048);
    RH_CHECK_CLOSE(flops / 256 / 40.0 / 312e12, 0.530, 0.005);
}

/* FLOPs a byte of a linear layer of 1,024 inputs and 4,096 outputs: of a batch of 512, and of one.
 * Source: NVIDIA, GPU Performance Background User's Guide, table 1. */
static void linear_layers_have_the_intensity_of_nvidias_guide(void)
{
    static const int64_t batches[] = {512, 1};
    static const double flops_per_byte[] = {315, 1};
    g_autoptr(RhModel) m = rh_model_gpt("gpt", 1, 1024, 8, 4096, 50257, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(batches); i++) {
        RhShard shard = shard_of(1, batches[i], 1);
        g_autoptr(GArray) kernels =
            block_kernels(m, &m->kinds[0], RH_BLOCK_FFN, RH_PASS_FORWARD, &shard);
        const RhKernel *up = &g_array_index(kernels, RhKernel, 0);
        CU_ASSERT_TRUE(up->cls == RH_KERNEL_GEMM && up->n == 4096 && up->k == 1024);
        CU_ASSERT_DOUBLE_EQUAL(up->flops / up->bytes, flops_per_byte[i], 0.5);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"gpt_3_took_the_flops_of_its_table", gpt_3_took_the_flops_of_its_table},
        {"llama_3_took_the_flops_of_its_report", llama_3_took_the_flops_of_its_report},
        {"megatron_takes_the_days_of_its_paper", megatron_takes_the_days_of_its_paper},
        {"megatron_turing_does_the_flops_of_its_paper",
         megatron_turing_does_the_flops_of_its_paper},
        {"megatron_turing_has_the_mfu_of_palms_table", megatron_turing_has_the_mfu_of_palms_table},
        {"flops_are_those_of_palms_formula", flops_are_those_of_palms_formula},
        {"sequence_parallelism_has_the_mfu_of_its_paper",
         sequence_parallelism_has_the_mfu_of_its_paper},
        {"nemotron_15b_has_the_mfu_of_its_report", nemotron_15b_has_the_mfu_of_its_report},
        {"nemotron_340b_has_the_mfu_of_its_report", nemotron_340b_has_the_mfu_of_its_report},
        {"mixtures_have_the_active_parameters_of_their_cards",
         mixtures_have_the_active_parameters_of_their_cards},
        {"gpt_oss_has_the_parts_of_its_card", gpt_oss_has_the_parts_of_its_card},
        {"flops_are_those_of_nemos_page", flops_are_those_of_nemos_page},
        {"flops_are_those_of_megatron_bridges_page", flops_are_those_of_megatron_bridges_page},
        {"flops_are_those_of_llm_foundrys_page", flops_are_those_of_llm_foundrys_page},
        {"mfu_is_that_of_nvidias_benchmarks", mfu_is_that_of_nvidias_benchmarks},
        {"megatron_has_the_mfu_of_megascales_table", megatron_has_the_mfu_of_megascales_table},
        {"linear_layers_have_the_intensity_of_nvidias_guide",
         linear_layers_have_the_intensity_of_nvidias_guide},
        {0},
    };
    return rh_test_main("published_flops", tests);
}
