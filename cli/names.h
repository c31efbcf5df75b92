#pragma once
/* Which known names a mistyped one may have meant. */
#include "workloads/model.h"

/* Up to three of `names` (NULL-ended), best first, separated by ", ": those within a few edits when
 * case and punctuation do not count ("llama3-8b" is one edit from "llama-3.1-8b"), of equally near
 * ones first those that begin alike. NULL when none is near. Caller frees. */
char *rh_names_similar(const char *word, const char *const *names);
/* rh_model_load, with every similar name as the help of an unknown one. */
RhModel *rh_names_model(const char *spec, GError **error);
