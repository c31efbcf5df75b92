/* Codecs: how many bytes replicas exchange by each, what they keep for it, and where they are legal. */
#include <math.h>

#include "strategies/launch/launch.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/bounds_kit.h"

/* Returns the bytes that one rank sends in its sums of gradients, or in what stands for them, when
 * its group has n ranks. */
static double sent_bytes(const RhProgram *p, int32_t n)
{
    double share = (n - 1.0) / n;
    return train_buffers(p, 0, RH_LANE_DP, RH_OP_ALL_REDUCE) * 2 * share +
           (train_buffers(p, 0, RH_LANE_DP, RH_OP_ALL_TO_ALL) +
            train_buffers(p, 0, RH_LANE_DP, RH_OP_ALL_GATHER)) *
               share;
}

/* Signs of a parameter travel twice where 16 bits did; two scales a rank are all that comes on top. So
 * with a warm-up of w of the steps volume falls by 1 / (w + (1 - w) / 16): 4.92 at 15 %.
 * Source: DeepSpeed, docs/_posts/2020-09-09-onebit-adam-blog-post.md at edaa722 ("up to 5x"). */
static void signs_are_a_sixteenth_of_gradients(void)
{
    g_auto(TrainKit) k = train_kit("bert-large", "dgx-1:2", "bare", 256, 128);
    k.c.job.gradient_bytes = 2;
    double w = 0.15, scales = 2 * 4 * 16 * 15.0 / 16;
    g_autoptr(RhProgram) warm = train_build(&k, "dp16,zero0,mb16"),
                         late = train_build(&k, "dp16,zero0,mb16,codec=onebit");
    double before = sent_bytes(warm, 16), after = sent_bytes(late, 16) - scales;
    RH_CHECK_CLOSE(before / after, 16, 1e-12);
    RH_CHECK_CLOSE(before / (w * before + (1 - w) * after), 1 / (w + (1 - w) / 16), 1e-12);
    RH_CHECK_CLOSE(before / (w * before + (1 - w) * after), 4.92, 1e-3);
    CU_ASSERT_EQUAL(train_buffers(late, 0, RH_LANE_DP, RH_OP_ALL_REDUCE), 0);
}

/* An fp32 error of every parameter, and another of those that the rank averages. */
static void errors_are_kept_of_all_and_of_what_is_averaged(void)
{
    g_auto(TrainKit) k = train_kit("bert-large", "dgx-1:2", "bare", 256, 128);
    RhLayout plain = train_layout(&k, "dp16,zero0,mb16"),
             signs = train_layout(&k, "dp16,zero0,mb16,codec=onebit");
    RhTrainMemory before = rh_train_memory(&k.c, &plain), after = rh_train_memory(&k.c, &signs);
    g_autoptr(RhModelCost) cost = rh_model_cost_sized_new(&k.c, &signs);
    double params = rh_stage_memory(cost, &signs, 0).params.of[RH_PARAMS_COMMON];
    RH_CHECK_CLOSE(after.at_peak_bytes[RH_MEMORY_COMMUNICATION] -
                       before.at_peak_bytes[RH_MEMORY_COMMUNICATION],
                   4 * params * (1 + 1.0 / 16), 1e-9);
}

/* Returns the bytes that kernels of packing move for each parameter. */
static double packed_bytes(const TrainKit *k, const char *codec, double *kept)
{
    g_autofree char *text = g_strdup_printf("dp16,zero0,mb16,codec=%s", codec);
    g_autoptr(RhProgram) p = train_build(k, text);
    RhLayout l = train_layout(k, text);
    g_autoptr(RhModelCost) cost = rh_model_cost_sized_new(&k->c, &l);
    RhStageMemory m = rh_stage_memory(cost, &l, 0);
    double params = m.params.of[RH_PARAMS_COMMON];
    *kept = m.fixed_bytes[RH_MEMORY_COMMUNICATION] / params;
    return train_kernel_bytes(p, RH_KERNEL_CAST) / params;
}

/* Passes counted by hand: 1-bit Adam 173.01 bytes and 104.4 / d; LAMB and 0/1 Adam so many more, and one
 * fp32 number more that is kept. */
static void lamb_and_0_1_adam_pass_over_more(void)
{
    double kept[3], one_bit = 1.0 / 8;
    double adam = 12 + 4 + 62 + 22.25 + one_bit + (one_bit + 30 + 4) + 2 * one_bit + one_bit + 30 +
                  8 + (4 + 100.25 + one_bit) / 16;
    g_auto(TrainKit) k = train_kit("bert-large", "dgx-1:2", "bare", 256, 128);
    RH_CHECK_CLOSE(packed_bytes(&k, "onebit", &kept[0]), adam, 1e-12);
    RH_CHECK_CLOSE(packed_bytes(&k, "onebit-lamb", &kept[1]), adam + 16 + 112, 1e-12);
    RH_CHECK_CLOSE(packed_bytes(&k, "zero-one", &kept[2]), adam + 68 + 76, 1e-12);
    RH_CHECK_CLOSE(kept[1], kept[0] + 4, 1e-12);
    RH_CHECK_CLOSE(kept[2], kept[1], 1e-12);
}

/* Where links are slow the step is shorter by most of what gradients took; where they are quick, packing
 * costs more than it saves. Bounds are the step itself, as all follows one another at its end. */
