/* Stacks as data: what a file says over the stack it derives from. */
#include <string.h>

#include "base/catalogue_folders.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/software_stack_file.h"
#include "strategies/train/block_cost.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static void every_stack_says_what_it_is(void)
{
    for (const char *const *name = rh_stack_names(); *name; name++) {
        const RhStack *s = rh_stack_by_name(*name, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        CU_ASSERT_STRING_EQUAL(s->name, *name);
        CU_ASSERT_TRUE(*s->about != 0);
        CU_ASSERT_FALSE(s->late_exchange && s->frees_gradients); /* whole to the end */
        CU_ASSERT_PTR_EQUAL(rh_stack_by_name(*name, NULL), s);   /* kept */
    }
    CU_ASSERT_PTR_NULL(rh_stack_by_name("nobody", NULL));
}

/* Bars and odds of a stack that names another are that one's. */
static void some_are_judged_as_another(void)
{
    g_auto(TrainKit) own = train_kit("llama-3.2-1b", "dgx-h100:1", "xla", 8, 1024);
    g_auto(TrainKit) named = train_kit("llama-3.2-1b", "dgx-h100:1", "xla-qkv", 8, 1024);
    CU_ASSERT_STRING_EQUAL(rh_evidence_key_of(&own.c).stack, "xla");
    CU_ASSERT_STRING_EQUAL(rh_evidence_key_of(&named.c).stack, "xla");
}

/* Odds of memory are a trainer's: stacks that differ in rates alone hold as much, and are told by one another's runs. */
static void a_trainer_holds_the_same_at_any_rate(void)
{
    static const char *const like[] = {"llm-foundry-torch1", "llm-foundry-h100",
                                       "llm-foundry-h100-flash2"};
    g_auto(TrainKit) own = train_kit("llama-3.2-1b", "dgx-h100:1", "llm-foundry", 16, 2048);
    CU_ASSERT_STRING_EQUAL(rh_evidence_key_holder(&(RhEvidenceKey){.stack = "s"}), "s");
    for (size_t i = 0; i < G_N_ELEMENTS(like); i++) {
        g_auto(TrainKit) other = train_kit("llama-3.2-1b", "dgx-h100:1", like[i], 16, 2048);
        RhEvidenceKey l = rh_evidence_key_of(&other.c);
        CU_ASSERT_STRING_EQUAL(l.stack, like[i]); /* its steps are its own */
        CU_ASSERT_STRING_EQUAL(rh_evidence_key_holder(&l), "llm-foundry");
        for (int full = 0; full < 2; full++) {
            const char *text = full ? "dp8,mb2,zero3,recompute=full" : "dp8,mb1,zero3";
            RhLayout a = train_layout(&own, text), b = train_layout(&other, text);
            CU_ASSERT_EQUAL(rh_train_memory(&own.c, &a).peak_bytes,
                            rh_train_memory(&other.c, &b).peak_bytes);
        }
    }
}

/* XLA casts the operands of narrow products anew, and writes no copy of the logits in fp32. */
static void xla_holds_no_copies(void)
{
    g_auto(TrainKit) xla = train_kit("llama-3.2-1b", "dgx-h100:1", "xla", 8, 1024);
    g_auto(TrainKit) own = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 8, 1024);
    RhLayout l = train_layout(&xla, "dp8,mb1,zero3");
    xla.c.job.recipe = own.c.job.recipe = &rh_recipe_fp8;
    CU_ASSERT_EQUAL(rh_weight_copies_bytes(&xla.c), 0);
    CU_ASSERT_TRUE(rh_weight_copies_bytes(&own.c) > 0);
    CU_ASSERT_TRUE(rh_train_memory(&xla.c, &l).at_peak_bytes[RH_MEMORY_LOGITS] <
                   rh_train_memory(&own.c, &l).at_peak_bytes[RH_MEMORY_LOGITS]);
}

/* FSDP shares out masters and casts what it gathers: four bytes and two moments a parameter, besides gradients. What stays
 * gathered (ZeRO-2) is held in two bytes all the same, and the ledger of a program says so, too. */
static void masters_may_be_all_that_is_shared_out(void)
{
    static const char *const stacks[] = {"megatron", "torchtitan"}, *const layouts[] = {
                                                                        "dp8,mb1,zero2",
                                                                        "dp8,mb1,zero3"};
    double weights[2][2];
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            g_auto(TrainKit) kit = train_kit("llama-3.2-1b", "dgx-h100:1", stacks[i], 8, 1024);
            RhLayout l = train_layout(&kit, layouts[k]);
            RhTrainMemory m = rh_train_memory(&kit.c, &l);
            weights[i][k] = m.at_peak_bytes[RH_MEMORY_WEIGHTS];
            CU_ASSERT_EQUAL(kit.c.stack->casts_masters, i == 1);
            CU_ASSERT_TRUE(m.at_peak_bytes[RH_MEMORY_OPTIMIZER] > 0);
        }
    RH_CHECK_CLOSE(weights[0][0], weights[1][0], 1e-12);
    RH_CHECK_CLOSE(weights[0][1], weights[0][0] / 8, 1e-12);
    CU_ASSERT_EQUAL(weights[1][1], 0);
}

