#pragma once
/* Numeric recipes: in which formats a model is trained or served. One row each; what follows from a recipe (which
 * products are narrow, what casts cost, what is kept and held besides) is read from its row, by
 * operators (workloads/operators/emit_kernels.c) and by the account of a stage's states. */
#include "platforms/devices/device.h"

typedef struct RhRecipe {
    const char *name;  /* --dtype */
    const char *title; /* for help */
    /* Of activations, of weights as they are held and sent, and of all products but those of linear
     * layers inside layers: attention's core, routers, embedding and head. */
    RhDtype dtype;
    /* Of operands of linear layers, forward and both gradients; equal to `dtype`: nothing is cast. */
    RhDtype linear;
    /* An element of such an operand, its share of scales included. */
    double operand_bytes;
    /* Memory traffic a cast makes for an element of an activation, or of its gradient: every linear
     * layer casts its input, and the gradient of its output, in two layouts (for one product rows
     * are summed over, for the other columns). */
    double cast_bytes;
    /* What it adds where the activation before it makes it, too: less than nothing where that writes
     * no wide element; `cast_bytes`: it cannot. */
    double fused_cast_bytes;
    /* What a linear layer keeps of an element of its input. */
    double kept_bytes;
    /* For an element of its weights: traffic of casting them, once a step; and copies held beside
     * the weights. */
    double weight_cast_bytes, weight_copy_bytes;
    /* Matrix units apply a scale to each 32 elements or fewer (OCP MX and NVFP4): Hopper's do not. */
    bool microscaled;
    bool one_layout;    /* products read either, so that a cast writes one, and one copy is held */
    bool layouts_apart; /* scales of the two copies differ: neither can be made of the other */
    /* An element of a linear layer's weights where these alone are narrow: they are held and read so, and
     * made wide by the GEMM that multiplies them. Such a recipe serves, and does not train. 0: as
     * operands. */
    double weight_alone_bytes;
    bool experts_alone; /* ... of experts' matrices, and no other layer's */
    /* Matrix units skip the zeros of its weights: so much of a product's depth is multiplied. 0: all. */
    double depth_frac;
    /* An element of a token on its way to experts; back it is of `dtype`. */
    double dispatch_bytes;
    const char *source;
} RhRecipe;

/* ROW(what follows rh_recipe_, name) */
#define RH_RECIPES(ROW)                                                                            \
    ROW(bf16, "bf16")                                                                              \
    ROW(fp16, "fp16")                                                                              \
    ROW(tf32, "tf32")                                                                              \
    ROW(fp32, "fp32")                                                                              \
    ROW(fp8, "fp8")                                                                                \
    ROW(fp8_current, "fp8-current")                                                                \
    ROW(fp8_block, "fp8-block")                                                                    \
    ROW(mxfp8, "mxfp8")                                                                            \
    ROW(nvfp4, "nvfp4")                                                                            \
    ROW(int8_weights, "int8-weights")                                                              \
    ROW(int4_weights, "int4-weights")                                                              \
    ROW(ternary_weights, "ternary-weights")                                                        \
    ROW(binary_weights, "binary-weights")                                                          \
    ROW(sparse_weights, "sparse-weights")                                                          \
    ROW(mxfp4_experts, "mxfp4-experts")
#define RH_RECIPE_AS_CHOICE(row, name) "|" name
#define RH_RECIPE_CHOICES              (&(RH_RECIPES(RH_RECIPE_AS_CHOICE))[1])

#define RH_DECLARE_RECIPE(row, name) extern const RhRecipe rh_recipe_##row;
RH_RECIPES(RH_DECLARE_RECIPE)
#undef RH_DECLARE_RECIPE

/* All, in the order of the rows; the last is NULL. */
const RhRecipe *const *rh_recipes(void);
/* NULL when unknown. */
const RhRecipe *rh_recipe_by_name(const char *name);

/* The recipe as it runs on a device. Where products in fp8 read operands in any layout, tensors with
 * one scale are cast into one (NVIDIA/TransformerEngine, transformer_engine/pytorch/utils.py:
 * is_non_tn_fp8_gemm_supported, compute capability 10). Static. */
const RhRecipe *rh_recipe_on(const RhRecipe *recipe, const RhDevice *device);

/* Names the units that a device lacks for a recipe's linear layers, as "fp8" or "MX formats"; NULL: it has all.
 * Linear layers in the recipe's own 16-bit format need none. Static. */
const char *rh_recipe_lacks_units(const RhRecipe *recipe, const RhDevice *device);
