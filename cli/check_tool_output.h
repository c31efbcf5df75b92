#pragma once
/* Tells what `rehearse check` says of files that other programs wrote: of a machine's tools, benchmarks of
 * links and training runs. */
#include <glib.h>
#include <stdbool.h>

/* Tells what a file is and which command takes it. *known: it is of such a program; else nothing
 * is said. The errors of its reader. */
bool rh_check_output(const char *path, GString *notes, bool *known,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
