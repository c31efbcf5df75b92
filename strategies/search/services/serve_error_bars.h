#pragma once
/* How far off what a service is said to do may be: what came of published runs alike (accuracy/error_bar_record.h). */
#include "accuracy/error_bar_record.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"

typedef struct {
    const RhServedBar *bar; /* borrowed, for ever; NULL: not known */
    char *why_not;          /* owned; NULL where it is known */
} RhServeErrorBars;

/* `put_out`: so often requests were put out of a full cache. Clear the answer. */
RhServeErrorBars rh_serve_error_bars(const RhServing *serving, const RhDeployment *deployment,
                                     int64_t put_out);
void rh_serve_error_bars_clear(RhServeErrorBars *trust);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhServeErrorBars, rh_serve_error_bars_clear)
/* The upper end of the error bar, of a cache that is not full; where nothing alike was measured, that of the widest bar of
 * the kind of model; none where no such model was, nor of one that makes no tokens. */
RhSloAllowance rh_served_allowance(const RhServing *serving, const RhDeployment *deployment);
static inline bool rh_slo_allows(const RhSloAllowance *allowance)
{
    return allowance->ttft_frac > 0 || allowance->tpot_frac > 0;
}
