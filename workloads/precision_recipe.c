#include "workloads/precision_recipe.h"

#include <string.h>

#include "platforms/devices/generation.h"

#define WIDE 2.0 /* bytes per element of bf16 and fp16 */

#define WHOLE 4.0 /* bytes per element of fp32, and of TF32 operands in memory */

#define PLAIN(format, name_, title_, bytes, source_)                                               \
    {                                                                                              \
        .name = name_, .title = title_, .dtype = format, .linear = format, .operand_bytes = bytes, \
        .kept_bytes = bytes, .dispatch_bytes = bytes, .source = source_                            \
    }
#define MIXED "operands as they are; Micikevicius et al. 2018, arXiv 1710.03740"

const RhRecipe rh_recipe_bf16 = PLAIN(RH_DTYPE_BF16, "bf16", "bfloat16", WIDE, MIXED);
const RhRecipe rh_recipe_fp16 = PLAIN(RH_DTYPE_FP16, "fp16", "IEEE half precision", WIDE, MIXED);
/* TF32: weights are their own masters; products run on matrix units with 10 bits of mantissa, or on
 * none. */
const RhRecipe rh_recipe_tf32 =
    PLAIN(RH_DTYPE_TF32, "tf32", "fp32 whose products run as TF32", WHOLE,
          "NVIDIA A100 Tensor Core GPU Architecture, V1.0, 2020: TF32; bytes counted");
const RhRecipe rh_recipe_fp32 =
    PLAIN(RH_DTYPE_FP32, "fp32", "IEEE single precision throughout", WHOLE,
          "operands as they are, no matrix units; bytes counted");

/* Bytes of an element in 8 and in 4 bits, and of its share of scales: 4 bytes per 128 elements, 1
 * byte per 32, 1 byte per 16. */
#define NARROW      1.0
#define HALF        0.5
#define BLOCK_SCALE (4.0 / 128)
#define MX_SCALE    (1.0 / 32)
#define NV_SCALE    (1.0 / 16)

/* Traffic of a cast: it reads the element and writes both layouts. */
#define CAST(written) (WIDE + 2 * (written))

/* FP8 with delayed scaling: one scale per tensor, from the largest values of earlier steps, so
 * known before the cast. The layout that the gradient of weights reads is kept. */
#define DELAYED(layouts)                                                                           \
    {                                                                                              \
        .name = "fp8", .title = "fp8, a scale for each tensor from steps before (delayed)",        \
        .dtype = RH_DTYPE_BF16, .linear = RH_DTYPE_FP8, .operand_bytes = NARROW,                   \
        .cast_bytes = WIDE + (layouts)*NARROW, .fused_cast_bytes = (layouts)*NARROW - WIDE,        \
        .kept_bytes = NARROW, .weight_cast_bytes = WIDE + (layouts)*NARROW,                        \
        .weight_copy_bytes = (layouts)*NARROW, .one_layout = (layouts) == 1,                       \
        .dispatch_bytes = WIDE,                                                                    \
        .source = "Micikevicius et al. 2022, arXiv 2209.05433; Transformer Engine user guide, "    \
                  "delayed scaling; bytes counted",                                                \
    }

/* FP8 with current scaling: as above, but the largest value of the tensor itself is found first,
 * which is one more read. */
#define CURRENT(layouts)                                                                           \
    {                                                                                              \
        .name = "fp8-current", .title = "fp8, a scale for each tensor from its own values",        \
        .dtype = RH_DTYPE_BF16, .linear = RH_DTYPE_FP8, .operand_bytes = NARROW,                   \
        .cast_bytes = 2 * WIDE + (layouts)*NARROW, .fused_cast_bytes = WIDE + (layouts)*NARROW,    \
        .kept_bytes = NARROW, .weight_cast_bytes = 2 * WIDE + (layouts)*NARROW,                    \
        .weight_copy_bytes = (layouts)*NARROW, .one_layout = (layouts) == 1,                       \
        .dispatch_bytes = WIDE,                                                                    \
        .source = "Transformer Engine user guide, current scaling; bytes counted",                 \
    }

const RhRecipe rh_recipe_fp8 = DELAYED(2);
const RhRecipe rh_recipe_fp8_current = CURRENT(2);

