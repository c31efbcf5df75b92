/* Parts of what tools print, as several readers need them. */
#include <string.h>

#include "platforms/machine/machine.h"

char **rh_machine_words(const char *line)
{
    g_autofree char *tidy = g_strdup(line);
    g_strdelimit(tidy, "\t\r", ' ');
    g_auto(GStrv) all = g_strsplit(tidy, " ", -1);
    g_autoptr(GStrvBuilder) some = g_strv_builder_new();
    for (char **word = all; *word; word++)
        if (**word)
            g_strv_builder_add(some, *word);
    return g_strv_builder_end(some);
}

const char *rh_machine_attribute(const char **names, const char **values, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return values[i];
    return "";
}
