#pragma once
/* Report of a rehearsed program from a file. Inputs are borrowed; texts are the caller's to free.
 */
#include "report/report.h"

typedef struct {
    const char *version;
    const char *const *argv; /* NULL-terminated: arguments that affect the result */
    const char *spec, *format, *hash;
    const RhProgram *program;
    const RhPlatform *hardware; /* as described */
    const char *platform_spec, *stack;
    const char *const *sets; /* NULL-ended */
    int64_t seed;
    const RhRun *run;
    double path_s;                     /* rh_critical_path_s */
    int64_t left_out, untimed, queued; /* as in RhImportedTrace; 0 for the project's own format */
} RhProgramAnswer;

char *rh_report_program_text(const RhProgramAnswer *a, const RhReportStyle *style);
/* Formats the report as "rehearse.program-run/1". */
char *rh_report_program_json(const RhProgramAnswer *a);
