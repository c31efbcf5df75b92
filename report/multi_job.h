#pragma once
/* Reports jobs that share a fabric, with or without a service, as text and JSON. Caller frees. */
#include "base/json/json.h"
#include "report/question.h"
#include "strategies/search/colocation/colocated_jobs.h"

typedef struct {
    const RhBackgroundService *background;
    const char *workload, *deployment, *requests, *arrivals; /* as in RhServeQuestion */
} RhMultiJobServiceAnswer;

/* All borrowed. */
typedef struct {
    const RhQuestion *q;
    const RhColocatedJob *jobs;             /* the first is the command line's */
    const RhMultiJobServiceAnswer *service; /* NULL: none */
} RhMultiJobInputs;

/* Formats node numbers: "0-3,8"; caller frees. */
char *rh_report_nodes(const int32_t *nodes, int32_t count);
/* Writes a link with flows of several jobs, with the bytes of each of `jobs`. */
void rh_put_session_link(RhJsonWriter *w, const RhSessionLink *link, uint32_t jobs);
char *rh_report_multi_job_text(const RhMultiJobInputs *question, const RhColocatedJobs *answer);
char *rh_report_multi_job_json(const RhMultiJobInputs *question, const RhColocatedJobs *answer);
