#pragma once
/* Models of several parts, by model type: which decoder they have (workloads/multimodal.json). Private to
 * workloads/. */
#include <glib.h>
#include <stdbool.h>

typedef struct RhMultimodal RhMultimodal;

/* The table, read once. NULL and an error where its file is wrong. Borrowed, for ever. */
const RhMultimodal *rh_multimodal(GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The type of the decoder of such a model; NULL where the type is not one. */
const char *rh_multimodal_decoder(const RhMultimodal *table, const char *type);
/* The type of the decoder of a model type that has several, by its file's version; NULL where there is none. */
const char *rh_multimodal_version(const RhMultimodal *table, const char *type, double version);
/* Is the type two encoders side by side, which are not known together? */
bool rh_multimodal_is_towers(const RhMultimodal *table, const char *type);
