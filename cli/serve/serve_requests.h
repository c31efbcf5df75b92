#pragma once
/* Reads the options about requests and service levels that the serve- commands share. */
#include "cli/parse/parsed_arguments.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"
#include "workloads/requests/requests.h"

typedef struct {
    RhRequests *list; /* owned */
    RhClient client;
    RhSlos slos;
    RhRequestsPlan plan;   /* distribution of arrivals; its count and lengths only with --lengths */
    bool drawn;            /* arrivals are random: another rate is another draw of `plan` */
    char *spec, *arrivals; /* for messages; owned */
} RhServeRequests;

/* Reads or draws the requests. RH_ERROR_USAGE, RH_ERROR_INPUT with file:line:col, RH_ERROR_IO. With
 * `rate_open` the rate is searched for: none is required, arrivals are one per second, and more
 * requests are drawn. */
RhServeRequests *rh_serve_requests_of(const RhArguments *arguments, bool rate_open,
                                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Checks the requests against the model. RH_ERROR_USAGE: token levels for a model without output
 * tokens; --lengths (NULL: requests of a file) that the model does not support. */
bool rh_serve_requests_fits(const RhServeRequests *asked, const RhModel *model, const char *lengths,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_serve_requests_free(RhServeRequests *asked);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServeRequests, rh_serve_requests_free)
