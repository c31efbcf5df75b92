#pragma once
/* What the files of --beside name, and where the job of the command line stands among them. */
#include "cli/job_file.h"
#include "cli/service_file.h"
#include "strategies/search/co_jobs/co_jobs.h"

typedef struct {
    GPtrArray *files;       /* RhJobFile */
    GArray *jobs;           /* RhCoJob: what the caller put there, and a job of each file behind */
    RhServiceFile *service; /* or NULL */
} RhBesides;
void rh_besides_init(RhBesides *besides);
void rh_besides_clear(RhBesides *besides);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhBesides, rh_besides_clear)

/* At once, as -j says. */
int32_t rh_besides_processes(const RhArguments *arguments);
/* Reads every file of --beside. RH_ERROR_INPUT, RH_ERROR_USAGE. */
bool rh_besides_load(const RhArguments *arguments, const RhInputs *inputs, RhBesides *besides,
                     GError **error);
/* Of those that would not run, as warnings. */
void rh_besides_warn(const RhBesides *besides);
/* For words that change nothing (RhIdleFigures): jobs alone by bounds, then as they are beside one another. */
typedef struct {
    const RhArguments *arguments;
    const RhLayout *layout; /* of the job of the command line */
    const int32_t *nodes;
    int32_t nodes_count;
} RhBesideIdle;
GArray *rh_besides_figures(const RhInputs *inputs, bool cheap, const void *beside_idle);
/* No node is of two of them: RH_ERROR_USAGE names both. */
bool rh_besides_apart(const RhBesides *besides, const RhPlatform *platform, GError **error);
/* The nodes that --on names; without it the first ones. Caller frees. RH_ERROR_USAGE. */
bool rh_besides_own_nodes(const RhArguments *arguments, const RhInputs *inputs, int32_t **nodes,
                          int32_t *count, GError **error);
