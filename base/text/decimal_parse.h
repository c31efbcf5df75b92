#pragma once
/* Parses decimal numbers in files and on the command line. */
#include <stdbool.h>

/* Parses all of `text` as a finite decimal number such as "-0.5" or "1e9", with optional leading
 * blanks. Returns false for hexadecimal numbers, infinities and anything else, and leaves *value
 * unchanged. Does not depend on the locale. */
bool rh_number_parse(const char *text, double *value);
