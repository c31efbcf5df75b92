/* Launches: of layouts that a framework's rules let through, every knob is said. */
#include <string.h>

#include "base/error.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define DRAWN 150

static int32_t one_of(GRand *dice, const int32_t *values, int32_t count)
{
    return values[g_rand_int_range(dice, 0, count)];
}

static bool rarely(GRand *dice)
{
    return g_rand_int_range(dice, 0, 4) == 0;
}

static void draw_rest(GRand *dice, RhLayout *l)
{
    static const int32_t batches[] = {1, 1, 2, 4}, shares[] = {2, 4, 8}, some[] = {1, 2, 5};
#define ONE_OF(values) one_of(dice, values, G_N_ELEMENTS(values))
    l->microbatch = ONE_OF(batches);
    l->zero = g_rand_int_range(dice, 0, 4);
    l->shard = rarely(dice) ? ONE_OF(shares) : 0;
    l->outer = l->shard > 0 && g_rand_boolean(dice);
    l->hpz = rarely(dice) ? ONE_OF(shares) : 0;
    l->recompute = rarely(dice) ? RH_RECOMPUTE_FULL
                   : rarely(dice)
                       ? (RhRecompute)(RH_RECOMPUTE_NORM | (rarely(dice) ? RH_RECOMPUTE_CORE : 0))
                       : RH_RECOMPUTE_NONE;
    l->offload = rarely(dice) && l->recompute == RH_RECOMPUTE_NONE ? 25 : 0;
    if (l->microbatch == 4) { /* no draw more */
        l->states = l->hpz == 4 ? RH_PLACE_NVME : RH_PLACE_HOST;
        l->states_percent = l->recompute == RH_RECOMPUTE_FULL ? 50 : 100;
        l->weights = l->zero == 3 && l->hpz == 0 && l->states_percent == 100 ? RH_PLACE_HOST
                                                                             : RH_PLACE_DEVICE;
    }
    if (rarely(dice) && l->recompute != RH_RECOMPUTE_NONE) {
        l->recomputed_layers_count = 1;
        l->recomputed_layers[0] = (int16_t)ONE_OF(some);
    }
}

static RhLayout drawn_layout(GRand *dice, const RhProblem *c)
{
    static const int32_t degrees[] = {1, 1, 2, 4, 8}, chunks[] = {2, 4, 5, 8};
    bool mixture = c->model->kinds[c->model->kinds_count - 1].experts > 0, alone = rarely(dice);
    RhLayout l = rh_train_default(c);
    if (!alone) {
        l.tp = ONE_OF(degrees);
        l.pp = rarely(dice) ? ONE_OF(degrees) : 1;
        l.cp = rarely(dice) ? ONE_OF(degrees) : 1;
        l.ulysses = rarely(dice) ? l.cp : 1;
        l.kv = (RhContextKind)(l.cp > 1 && g_rand_boolean(dice));
        l.vpp = l.pp > 1 && g_rand_boolean(dice) ? ONE_OF(chunks) : 1;
    }
    l.ep = mixture ? ONE_OF(degrees) : 1;
    l.etp = mixture && l.tp > 1 && g_rand_boolean(dice);
    l.dispatch = (RhDispatch)(mixture && rarely(dice));
    l.overlap = mixture && rarely(dice) ? RH_OVERLAP_PAIRS : RH_OVERLAP_NONE;
    l.schedule = l.vpp > 1      ? RH_PIPELINE_INTERLEAVED
                 : rarely(dice) ? (RhPipelineKind)g_rand_int_range(dice, 1, RH_PIPELINE_LAST)
                                : RH_PIPELINE_1F1B;
    l.sequence_parallel = !rarely(dice);
    l.tensor_overlap = l.tp > 1 && rarely(dice);
    l.order = rarely(dice) ? RH_ORDER_TP_PP_DP : RH_ORDER_TP_DP_PP;
    draw_rest(dice, &l);
    return rh_train_canonical(c, &l);
}

static bool runs(const TrainKit *k, const RhFrameworkRules *rules, const RhLayout *l)
{
    return rh_train_legal(&k->c, l, NULL) && !rh_framework_refusal(rules, &k->c, l);
}

