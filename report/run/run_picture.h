#pragma once
/* Draws where the time of a run goes, as SVG. */
#include "report/run/run_answer.h"

/* A bar for each part of the mean time, with its duration and share. Caller frees. */
char *rh_report_run_time_svg(const RhRunAnswer *answer);
/* One run as rows of equal length, with what was not plain computing; `spans` are RhRunInterval. Caller frees. */
char *rh_report_run_spans_svg(const RhRunAnswer *answer, const GArray *spans, double time_s);
/* Days and goodput by the share of the drawn runs that are no longer. Caller frees. */
char *rh_report_run_spread_svg(const RhRunAnswer *answer);
