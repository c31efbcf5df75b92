#pragma once
/* Error codes, which correspond to the exit codes.
 *
 * Every fallible function reports through GError with domain RH_ERROR. The code alone decides the
 * exit status (cli/main.c); the message is complete and ready to print, and may span lines:
 *
 *     tp=6 does not divide 64 attention heads
 *     note: legal tp on this node: 1, 2, 4, 8
 *
 * The first line states the error; `note:` lines add facts, `help:` lines say how to fix it. */
#include <glib.h>
#include <stdbool.h>

typedef enum {
    RH_ERROR_NONE,
    RH_ERROR_USAGE,     /* wrong command line: exit 2 */
    RH_ERROR_INPUT,     /* wrong input file or value in it: exit 3 */
    RH_ERROR_IO,        /* a file cannot be read or written: exit 3 */
    RH_ERROR_NO_ANSWER, /* valid question without an answer: exit 1 */
    RH_ERROR_REFUSED,   /* no process could be started for the work: exit 1 */
    RH_ERROR_INTERNAL,  /* a bug: exit 70 */
} RhErrorCode;

#define RH_ERROR (rh_error_quark())
GQuark rh_error_quark(void);

/* Sets *error to domain RH_ERROR with a printf-style message; a NULL error is fine. Returns false,
 * so that `return rh_fail(error, RH_ERROR_INPUT, "...")` reads well in bool functions. */
bool rh_fail(GError **error, RhErrorCode code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Drops the result of a fallible call whose failure is fine; a comment at the call says why. All
 * others must look at it: their declarations warn (G_GNUC_WARN_UNUSED_RESULT), except for functions
 * with `fail` in their names, which set the error and return false. */
static inline void rh_ignore_failure(bool result)
{
    (void)result;
}

/* Appends a `help:` line to an error that is set: how to fix it, in words of the command line. Does
 * nothing when `error` is NULL or unset. */
void rh_error_help(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Adds a `note:` line to an error that is set, before its `help:` lines. */
void rh_error_note(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Sets RH_ERROR_USAGE `there is no NOUN "NAME"` with the known `names` (NULL-terminated) and the
 * nearest of them; returns false. */
bool rh_fail_unknown(GError **error, const char *noun, const char *name, const char *const *names);
