#include "strategies/search/services/serve_error_bars.h"

#include "accuracy/cross_validation_errors.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/search/services/serve_extrapolated_share.h"

/* Key of a service with what its kernels rest on. Only experts may lack a table. */
static RhEvidenceKey key_of(const RhServing *serving, const RhDeployment *deployment,
                            char **why_not)
{
    RhEvidenceKey like = rh_evidence_key_of_service(serving, deployment, why_not);
    g_autoptr(RhIterations) it =
        like.generation && rh_model_experts_kind(serving->model)
            ? rh_iterations_new(serving, &deployment->pools[deployment->pools_count - 1], NULL)
            : NULL;
    like.experts_untabled = it && rh_served_untabled_frac(it) > RH_UNTABLED_FRAC;
    return like;
}

RhServeErrorBars rh_serve_error_bars(const RhServing *serving, const RhDeployment *deployment,
                                     int64_t put_out)
{
    RhServeErrorBars trust = {0};
    RhEvidenceKey like = key_of(serving, deployment, &trust.why_not);
    like.starved = put_out > 0;
    trust.bar = rh_record_served(rh_record_shipped(), &like);
    if (trust.bar || trust.why_not)
        return trust;
    trust.why_not =
        put_out > 0 ? g_strdup_printf("the cache was full: %" G_GINT64_FORMAT
                                      " time%s a request was put out",
                                      put_out, put_out == 1 ? "" : "s")
        : !g_ptr_array_find(rh_record_shipped()->serving.schedulers, like.stack, NULL)
            ? g_strdup_printf("no service with the scheduler %s was measured", like.stack)
            : g_strdup_printf("fewer than %d pairs of a model and a GPU like it were measured (%s "
                              "models%s)",
                              RH_GROUPS_LEAST, like.kind, like.apart ? ", two pools" : "");
    return trust;
}

void rh_serve_error_bars_clear(RhServeErrorBars *trust)
{
    g_free(trust->why_not);
    *trust = (RhServeErrorBars){0};
}

RhSloAllowance rh_served_allowance(const RhServing *serving, const RhDeployment *deployment)
{
    RhEvidenceKey like = key_of(serving, deployment, NULL);
    const RhServedBar *bar = rh_record_served(rh_record_shipped(), &like);
    RhSloAllowance widest = {.widest_of = like.kind};
    if (bar)
        return (RhSloAllowance){bar->ttft_frac, bar->tpot_frac, NULL};
    if (rh_model_makes_tokens(serving->model))
        rh_record_served_widest(rh_record_shipped(), like.kind, &widest.ttft_frac,
                                &widest.tpot_frac);
    return rh_slo_allows(&widest) ? widest : (RhSloAllowance){0};
}
