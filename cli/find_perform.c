#include "cli/find_perform.h"

#include "base/error.h"

#ifdef RH_WITH_MPI
#define WHY                                                                                        \
    "is not built\nnote: MPI is there\nhelp: cmake --build BUILD --target rehearse-perform; "      \
    "`./start validate` does it"
#else
#define WHY                                                                                        \
    "cannot be built: this rehearse was configured without MPI\nhelp: install libopenmpi-dev and " \
    "openmpi-bin, and configure again; `./start validate` does that once they are there"
#endif

char *rh_program_beside(const char *name)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = g_path_get_dirname(self ? self : "./rehearse");
    return g_build_filename(folder, name, NULL);
}

bool rh_perform_there(const char *path, GError **error)
{
    if (g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
        return true;
    return rh_fail(error, RH_ERROR_NO_ANSWER, "%s " WHY, path);
}
