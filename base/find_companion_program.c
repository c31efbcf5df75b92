#include "base/find_companion_program.h"

#include <glib.h>

char *rh_companion_program(const char *name, const char *variable)
{
    const char *named = g_getenv(variable);
    if (named && *named)
        return g_strdup(named);
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = g_path_get_dirname(self ? self : "./rehearse");
    g_autofree char *beside = g_build_filename(folder, name, NULL);
    if (g_file_test(beside, G_FILE_TEST_IS_EXECUTABLE))
        return g_steal_pointer(&beside);
    return g_find_program_in_path(name);
}
