#pragma once
/* Runs another program and waits for it. The program and its children are ended at the timeout, and
 * whenever this process ends (base/cleanup_supervisor.h). */
#include <glib.h>
#include <stdbool.h>

/* Runs argv (NULL-terminated, argv[0] searched on the path). *out and *err receive its standard
 * output and error, owned; a NULL `out` discards the output, a NULL `err` passes the error through.
 * *status is as of waitpid(). RH_ERROR_IO when it cannot be started; RH_ERROR_NO_ANSWER when it was
 * ended after `timeout_s` (0: no limit). */
bool rh_child_run(const char *const *argv, double timeout_s, char **out, char **err, int *status,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