const RhRecipe *rh_recipe_on(const RhRecipe *recipe, const RhDevice *device)
{
    static const RhRecipe delayed = DELAYED(1), current = CURRENT(1);
    const RhGeneration *generation =
        device->generation ? rh_generation_by_name(device->generation) : NULL;
    if (generation == NULL || !generation->any_layout)
        return recipe;
    return recipe == &rh_recipe_fp8           ? &delayed
           : recipe == &rh_recipe_fp8_current ? &current
                                              : recipe;
}

/* FP8 in blocks: tiles of 1 x 128 of activations, blocks of 128 x 128 of weights; tokens go to
 * experts in fp8, and come back in bf16. */
const RhRecipe rh_recipe_fp8_block = {
    .name = "fp8-block",
    .title = "fp8, a scale for each 128 elements, as DeepSeek-V3",
    .dtype = RH_DTYPE_BF16,
    .linear = RH_DTYPE_FP8,
    .operand_bytes = NARROW + BLOCK_SCALE,
    .cast_bytes = CAST(NARROW + BLOCK_SCALE),
    .fused_cast_bytes = 2 * (NARROW + BLOCK_SCALE) - WIDE,
    .kept_bytes = NARROW + BLOCK_SCALE,
    .weight_cast_bytes = CAST(NARROW),
    .weight_copy_bytes = 2 * NARROW,
    .dispatch_bytes = NARROW + BLOCK_SCALE,
    .source = "DeepSeek-V3 technical report, arXiv 2412.19437, section 3.3; bytes counted",
};

/* MXFP8: a scale of one byte for each 32 elements, along either layout. */
const RhRecipe rh_recipe_mxfp8 = {
    .name = "mxfp8",
    .title = "fp8, a power of two for each 32 elements (MX)",
    .dtype = RH_DTYPE_BF16,
    .linear = RH_DTYPE_FP8,
    .operand_bytes = NARROW + MX_SCALE,
    .cast_bytes = CAST(NARROW + MX_SCALE),
    .fused_cast_bytes = 2 * (NARROW + MX_SCALE) - WIDE,
    .kept_bytes = NARROW + MX_SCALE,
    .weight_cast_bytes = CAST(NARROW + MX_SCALE),
    .weight_copy_bytes = 2 * (NARROW + MX_SCALE),
    .microscaled = true,
    .layouts_apart = true,
    .dispatch_bytes = WIDE,
    .source = "Rouhani et al. 2023, arXiv 2310.10537; Mishra et al. 2025, arXiv 2506.08027; bytes "
              "counted",
};

/* NVFP4: a scale of one byte for each 16 elements, and one for each tensor, which takes one more
 * read to find. Weights are scaled by blocks of 16 x 16, and take as many bytes as activations. */
const RhRecipe rh_recipe_nvfp4 = {
    .name = "nvfp4",
    .title = "fp4, a scale for each 16 elements and one for each tensor",
    .dtype = RH_DTYPE_BF16,
    .linear = RH_DTYPE_FP4,
    .operand_bytes = HALF + NV_SCALE,
    .cast_bytes = WIDE + CAST(HALF + NV_SCALE),
    .fused_cast_bytes = WIDE + CAST(HALF + NV_SCALE),
    .kept_bytes = HALF + NV_SCALE,
    .weight_cast_bytes = WIDE + CAST(HALF + NV_SCALE),
    .weight_copy_bytes = 2 * (HALF + NV_SCALE),
    .microscaled = true,
    .dispatch_bytes = WIDE,
    .source = "NVIDIA 2025, arXiv 2509.25149, section 4 and appendix; bytes counted",
};

/* Recipes in which only weights are narrow: GEMMs read them so and multiply in 16 bits. */
#define WEIGHTS(name_, title_, bytes, source_)                                                     \
    {                                                                                              \
        .name = name_, .title = title_, .dtype = RH_DTYPE_BF16, .linear = RH_DTYPE_BF16,           \
        .operand_bytes = WIDE, .kept_bytes = WIDE, .dispatch_bytes = WIDE,                         \
        .weight_alone_bytes = bytes, .source = source_                                             \
    }

/* INT8 weights: a scale of two bytes per column, which is negligible. */
const RhRecipe rh_recipe_int8_weights =
    WEIGHTS("int8-weights", "weights alone in 8 bits, a scale for each column (serving)", NARROW,
            "Dettmers et al. 2022, arXiv 2208.07339; bytes counted");

