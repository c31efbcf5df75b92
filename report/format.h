#pragma once
/* Text formatting shared by reports. Caller frees returned texts. */
#include <glib.h>
#include <stdint.h>

#include "base/fact.h"
#include "base/units.h"

static inline double rh_text_gib(double bytes)
{
    return bytes / RH_GIB_BYTES;
}
char *rh_text_count(int64_t count);                      /* "13,440" */
char *rh_text_number(double value, int digits);          /* significant digits, "62.4" */
char *rh_text_rate(double per_s);                        /* "13,440", "34.6", "0.512" */
char *rh_text_fact(const RhFact *fact, RhQuantity kind); /* "450 GB/s d" */
char *rh_text_large(double value);                       /* "70.6 G", "1.2 T" */
char *
rh_text_tokens(double tokens); /* "500 B", "15.6 T": as people count tokens, and --tokens reads */
char *rh_text_params(double params);                  /* "8.03B", "1.03T" */
char *rh_text_amount(double value, const char *unit); /* "70.6 GJ", "203 J" */
/* Appends a text wrapped at spaces to lines of at most `width`; further lines start with `indent`
 * spaces, and the text starts at column `indent`. A percent sign stays with its number, and money
 * with its amount. */
void rh_text_wrap(GString *out, const char *text, int indent, int width);
/* Escapes a text for Markdown, in a paragraph or a cell. */
char *rh_text_markdown(const char *text);
/* Quotes a path for a shell if necessary. */
char *rh_text_path(const char *path);
/* Appends command-line words quoted for a shell (an option and its value are one word), broken with
 * backslashes before column 79 where possible, and continued at column 6. */
void rh_text_command(GString *out, const char *const *words);