static char *text_of(const RhLaunch *launch)
{
    return g_strconcat(launch->environment, "\n", launch->files, "\n", launch->program, " ",
                       launch->flags, NULL);
}

/* Checks that the knob changes the script, or the layout in effect, from that of its default. */
static void check_knob(const TrainKit *k, const char *framework, const RhFrameworkRules *rules,
                       const RhLayout *l, const char *text, const RhKnob *knob)
{
    RhLayout usual = rh_train_default(&k->c), other = *l;
    if (knob->degree || rh_knob_value(knob, l) == rh_knob_value(knob, &usual))
        return;
    if (knob->list)
        other.recomputed_layers_count = 0;
    else
        rh_knob_store(knob, &other, rh_knob_value(knob, &usual));
    other = rh_train_canonical(&k->c, &other);
    if (rh_knob_value(knob, &other) == rh_knob_value(knob, l) || !runs(k, rules, &other))
        return;
    g_autoptr(RhLaunch) launch = rh_launch_new(framework, &k->c, &other, NULL);
    g_autofree char *without = launch ? text_of(launch) : NULL;
    if (without && strcmp(without, text) == 0) {
        g_autofree char *layout = rh_layout_format(l);
        fprintf(stderr, "%s %s %s: %s is not said\n", framework, k->model->name, layout, knob->key);
    }
    CU_ASSERT_TRUE(without == NULL || strcmp(without, text) != 0);
}

/* Checks a refusal: what the framework cannot express is a rule of its own, so that no plan
 * proposes it; other errors come with help. */
static void check_refusal(const char *framework, const TrainKit *k, const RhLayout *l,
                          const GError *error)
{
    bool unsaid = false;
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *words = g_strdup_printf(" has no %s=", knob->key);
        unsaid |= strstr(error->message, words) != NULL;
    }
    if (unsaid) {
        g_autofree char *layout = rh_layout_format(l);
        fprintf(stderr, "%s %s %s: %s\n", framework, k->model->name, layout, error->message);
    }
    CU_ASSERT_FALSE(unsaid);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
}

static void check_framework(const char *framework, const char *stack)
{
    static const char *const models[] = {"llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b",
                                         "qwen3-30b-a3b"};
    g_autoptr(GRand) dice = g_rand_new_with_seed(3);
    const RhFrameworkRules *rules = rh_framework_rules(framework, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rules);
    int all = 0;
    for (size_t m = 0; m < G_N_ELEMENTS(models); m++) {
        g_auto(TrainKit) k = train_kit(models[m], "dgx-h100:8", stack, 256, 8192);
        k.c.job.lora.rank = strcmp(framework, "peft") == 0 ? 16 : 0;
        int launched = 0;
        for (int tries = 0; launched < DRAWN && tries < 20000; tries++) {
            RhLayout l = drawn_layout(dice, &k.c);
            g_autoptr(GError) error = NULL;
            if (!runs(&k, rules, &l))
                continue;
            g_autoptr(RhLaunch) launch = rh_launch_new(framework, &k.c, &l, &error);
            launched += launch != NULL;
            if (!launch)
                check_refusal(framework, &k, &l, error);
            g_autofree char *text = launch ? text_of(launch) : NULL;
            for (const RhKnob *knob = rh_knobs; launch && knob->key; knob++)
                check_knob(&k, framework, rules, &l, text, knob);
        }
        all += launched;
    }
    CU_ASSERT_TRUE(all >= 2 * DRAWN);
}

static void what_rules_let_through_is_said(void)
{
    static const char *const of[][2] = {{"megatron", "megatron"},
                                        {"nemo", "megatron-bridge"},
                                        {"torchtitan", "torchtitan"},
                                        {"deepspeed", "deepspeed"},
                                        {"peft", "peft"},
                                        {"maxtext", "maxtext"}};
    for (size_t i = 0; i < G_N_ELEMENTS(of); i++)
        check_framework(of[i][0], of[i][1]);
}

int main(void)
{
    return rh_test_main(
        "launch_knobs",
        (RhTest[]){{"what_rules_let_through_is_said", what_rules_let_through_is_said}, {0}});
}