/* INT4 weights: a scale of two bytes and a zero point of half a byte per 128 weights. */
#define GROUP_SCALE (2.5 / 128)

const RhRecipe rh_recipe_int4_weights = WEIGHTS(
    "int4-weights", "weights alone in 4 bits, a scale for each 128: AWQ, GPTQ (serving)",
    HALF + GROUP_SCALE,
    "Frantar et al. 2022, arXiv 2210.17323; Lin et al. 2023, arXiv 2306.00978; groups of 128, "
    "bytes counted");

/* Weights of three values, two bits each, and of two, one bit each; a scale for each row, which is
 * negligible. */
const RhRecipe rh_recipe_ternary_weights =
    WEIGHTS("ternary-weights", "weights alone of three values, -1, 0 and 1 (serving)", 2.0 / 8,
            "Wu et al. 2022, arXiv 2206.01859 (XTC), section 3; bytes counted");
const RhRecipe rh_recipe_binary_weights =
    WEIGHTS("binary-weights", "weights alone of two values, -1 and 1 (serving)", 1.0 / 8,
            "Wu et al. 2022, arXiv 2206.01859 (XTC), section 3; bytes counted");

/* Two of four weights are zeros in every row: the other two are held, with two bits each that say which
 * they are, and multiplied alone. */
const RhRecipe rh_recipe_sparse_weights = {
    .name = "sparse-weights",
    .title = "two of four weights are zeros, which matrix units skip: 2:4 (serving)",
    .dtype = RH_DTYPE_BF16,
    .linear = RH_DTYPE_BF16,
    .operand_bytes = WIDE,
    .kept_bytes = WIDE,
    .dispatch_bytes = WIDE,
    .weight_alone_bytes = (WIDE + 2.0 / 8) / 2,
    .depth_frac = 0.5,
    .source = "Mishra et al. 2021, arXiv 2104.08378, sections 2 and 3; bytes counted",
};

/* The format in which gpt-oss is published: a scale of one byte for each 32 weights of experts; all
 * else in 16 bits. The precision of the experts' products is the kernels' choice: 16 bits on
 * Hopper, 8 on Blackwell (kernel tables say it). */
const RhRecipe rh_recipe_mxfp4_experts = {
    .name = "mxfp4-experts",
    .title = "experts' weights alone in 4 bits (MX), as gpt-oss (serving)",
    .dtype = RH_DTYPE_BF16,
    .linear = RH_DTYPE_BF16,
    .operand_bytes = WIDE,
    .kept_bytes = WIDE,
    .dispatch_bytes = WIDE,
    .weight_alone_bytes = HALF + MX_SCALE,
    .experts_alone = true,
    .source =
        "OpenAI 2025, gpt-oss model card, arXiv 2508.10925, section 2.1; quantization_config of "
        "its config.json; bytes counted",
};

const RhRecipe *const *rh_recipes(void)
{
#define ADDRESS(row, name_) &rh_recipe_##row,
    static const RhRecipe *const rows[] = {RH_RECIPES(ADDRESS) NULL};
#undef ADDRESS
    return rows;
}

const RhRecipe *rh_recipe_by_name(const char *name)
{
    for (const RhRecipe *const *r = rh_recipes(); name && *r; r++)
        if (strcmp((*r)->name, name) == 0)
            return *r;
    return NULL;
}

static bool skips_zeros(const RhDevice *device)
{
    const RhGeneration *generation =
        device->generation ? rh_generation_by_name(device->generation) : NULL;
    return generation && generation->skips_zeros;
}

const char *rh_recipe_lacks_units(const RhRecipe *recipe, const RhDevice *device)
{
    bool own = recipe->linear != recipe->dtype || rh_dtype_bytes(recipe->dtype) > 2;
    if (own && device->peak_flops_per_s[recipe->linear].value <= 0)
        return rh_dtype_name(recipe->linear);
    /* Devices whose matrix units apply block scales also multiply fp4; all fp4 recipes here are
     * such. */
    if (recipe->microscaled && device->peak_flops_per_s[RH_DTYPE_FP4].value <= 0)
        return "MX formats";
    if (recipe->depth_frac > 0 && !skips_zeros(device))
        return "2:4 sparsity";
    return NULL;
}
