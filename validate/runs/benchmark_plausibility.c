#include "validate/runs/benchmark_plausibility.h"

#include <math.h>

#include "validate/runs/finding_texts.h"

/* Factor by which tokens per second and requests per second may differ from each other: runs that
 * were cut off count one of them to the end. Assumed. */
#define RATES_DIFFER 1.5

static void find_order(const RhServiceResultFile *f, int median, int last, GPtrArray *out)
{
    double middle = f->measured[median], high = f->measured[last];
    if (middle > 0 && high > 0 && high < middle)
        rh_finding_add(
            out, "%s of %.4g s is less than %s of %.4g s: the file's figures are not of one run",
            rh_service_figure_name(last), high, rh_service_figure_name(median), middle);
}

static void find_rates(const RhServiceResultFile *f, GPtrArray *out)
{
    double tokens = f->measured[RH_RESULT_TOKENS_PER_S],
           requests = f->measured[RH_RESULT_REQUESTS_PER_S] * f->output_tokens;
    if (tokens > 0 && requests > 0 &&
        (tokens > RATES_DIFFER * requests || requests > RATES_DIFFER * tokens))
        rh_finding_add(
            out,
            "%.4g output tokens/s are not %.4g requests/s of %.4g tokens: the file's figures are "
            "not of one run",
            tokens, f->measured[RH_RESULT_REQUESTS_PER_S], f->output_tokens);
}

static void find_speed(const RhServiceResultFile *f, const RhModel *model, const RhRecipe *recipe,
                       const RhDevice *device, int32_t gpus, GPtrArray *out)
{
    double peak = device->peak_flops_per_s[recipe->linear].value;
    double most = gpus * peak / rh_model_forward_flops_per_token(model, 1);
    if (peak > 0 && f->measured[RH_RESULT_TOKENS_PER_S] > most)
        rh_finding_add(
            out,
            "%.4g output tokens/s cannot be: the products of a token of %s allow %.4g at the data "
            "sheet's rate of %d %s: another model, other GPUs, or more of them",
            f->measured[RH_RESULT_TOKENS_PER_S], model->name, most, gpus, device->name);
}

GPtrArray *rh_service_findings(const RhServiceResultFile *f, const RhModel *model,
                               const RhRecipe *recipe, const RhDevice *device, int32_t gpus)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    find_order(f, RH_RESULT_TTFT_P50, RH_RESULT_TTFT_P99, out);
    find_order(f, RH_RESULT_TPOT_P50, RH_RESULT_TPOT_P99, out);
    find_rates(f, out);
    find_speed(f, model, recipe, device, gpus, out);
    return out;
}
