#pragma once
/* Files of other tools that no command takes: what they are, and what stands for them here. */
#include <glib.h>

/* Returns the rest of an error about such a file, "an execution trace of PyTorch ...\nhelp: ...";
 * NULL: it is none of these. `text` is NUL-ended. Static. */
const char *rh_other_file(const char *text);
/* Puts what such a file is in the place of the error of a command that could not read it. */
void rh_other_file_tell(const char *path, GError **error);
