#pragma once
/* Words of `capacity`: ranges, and the numbers of GPUs that a cluster may have. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* "256..4096" into both; "2048" into both alike; from 1 to `most_of_all`. RH_ERROR_USAGE names the option. */
bool rh_capacity_range(const char *option, const char *text, int64_t most_of_all, int64_t *least,
                       int64_t *most, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* --gpus: ranges and numbers by commas, into `sizes` (int64_t), ascending, each once. A range goes up by halves:
 * 256, 384, 512, 768 ... and its end. RH_ERROR_USAGE. */
bool rh_capacity_sizes(const char *text, GArray *sizes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
