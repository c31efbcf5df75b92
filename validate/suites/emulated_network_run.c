#include "validate/suites/emulated_network_run.h"

#include <string.h>
#include <sys/wait.h>

#include "base/child_process.h"
#include "base/cleanup_supervisor.h"
#include "base/error.h"
#include "base/json/json.h"
#include "validate/suites/lab_topology_write.h"

/* Runs a command; returns both of its streams and its exit status; false when it could not be
 * started. */
static bool run_command(GPtrArray *argv, double timeout_s, char **output, int *status,
                        GError **error)
{
    g_autofree char *out = NULL;
    g_autofree char *err = NULL;
    g_ptr_array_add(argv, NULL);
    if (!rh_child_run((const char *const *)argv->pdata, timeout_s, &out, &err, status, error))
        return false;
    *output = g_strconcat(out, err, NULL);
    return true;
}

char *rh_lab_obstacle(const char *lab_folder, char **how)
{
    int status = 0;
    g_autofree char *output = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *lab = g_build_filename(lab_folder, "lab", NULL);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_ptr_array_add(argv, lab);
    g_ptr_array_add(argv, (char *)"--check");
    g_autofree char *mpirun = g_find_program_in_path("mpirun");
    if (!mpirun)
        return g_strdup("Open MPI is not installed (packages openmpi-bin, libopenmpi-dev)");
    if (!run_command(argv, 0, &output, &status, &error))
        return g_strdup(error->message);
    g_strstrip(output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return g_steal_pointer(&output);
    *how = g_steal_pointer(&output);
    return NULL;
}

bool rh_local_run(int32_t ranks, int32_t seconds, const char *const *words, char **output,
                  GError **error)
{
    int status = 0;
    g_autofree char *limit = g_strdup_printf("%d", seconds);
    g_autofree char *count = g_strdup_printf("%d", ranks);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    /* Open MPI needs consent to run as root, and with more ranks than processors */
    const char *head[] = {"env",
                          "OMPI_ALLOW_RUN_AS_ROOT=1",
                          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                          "OMPI_MCA_rmaps_base_oversubscribe=1",
                          "OMPI_MCA_mpi_yield_when_idle=1",
                          "timeout",
                          limit,
                          "mpirun",
                          "-n",
                          count};
    for (size_t i = 0; i < G_N_ELEMENTS(head); i++)
        g_ptr_array_add(argv, (char *)head[i]);
    for (; *words; words++)
        g_ptr_array_add(argv, (char *)*words);
    bool ran = run_command(argv, 0, output, &status, error);
    if (ran && status != 0)
        return rh_fail(error, RH_ERROR_IO, "mpirun ended with status %d: %.400s",
                       WIFEXITED(status) ? WEXITSTATUS(status) : -1, *output);
    return ran;
}

bool rh_lab_run(const char *lab_folder, const RhPlatform *platform, int32_t seconds,
                double timeout_s, const char *const *words, char **output, GError **error)
{
    g_autofree char *topology = rh_lab_topology(platform, error);
    g_autofree char *path = topology ? rh_temp_file("rehearse-lab-XXXXXX", error) : NULL;
    int status = 0;
    if (!path)
        return false;
    g_autofree char *lab = g_build_filename(lab_folder, "lab", NULL);
    g_autofree char *mpirun = g_build_filename(lab_folder, "mpirun", NULL);
    g_autofree char *limit = g_strdup_printf("%d", seconds);
    g_autofree char *ranks = g_strdup_printf("%d", rh_platform_gpus(platform));
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    const char *head[] = {lab, path, "--", mpirun, limit, ranks};
    for (size_t i = 0; i < G_N_ELEMENTS(head); i++)
        g_ptr_array_add(argv, (char *)head[i]);
    for (; *words; words++)
        g_ptr_array_add(argv, (char *)*words);
    bool ran = rh_file_write(path, topology, strlen(topology), error) &&
               run_command(argv, timeout_s, output, &status, error);
    rh_temp_remove(path);
    if (ran && status != 0)
        return rh_fail(error, RH_ERROR_IO, "the run in the lab ended with status %d: %.400s",
                       WIFEXITED(status) ? WEXITSTATUS(status) : -1, *output);
    return ran;
}
