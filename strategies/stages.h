#pragma once
/* stages=15-16x6-15: layers of each chunk in the order of the model; 16x6 is 16 six times. */
#include "strategies/layout.h"

/* RH_ERROR_USAGE; *at: the byte of `text` at fault. */
bool rh_stages_read(const char *text, RhLayout *layout, size_t *at, GError **error);
/* "15-16x6-15": three or more alike are counted. NULL for an even split; caller frees. */
char *rh_stages_text(const RhLayout *layout);
