#pragma once
/* Writes words so that a shell reads them back. */
#include <glib.h>

/* Returns a word, quoted where a shell would read it as anything but itself. Caller frees. */
char *rh_shell_quoted(const char *word);
/* Appends a space and each word, quoted. */
void rh_shell_append(GString *line, const char *const *words);
