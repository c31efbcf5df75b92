#pragma once
/* A job beside another (`simulate --beside FILE`):
 *
 *     {"workload": "llama-3.1-8b", "layout": "tp8,dp4", "nodes": "4-7",
 *      "global_batch": 64, "sequence": 4096, "start": "0.5s", "steps": 3}
 *
 * "name", "dtype", "start" (0s) and "steps" (1) may be left out; the fabric and the stack are those of
 * the command line. */
#include "base/json/json.h"
#include "cli/inputs/inputs.h"

typedef struct {
    char *name, *workload;
    RhModel *model;
    RhProblem c;
    RhLayout layout;
    int32_t *nodes; /* of the platform, in the order of the job's own */
    int32_t nodes_count;
    double t_start_s;
    int32_t steps;
} RhJobFile;

/* RH_ERROR_INPUT, with the file's positions: what is missing, unknown or illegal. */
RhJobFile *rh_job_file_load(const char *path, const RhInputs *fabric,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_job_file_free(RhJobFile *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhJobFile, rh_job_file_free)

/* "0-3,8": nodes of a platform that has nodes_count of them, each once. Caller frees *nodes.
 * RH_ERROR_USAGE. */
bool rh_nodes_parse(const char *text, int32_t nodes_count, int32_t **nodes, int32_t *count,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* For files of services, too. Fails with RH_ERROR_INPUT where it holds no object. */
RhJson *rh_job_file_open(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* When the job or service begins; a problem beyond a day. */
double rh_job_file_start_s(RhJson *doc);
/* "name", or where there is none the file's, without .json; caller frees. */
char *rh_job_file_name(RhJson *doc, const char *path);
