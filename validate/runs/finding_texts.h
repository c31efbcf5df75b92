#pragma once
/* Findings: what a measured run cannot be, as texts (char*, owned by their array). */
#include <glib.h>

void rh_finding_add(GPtrArray *findings, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Appends "finding: ..." for each, wrapped. */
void rh_findings_append(GString *out, const GPtrArray *findings);
