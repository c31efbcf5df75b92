#pragma once
/* Applies `--set`: finds the owner of a key (the model, the platform, the stack, the job), and
 * reports unknown keys. */
#include "cli/inputs/inputs.h"

/* Returns the key of an option or of a word of one-line platforms; any other word is its own key.
 */
const char *rh_inputs_key(const char *word);
/* Applies settings of model sizes (their indices, int) together. Returns false with an error if
 * they do not agree, and without one if not all are model sizes. */
bool rh_inputs_apply_together(RhInputs *inputs, const GArray *which,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Applies "KEY=VALUE". --profile FILE is --set profile=FILE, so that results record it like any
 * other change. */
bool rh_inputs_apply_set(RhInputs *in, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Prints warnings about changed facts without effect. */
void rh_inputs_warn_ignored(const RhInputs *in, const RhPlatform *before);

/* Returns why nothing reads a field of the platform; NULL: it is read, or not a platform's. */
const char *rh_inputs_ignored(const RhInputs *inputs, const char *key);
/* Runs rh_platform_set for a word of --set, which errors name. */
bool rh_inputs_set_platform(RhPlatform *platform, const char *key, const char *value,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
