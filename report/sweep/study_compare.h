#pragma once
/* Two studies side by side: questions whose values of common axes are the same. */
#include "sweep/merged.h"

/* Returns a table of the ratios of every common figure (the geometric mean, where it is least and where
 * it is most), what flags and statuses differ, and which figures do not. RH_ERROR_INPUT where no question is in both, or one stands there twice. Caller frees. */
char *rh_report_study_compare(const RhStudy *a, const RhMerged *of_a, const RhStudy *b,
                              const RhMerged *of_b, GError **error) G_GNUC_WARN_UNUSED_RESULT;
