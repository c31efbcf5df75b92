#include "validate/suites/thresholds.h"

#include <math.h>
#include <string.h>

#define CONTROLS_LEAST       10 /* cases */
#define CONTROLS_GROUP_LEAST 5  /* with fewer, groups are too small for a comparison */

/* A threshold; 0: none. */
typedef struct {
    const char *group;
    double mape_frac, median_frac, worst_frac, spearman, regret_frac, start_frac;
} Bar;

static const Bar bars[] = {
    {"small collective", .mape_frac = 0.08},
    {"collective", .mape_frac = 0.08},
    {"pattern", .mape_frac = 0.08},
    {"iteration", .mape_frac = 0.06, .worst_frac = 0.15, .start_frac = 0.05},
    {"service", .mape_frac = 0.06, .worst_frac = 0.15, .start_frac = 0.05},
    {"fault", .mape_frac = 0.08},
    {"layout", .mape_frac = 0.08, .spearman = 0.95, .regret_frac = 0.03, .start_frac = 0.05},
    {"step", .median_frac = 0.04, .worst_frac = 0.10},
    {"gemm", .median_frac = 0.05},
    {"grouped gemm", .median_frac = 0.05},
    {"attention", .median_frac = 0.05},
    {"attention-backward", .median_frac = 0.05},
    {"norm", .median_frac = 0.05},
    {"rotary", .median_frac = 0.05},
    {"activation", .median_frac = 0.05},
    {"add", .median_frac = 0.05},
    {"embedding", .median_frac = 0.05},
    {"cross-entropy", .median_frac = 0.05},
    {"optimizer", .median_frac = 0.05},
    {"reduce", .median_frac = 0.05}};

static void at_most(RhValidation *v, const Bar *bar, const char *what, double value, double limit)
{
    if (limit > 0 && value > limit)
        g_ptr_array_add(v->missed, g_strdup_printf("%s: %s %.1f %%, at most %.0f %%", bar->group,
                                                   what, 100 * value, 100 * limit));
}

static void judge_threshold(RhValidation *v, const Bar *bar)
{
    RhValidationFigures f = rh_validation_figures(v, bar->group);
    if (f.count == 0)
        return;
    at_most(v, bar, "mean error", f.mape_frac, bar->mape_frac);
    at_most(v, bar, "median error", f.median_abs_error_frac, bar->median_frac);
    at_most(v, bar, "worst error", f.worst_abs_error_frac, bar->worst_frac);
    at_most(v, bar, "regret", f.regret_frac, bar->regret_frac);
    at_most(v, bar, "starts of tasks off by", f.start_error_frac, bar->start_frac);
    if (bar->spearman > 0 && f.count >= 10 && !(f.spearman >= bar->spearman))
        g_ptr_array_add(v->missed, g_strdup_printf("%s: rank correlation %.3f, at least %.2f",
                                                   bar->group, f.spearman, bar->spearman));
}

/* Compares with simpler predictors in a group of cases (NULL: the whole table). If one does as well
 * over the whole table, a threshold is missed; for a group it is only noted. */
static void judge_controls(RhValidation *v, const char *group, int32_t least)
{
    GPtrArray *texts = group ? v->notes : v->missed;
    RhValidationFigures f = rh_validation_figures(v, group);
    for (int k = 0; f.count >= least && k < RH_CONTROL_LAST; k++)
        if (f.control_mape_frac[k] <= f.mape_frac)
            g_ptr_array_add(texts,
                            g_strdup_printf("%s%s%s does as well: mean error %.1f %%, ours %.1f %%",
                                            group ? group : "", group ? ": " : "",
                                            rh_control_name((RhControl)k),
                                            100 * f.control_mape_frac[k], 100 * f.mape_frac));
}

void rh_thresholds_judge(RhValidation *v)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bars); i++)
        judge_threshold(v, &bars[i]);
    judge_controls(v, NULL, CONTROLS_LEAST);
    g_autofree const char **groups = rh_validation_groups(v);
    /* a single group is the whole table */
    for (int i = 0; groups[0] && groups[1] && groups[i]; i++)
        judge_controls(v, groups[i], CONTROLS_GROUP_LEAST);
    for (guint i = 0; i < v->cases->len; i++) {
        const RhValidationCase *c = &g_array_index(v->cases, RhValidationCase, i);
        if (c->skipped)
            g_ptr_array_add(v->missed, g_strdup_printf("%s: %s", c->id, c->skipped));
    }
}
