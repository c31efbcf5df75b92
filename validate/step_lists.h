#pragma once
/* Steps of one rank as lists of kernels, for `rehearse-kernels --list` to perform on a GPU:
 * training steps that strategies/ builds (communication left out), decode steps, an expert's shard.
 *
 * File: "# rehearse.kernels/1", a header, one row per kernel in program order
 * (docs/model-calibration.md). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/kernel.h"

/* A kernel and how often it runs in a row. `grouped`: the batch of GEMMs runs as one grouped GEMM.
 */
typedef struct {
    RhKernel kernel;
    bool grouped;
    int64_t count;
} RhListedKernel;

/* "llama-3.1-8b-tp2", ...; NULL-ended, owned by the module. */
const char *const *rh_step_names(void);
/* What the step of that name is, a line. */
const char *rh_step_about(const char *name);
/* RhListedKernel in program order; caller unrefs. RH_ERROR_USAGE for an unknown name. */
GArray *rh_step_list(const char *name, GError **error);
/* The file's text; caller frees. */
char *rh_step_list_text(const GArray *list);
/* All lists as FOLDER/NAME.csv. */
bool rh_step_lists_write(const char *folder, GError **error);