static void a_file_says_what_differs(void)
{
    const RhStack *base = rh_stack_by_name("megatron", NULL),
                  *old = rh_stack_by_name("aleph-flash1", NULL);
    CU_ASSERT_FALSE(old->fused_norms); /* of the one between */
    CU_ASSERT_TRUE(old->flash_attention);
    CU_ASSERT_EQUAL(old->nic_training_frac.value,
                    rh_stack_by_name("aleph", NULL)->nic_training_frac.value);
    CU_ASSERT_EQUAL(old->kernel_gap_s.value, base->kernel_gap_s.value);
    CU_ASSERT_EQUAL(rh_stack_by_name("llama3", NULL)->zero_unstaged, 0);
    CU_ASSERT_NOT_EQUAL(base->zero_unstaged, 0);
}

/* Attention of an older generation is slower by the file's factor, and nothing else of the device. */
static void attention_is_the_stacks(void)
{
    g_autoptr(RhPlatform) bare = rh_platform_load("dgx-a100", NULL);
    const RhStack *old = rh_stack_by_name("aleph-flash1", NULL),
                  *today = rh_stack_by_name("aleph-eager", NULL);
    g_autoptr(RhPlatform) slow = rh_stack_platform(old, bare);
    g_autoptr(RhPlatform) fast = rh_stack_platform(today, bare);
    const RhDeviceRates *a = &slow->device->rates, *b = &fast->device->rates;
    RH_CHECK_CLOSE(a->attention_s_per_flop[RH_DTYPE_BF16] * old->attention_frac.value,
                   b->attention_s_per_flop[RH_DTYPE_BF16], 1e-12);
    CU_ASSERT_TRUE(rh_platform_set(bare, "device.attention", "0.5", NULL));
    g_autoptr(RhPlatform) users = rh_stack_platform(old, bare);
    CU_ASSERT_EQUAL(users->device->curves.attention_peak_frac.value,
                    0.5); /* the user's word wins */
}

static RhStack *parsed(const char *text, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse("mine.json", text, strlen(text), error);
    return doc ? rh_stack_parse(doc, "mine.json", error) : NULL;
}

/* A file that repeats a stack of the catalogue without deriving from it is that stack. */
static void a_file_may_derive_from_none(void)
{
    g_autofree char *path =
        g_build_filename(rh_data_dir(), "strategies/stacks/megatron.json", NULL);
    g_autofree char *text = NULL;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
    char *name = strstr(text, "\"megatron\"");
    memcpy(name, "\"megatrom\"", strlen("\"megatrom\""));
    g_autofree RhStack *own = parsed(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(own);
    CU_ASSERT_STRING_EQUAL(own->name, "megatrom");
    CU_ASSERT_STRING_EQUAL(own->spec, "mine.json");
    const RhStack *megatron = rh_stack_by_name("megatron", NULL);
    size_t count;
    const RhStackFact *facts = rh_stack_facts(&count);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(rh_stack_fact(own, &facts[i])->value,
                        rh_stack_fact(megatron, &facts[i])->value);
    CU_ASSERT_EQUAL(own->schedules, 1u << RH_PIPELINE_1F1B | 1u << RH_PIPELINE_INTERLEAVED);
    CU_ASSERT_EQUAL(own->zero_unstaged, 1u << 2 | 1u << 3);
    CU_ASSERT_EQUAL(own->gradient_bytes, 4);
    CU_ASSERT_TRUE(own->flash_attention && own->gradient_norm && !own->late_exchange);
}

/* The framework is that of the base, another, or with null nobody's. */
static void a_file_keeps_the_framework_of_its_base(void)
{
    static const struct {
        const char *words, *framework;
    } cases[] = {{"", "nemo"},
                 {", \"framework\": \"torchtitan\"", "torchtitan"},
                 {", \"framework\": null", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text =
            g_strdup_printf("{\"name\": \"mine\", \"derives\": \"megatron-bridge\", "
                            "\"about\": \"ours\"%s}",
                            cases[i].words);
        g_autofree RhStack *own = parsed(text, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(own);
        CU_ASSERT_EQUAL(g_strcmp0(own->framework, cases[i].framework), 0);
        CU_ASSERT_TRUE(own->fused_loss);
    }
    g_autofree RhStack *taken = parsed(
        "{\"name\": \"bare\", \"derives\": \"bare\", \"about\": \"its name is another's\"}", NULL);
    CU_ASSERT_PTR_NULL(taken);
}

int main(void)
{
    return rh_test_main(
        "stack_file",
        (RhTest[]){
            {"every_stack_says_what_it_is", every_stack_says_what_it_is},
            {"xla_holds_no_copies", xla_holds_no_copies},
            {"masters_may_be_all_that_is_shared_out", masters_may_be_all_that_is_shared_out},
            {"some_are_judged_as_another", some_are_judged_as_another},
            {"a_trainer_holds_the_same_at_any_rate", a_trainer_holds_the_same_at_any_rate},
            {"a_file_says_what_differs", a_file_says_what_differs},
            {"a_file_may_derive_from_none", a_file_may_derive_from_none},
            {"a_file_keeps_the_framework_of_its_base", a_file_keeps_the_framework_of_its_base},
            {"attention_is_the_stacks", attention_is_the_stacks},
            {0}});
}
