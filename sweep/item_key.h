#pragma once
/* Keys of questions: hashes of everything that decides an answer and is seen from outside. */
#include <glib.h>

/* Contents of files that were hashed so far. */
typedef struct RhItemKeys RhItemKeys;
RhItemKeys *rh_item_keys_new(const char *version);
void rh_item_keys_free(RhItemKeys *keys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhItemKeys, rh_item_keys_free)

/* Returns the key of a question, the first 32 hex digits of a SHA-256 over the version, the command,
 * its words and the contents of files that these name: as --platform=mine.json:8,
 * --strategy=plan.json#2 or a model's folder. What such a file names in turn is not looked at.
 * Caller frees. */
char *rh_item_key(RhItemKeys *keys, const char *command, char *const *words);
