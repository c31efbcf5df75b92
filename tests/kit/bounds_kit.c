#include "tests/kit/bounds_kit.h"

RhRun *bounds_rehearse(const RhProgram *p, const RhPlatform *platform, double patience_s)
{
    g_autoptr(GError) error = NULL;
    RhEngineOptions options = {.timeout_s = patience_s};
    gint64 begin_us = g_get_monotonic_time();
    RhRun *run = rh_rehearse_isolated(p, platform, &options, &error);
    bool late = (double)(g_get_monotonic_time() - begin_us) / 1e6 >= patience_s;
    if (!late || !g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
        g_assert_no_error(error);
    return run;
}

/* NaN: left out. */
static double bounds_rehearsed_s(const RhProblem *c, const RhLayout *l, double patience_s)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) p = rh_train_build(c, l, &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(rh_train_tasks(c, l), p->tasks->len);
    g_autoptr(RhRun) run = bounds_rehearse(p, c->platform, patience_s);
    return run ? run->step_time_s : (double)NAN;
}

bool bounds_rehearsed(BoundsRatio ratio)
{
    return !isnan(ratio.segment);
}

BoundsRatio bounds_check_within(const RhProblem *c, const char *question, const RhLayout *l,
                                double patience_s)
{
    g_autoptr(RhBoundCache) cache = rh_bound_new(c), fresh = rh_bound_new(c);
    double closed = rh_closed_form_s(cache, l), segment = rh_segment_graph_s(cache, l);
    CU_ASSERT_EQUAL(rh_segment_graph_s(fresh, l), segment); /* whatever was asked for before */
    CU_ASSERT_TRUE(rh_bound_graph_s(fresh, l) <= segment * (1 + BOUNDS_TOLERANCE));
    double real = bounds_rehearsed_s(c, l, patience_s);
    if (isnan(real))
        return (BoundsRatio){real, real};
    bool holds =
        closed <= segment * (1 + BOUNDS_TOLERANCE) && segment <= real * (1 + BOUNDS_TOLERANCE);
    CU_ASSERT_TRUE(holds);
    if (!holds) {
        g_autofree char *text = rh_layout_format(l);
        g_printerr("  %s %s: closed form %.9g, segment graph %.9g, rehearsed %.9g\n", question,
                   text, closed, segment, real);
    }
    return (BoundsRatio){closed / real, segment / real};
}

BoundsRatio bounds_check(const RhProblem *c, const char *question, const RhLayout *l)
{
    return bounds_check_within(c, question, l, BOUNDS_PATIENCE_S);
}

bool bounds_check_tight(const RhProblem *c, const char *question, const RhLayout *l,
                        BoundsRatio least)
{
    BoundsRatio ratio = bounds_check(c, question, l);
    bool tight = ratio.closed > least.closed && ratio.segment > least.segment;
    CU_ASSERT_TRUE(!bounds_rehearsed(ratio) || tight);
    if (!tight) {
        g_autofree char *text = rh_layout_format(l);
        g_printerr("  %s %s: closed form %.4f, segment graph %.4f of the rehearsal\n", question,
                   text, ratio.closed, ratio.segment);
    }
    return bounds_rehearsed(ratio);
}

BoundsRatio bounds_check_surely(const RhProblem *c, const char *question, const RhLayout *l)
{
    return bounds_check_within(c, question, l, 20 * BOUNDS_PATIENCE_S);
}

void bounds_check_some(int32_t rehearsed)
{
    CU_ASSERT_TRUE(rehearsed > 0);
}
