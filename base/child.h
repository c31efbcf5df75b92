#pragma once
/* Runs another program and waits for it. It and what it starts end when we do, whatever ends us
 * (base/cleanup_supervisor.h), and after its time. */
#include <glib.h>
#include <stdbool.h>

/* `argv`: NULL-ended, its first word looked for on the path. *out and *err: what it said on its two
 * streams, owned; with `out` NULL the first goes nowhere, with `err` NULL the second to our own.
 * *status: as of waitpid(). RH_ERROR_IO when it could not be started; RH_ERROR_NO_ANSWER when it
 * was ended after `timeout_s` (0: never). */
bool rh_child_run(const char *const *argv, double timeout_s, char **out, char **err, int *status,
                  GError **error);
