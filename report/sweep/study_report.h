#pragma once
/* Reports of a study: its table as a document for pages, and what moves its figures. */
#include "sweep/merged.h"

/* Texts, caller frees. */
/* "rehearse.study-table/1": axes, columns, rows with their commands, effects of axes. */
char *rh_report_study_json(const RhStudy *study, const RhMerged *merged, const char *version);
/* "384 questions of simulate, 12 of them failed", and what of an axis moves each figure most. */
char *rh_report_study_text(const RhStudy *study, const RhMerged *merged);
/* Effects of all axes on one column; NULL: it does not move, or is no number. */
char *rh_report_effects_text(const RhMerged *merged, int32_t column);
