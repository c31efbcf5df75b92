#pragma once
/* Decimal numbers as texts of files and of the command line have them. */
#include <stdbool.h>

/* All of `text` as a finite decimal number: "-0.5", "1e9"; blanks may stand before it. False of hexadecimal numbers,
 * infinities and what is no number; *value is untouched then. Does not depend on the locale. */
bool rh_number_parse(const char *text, double *value);
