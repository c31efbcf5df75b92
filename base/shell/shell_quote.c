#include "base/shell/shell_quote.h"

#include <string.h>

char *rh_shell_quoted(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+.,:/%@";
    return *word && strspn(word, plain) == strlen(word) ? g_strdup(word) : g_shell_quote(word);
}

void rh_shell_append(GString *line, const char *const *words)
{
    for (; *words; words++) {
        g_autofree char *word = rh_shell_quoted(*words);
        g_string_append_printf(line, " %s", word);
    }
}
