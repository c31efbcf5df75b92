/* What a run of a suite says while it goes on, and of cases that it leaves out. */
#include "validate/suites/suite_private.h"

void rh_suite_tell(RhSuiteRun *s, const char *what)
{
    if (s->options->progress)
        s->options->progress(what, s->done, s->total, s->options->user);
}

void rh_suite_skip(RhValidationCase *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_free(c->skipped);
    c->skipped = g_strdup_vprintf(format, arguments);
    va_end(arguments);
}
