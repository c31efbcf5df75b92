#pragma once
/* What must not outlive us: programs that we started, files and folders of the moment.
 *
 * A second process of ours, the warden, learns of each and waits for our end. However that comes
 * about, by a signal that cannot be caught too, it ends those programs and removes those files.
 *
 *     g_autofree char *path = rh_temp_file("rehearse-lab-XXXXXX", &error);
 *     ...
 *     rh_temp_remove(path); */
#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* An empty file, or a folder, in the system's place for such; watched. Caller frees the name.
 * RH_ERROR_IO. */
char *rh_temp_file(const char *pattern, GError **error);
char *rh_temp_folder(const char *pattern, GError **error);
/* Removes it, a folder with all that is in it, and forgets it. NULL is fine. */
void rh_temp_remove(const char *path);

/* The process group of a program, from its start to its end. Safe between fork and exec, once
 * rh_supervisor_begin() was called before the fork. */
void rh_supervisor_begin(void);
void rh_supervisor_watch(pid_t group);
void rh_supervisor_forget(pid_t group);
/* Ends the processes of a group: asks them to, and after two seconds no longer asks. */
void rh_supervisor_end_group(pid_t group);
/* At the end of the program: the warden goes first. */
void rh_supervisor_end(void);
