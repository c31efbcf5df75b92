#pragma once
/* Models by their names on the Hugging Face hub ("meta-llama/Llama-3.1-8B"), which files of the catalogue give as their
 * source. */
#include <stdbool.h>

/* Can this be such a name: two words with a slash between, and no path? */
bool rh_hub_is_id(const char *text);
/* The catalogue's name of the model of this id, whatever its case, interned; NULL: it has none. */
const char *rh_hub_model(const char *id);
/* The id of a model of the catalogue; NULL: its file names none. The caller frees. */
char *rh_hub_id(const char *name);
