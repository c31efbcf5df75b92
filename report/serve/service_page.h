#pragma once
/* Pages (page.h) of services: the answer with its pictures. Caller frees. */
#include "report/serve/serve.h"

char *rh_report_serve_page(const RhServeQuestion *question, const RhServiceResult *result,
                           const RhServiceMetrics *outcome, const char *facts);
/* `text` and `json` are the plan's. */
char *rh_report_serve_plan_page(const RhServePlan *plan, const char *text, const char *json,
                                const char *facts);
