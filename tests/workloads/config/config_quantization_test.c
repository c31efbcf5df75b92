/* Storage formats of weights in config.json: the recipe of each, and unknown values. */
#include <string.h>

#include "tests/kit/model_counts.h"
#include "workloads/precision_recipe.h"

#define TINY(rest)   "{" SHAPE("llama", 2, 64, 4, 4, 128, 1000) rest "}"
#define STORED(says) TINY(", 'quantization_config': " says)

static void methods_are_recipes(void)
{
    static const struct {
        const char *config, *method, *recipe;
    } rows[] = {
        {TINY(""), NULL, NULL},
        {STORED("null"), NULL, NULL},
        {STORED("{'quant_method': 'fp8', 'weight_block_size': [128, 128]}"), "fp8", "fp8-block"},
        {STORED("{'quant_method': 'fp8', 'weight_block_size': null}"), "fp8", "fp8-current"},
        {STORED("{'quant_method': 'modelopt', 'quant_algo': 'NVFP4'}"), "NVFP4", "nvfp4"},
        {STORED("{'quant_method': 'awq', 'bits': 4}"), "awq", "int4-weights"},
        {STORED("{'quant_method': 'gptq', 'bits': 8}"), "gptq", "int8-weights"},
        {STORED("{'quant_method': 'gptq', 'bits': 3}"), "gptq", NULL},
        {STORED("{'quant_method': 'compressed-tensors', 'format': 'pack-quantized', "
                "'config_groups': {'group_0': {'weights': {'num_bits': 8}}}}"),
         "pack-quantized", "int8-weights"},
        {TINY(", 'compression_config': {'quant_method': 'mxfp4'}"), "mxfp4", "mxfp4-experts"},
        {STORED("{'quant_method': 'of tomorrow'}"), "of tomorrow", NULL},
        {STORED("{}"), "?", NULL},
        {"{'model_type': 'llava', 'quantization_config': {'quant_method': 'awq', 'bits': 4}, "
         "'text_config': " TINY("") "}",
         "awq", "int4-weights"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = model_load(rows[i].config);
        CU_ASSERT_EQUAL(g_strcmp0(m->stored_as, rows[i].method), 0);
        CU_ASSERT_EQUAL(g_strcmp0(m->stored_recipe, rows[i].recipe), 0);
        CU_ASSERT_TRUE(m->stored_recipe == NULL || rh_recipe_by_name(m->stored_recipe) != NULL);
    }
}

static void what_is_no_answer_is_told(void)
{
    check_refused(STORED("5"), "quantization_config must be an object");
    check_refused(STORED("'fp8'"), "quantization_config must be an object");
    check_refused(STORED("{'quant_method': 7}"), "quant_method must be text");
    check_refused(STORED("{'quant_method': 'awq', 'bits': -4}"), "bits must be from 1 to 64");
}

int main(void)
{
    return rh_test_main("stored_weights",
                        (RhTest[]){{"methods_are_recipes", methods_are_recipes},
                                   {"what_is_no_answer_is_told", what_is_no_answer_is_told},
                                   {0}});
}
