#include "strategies/serve/results/overload_patient_clients.h"

void rh_service_judge_patient(RhServiceMetrics *metrics, RhService *service,
                              const RhRequests *requests, const RhClient *client)
{
    if (metrics->timed_out_count == 0 || client->at_once > 0 || client->failures)
        return;
    RhClient patient = *client;
    patient.ttft_patience_s = patient.e2e_patience_s = 0;
    patient.timeline = patient.history = patient.each_iteration = false;
    g_autoptr(RhServiceResult) result = rh_service_run(service, requests, &patient, NULL);
    if (result)
        metrics->overloaded = rh_service_metrics(result, NULL).overloaded;
}
