#pragma once
/* What the files of --beside name, and where the job of the command line stands among them. */
#include "cli/multi_job/job_file.h"
#include "cli/multi_job/service_file.h"
#include "strategies/search/co_jobs/co_jobs.h"

typedef struct {
    GPtrArray *files;       /* RhJobFile */
    GArray *jobs;           /* RhCoJob: what the caller put there, and a job of each file behind */
    RhServiceFile *service; /* or NULL */
} RhJobList;
void rh_job_list_init(RhJobList *besides);
void rh_job_list_clear(RhJobList *besides);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhJobList, rh_job_list_clear)

/* At once, as -j says. */
int32_t rh_job_list_processes(const RhArguments *arguments);
/* Reads every file of --beside. RH_ERROR_INPUT, RH_ERROR_USAGE. */
bool rh_job_list_load(const RhArguments *arguments, const RhInputs *inputs, RhJobList *besides,
                      GError **error);
/* Of those that would not run, as warnings. */
void rh_job_list_warn(const RhJobList *besides);
/* For words that change nothing (RhIdleFigures): jobs alone by bounds, then as they are beside one another. */
typedef struct {
    const RhArguments *arguments;
    const RhLayout *layout; /* of the job of the command line */
    const int32_t *nodes;
    int32_t nodes_count;
} RhJobListUnused;
GArray *rh_job_list_figures(const RhInputs *inputs, bool cheap, const void *beside_idle);
/* No node is of two of them: RH_ERROR_USAGE names both. */
bool rh_job_list_apart(const RhJobList *besides, const RhPlatform *platform, GError **error);
/* The nodes that --on names; without it the first ones. Caller frees. RH_ERROR_USAGE. */
bool rh_job_list_own_nodes(const RhArguments *arguments, const RhInputs *inputs, int32_t **nodes,
                           int32_t *count, GError **error);
