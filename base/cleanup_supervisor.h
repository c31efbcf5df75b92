#pragma once
/* Ends child programs and removes temporary files when this process ends.
 *
 * A second process, the supervisor, is told of each and waits for the end of this one. Whatever the
 * cause, including signals that cannot be caught, it ends those programs and removes those files.
 *
 *     g_autofree char *path = rh_temp_file("rehearse-lab-XXXXXX", &error);
 *     ...
 *     rh_temp_remove(path); */
#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* Create an empty file or folder in the system's temporary folder and register it for removal.
 * Caller frees the name. RH_ERROR_IO. */
char *rh_temp_file(const char *pattern, GError **error) G_GNUC_WARN_UNUSED_RESULT;
char *rh_temp_folder(const char *pattern, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Removes the file, or the folder with its contents, and unregisters it. NULL is fine. */
void rh_temp_remove(const char *path);

/* Register a program's process group at its start and unregister it at its end. Safe between fork
 * and exec once rh_supervisor_begin() was called before the fork. */
void rh_supervisor_begin(void);
void rh_supervisor_watch(pid_t group);
void rh_supervisor_forget(pid_t group);
/* Sends SIGTERM to the process group, and SIGKILL after 2 s. */
void rh_supervisor_end_group(pid_t group);
/* Ends the supervisor, at the end of the program. */
void rh_supervisor_end(void);
