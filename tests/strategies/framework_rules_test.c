/* Rules of frameworks as data: files are valid, the search proposes nothing that they refuse,
 * launches refuse what the files say, and a term means what it says. */
#include <string.h>

#include "strategies/framework_rules.h"
#include "strategies/launch/launch.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static void every_file_is_right(void)
{
    const char *const *names = rh_framework_rules_names();
    CU_ASSERT_TRUE(g_strv_length((char **)names) >= 3);
    for (; *names; names++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhFrameworkRules) rules = rh_framework_rules_load(*names, &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(rules);
        CU_ASSERT_STRING_EQUAL(rules->name, *names);
        CU_ASSERT_TRUE(rules->rules_count > 0);
    }
    for (const char *const *name = rh_launch_frameworks(); *name; name++)
        CU_ASSERT_TRUE(g_strv_contains(rh_framework_rules_names(), *name));
}

static const char *refusal_of(const char *framework, const char *model, const char *layout)
{
    g_auto(TrainKit) k = train_kit(model, "dgx-h100:2", "bare", 64, 4096);
    RhLayout l = train_layout(&k, layout);
    const RhFrameworkRule *rule =
        rh_framework_refusal(rh_framework_rules(framework, NULL), &k.c, &l);
    return rule ? rule->where : NULL;
}

static void terms_mean_what_they_say(void)
{
    static const struct {
        const char *framework, *model, *layout, *where;
    } cases[] = {
        {"megatron", "llama-3.1-8b", "tp8", NULL},
        {"megatron", "llama-3.1-8b", "pp2,dp8,zero1", NULL},
        {"megatron", "llama-3.1-8b", "pp2,dp8,zero2", "mcore_fsdp_adapter.py:242"},
        {"megatron", "qwen3-30b-a3b", "tp4,ep4", NULL},
        {"megatron", "qwen3-30b-a3b", "tp8,dp2", "transformer_config.py:758"},
        {"megatron", "qwen3.5-27b", "tp8,dp2", "transformer_config.py:758"}, /* gated */
        {"megatron", "deepseek-v3", "tp8,dp2,ep2", NULL}, /* one latent, no such heads */
        /* Norms apart stand before experts and latents alone. */
        {"megatron", "llama-3.1-8b", "dp16,recompute=layernorm", "gpt_layer_specs.py:185"},
        {"megatron", "llama-3.1-8b", "dp16,recompute=layernorm+mlp", "gpt_layer_specs.py:185"},
        {"megatron", "llama-3.1-8b", "dp16,recompute=mlp", NULL},
        {"megatron", "qwen3-30b-a3b", "dp16,ep8,recompute=layernorm", NULL},
        {"megatron", "deepseek-v3", "dp16,ep8,recompute=layernorm", NULL},
        {"megatron", "llama-3.1-8b", "dp16,recompute=full", NULL},
        {"nemo", "llama-3.1-8b", "dp16,recompute=core_attn+layernorm", "gpt_layer_specs.py:336"},
        {"torchtitan", "llama-3.1-8b", "dp16,zero0", NULL},
        {"torchtitan", "llama-3.1-8b", "tp2,dp8,zero0", "parallelize.py:151"},
        {"torchtitan", "llama-3.1-8b", "tp2,dp8,zero1", "parallelize.py:287"},
        {"torchtitan", "llama-3.1-8b", "pp2,dp8,zero2", NULL},
        {"torchtitan", "qwen3-8b", "pp2,dp8,zero2", "train.py:220"},
        {"torchtitan", "llama-3.1-8b", "cp4,dp4,zero3,shard8", NULL},
        {"torchtitan", "llama-3.1-8b", "cp4,dp4,zero3,shard2", "parallel_dims.py:85"},
        {"nemo", "llama-3.1-8b", "tp2,dp8,zero3", NULL},
        {"nemo", "llama-3.1-8b", "pp2,dp8,zero3", "mcore_fsdp_adapter.py:445"},
        {"deepspeed", "llama-3.1-8b", "dp16,zero3", NULL},
        {"deepspeed", "llama-3.1-8b", "pp2,dp8,zero2", "engine.py:76"},
        {"deepspeed", "llama-3.1-8b", "pp2,dp8,zero1", "engine.py:74"},
        {"peft", "llama-3.1-8b", "dp16,zero3", "mapping_func.py"},
        {"maxtext", "llama-3.1-8b", "tp2,dp8,zero3", NULL},
        {"maxtext", "llama-3.1-8b", "tp2,dp8,zero2", "base.yml:690"},
        {"maxtext", "llama-3.1-8b", "pp2,dp8,zero3,schedule=gpipe,recompute=full", NULL},
        {"maxtext", "llama-3.1-8b", "pp2,dp8,zero3,recompute=full", "pipeline.py:944"},
        {"maxtext", "llama-3.1-8b", "pp2,dp8,zero3,schedule=gpipe", "pipeline.py:938"},
        {"maxtext", "llama-3.1-8b", "pp2,dp8,mb4,zero3,schedule=gpipe,recompute=full", NULL},
        {"maxtext", "llama-3.1-8b", "pp4,dp4,mb8,zero3,schedule=gpipe,recompute=full",
         "types.py:3610"},
        {"maxtext", "llama-3.1-8b", "dp16,recompute=core_attn+layernorm", NULL},
        {"maxtext", "llama-3.1-8b", "dp16,recompute=core_attn", "nnx_decoders.py:1160"},
        {"maxtext", "qwen3-30b-a3b", "dp16,ep8,zero3", NULL},
        {"maxtext", "qwen3-30b-a3b", "dp16,ep8,zero1", "base.yml:605"},
        {"megatron-2021", "llama-3.1-8b", "tp4,pp4,dp1,sp=off,recompute=full", NULL},
        {"megatron-2021", "llama-3.1-8b", "tp4,pp4,dp1,vpp2,sp=off,recompute=none", NULL},
        {"megatron-2021", "llama-3.1-8b", "pp2,dp8,vpp2,zero0", "arguments.py:126"},
        {"megatron-2021", "llama-3.1-8b", "dp16,zero1", "__init__.py:72"},
        {"megatron-2021", "llama-3.1-8b", "dp16,zero3", "__init__.py:72"},
        {"megatron-2021", "llama-3.1-8b", "dp16,zero0,recompute=selective", "arguments.py:411"},
        {"megatron-2021", "llama-3.1-8b", "pp2,dp8,zero0,order=tp-pp-dp", "initialize.py:112"},
        {"megatron-2021", "llama-3.1-8b", "cp2,dp8,zero0", "initialize.py:53"},
        {"nobody", "llama-3.1-8b", "pp2,dp8,zero2", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *where = refusal_of(cases[i].framework, cases[i].model, cases[i].layout);
        CU_ASSERT_EQUAL(where != NULL, cases[i].where != NULL);
        CU_ASSERT_TRUE(!where || !cases[i].where || g_str_has_suffix(where, cases[i].where));
    }
}

/* A question about one key finds the rule of that key, not the first broken rule. */
static void a_key_finds_its_own_rule(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "bare", 64, 4096);
    const RhFrameworkRules *rules = rh_framework_rules("torchtitan", NULL);
    RhLayout l = train_layout(&k, "pp2,dp8,zero1,order=tp-pp-dp");
    const RhFrameworkRule *zero = rh_framework_refusal_by(rules, &k.c, &l, RH_KNOB_OF(zero));
    const RhFrameworkRule *order = rh_framework_refusal_by(rules, &k.c, &l, RH_KNOB_OF(order));
    CU_ASSERT_PTR_NOT_NULL_FATAL(zero);
    CU_ASSERT_PTR_NOT_NULL_FATAL(order);
    CU_ASSERT_TRUE(g_str_has_suffix(zero->where, "parallelize.py:287"));
    CU_ASSERT_TRUE(g_str_has_suffix(order->where, "parallel_dims.py:92"));
    CU_ASSERT_PTR_NULL(rh_framework_refusal_by(rules, &k.c, &l, RH_KNOB_OF(cp)));
}