static void packing_pays_where_links_are_slow(void)
{
    static const char *const layouts[] = {"dp16,zero0,mb16", "dp16,zero0,mb16,codec=onebit"};
    double step_s[2][2];
    for (int quick = 0; quick < 2; quick++) {
        g_auto(TrainKit) k = train_kit(
            "bert-large", quick ? "dgx-h100:2" : "v100-sxm-16:4x4,nvlink:16GB/s,ib:4Gb/s,nics:1",
            "bare", 256, 128);
        for (int i = 0; i < 2; i++) {
            RhLayout l = train_layout(&k, layouts[i]);
            step_s[quick][i] = train_step_s(&k.c, &l, false);
            BoundsRatio ratio = bounds_check(&k.c, "bert-large", &l);
            CU_ASSERT_TRUE(!bounds_rehearsed(ratio) || i == 0 || ratio.closed > 0.999);
        }
    }
    CU_ASSERT_TRUE(step_s[0][1] < 0.2 * step_s[0][0]);
    CU_ASSERT_TRUE(step_s[1][1] > step_s[1][0]);
}

static void codecs_are_refused_where_they_lack_what_they_need(void)
{
    static const TrainJudged rows[] = {
        {"llama-3.2-1b", "bare", "dp16,zero0,codec=onebit", NULL},
        {"llama-3.2-1b", "bare", "tp2,pp2,dp4,zero0,codec=onebit", NULL},
        {"llama-3.2-1b", "bare", "dp16,zero1,codec=onebit", "zero=0 alone"},
        {"llama-3.2-1b", "bare", "dp16,zero2,codec=zero-one", "zero=0 alone"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        train_check_judged(&rows[i]);
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 8, 2048);
    RhLayout one = train_layout(&k, "tp8,dp1,codec=onebit"); /* nothing to exchange */
    CU_ASSERT_EQUAL(one.codec, RH_CODEC_NONE);
}

/* ZeRO++: weights of 8 bits, with a scale for each 8,000, are half of what is gathered, and kernels make
 * them so and wide again. A layer is wide once, those on their way are narrow.
 * Source: Wang et al. 2023 (arXiv 2306.10209), section 3.1: half of the bytes. */
static void weights_are_gathered_in_half_the_bytes(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "bare", 16, 2048);
    g_autoptr(RhProgram) wide = train_build(&k, "dp16,zero3,hpz8"),
                         narrow = train_build(&k, "dp16,zero3,hpz8,qwz=on");
    double plain = train_buffers(wide, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER),
           frac = 0.5 * (1 + 4.0 / 8000);
    RH_CHECK_CLOSE(train_buffers(narrow, 0, RH_LANE_GATHER, RH_OP_ALL_GATHER), frac * plain, 1e-12);
    double moved = (1 + frac) * plain / 2; /* forward and backward are alike */
    RH_CHECK_CLOSE(train_kernel_bytes(narrow, RH_KERNEL_CAST),
                   moved * (1 + 1.0 / 16) + moved * (1 + 1.0 / 8), 1e-12);
    RhLayout before = train_layout(&k, "dp16,zero3,hpz8"),
             after = train_layout(&k, "dp16,zero3,hpz8,qwz=on");
    double buffers[] = {rh_train_memory(&k.c, &before).at_peak_bytes[RH_MEMORY_COMMUNICATION],
                        rh_train_memory(&k.c, &after).at_peak_bytes[RH_MEMORY_COMMUNICATION]};
    double layer = 2 * 4096.0 * (128256 + 1), ahead = k.c.stack->prefetch_layers + 1;
    RH_CHECK_CLOSE(buffers[1] - buffers[0], layer * (1 - ahead * (1 - frac)), 1e-9);
}

/* DeepSpeed names the optimizer, and is read back from its own file. */
static void deepspeed_has_a_word_for_it(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:8", "deepspeed", 512, 2048);
    RhLayout l = train_layout(&k, "dp64,zero0,codec=onebit");
    g_autoptr(GError) error = NULL;
    g_autoptr(RhLaunch) launch = rh_launch_new("deepspeed", &k.c, &l, &error);
    g_assert_no_error(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(launch->files, "\"type\": \"OneBitAdam\""));
    RhLayout narrow = train_layout(&k, "dp64,zero3,hpz8,qwz=on");
    g_autoptr(RhLaunch) zero = rh_launch_new("deepspeed", &k.c, &narrow, &error);
    g_assert_no_error(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(zero->files, "\"zero_quantized_weights\": true"));
    g_autoptr(RhLaunch) none = rh_launch_new("megatron", &k.c, &l, &error);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "1-bit optimizers"));
}

int main(void)
{
    return rh_test_main(
        "compressed_exchange",
        (RhTest[]){
            {"signs_are_a_sixteenth_of_gradients", signs_are_a_sixteenth_of_gradients},
            {"errors_are_kept_of_all_and_of_what_is_averaged",
             errors_are_kept_of_all_and_of_what_is_averaged},
            {"lamb_and_0_1_adam_pass_over_more", lamb_and_0_1_adam_pass_over_more},
            {"packing_pays_where_links_are_slow", packing_pays_where_links_are_slow},
            {"codecs_are_refused_where_they_lack_what_they_need",
             codecs_are_refused_where_they_lack_what_they_need},
            {"weights_are_gathered_in_half_the_bytes", weights_are_gathered_in_half_the_bytes},
            {"deepspeed_has_a_word_for_it", deepspeed_has_a_word_for_it},
            {0}});
}
