#pragma once
/* Tables of what a calibration found: constants with their intervals, errors of the rows. Every fit prints them alike. */
#include "base/text/text_table.h"
#include "calibrate/fit/fit_rows.h"

#define RH_FIT_ON_BOUND "at the end of its range" /* remark: a wider range might fit better */

/* Columns: constant, its value before (if `before`), its fitted value, its interval, a remark. Caller frees. */
RhTable *rh_fit_constants_new(bool before);
/* Adds a constant; `was` NULL where the table has no such column, `low` NULL where no interval is known, `remark` NULL
 * where there is none. */
void rh_fit_constants_add(RhTable *table, const char *name, const char *was, const char *value,
                          const char *low, const char *high, const char *remark);

/* Columns: class of rows, their use, their count, the median error before (if `before`), errors of the fit. Caller
 * frees. */
RhTable *rh_fit_errors_new(bool before);
/* Adds the rows of a class that were used for the fit, and those that were held out; a use without rows adds none.
 * `was`: as `figures`, NULL in it where nothing is known; or NULL. */
void rh_fit_errors_add(RhTable *table, const char *name, const RhFitFigures *const was[2],
                       const RhFitFigures *const figures[2]);
/* Appends the table, and what its columns mean; `before` as the table was made. */
void rh_fit_errors_append(RhTable *table, GString *out, bool before);

/* Appends notes, each behind "note: ". */
void rh_fit_append_notes(GString *out, const GPtrArray *notes);
/* Appends the command that takes the profile; nothing where `saved` is NULL. */
void rh_fit_append_next(GString *out, const char *saved);
