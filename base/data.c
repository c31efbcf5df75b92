#include "base/data.h"

#include <glib.h>
#include <stdbool.h>

static bool holds_data(const char *dir)
{
    g_autofree char *platforms = g_build_filename(dir, "platforms", "data", NULL);
    return g_file_test(platforms, G_FILE_TEST_IS_DIR);
}

static char *beside_program(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *bin = program ? g_path_get_dirname(program) : NULL;
    return bin ? g_build_filename(bin, "..", "share", "rehearse", NULL) : NULL;
}

const char *rh_data_dir(void)
{
    const char *told = g_getenv("REHEARSE_DATA");
    if (told && *told)
        return g_intern_string(told);
    g_autofree char *beside = beside_program();
    const char *places[] = {beside, RH_DATA_DIR, RH_INSTALLED_DATA_DIR};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++)
        if (places[i] && holds_data(places[i]))
            return g_intern_string(places[i]);
    return RH_INSTALLED_DATA_DIR;
}
