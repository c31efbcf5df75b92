#pragma once
/* A service beside a job (`simulate --beside FILE`):
 *
 *     {"workload": "llama-3.1-8b", "deployment": "tp4,replicas=2/tp4,replicas=2", "nodes": "4-5",
 *      "lengths": "in=8192,out=128", "rate": "5/s", "count": 100, "start": "0.5s"}
 *
 * "requests" names a trace in place of "lengths"; "name", "dtype", "experts_load", "start", "rate", "arrivals",
 * "concurrency", "turnaround", "count" and "seed" may be left out, and mean what the options of serve-simulate do. */
#include "cli/inputs/inputs.h"
#include "cli/serve/serve_requests.h"
#include "strategies/serve/server_software.h"
#include "strategies/serve/service_beside_jobs.h"

typedef struct {
    char *name, *workload, *deployment; /* the deployment as text, all that is not a default */
    RhModel *model;
    RhServer *server;
    RhServeRequests *asked;
    RhExpertLoad load;
    int32_t *nodes;
    RhBackgroundService background; /* borrows from here, and of the fabric's inputs */
} RhServiceFile;

/* Does the file name a deployment? Also false where it cannot be read. */
bool rh_service_file_is(const char *path);
/* RH_ERROR_INPUT, with the file's positions; RH_ERROR_USAGE: no such deployment, request or node. */
RhServiceFile *rh_service_file_load(const char *path, const RhInputs *fabric, int64_t seed,
                                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_service_file_free(RhServiceFile *file); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServiceFile, rh_service_file_free)
