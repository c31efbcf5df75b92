#pragma once
/* How a config.json says that its weights are stored: which recipe of number formats (precision_recipe.h) is that. Parameters are counted
 * all the same, and bytes by the recipe that was asked for. Private to workloads/. */
#include "base/json/json.h"

typedef struct {
    const char *method; /* as the file calls it, interned; NULL: it says nothing */
    const char *recipe; /* a recipe's name; NULL: none is like it */
} RhStoredWeights;

/* Of a model's object; what is no object, or says its method in no text, is a problem of `doc`. */
RhStoredWeights rh_stored_weights_read(RhJson *doc, const RhJsonNode *model);
