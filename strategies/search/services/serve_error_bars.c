#include "strategies/search/services/serve_error_bars.h"

#include "strategies/search/evidence_key.h"

RhServeErrorBars rh_serve_error_bars(const RhServing *serving, const RhDeployment *deployment,
                                     int64_t put_out)
{
    RhServeErrorBars trust = {0};
    RhEvidenceKey like = rh_evidence_key_of_service(serving, deployment, &trust.why_not);
    like.starved = put_out > 0;
    trust.bar = rh_record_served(rh_record_shipped(), &like);
    if (trust.bar || trust.why_not)
        return trust;
    trust.why_not =
        put_out > 0
            ? g_strdup_printf("the cache was full: %" G_GINT64_FORMAT
                              " time%s a request was put out",
                              put_out, put_out == 1 ? "" : "s")
            : g_strdup_printf("nothing alike was measured (%s, %s, %s models%s)", like.stack,
                              like.generation, like.kind, like.apart ? ", two pools" : "");
    return trust;
}

void rh_serve_error_bars_clear(RhServeErrorBars *trust)
{
    g_free(trust->why_not);
    *trust = (RhServeErrorBars){0};
}

RhSloAllowance rh_served_allowance(const RhServing *serving, const RhDeployment *deployment)
{
    RhEvidenceKey like = rh_evidence_key_of_service(serving, deployment, NULL);
    const RhServedBar *bar = rh_record_served(rh_record_shipped(), &like);
    RhSloAllowance widest = {.widest_of = like.kind};
    if (bar)
        return (RhSloAllowance){bar->ttft_frac, bar->tpot_frac, NULL};
    if (rh_model_makes_tokens(serving->model))
        rh_record_served_widest(rh_record_shipped(), like.kind, &widest.ttft_frac,
                                &widest.tpot_frac);
    return rh_slo_allows(&widest) ? widest : (RhSloAllowance){0};
}
