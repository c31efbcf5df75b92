#pragma once
/* Figures of a served result that published tables give. */
#include "strategies/serve/results/request_records.h"
#include "strategies/serve/service/service.h"
#include "validate/cases/cases_table.h"

/* Computes mean TTFT and TPOT of the finished requests; 0: there are none. */
void rh_served_means(const RhServiceResult *result, double *ttft_s, double *tpot_s);
/* Computes percentiles of the finished requests' times, those of a row's columns
 * (RH_CASE_PERCENTILES of each); 0: there are none. */
void rh_served_percentiles(const RhServiceResult *result, double *ttft_s, double *tpot_s);
/* Returns output tokens over the time from the first request to the last token; 0: none. */
double rh_served_tokens_per_s(const RhServiceResult *result);
