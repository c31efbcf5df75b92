#pragma once
/* Published tables of operators as raw samples; raw.c takes them as it takes its own form. */
#include "calibrate/kernels/raw_samples.h"

/* Does the text begin as a table that is known does? */
bool rh_raw_table_begins(const char *text);
/* Fills rows, device, library and what was left out. RH_ERROR_INPUT with file:line:col. */
bool rh_raw_table_read(RhRaw *out, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
