/* Regret of plans: no layout out of the whole space of the stack's framework, drawn at random or
 * one and two changes away, is quicker than the first row and fits as surely
 * (validate/plan_regret_search.h). */
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"
#include "validate/plan_regret_search.h"

#define GAP_FRAC 0.01

typedef struct {
    const char *model, *platform, *stack;
    int64_t batch, sequence;
} Question;

/* Knobs that plan does not search unless asked (docs/theory/search.md). */
static const char *const untried[] = {"activations=", NULL};

static RhPlan *plan_of(const TrainKit *k, const RhConstraint *constraint)
{
    RhPlanOptions o = {.gap_frac = GAP_FRAC, .best_alone = true, .constraints = constraint};
    o.constraints_count = constraint != NULL;
    g_autoptr(GError) error = NULL;
    RhPlan *plan = rh_plan(&k->c, &o, &error);
    g_assert_no_error(error);
    g_assert(plan->entries->len > 0);
    return plan;
}

static void search_all(RhRegret *r, int32_t drawn)
{
    rh_regret_search_around(r);
    rh_regret_search_around(r);
    rh_regret_search_drawn(r, drawn, 7);
    rh_regret_judge(r);
}

static void check_question(const Question *q)
{
    g_auto(TrainKit) k = train_kit(q->model, q->platform, q->stack, q->batch, q->sequence);
    g_autoptr(RhPlan) plan = plan_of(&k, NULL);
    g_auto(RhRegret) r = rh_regret_new(&k.c, plan, GAP_FRAC);
    r.untaken = untried;
    search_all(&r, RH_TRIES(200, 20));
    CU_ASSERT_TRUE(r.layouts->len > 50 && r.fit_count > 20);
    CU_ASSERT_TRUE(rh_regret_behind_frac(&r) <= 0);
    if (rh_regret_behind_frac(&r) > 0) {
        g_autofree char *row = rh_layout_format(&r.row);
        g_autofree char *best = rh_layout_format(&r.best);
        printf("%s on %s, %s: %.4g s by %s\n  beats %.4g s by %s\n", q->model, q->platform,
               q->stack, r.best_s, best, r.row_s, row);
    }
}

static void nothing_beats_the_first_row(void)
{
    static const Question questions[] = {{"llama-3.1-8b", "dgx-h100:1", "megatron", 64, 8192},
                                         {"llama-2-13b", "dgx-a100:1", "torchtitan", 32, 4096},
                                         {"qwen3-30b-a3b", "dgx-h100:2", "megatron", 64, 4096},
                                         {"gpt-7.5b", "selene:2", "megatron-2021", 64, 2048},
                                         {"llama-3.1-8b", "dgx-h100:2", "llama3", 32, 32768}};
    for (size_t i = 0; i < RH_TRIES(G_N_ELEMENTS(questions), 1); i++)
        check_question(&questions[i]);
}

/* Layouts that the plan was not allowed to propose are found by the kit: the test can fail. */
static void what_a_plan_leaves_out_is_found(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 64, 8192);
    RhConstraint eight;
    CU_ASSERT_TRUE(rh_constraint_parse("tp=8", false, &eight, NULL));
    g_autoptr(RhPlan) plan = plan_of(&k, &eight);
    g_auto(RhRegret) r = rh_regret_new(&k.c, plan, GAP_FRAC);
    search_all(&r, 0);
    CU_ASSERT_TRUE(rh_regret_behind_frac(&r) > 0.02);
    CU_ASSERT_TRUE(r.best.tp < 8);
    RhTrainMemory memory = rh_train_memory(&k.c, &r.best);
    CU_ASSERT_TRUE(memory.peak_bytes <= plan->ranked_bytes);
}

/* Every value is legal text of its knob, and those of the search's space are among them. */
static void values_are_of_their_knobs(void)
{
    g_auto(TrainKit) k = train_kit("qwen3-30b-a3b", "dgx-h100:1", "megatron", 64, 4096);
    RhRegret r = {.c = &k.c};
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autoptr(GPtrArray) values = rh_regret_values(&r, knob);
        CU_ASSERT_TRUE(values->len > 1 || knob == RH_KNOB_OF(dp));
        for (guint i = 0; i < values->len; i++) {
            RhLayout l = rh_train_default(&k.c);
            CU_ASSERT_TRUE(rh_layout_parse(values->pdata[i], &l, NULL));
        }
    }
}

int main(void)
{
    return rh_test_main(
        "regret", (RhTest[]){{"nothing_beats_the_first_row", nothing_beats_the_first_row},
                             {"what_a_plan_leaves_out_is_found", what_a_plan_leaves_out_is_found},
                             {"values_are_of_their_knobs", values_are_of_their_knobs},
                             {0}});
}
