#pragma once
/* A word of `--set`: whose field its key is (the model, the platform, the stack, the job), and what is said
 * where it is nobody's. */
#include "cli/inputs/inputs.h"

/* Options and the words of one-line platforms, as keys; any other word is one. */
const char *rh_inputs_key(const char *word);
/* Applies settings of sizes of the model (their numbers, int) together. False: they do not agree, as the error says, or, with
 * no error, not all are such. */
bool rh_inputs_apply_together(RhInputs *inputs, const GArray *which, GError **error);
/* "KEY=VALUE". --profile FILE is --set profile=FILE, so that results record it like any other change. */
bool rh_inputs_apply_set(RhInputs *in, const char *text, GError **error);
/* Facts that were changed, and change nothing. */
void rh_inputs_warn_ignored(const RhInputs *in, const RhPlatform *before);

/* Why nothing reads a field of the platform, by its key; NULL: it is read, or none of a platform's. */
const char *rh_inputs_ignored(const RhInputs *inputs, const char *key);
/* rh_platform_set for a word of --set, which an error names. */
bool rh_inputs_set_platform(RhPlatform *platform, const char *key, const char *value,
                            GError **error);
