/* Runs that people report: those that ran out of memory are told not to fit, and those that ran to
 * fit. The layouts are as the reports say; where one leaves a setting out, it is the framework's. */
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Returns the memory that the layout needs, in bytes, over what a GPU has. */
static double full_frac(const char *model, const char *platform, const char *stack, int64_t batch,
                        int64_t sequence, const char *layout)
{
    g_auto(TrainKit) k = train_kit(model, platform, stack, batch, sequence);
    RhLayout l = rh_train_default(&k.c);
    g_assert_true(rh_layout_parse(layout, &l, NULL));
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
    return rh_bound_memory(cache, &l).peak_bytes / k.c.platform->device->hbm_bytes.value;
}

/* Source: deepspeedai/DeepSpeed issue 4953, 7B on one A100 of 80 GB with ZeRO-3: out of memory. */
static void a_7b_model_overfills_one_gpu(void)
{
    CU_ASSERT_TRUE(
        full_frac("llama-2-7b", "a100-sxm-80:1x1", "deepspeed", 1, 2048, "dp1,zero3,mb1") > 1);
}

/* Source: Alpha-VLLM/LLaMA2-Accessory issue 26, 13B on two A800 of 80 GB with TP 2: out of
 * memory. */
static void a_13b_model_overfills_two_gpus(void)
{
    CU_ASSERT_TRUE(full_frac("llama-2-13b", "a800-sxm-80:2x1,nvlink:200GB/s", "megatron", 1, 2048,
                             "tp2,dp1,mb1,recompute=full") > 1);
}

/* Source: jquesnelle/yarn issue 23, 7B with sequences of 64k on eight A100 of 80 GB: it runs, and
 * with 128k it does not. */
static void a_7b_model_trains_64k_tokens_on_eight_gpus(void)
{
    const char *layout = "dp8,zero3,mb1,recompute=full";
    CU_ASSERT_TRUE(full_frac("llama-2-7b", "dgx-a100:1", "torchtitan-2024", 8, 65536, layout) < 1);
    CU_ASSERT_TRUE(full_frac("llama-2-7b", "dgx-a100:1", "torchtitan-2024", 8, 131072, layout) > 1);
}

/* Source: hiyouga/LlamaFactory issue 5977, Llama-3-8B on eight RTX 3090 with ZeRO-3: out of
 * memory. */
static void an_8b_model_overfills_eight_cards_of_24_gb(void)
{
    CU_ASSERT_TRUE(full_frac("llama-3.1-8b", "rtx-3090:8x1", "deepspeed", 16, 1024,
                             "dp8,zero3,mb1,recompute=full") > 1);
}

/* Source: NVIDIA/Megatron-LM issue 2762, Qwen3-30B-A3B on eight H100, EP 8: out of memory. */
static void a_mixture_overfills_eight_gpus(void)
{
    CU_ASSERT_TRUE(
        full_frac("qwen3-30b-a3b", "dgx-h100:1", "megatron", 512, 4096, "tp1,dp8,ep8,mb1") > 1);
}

int main(void)
{
    return rh_test_main(
        "published_outcomes",
        (RhTest[]){{"a_7b_model_overfills_one_gpu", a_7b_model_overfills_one_gpu},
                   {"a_13b_model_overfills_two_gpus", a_13b_model_overfills_two_gpus},
                   {"a_7b_model_trains_64k_tokens_on_eight_gpus",
                    a_7b_model_trains_64k_tokens_on_eight_gpus},
                   {"an_8b_model_overfills_eight_cards_of_24_gb",
                    an_8b_model_overfills_eight_cards_of_24_gb},
                   {"a_mixture_overfills_eight_gpus", a_mixture_overfills_eight_gpus},
                   {0}});
}
