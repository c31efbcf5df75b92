/* Error bars of services: those of similar measured ones, else the widest of their kind of
 * model. */
#include <math.h>
#include <string.h>

#include "strategies/search/services/serve_error_bars.h"
#include "tests/kit/serve_kit.h"

static RhSloAllowance allowed(const char *model, const char *platform, const char *deployment)
{
    Setting s = setting_of(model, platform, deployment);
    RhSloAllowance allowance = rh_served_allowance(&s.serving, &s.deployment);
    close_setting(&s);
    return allowance;
}

/* Returns the widest bar of the kind in each time, and the least, for one pool whose cache is not
 * full. */
static RhServedBar widest_of(const char *kind, RhServedBar *least)
{
    const GArray *bars = rh_record_shipped()->serving.bars;
    RhServedBar widest = {0};
    *least = (RhServedBar){.ttft_frac = HUGE_VAL, .tpot_frac = HUGE_VAL};
    for (guint i = 0; i < bars->len; i++) {
        const RhServedBar *bar = &g_array_index(bars, RhServedBar, i);
        if ((bar->kind && (strcmp(bar->kind, kind) != 0 || !bar->known)) || bar->apart ||
            bar->starved)
            continue;
        widest.ttft_frac = fmax(widest.ttft_frac, bar->ttft_frac);
        widest.tpot_frac = fmax(widest.tpot_frac, bar->tpot_frac);
        least->ttft_frac = fmin(least->ttft_frac, bar->ttft_frac);
        least->tpot_frac = fmin(least->tpot_frac, bar->tpot_frac);
    }
    return widest;
}

static void where_nothing_alike_was_measured_the_widest_of_the_kind_counts(void)
{
    static const struct {
        const char *model, *platform, *deployment, *kind;
    } rows[] = {{"llama-3.1-8b", "mi300x:1x1", "server=trtllm,tp1", "dense"},
                {"llama-3.1-8b", "dgx-h100:1", "server=orca,tp1", "dense"},
                {"llama-3.1-8b", "dgx-h100:1", "server=vllm,tp1/tp1", "dense"}}; /* two pools */
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhServedBar least, widest = widest_of(rows[i].kind, &least);
        RhSloAllowance a = allowed(rows[i].model, rows[i].platform, rows[i].deployment);
        CU_ASSERT_STRING_EQUAL(a.widest_of ? a.widest_of : "", rows[i].kind);
        CU_ASSERT_EQUAL(a.ttft_frac, widest.ttft_frac);
        CU_ASSERT_EQUAL(a.tpot_frac, widest.tpot_frac);
        CU_ASSERT_TRUE(a.ttft_frac > least.ttft_frac && a.tpot_frac >= least.tpot_frac);
        CU_ASSERT_TRUE(rh_slo_allows(&a));
    }
}

/* No service was measured on these devices with this engine, but on others: bars are of pairs of a
 * model and a GPU that were not seen. Experts without a table have the wider bar of first tokens. */
static void devices_that_were_not_measured_have_the_bar_of_new_pairs(void)
{
    RhSloAllowance dense = allowed("llama-3.1-8b", "dgx-a100:1", "server=vllm,tp1");
    RhSloAllowance mixture = allowed("mixtral-8x7b", "dgx-a100:1", "server=vllm,tp2");
    CU_ASSERT_PTR_NULL(dense.widest_of);
    CU_ASSERT_PTR_NULL(mixture.widest_of);
    CU_ASSERT_TRUE(dense.ttft_frac > 0 && mixture.ttft_frac > dense.ttft_frac);
    CU_ASSERT_TRUE(dense.tpot_frac > 0 && mixture.tpot_frac > 0);
    CU_ASSERT_NOT_EQUAL(mixture.tpot_frac, dense.tpot_frac); /* whichever is wider */
}

static void where_something_alike_was_measured_its_own_bar_counts(void)
{
    RhServedBar least, widest = widest_of("dense", &least);
    RhSloAllowance a = allowed("llama-3.1-8b", "dgx-h100:1", "server=vllm,tp1");
    CU_ASSERT_PTR_NULL(a.widest_of);
    CU_ASSERT_TRUE(a.ttft_frac > 0 && a.ttft_frac < widest.ttft_frac);
    CU_ASSERT_TRUE(a.tpot_frac > 0 && a.tpot_frac <= widest.tpot_frac);
}

/* Models that make no tokens have no bar, because no services of them were published. */
static void models_that_make_no_tokens_are_allowed_nothing(void)
{
    RhSloAllowance a = allowed("bert-large", "dgx-a100:1", "server=triton,tp1");
    CU_ASSERT_FALSE(rh_slo_allows(&a));
    CU_ASSERT_PTR_NULL(a.widest_of);
}

int main(void)
{
    static const RhTest tests[] = {
        {"where nothing alike was measured the widest of the kind counts",
         where_nothing_alike_was_measured_the_widest_of_the_kind_counts},
        {"where something alike was measured its own bar counts",
         where_something_alike_was_measured_its_own_bar_counts},
        {"devices that were not measured have the bar of new pairs",
         devices_that_were_not_measured_have_the_bar_of_new_pairs},
        {"models that make no tokens are allowed nothing",
         models_that_make_no_tokens_are_allowed_nothing},
        {NULL, NULL},
    };
    return rh_test_main("serve_error_bars", tests);
}
