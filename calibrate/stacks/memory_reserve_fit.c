#include "calibrate/stacks/memory_reserve_fit.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#define RESERVE_MOST  32e9
#define RESERVE_STEP  0.25e9
#define SPREAD_LEAST  0.02
#define SPREAD_MOST   1.0
#define SPREAD_STEPS  40
#define ODDS_LEAST    1e-9 /* no run is impossible */
#define LIKELIHOOD_95 1.92 /* chi-square of one degree of freedom, halved */

typedef struct {
    double peak_bytes; /* without reserve */
    double capacity_bytes;
    bool failed;
} Run;

static bool has_both(const RhMeasuredSteps *steps, const char *source)
{
    bool ran = false, failed = false;
    for (guint i = 0; i < steps->rows->len; i++) {
        const RhMeasuredStep *s = &g_array_index(steps->rows, RhMeasuredStep, i);
        if (s->source != source || *s->apart)
            continue;
        ran |= !s->out_of_memory;
        failed |= s->out_of_memory;
    }
    return ran && failed;
}

static GArray *runs_of(const RhStepModel *model)
{
    GArray *runs = g_array_new(FALSE, FALSE, sizeof(Run));
    for (guint i = 0; i < model->steps->rows->len; i++) {
        const RhMeasuredStep *s = &g_array_index(model->steps->rows, RhMeasuredStep, i);
        if (*s->apart || !has_both(model->steps, s->source))
            continue;
        Run run = {rh_step_model_peak_bytes(model, s) - model->stack.reserve_bytes.value,
                   s->platform->device->hbm_bytes.value, s->out_of_memory};
        g_array_append_val(runs, run);
    }
    return runs;
}

/* -log likelihood with the best spread. */
static double misfit(const GArray *runs, double reserve_bytes, double *spread_frac)
{
    double least = HUGE_VAL;
    for (int k = 0; k <= SPREAD_STEPS; k++) {
        double spread = SPREAD_LEAST * pow(SPREAD_MOST / SPREAD_LEAST, (double)k / SPREAD_STEPS);
        double sum = 0;
        for (guint i = 0; i < runs->len; i++) {
            const Run *r = &g_array_index(runs, Run, i);
            double z = log((r->peak_bytes + reserve_bytes) / r->capacity_bytes) / spread;
            double odds = gsl_cdf_ugaussian_P(r->failed ? z : -z);
            sum -= log(fmax(odds, ODDS_LEAST));
        }
        if (sum < least) {
            least = sum;
            *spread_frac = spread;
        }
    }
    return least;
}

static void count_verdicts(const GArray *runs, double reserve_bytes, int32_t *caught,
                           int32_t *refused)
{
    for (guint i = 0; i < runs->len; i++) {
        const Run *r = &g_array_index(runs, Run, i);
        bool over = r->peak_bytes + reserve_bytes > r->capacity_bytes;
        *caught += over && r->failed;
        *refused += over && !r->failed;
    }
}

void rh_steps_reserve(const RhStepModel *model, RhStepReserve *out)
{
    *out = (RhStepReserve){0};
    g_autoptr(GArray) runs = runs_of(model);
    int32_t steps = (int32_t)(RESERVE_MOST / RESERVE_STEP);
    g_autofree double *misfits = g_new(double, steps + 1);
    double least = HUGE_VAL, spread = 0;
    for (guint i = 0; i < runs->len; i++) {
        bool failed = g_array_index(runs, Run, i).failed;
        out->failed_count += failed;
        out->ran_count += !failed;
    }
    if (runs->len == 0)
        return;
    for (int32_t k = 0; k <= steps; k++) {
        if (rh_deadline_passed(model->deadline))
            return;
        misfits[k] = misfit(runs, k * RESERVE_STEP, &spread);
        if (misfits[k] < least) {
            least = misfits[k];
            out->reserve_bytes = k * RESERVE_STEP;
            out->spread_frac = spread;
        }
    }
    out->low_bytes = RESERVE_MOST;
    for (int32_t k = 0; k <= steps; k++)
        if (misfits[k] <= least + LIKELIHOOD_95) {
            out->low_bytes = fmin(out->low_bytes, k * RESERVE_STEP);
            out->high_bytes = k * RESERVE_STEP;
        }
    out->on_bound = out->reserve_bytes <= 0 || out->reserve_bytes >= RESERVE_MOST;
    count_verdicts(runs, model->stack.reserve_bytes.value, &out->caught_before,
                   &out->refused_before);
    count_verdicts(runs, out->reserve_bytes, &out->caught_fitted, &out->refused_fitted);
}
