#pragma once
/* Steps of one rank as lists of kernels, for `rehearse-kernels --list` to perform on a GPU:
 * training steps that strategies/ builds (communication left out), decode steps, an expert's shard.
 */
#include <glib.h>

#include "platforms/devices/kernels_to_measure.h"

/* "llama-3.1-8b-tp2", ...; NULL-ended, owned by the module. */
const char *const *rh_step_names(void);
/* Is the step meant for a processor, and not for a GPU? */
bool rh_step_is_on_processor(const char *name);
/* RhListedKernel in program order; caller unrefs. RH_ERROR_USAGE for an unknown name. */
GArray *rh_step_list(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* All lists for GPUs as FOLDER/NAME.csv. */
bool rh_step_lists_write(const char *folder, GError **error) G_GNUC_WARN_UNUSED_RESULT;
