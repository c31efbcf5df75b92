#pragma once
/* The jobs of the files of --beside, together with that of the command line. */
#include "cli/multi_job/job_file.h"
#include "cli/multi_job/service_file.h"
#include "strategies/search/colocation/colocated_jobs.h"

typedef struct {
    GPtrArray *files;       /* RhJobFile */
    GArray *jobs;           /* RhColocatedJob: those that the caller added, then one of each file */
    RhServiceFile *service; /* or NULL */
} RhJobList;
void rh_job_list_init(RhJobList *besides);
void rh_job_list_clear(RhJobList *besides);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhJobList, rh_job_list_clear)

/* Returns the number of processes by -j. */
int32_t rh_job_list_processes(const RhArguments *arguments);
/* Reads every file of --beside. RH_ERROR_INPUT, RH_ERROR_USAGE. */
bool rh_job_list_load(const RhArguments *arguments, const RhInputs *inputs, RhJobList *besides,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Prints warnings about jobs whose framework would not run them. */
void rh_job_list_warn(const RhJobList *besides);
/* Argument of rh_job_list_figures (RhUnusedFigures): jobs alone by bounds, then as they run together.
 */
typedef struct {
    const RhArguments *arguments;
    const RhLayout *layout; /* layout of the command line's job */
    const int32_t *nodes;
    int32_t nodes_count;
} RhJobListUnused;
GArray *rh_job_list_figures(const RhInputs *inputs, bool cheap, const void *beside_idle);
/* Checks that no two jobs share a node. RH_ERROR_USAGE names both. */
bool rh_job_list_apart(const RhJobList *besides, const RhPlatform *platform,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the nodes of --on, by default the first ones. Caller frees. RH_ERROR_USAGE. */
bool rh_job_list_own_nodes(const RhArguments *arguments, const RhInputs *inputs, int32_t **nodes,
                           int32_t *count, GError **error) G_GNUC_WARN_UNUSED_RESULT;
