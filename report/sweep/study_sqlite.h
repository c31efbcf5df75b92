#pragma once
/* The table of a study as a database of SQLite: what is asked of it with SQL, by whoever has no wish to parse. */
#include "sweep/merged.h"

/* Returns the bytes of a database, the same ones for the same table. "answers" has a row a question: "item" in the
 * study's order, "command" to type, and the columns of the table, numbers as numbers, flags as 0 and 1; "study" has one
 * row: path, about, command, version, questions, failed, absent. It is made in memory, as locks fail on shared file
 * systems. RH_ERROR_REFUSED for a program built without SQLite; RH_ERROR_INPUT for more columns than a table takes.
 * Caller unrefs. */
GBytes *rh_report_study_sqlite(const RhStudy *study, const RhMerged *merged, const char *version,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
