#pragma once
/* Small pieces of text that several reports share. Caller frees. */
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
char *rh_text_amount(double value, const char *unit);    /* "70.6 GJ", "203 J" */
/* Breaks at spaces so that no line is longer than `width`; further lines start with `indent`
 * spaces. The text starts at column `indent`. A percent sign stays with its number, and money with its amount. */
void rh_text_wrap(GString *out, const char *text, int indent, int width);
/* As Markdown shows it literally, in a paragraph or a cell. */
char *rh_text_markdown(const char *text);
/* A path as a shell wants it: quoted only when it must be. */
char *rh_text_path(const char *path);
/* Words behind those of a command line, as a shell wants them (an option with its value is one): broken by
 * backslashes before column 79 where that is possible, and continued at column 6. */
void rh_text_command(GString *out, const char *const *words);
