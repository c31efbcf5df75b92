/* Pairs of sequences: a reference runs every forward once more and its weights lie beside the
 * model's; beside adapters it is the frozen base; a reward model has a score for a vocabulary. */
#include <gsl/gsl_rng.h>
#include <math.h>

#include "sim/memory_ledger.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/train_kit.h"

#define DRAWS 40

static TrainKit kit_of(const char *stack, RhPreference preference)
{
    TrainKit k = train_kit("llama-3.2-1b", "dgx-h100:1", stack, 64, 4096);
    k.c.job.preference = preference;
    g_assert(rh_preference_halve(&k.c.job.documents, k.c.job.sequence, NULL));
    rh_documents_settle(&k.c.job.documents, k.c.job.sequence, 1);
    if (preference == RH_PREFERENCE_REWARD)
        g_assert(rh_model_score(k.model, NULL));
    return k;
}

static void closed_forms_are_the_ledgers_peaks(void)
{
    static const char *const stacks[] = {"megatron", "torchtitan", "deepspeed"};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 39);
    for (size_t s = 0; s < G_N_ELEMENTS(stacks); s++)
        for (int p = RH_PREFERENCE_DPO; p < RH_PREFERENCE_LAST; p++) {
            g_auto(TrainKit) k = kit_of(stacks[s], (RhPreference)p);
            g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
            CU_ASSERT_TRUE_FATAL(space->len > 0);
            for (int i = 0; i < DRAWS; i++) {
                RhLayout l = g_array_index(space, RhLayout, gsl_rng_uniform_int(rng, space->len));
                g_autoptr(GError) error = NULL;
                g_autoptr(RhProgram) program = rh_train_build(&k.c, &l, &error);
                CU_ASSERT_PTR_NOT_NULL_FATAL(program);
                RhTrainMemory m = rh_train_memory(&k.c, &l), within;
                RH_CHECK_CLOSE(rh_ledger_walk(program, m.stage, RH_MEMORY_TIER_HBM).peak_bytes,
                               m.peak_bytes, 1e-9);
                g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
                CU_ASSERT_TRUE(rh_bound_memory_within(cache, &l, m.peak_bytes, &within));
            }
        }
    gsl_rng_free(rng);
}

static double step_s(RhPreference preference, bool forward_only, const char *layout)
{
    g_auto(TrainKit) k = kit_of("bare", preference);
    RhLayout l = train_layout(&k, layout);
    k.c.job.forward_only = forward_only;
    return train_step_s(&k.c, &l, false);
}

/* Gathers of weights run beside kernels: two forwards hide them as one does, all but the first. */
static void a_reference_takes_a_forward_more(void)
{
    static const struct {
        const char *layout;
        double apart;
    } rows[] = {{"dp8,zero0,mb1", 0.01}, {"tp4,mb2,zero0", 0.01}, {"dp8,zero3,mb1", 0.02}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        double without = step_s(RH_PREFERENCE_FREE, false, rows[i].layout);
        double forward = step_s(RH_PREFERENCE_FREE, true, rows[i].layout);
        RH_CHECK_CLOSE(step_s(RH_PREFERENCE_DPO, false, rows[i].layout), without + forward,
                       rows[i].apart);
    }
}

static double weight_bytes(RhPreference preference, int32_t rank, const char *layout)
{
    g_auto(TrainKit) k = kit_of("bare", preference);
    k.c.job.lora.rank = rank;
    RhLayout l = train_layout(&k, layout);
    return rh_train_memory(&k.c, &l).at_peak_bytes[RH_MEMORY_WEIGHTS];
}

static void its_weights_lie_beside_the_models(void)
{
    static const char *const layouts[] = {"dp8,zero0,mb1", "tp8,mb1,zero1", "dp8,zero3,mb1"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        double own = weight_bytes(RH_PREFERENCE_FREE, 0, layouts[i]);
        RH_CHECK_CLOSE(weight_bytes(RH_PREFERENCE_DPO, 0, layouts[i]), 2 * own, 1e-9);
        RH_CHECK_CLOSE(weight_bytes(RH_PREFERENCE_DPO, 16, layouts[i]),
                       weight_bytes(RH_PREFERENCE_FREE, 16, layouts[i]), 1e-9);
    }
}

/* Source: RLHFlow/ArmoRM-Llama3-8B's kind of model, AutoModelForSequenceClassification with one
 * label: Llama-3.2-1B's 1,235,814,400 parameters, whose table is tied, and 2,048 of the score. */
static void a_score_stands_for_the_vocabulary(void)
{
    g_auto(TrainKit) k = kit_of("bare", RH_PREFERENCE_REWARD);
    CU_ASSERT_EQUAL(rh_model_params(k.model), INT64_C(1235814400) + 2048);
    RhLayout l = train_layout(&k, "dp8,zero0,mb1");
    CU_ASSERT_EQUAL(rh_train_memory(&k.c, &l).at_peak_bytes[RH_MEMORY_LOGITS], 0);
    CU_ASSERT_FALSE(rh_model_score(k.model, NULL));
}

static void what_cannot_be_said_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    RhDocuments documents = {0};
    CU_ASSERT_FALSE(rh_preference_halve(&documents, 4097, &error));
    g_clear_error(&error);
    g_assert(rh_preference_halve(&documents, 4096, NULL));
    CU_ASSERT_FALSE(rh_preference_halve(&documents, 4096, &error));
    RhPreference preference = RH_PREFERENCE_NONE;
    CU_ASSERT_FALSE(rh_preference_by_name("none", &preference));
    g_auto(TrainKit) k = kit_of("bare", RH_PREFERENCE_DPO);
    RhLayout l = train_layout(&k, "dp8,zero3,mb1");
    l.weights = RH_PLACE_HOST;
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, NULL));
}

int main(void)
{
    return rh_test_main(
        "preference_training",
        (RhTest[]){{"closed_forms_are_the_ledgers_peaks", closed_forms_are_the_ledgers_peaks},
                   {"a_reference_takes_a_forward_more", a_reference_takes_a_forward_more},
                   {"its_weights_lie_beside_the_models", its_weights_lie_beside_the_models},
                   {"a_score_stands_for_the_vocabulary", a_score_stands_for_the_vocabulary},
                   {"what_cannot_be_said_is_refused", what_cannot_be_said_is_refused},
                   {0}});
}
