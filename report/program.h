#pragma once
/* A program from a file, rehearsed. Everything given is borrowed; texts are the caller's to free. */
#include "report/report.h"

typedef struct {
    const char *version;
    const char *const *argv; /* NULL-ended: the words that decide the result */
    const char *spec, *format, *hash;
    const RhProgram *program;
    const RhPlatform *hardware; /* as described */
    const char *platform_spec, *stack;
    const char *const *sets; /* NULL-ended */
    int64_t seed;
    const RhRun *run;
    double path_s;            /* rh_critical_path_s */
    int64_t left_out, queued; /* as of RhImportedTrace; 0 for programs of our own */
} RhProgramAnswer;

char *rh_report_program_text(const RhProgramAnswer *a, const RhReportStyle *style);
/* "rehearse.program-run/1". */
char *rh_report_program_json(const RhProgramAnswer *a);
