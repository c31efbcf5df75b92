#pragma once
/* Options that are lists: "key=value,key,...", as --checkpoint every=30min,async. */
#include <glib.h>
#include <stdbool.h>

#include "base/units.h"

/* A key of such a list, and the quantity that it takes; NONE: a switch. A table ends with a row
 * without key. */
typedef struct {
    const char *key, *example;
    RhQuantity kind;
    void *out; /* double or, of a switch, bool */
} RhOptionKey;

/* Reads words of an option, which stands in messages as "--checkpoint"; numbers must be above 0.
 * RH_ERROR_USAGE. */
bool rh_option_list_read(const char *option, char *const *words, const RhOptionKey *keys,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