/* The search proposes something for every framework. */
static void the_search_proposes_what_they_run(void)
{
    for (const char *const *name = rh_stack_names(); *name; name++) {
        const RhStack *stack = rh_stack_by_name(*name, NULL);
        if (!stack->framework)
            continue;
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", *name, 64, 4096);
        k.c.job.lora.rank = strcmp(stack->framework, "peft") == 0 ? 16 : 0;
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        CU_ASSERT_TRUE(space->len > 0);
        int refused = 0;
        for (guint i = 0; i < space->len; i++) {
            const RhLayout *l = &g_array_index(space, RhLayout, i);
            refused +=
                rh_framework_refusal(rh_framework_rules(stack->framework, NULL), &k.c, l) != NULL;
        }
        CU_ASSERT_EQUAL(refused, 0);
        k.c.stack = rh_stack_by_name("bare", NULL);
        g_autoptr(GArray) all = rh_space_list(&k.c, NULL, 0);
        CU_ASSERT_TRUE(all->len > space->len);
    }
}

static void launches_say_where_it_stands(void)
{
    g_auto(TrainKit) k = train_kit("qwen3-30b-a3b", "dgx-h100:2", "bare", 64, 4096);
    RhLayout l = train_layout(&k, "tp8,dp2");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_launch_new("megatron", &k.c, &l, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "repeats no key-value heads"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "transformer_config.py:758"));
}

int main(void)
{
    return rh_test_main(
        "framework_rules",
        (RhTest[]){{"every_file_is_right", every_file_is_right},
                   {"terms_mean_what_they_say", terms_mean_what_they_say},
                   {"a_key_finds_its_own_rule", a_key_finds_its_own_rule},
                   {"the_search_proposes_what_they_run", the_search_proposes_what_they_run},
                   {"launches_say_where_it_stands", launches_say_where_it_stands},
                   {0}});
}
