#include "validate/perform/rank_results.h"

#include <string.h>

#include "validate/perform/clock_sync.h"

#define NAP_S 0.2e-3

/* Waits without using a processor: a blocking call would take processors from ranks that are not
 * done. */
double rh_record_max(MPI_Comm comm, double value)
{
    double largest = value;
    MPI_Request request;
    int done = 0;
    MPI_Iallreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, comm, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        rh_clock_nap(NAP_S);
    return largest;
}

RhPayloadCheck rh_record_check(MPI_Comm comm, RhPayloadCheck own)
{
    int64_t mine[2] = {own.checked_count, own.wrong_count}, all[2] = {0};
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, comm);
    return (RhPayloadCheck){all[0], all[1]};
}

/* Gathers bytes of every rank, one after another, on rank 0 (owned); else NULL. *counts_out: bytes
 * of each rank; owned, may be NULL. */
static char *gather(MPI_Comm comm, const void *bytes, int count, int **counts_out, int *total_out)
{
    int own, ranks, total = 0;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &ranks);
    int *counts = g_new0(int, ranks);
    g_autofree int *first = g_new0(int, ranks);
    MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, comm);
    for (int i = 0; own == 0 && i < ranks; i++) {
        first[i] = total;
        total += counts[i];
    }
    char *all = own == 0 ? g_malloc0((gsize)total + 1) : NULL;
    MPI_Gatherv(bytes, count, MPI_BYTE, all, counts, first, MPI_BYTE, 0, comm);
    *total_out = total;
    if (own == 0 && counts_out)
        *counts_out = g_steal_pointer(&counts);
    g_free(counts);
    return all;
}

RhRun *rh_record_run(MPI_Comm comm, const RhProgram *p, const GArray *spans, double step_time_s)
{
    int total = 0;
    g_autofree char *all =
        gather(comm, spans->data, (int)(spans->len * sizeof(RhTaskInterval)), NULL, &total);
    if (!all)
        return NULL;
    RhRun *run = rh_run_new();
    run->step_time_s = step_time_s;
    g_autofree int32_t *role_of = rh_program_role_of_rank(p);
    for (int32_t rank = 0; rank < p->ranks_count; rank++) {
        RhPerformer performer = {.role = MAX(role_of[rank], 0), .rank = rank, .ranks_count = 1};
        g_array_append_val(run->performers, performer);
    }
    g_array_append_vals(run->timeline, all, (guint)total / sizeof(RhTaskInterval));
    run->events_count = run->timeline->len;
    return run;
}
