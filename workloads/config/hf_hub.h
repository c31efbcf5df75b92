#pragma once
/* Models by their names on the Hugging Face hub ("meta-llama/Llama-3.1-8B"), which files of the catalogue give as their
 * source. */
#include <stdbool.h>
#include <stdint.h>

/* Can this be such a name: two words with a slash between, and no path? */
bool rh_hub_is_id(const char *text);
/* What an id says: the model of the catalogue, the format of its weights, its positions. */
typedef struct {
    const char *model;  /* name in the catalogue, interned; NULL: it has no such model */
    const char *recipe; /* format of the weights, as --dtype has it: "fp8-block"; NULL: not known */
    int64_t positions;  /* longest sequence where it differs from the model's; 0: it does not */
} RhHubModel;
/* Looks an id up, whatever its case: among the sources of the catalogue, in workloads/hub.json, and
 * there without the ending that quantizers give a name. */
RhHubModel rh_hub_look_up(const char *id);
/* The catalogue's name of the model of this id, whatever its case, interned; NULL: it has none. */
const char *rh_hub_model(const char *id);
/* The id of a model of the catalogue; NULL: its file names none. The caller frees. */
char *rh_hub_id(const char *name);
