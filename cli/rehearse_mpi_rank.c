#include "cli/rehearse_mpi_rank.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/engine/workers/multi_machine_pool.h"

bool rh_job_rank_take(RhJobRank *rank, GError **error)
{
    g_autofree char *number = g_strdup(g_getenv(RH_COORDINATOR_SOCKET));
    int64_t socket = -1;
    RhCoordinatorMessage role = {0};
    *rank = (RhJobRank){.socket = -1};
    if (!number)
        return true;
    g_unsetenv(RH_COORDINATOR_SOCKET);
    if (!rh_integer_parse(number, 3, 1000000, &socket, NULL) ||
        !rh_coordinator_message_read((int)socket, &role) || role.kind != RH_MESSAGE_ROLE ||
        role.item < 2)
        return rh_fail(
            error, RH_ERROR_USAGE,
            RH_COORDINATOR_SOCKET
            " is set, but no coordinator answers there\nhelp: two ranks or more, of "
            "which the first hands out the work: mpirun -n 9 rehearse-mpi sweep ..., or srun "
            "with the interface of MPI's library (--mpi=pmix, --mpi=pmi2)");
    *rank = (RhJobRank){.socket = (int)socket, .number = role.rank, .count = role.item};
    return true;
}

/* Whatever the first rank says, the others need not repeat. */
static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

bool rh_job_rank_begin(const RhCommand *command, RhArguments *arguments, GError **error)
{
    RhJobRank rank;
    if (command->ranks == RH_RANKS_OWN)
        return true;
    if (!rh_job_rank_take(&rank, error))
        return false;
    if (rank.socket < 0)
        return true;
    if (rank.number > 0)
        be_silent();
    if (command->ranks == RH_RANKS_NONE)
        return rh_fail(error, RH_ERROR_USAGE,
                       "rehearse-mpi: %s has nothing that ranks could share\nhelp: plan, "
                       "serve-plan, capacity and sweep have",
                       command->name);
    if (arguments->timeout_s > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--timeout: ranks have no clock in common\nhelp: leave it out, and let "
                       "the job's launcher end what takes too long");
    arguments->jobs = rank.count - 1;
    rh_rank_pool_begin(&rank);
    return true;
}
